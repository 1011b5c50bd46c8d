#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Random ioctls on perfctr's device: nothing hangs or dies, no answer is strange, and a fresh state counts
# exactly all the while.  LONG=1: ten minutes of it.
. "$(dirname "$0")/lib.sh"

# fuzz SEED OPERATIONS CPU
fuzz()
{
	run timeout -k 5 300 "$ANYPERF" run --cpu "$3" -- "$PROGRAMS/perfctr_fuzz" "$1" "$2"
	is "$status $(cat "$tmp/out")" "0 $2 operations, 0 strange answers, 0 wrong counts" "seed $1, $3" ||
		note "$(tail -n 20 "$tmp/err")"
	grep -v '^anyperf: modelled counts are estimated: ' "$tmp/err" >"$tmp/said"
	has_not "$tmp/said" 'anyperf|Sanitizer' "and nothing is said but what is estimated"
}

if [ "${LONG:-0}" != 1 ]; then
	fuzz 1 5000 k8
	fuzz 2 5000 p4
	fuzz 3 5000 nehalem
else
	cpus=(p5 p6 k7 k8 p4 core2 nehalem)
	end=$((SECONDS + 600))
	first=$((RANDOM * 32768 + RANDOM))
	for ((i = first; SECONDS < end; i++)); do
		fuzz "$i" 50000 "${cpus[i % ${#cpus[@]}]}"
		[ "$tap_failed" = 0 ] || break
	done
fi
done_testing
