#!/bin/bash
# SPDX-License-Identifier: MIT
# Breakpoints of a session, on code and on data, against the debug registers that the kernel has.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1

run timeout -k 5 60 "$PROGRAMS/perf_watch"
if [ "$status" = 77 ]; then
	lack "debug registers count what the program expects" "no breakpoints, or not permitted"
else
	is "$status" 0 "debug registers count what the program expects" || note "$(cat err)"
fi

for counters in "" --counters=1; do
	# shellcheck disable=SC2086 # none is none
	run timeout -k 5 60 "$ANYPERF" run $counters -- "$PROGRAMS/perf_watch"
	is "$status" 0 "and so does a session $counters" || note "$(cat err)"
	has_not out FAILED "all of it"
	is "$(wc -l <out)" 14 "every case was tried"
done

run timeout -k 5 60 "$PROGRAMS/perf_data"
if [ "$status" = 77 ]; then
	lack "debug registers count the accesses that the program expects" "no breakpoints, or not permitted"
else
	is "$status" 0 "debug registers count the accesses that the program expects" || note "$(cat err)"
	has out "every time once, whatever comes between: ok" "all of them were tried"
fi

for options in "" --counters=1 --stress=evict --stress=unlinked --cache-limit=256k; do
	# shellcheck disable=SC2086 # none is none
	run timeout -k 5 200 "$ANYPERF" run $options -- "$PROGRAMS/perf_data" all
	is "$status" 0 "a session counts them, of all instructions $options" || note "$(cat err)"
	has_not out FAILED "all of it"
	has out "every time once, whatever comes between: ok" "every case was tried"
done

done_testing
