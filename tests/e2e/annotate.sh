#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf annotate`: the same share for the same address as perf's, in the same number of samples.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/as_perf.bash
. "$(dirname "$0")/as_perf.bash"

need objdump
cat >"$tmp/work.c" <<'END'
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n)
{
	for (int i = 0; i < n; i++)
		s += i * i;
}
__attribute__((noinline)) void other(int n) { while (n--) s ^= n; }
int main(void) { for (int i = 0; i < 900; i++) { leaf(100000); other(100000); } return 0; }
END
gcc -O1 -g -o "$tmp/work" "$tmp/work.c" || exit 1
record "$tmp/data" -- "$tmp/work"

# shares FILE: "percent address" of each instruction
shares()
{
	sed -nE 's/^ +([0-9.]+) : +([0-9a-f]+): .*/\1 \2/p' "$1"
}

# the kernel's samples in perf's file, and exact ones in ours
"$ANYPERF" record -q -e instructions:u -c 100003 -o "$tmp/ours" -- "$tmp/work" || exit 1
for data in data ours; do
	for fn in leaf other; do
		perf annotate --stdio -i "$tmp/$data" "$fn" >"$tmp/theirs" 2>/dev/null </dev/null
		run "$ANYPERF" annotate -i "$tmp/$data" "$fn"
		is "$status" 0 "$data, $fn: status 0"
		is "$(shares "$tmp/out")" "$(shares "$tmp/theirs")" "$data, $fn: shares of all addresses"
		is "$(shares "$tmp/out" | awk 'END { print (NR > 5) }')" 1 "$data, $fn: has instructions"
		is "$(head -n 2 "$tmp/out")" "$(head -n 2 "$tmp/theirs")" "$data, $fn: the title"
	done
done
run "$ANYPERF" annotate -i "$tmp/data" leaf
has "$tmp/out" ' : 5 +.*s \+= i \* i;' "the source line is there"
run "$ANYPERF" annotate -i "$tmp/data" --no-source leaf
has_not "$tmp/out" 'i \* i' "--no-source: it is not"
n=$("$ANYPERF" report --stdio -n -i "$tmp/data" -s sym | awk '$NF == "leaf" { print $2 }')
run "$ANYPERF" annotate -n -i "$tmp/data" leaf
is "$(shares "$tmp/out" | awk '{ n += $1 } END { print n }')" "$n" "-n: all samples of the function"
# what perf writes behind the addresses is what objdump said; names beyond functions and data are its own
texts()
{
	sed -nE 's/^ +[0-9.]+ : +([0-9a-f]+: .*)/\1/p' "$1"
}
for style in att intel; do
	for fn in leaf other; do
		perf annotate --stdio -M $style -i "$tmp/data" "$fn" >"$tmp/theirs" 2>/dev/null </dev/null
		run "$ANYPERF" annotate -M $style -i "$tmp/data" "$fn"
		is "$(texts "$tmp/out")" "$(texts "$tmp/theirs")" "-M $style, $fn: each instruction as perf writes it"
		texts "$tmp/out" >"$tmp/by-objdump"
		run env PATH="$tmp" "$ANYPERF" annotate -M $style -i "$tmp/data" "$fn"
		is "$(texts "$tmp/out")" "$(cat "$tmp/by-objdump")" "-M $style, $fn: also where there is no objdump"
	done
done
mkdir "$tmp/bin"
printf '#!/bin/sh\necho "$*" >>"%s/asked"; exec objdump "$@"\n' "$tmp" >"$tmp/bin/objdump"
chmod 755 "$tmp/bin/objdump"
run "$ANYPERF" annotate -i "$tmp/data" --objdump "$tmp/bin/objdump" leaf
has "$tmp/asked" 'i386:x86-64' "--objdump: it is asked"
rm "$tmp/asked"
chmod 777 "$tmp/bin"
run env PATH="$tmp/bin:$PATH" "$ANYPERF" annotate -i "$tmp/data" leaf
is "$(cat "$tmp/asked" 2>/dev/null)" "" "an objdump of a folder that anybody writes to is not run"
has "$tmp/out" 'imul +%e' "another is"
run "$ANYPERF" annotate -i "$tmp/data" --objdump "$tmp/none" leaf
is "$status" 125 "--objdump: a tool that is not there: status 125"
has "$tmp/err" -- '--objdump: .*/none cannot be run' "--objdump: says so"
run "$ANYPERF" annotate -M intel -i "$tmp/data" leaf
has "$tmp/out" 'imul +e..,e' "-M intel: destination first"
# --- what is shown, and what lines weigh together
for fn in leaf other; do
	perf annotate --stdio -i "$tmp/data" -l "$fn" 2>/dev/null </dev/null | sed '/Percent/q' >"$tmp/theirs"
	"$ANYPERF" annotate -i "$tmp/data" "$fn" -l | sed '/Percent/q' >"$tmp/out"
	has "$tmp/theirs" ' [0-9.]+ work.c:[0-9]+' "$fn: perf sums up lines"
	same "$tmp/theirs" "$tmp/out" "$fn: so do we"
	perf annotate --stdio -i "$tmp/data" --show-total-period "$fn" >"$tmp/theirs" 2>/dev/null </dev/null
	run "$ANYPERF" annotate -i "$tmp/data" --show-total-period "$fn"
	is "$(shares "$tmp/out")" "$(shares "$tmp/theirs")" "$fn: periods of all addresses"
	is "$(head -n 2 "$tmp/out")" "$(head -n 2 "$tmp/theirs")" "$fn: the title, with periods"
done
# all instructions of a function together are what the table says of it
want=$("$ANYPERF" report --stdio -i "$tmp/data" -s sym | awk '$NF == "leaf" { print $1 + 0 }')
"$ANYPERF" annotate -i "$tmp/data" --percent-type global-hits leaf >"$tmp/out"
is "$(shares "$tmp/out" | awk -v want="$want" '{ n += $1 } END { print (n - want) ^ 2 < 0.01 }')" 1 \
	"global-hits: the share that report shows"
run "$ANYPERF" annotate -i "$tmp/data" --percent-limit 30
is "$(grep -c 'Percent |' "$tmp/out")" 2 "--percent-limit: two functions are left"
run "$ANYPERF" annotate -i "$tmp/data" --percent-type odd
is "$status" 129 "an unknown kind of percent: status 129"

# --- a compiler at run time that writes a jitdump: the code is in that, and nowhere else
cat >"$tmp/jit.c" <<'END'
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* mov $200000000,%eax; dec %eax; jnz; ret */
static const uint8_t code[] = { 0xb8, 0x00, 0xc2, 0xeb, 0x0b, 0xff, 0xc8, 0x75, 0xfc, 0xc3 };
int main(int argc, char **argv)
{
	struct { uint32_t magic, version, size, mach, pad, pid; uint64_t time, flags; } head = {
		0x4a695444, 1, 40, 62, 0, getpid(), 0, 0 };
	struct { uint32_t id, size; uint64_t time; uint32_t pid, tid; uint64_t vma, addr, len, index; } load = {
		0, 56 + 9 + sizeof(code), 0, getpid(), getpid(), 0, 0, sizeof(code), 1 };
	char path[512];
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd;
	snprintf(path, sizeof(path), "%s/jit-%d.dump", argv[1], getpid());
	fd = open(path, O_CREAT | O_RDWR, 0600);
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	memcpy(p + 64, code, sizeof(code));
	load.vma = load.addr = (uint64_t)(uintptr_t)(p + 64);
	write(fd, &head, sizeof(head));
	write(fd, &load, sizeof(load));
	write(fd, "jit_loop", 9);
	write(fd, code, sizeof(code));
	((void (*)(void))(p + 64))();
	return 0;
}
END
gcc -O1 -w -o "$tmp/jit" "$tmp/jit.c" || exit 1
"$ANYPERF" record -q -e instructions:u -c 1000001 -o "$tmp/jit.data" -- "$tmp/jit" "$tmp" 2>/dev/null || exit 1
run "$ANYPERF" report --stdio -i "$tmp/jit.data" -s sym
has "$tmp/out" '(9[0-9]|100)\.[0-9]+%.* jit_loop' "jitdump: the function has its name"
run "$ANYPERF" annotate -i "$tmp/jit.data" jit_loop
is "$status" 0 "jitdump: its code is there"
has "$tmp/out" ' : +[0-9a-f]+: +dec +%eax' "jitdump: the instructions"
is "$(shares "$tmp/out" | awk '{ print ($1 > 40) }' | paste -sd ' ')" "0 1 1 0" "jitdump: dec and jnz have half each"

run "$ANYPERF" annotate -i "$tmp/data" nosuch
is "$status" 125 "a function without samples: status 125"
has "$tmp/err" 'no sample was in nosuch' "a function without samples: says so"
run "$ANYPERF" annotate -M odd -i "$tmp/data"
is "$status" 129 "an unknown style: status 129"

# --- of some CPUs: each sample is of one of them
"$ANYPERF" record -q -a -e instructions:u -c 100003 -o "$tmp/cpus.data" -- sh -c "taskset -c 0 '$tmp/work'; '$tmp/work'" \
	2>/dev/null || exit 1
# samples ARGS...: the samples of all functions of the program
samples()
{
	"$ANYPERF" annotate --stdio -n -d work -i "$tmp/cpus.data" "$@" 2>/dev/null |
		awk '$2 == ":" && $1 + 0 { s += $1 } END { print s + 0 }'
}
last=$(($(getconf _NPROCESSORS_CONF) - 1))
sum=0
for ((cpu = 0; cpu <= last; cpu++)); do
	one=$(samples -C "$cpu")
	is "$one" "$("$ANYPERF" script -F cpu,ip,dso -i "$tmp/cpus.data" | grep -c "\[0*$cpu\].*/work)")" "-C $cpu"
	sum=$((sum + one))
done
is "$sum" "$(samples)" "-C: all CPUs' together"
is "$(($(samples -C 0) > 0)) $(samples -C "0-$last")" "1 $sum" "-C: a range"
run "$ANYPERF" annotate --stdio -C x -i "$tmp/cpus.data"
is "$status $(grep -c . "$tmp/err")" "129 1" "-C x"
run "$ANYPERF" annotate --stdio -C 0 -i "$tmp/data"
is "$status $(grep -c 'do not say their CPU' "$tmp/err")" "125 1" "-C of samples without CPU"
done_testing
