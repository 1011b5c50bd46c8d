#!/bin/bash
# SPDX-License-Identifier: MIT
# Execution breakpoints of a session, against the debug registers that the kernel has for them.
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
	is "$(wc -l <out)" 13 "every case was tried"
done

done_testing
