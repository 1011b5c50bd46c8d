#!/bin/bash
# SPDX-License-Identifier: MIT
# Breakpoints of a session, on code and on data, against the debug registers that the kernel has.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1

# natively PROGRAM TEST: a host may keep a guest's debug exceptions to itself now and then, as some do with the trap of
# a step behind cpuid; that is told.  Sessions below are held to the same figures on every machine.
natively()
{
	run timeout -k 5 60 "$PROGRAMS/$1"
	if [ "$status" = 77 ]; then
		lack "$2" "no breakpoints, or not permitted"
	elif [ "$status" = 1 ] && grep -qw hypervisor /proc/cpuinfo && grep -q FAILED out err; then
		lack "$2" "this virtual machine loses some: $(grep -h FAILED out err | paste -sd' ')"
	else
		is "$status" 0 "$2" || note "$(cat err)"
	fi
}

natively perf_watch "debug registers count what the program expects"

for counters in "" --counters=1; do
	# shellcheck disable=SC2086 # none is none
	run timeout -k 5 60 "$ANYPERF" run $counters -- "$PROGRAMS/perf_watch"
	is "$status" 0 "and so does a session $counters" || note "$(cat err)"
	has_not out FAILED "all of it"
	is "$(wc -l <out)" 14 "every case was tried"
done

natively perf_data "debug registers count the accesses that the program expects"
[ "$status" != 0 ] || has out "every time once, whatever comes between: ok" "all of them were tried"

for options in "" --counters=1 --stress=evict --stress=unlinked --cache-limit=256k; do
	# shellcheck disable=SC2086 # none is none
	run timeout -k 5 200 "$(anyperf_for $options)" run $options -- "$PROGRAMS/perf_data" all
	is "$status" 0 "a session counts them, of all instructions $options" || note "$(cat err)"
	has_not out FAILED "all of it"
	has out "every time once, whatever comes between: ok" "every case was tried"
done

done_testing
