#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Samples that show no registers are taken where their block is left: they name the instructions that the oracle
# names all the same, however the block was left, and also where several fall into one.  The frame pointer that their
# callchains begin with is the one that a stop at the instruction finds.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/oracle.bash
. "$(dirname "$0")/oracle.bash"
# shellcheck source=tests/e2e/samples.bash
. "$(dirname "$0")/samples.bash"

# shellcheck disable=SC2034 # samples_like_oracle looks at it
STRESS=behind
for name in ${NAMES:-$sampled}; do
	samples_like_oracle "$name" instructions "1 7 64 149" "$PROGRAMS/$name"
done
# shellcheck disable=SC2034
for STRESS in behind,evict behind,unlinked behind,shapes; do
	for name in ${NAMES:-branches signal_mid smc_store flags_live}; do
		samples_like_oracle "$name" instructions 7 "$PROGRAMS/$name"
	done
done

# frames STRESS: each instruction of the program's own functions, with its frame pointer
frames()
{
	: >"$tmp/ours"
	in_same_place "$limited" -k 5 120 "$ANYPERF_TEST" stat --deterministic -o /dev/null \
		-e instructions --stress "log=9,sample=1,frames$1" -- "$PROGRAMS/chain" >"$tmp/out" 2>&1 </dev/null 9>>"$tmp/ours"
	cut -d' ' -f2- "$tmp/ours" | awk -v functions="$functions" 'BEGIN { n = split(functions, f) }
		{ for (i = 1; i < n; i += 2) if ($1 "" >= f[i] "" && $1 "" < f[i + 1] "") print }'
}
functions=$(nm -S "$PROGRAMS/chain" | grep -E ' (leaf|odd|even|main)$' | while read -r at size _; do
	printf '%x %x ' $((16#$at)) $((16#$at + 16#$size))
done)
frames "" >"$tmp/want"
frames ,behind >"$tmp/got"
same "$tmp/want" "$tmp/got" "frame pointers of $(wc -l <"$tmp/want") instructions"
is "$(($(wc -l <"$tmp/want") > 10000))" 1 "so many there are"

# Marks that had been passed when the thread first saw its sampler: where it is then, and not where it once stood.  The program says
# that it is in its loop, in a file, and turns until it is told there that samples have come.
cat >"$tmp/spin.c" <<'END'
#include <fcntl.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	volatile char *told = mmap(0, 2, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[1], O_RDWR), 0);

	for (volatile long n = 0; !told[1]; n++)
		if (n == 1000)
			told[0] = 'u';
	return 0;
}
END
gcc -O1 -o "$tmp/spin" "$tmp/spin.c" || exit 1
mkfifo "$tmp/control"
for opts in "-F 5000" "-F 5000 -g" "-c 100003 -g" "-F 5000 -d"; do
	rm -f "$tmp/data"
	printf '\0\0' >"$tmp/told"
	# shellcheck disable=SC2086 # words
	start timeout -k 5 60 "$ANYPERF" record -q -o "$tmp/data" -D -1 --control "fifo:$tmp/control" $opts -- "$tmp/spin" "$tmp/told"
	wait_for 60 grep -q u "$tmp/told"
	size=$(stat -c %s "$tmp/data")
	echo enable >"$tmp/control"
	wait_for 60 eval '[ "$(stat -c %s "$tmp/data")" -gt $((size + 4096)) ]'
	printf 'us' | dd of="$tmp/told" conv=notrunc status=none
	wait "$pid"
	"$ANYPERF" script -i "$tmp/data" -F ip,sym >"$tmp/samples"
	is "$(awk 'NF == 2 && n++ < 8 { print $2 }' "$tmp/samples" | sort -u | xargs)" main \
		"record $opts, begun in a loop: the first samples are of it" || note "$(head -n 8 "$tmp/samples")"
done
done_testing
