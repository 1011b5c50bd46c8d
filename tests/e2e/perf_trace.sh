#!/bin/bash
# SPDX-License-Identifier: MIT
# Tracepoints of a session: calls, forks, execs, ends, signals, as the kernel counts them.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1

run timeout -k 5 120 "$PROGRAMS/perf_trace" kernel
if [ "$status" = 77 ]; then
	lack "the kernel counts what the program expects" "no tracefs, or not permitted"
else
	is "$status" 0 "the kernel counts what the program expects" || note "$(cat err)"
fi

run timeout -k 5 120 "$ANYPERF" run -- "$PROGRAMS/perf_trace"
is "$status" 0 "and so does a session" || note "$(cat err)"
has_not out FAILED "all of it"
is "$(wc -l <out)" 26 "every case was tried"

done_testing
