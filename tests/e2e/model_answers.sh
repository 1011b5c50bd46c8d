#!/bin/bash
# SPDX-License-Identifier: MIT
# Who answers loads that L1D does not have, instruction by instruction; and accesses that touch nothing.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

parts=(load-l2-hits load-llc-hits load-memory)

# count MACHINE PROGRAM...: the events by name in $of
declare -A of
count()
{
	local machine=$1 events value name
	shift
	of=()
	events=$(printf '%s,' loads l1d-load-misses "${parts[@]}")
	run timeout -k 5 120 "$ANYPERF" stat -x, -o csv --model-sample 1 --machine "$machine" -e "${events%,}" -- "$@"
	while IFS=, read -r value _ name _; do
		[ -z "$name" ] || of[$name]=$value
	done <csv
}

for machine in skylake sapphirerapids zen4; do
	count $machine "$PROGRAMS/string_loads"
	is "$((of[load-l2-hits] + of[load-llc-hits] + of[load-memory])) ${of[loads]} $((of[l1d-load-misses] > 256))" "256 256 1" \
		"$machine: string instructions are one load each, that missed where their first line did" || note "$(cat csv err)"
	count $machine "$PROGRAMS/model_walk" walk 16384 2
	sum=$((of[load-l2-hits] + of[load-llc-hits] + of[load-memory]))
	is "$((sum > 16384 && sum <= of[l1d-load-misses]))" 1 "$machine: each load that misses has one answer" || note "$(cat csv err)"
done

count cachegrind "$PROGRAMS/string_loads"
is "${of[load-l2-hits]}" "<not supported>" "no hits of an L2 that is not there" || note "$(cat csv err)"

# Under a mask that selects nothing an address is none: it may have all bits.
cat >masked.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	unsigned long from = strtoul(argv[1], 0, 0);
	if (argc != 2 || !__builtin_cpu_supports("avx2"))
		return 3;
	for (unsigned long i = 0; i < 200; i++)
		__asm__ volatile("vpxor %%xmm1, %%xmm1, %%xmm1\n\tvpmaskmovd (%0), %%xmm1, %%xmm0"
				 : : "r"(from - i * 4096) : "xmm0", "xmm1");
	puts("ok");
	return 0;
}
END
gcc -O1 -o masked masked.c || exit 1
for from in -64 0x4000000000001000 0xffffffffff600000; do
	./masked $from >want
	[ $? = 3 ] && break
	count host ./masked $from
	is "$(cat out)" "$(cat want)" "masked accesses from $from on: the program runs"
	is "$(cat err)" "" "and is counted to its end"
done
done_testing
