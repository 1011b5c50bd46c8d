#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Random calls on perf events: nothing hangs or dies, and a fresh event counts exactly all the while.
# LONG=1: half an hour of it (make check-long runs it with the address sanitizer in the supervisor).
. "$(dirname "$0")/lib.sh"

# fuzz SEED OPERATIONS OPTION...
fuzz()
{
	local seed=$1 n=$2
	shift 2
	run timeout -k 5 300 "$(anyperf_for "$@")" run "$@" -- "$PROGRAMS/perf_fuzz" "$seed" "$n"
	is "$status $(cat "$tmp/out")" "0 $n operations, 0 wrong counts" "seed $seed $*" ||
		note "$(tail -n 20 "$tmp/err")"
	grep -v '^anyperf: modelled counts are estimated: ' "$tmp/err" >"$tmp/said"
	has_not "$tmp/said" 'anyperf|Sanitizer' "and nothing is said but what is estimated"
}

if [ "${LONG:-0}" != 1 ]; then
	fuzz 1 20000
	fuzz 2 20000 --counters 2
	fuzz 3 10000 --stress requests
	fuzz 4 10000 --paranoid 1
else
	end=$((SECONDS + 1800))
	first=$((RANDOM * 32768 + RANDOM))
	for ((i = first; SECONDS < end; i++)); do
		case $((i % 4)) in
		0) fuzz "$i" 100000 ;;
		1) fuzz "$i" 100000 --counters $((1 + i % 7)) ;;
		2) fuzz "$i" 50000 --stress requests ;;
		*) fuzz "$i" 50000 --paranoid 2 ;;
		esac
		[ "$tap_failed" = 0 ] || break
	done
fi
done_testing
