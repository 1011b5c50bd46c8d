#!/bin/bash
# SPDX-License-Identifier: MIT
# anyperf report --mem-mode by what a reference went to and came from: lines of the cache, physical addresses, pages and
# instructions, held to perf's table of the same file.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/as_perf.bash"
need python3 nm

prog=$PROGRAMS/mem_data
cat >"$tmp/maps.c" <<'EOF'
/* The same file mapped twice, shared and private, and memory of no file: from two processes. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char *map(int flags, int fd)
{
	volatile char *p = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		_exit(1);
	return p;
}

int main(int argc, char **argv)
{
	int fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0600), i, k, status;
	volatile char *at[5];

	if (fd < 0 || ftruncate(fd, 1 << 16))
		return 1;
	at[0] = map(MAP_SHARED, fd);
	at[1] = map(MAP_SHARED, fd);
	at[2] = map(MAP_PRIVATE, fd);
	at[3] = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
	at[4] = map(MAP_SHARED | MAP_ANONYMOUS, -1);
	for (k = 0; k < 2; k++) {
		if (!fork()) {
			for (i = 0; i < 5 * 64; i++)
				at[i % 5][64 * (i / 5) + 8 * (i % 3)] += 1;
			_exit(0);
		}
		wait(&status);
		if (status)
			return 1;
	}
	_exit(0);
}
EOF
gcc -O1 -fno-plt -o "$tmp/maps" "$tmp/maps.c" 2>/dev/null || exit 1
mem() { timeout -k 5 100 "$ANYPERF" mem record "$@" >/dev/null 2>"$tmp/why" || note "$(tail -n 3 "$tmp/why")"; }
mem -c 1 --machine cachegrind --deterministic -o "$tmp/all.data" -- "$prog"
mem -c 1 --hits --machine cachegrind --deterministic -o "$tmp/maps.data" -- "$tmp/maps" "$tmp/file"
mem -t load --deterministic --machine skylake -c 100 --phys-data --data-page-size -o "$tmp/facts.data" -- \
	"$PROGRAMS/model_walk" walk 16384 3

# The facts that no sample of ours knows, made up: the last two words of each sample are its physical address and the
# size of its page.
python3 - "$tmp/facts.data" "$tmp/made.data" <<'EOF'
import struct, sys
data = bytearray(open(sys.argv[1], 'rb').read())
at, size = struct.unpack_from('<QQ', data, 40)
end, n = at + size, 0
while at < end:
    kind, _, length = struct.unpack_from('<IHH', data, at)
    if kind == 9:
        struct.pack_into('<QQ', data, at + length - 16, (n % 37) << 12 | 0x123400000000 * (n % 2),
                         [0, 4096, 2 << 20, 1 << 30, 1536][n % 5])
        n += 1
    at += length
open(sys.argv[2], 'wb').write(data)
print(n)
EOF

# The offset of a line in its symbol is left out: perf 6.1 takes an offset in the file from an address.  So is a column
# that perf adds to keys with "symbol" in their names, and of which it knows nothing here.
tidy()
{
	sed -E 's/\+0x[0-9a-f]+ */+ /; s/,ipc_null$//; s/ +IPC +\[IPC Coverage\]//; s/^(# [. ]*\.)  \.{20}$/\1/
		s/ +- +- +$//; s/ +$//' "$1" >"$1.tidy"
	mv "$1.tidy" "$1"
}

# same FILE KEYS OPTIONS...
same()
{
	local file=$tmp/$1.data keys=$2 name="$1: -s $2 ${*:3}"
	shift 2
	perf_report --mem-mode -i "$file" -s "$keys" "$@" >"$tmp/theirs"
	run "$ANYPERF" report --stdio --mem-mode -i "$file" -s "$keys" "$@"
	is "$status" 0 "$name" || note "$(cat "$tmp/err")"
	tidy "$tmp/theirs"
	tidy "$tmp/out"
	as_theirs "$name: as perf has it" '^ .*%'
}

# perf names stubs of libc's PLT by the order of its relocations, which is another
for data in all maps facts made; do
	only=()
	[ $data = maps ] && only=(-d "maps,ld-linux-x86-64.so.2")
	for keys in dcacheline dcacheline,symbol_iaddr sym,dcacheline,dso dcacheline,mem symbol_iaddr symbol_iaddr,symbol_daddr; do
		same "$data" "$keys" "${only[@]}"
	done
	same "$data" phys_daddr
	same "$data" data_page_size,dso_daddr
done
# where the vdso's symbols are from, which -v tells of data, depends on perf's own cache
same all dcacheline -v
same all symbol_iaddr -v
same facts symbol_iaddr -v
same made phys_daddr,data_page_size
same made data_page_size,phys_daddr,mem
same made data_page_size
has "$tmp/out" ' 1024M' "pages in words"
has "$tmp/out" '1536B' "of any size"
same maps dcacheline,pid

# --- a line's name and offset, which perf's is no measure of
start=$((16#$(nm "$prog" | awk '$3 == "read_from" { print $1 }')))
for ((k = 0; k < 1024; k++)); do printf 'read_from+0x%x\n' $((((start + 64 * k) & ~63) - start)); done >"$tmp/want"
run "$ANYPERF" mem -t load report --stdio -i "$tmp/all.data" -s dcacheline
is "$(grep -o 'read_from+0x[0-9a-f]*' "$tmp/out" | sort)" "$(sort "$tmp/want")" "each line of read_from, once, by its offset"

# --- the file's lines are one each for two processes and three mappings, private or shared; loads and stores apart
run "$ANYPERF" report --stdio --mem-mode -i "$tmp/maps.data" -s dso_daddr,dcacheline -F overhead,sample,dso_daddr,dcacheline
is "$(awk '/%/ && $3 == "file" { print $2, $4, $5 }' "$tmp/out" | sort)" "$(
	for ((k = 0; k < 64; k++)); do
		printf '6 [s] 0x%016x\n' $((64 * k)) | sed 's/0x0*$/0000000000000000/'
		printf '6 [s] 0x%016x\n' $((64 * k)) | sed 's/0x0*$/0000000000000000/'
	done | sort
)" "each line of a file, once"

# --- where nobody says what was where
run "$ANYPERF" report -i "$tmp/facts.data" -s dcacheline
is "$status" 129 "such a key without --mem-mode"
has "$tmp/err" 'mem-mode' "says what it needs"

done_testing
