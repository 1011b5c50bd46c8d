#!/bin/bash
# SPDX-License-Identifier: MIT
# Tracepoints and breakpoints of CPUs, which a session has by task.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1

run timeout -k 5 120 "$ANYPERF" run -- "$PROGRAMS/perf_cpu_words"
if [ "$status" = 77 ]; then
	lack "each CPU has what was done there" "two CPUs"
else
	is "$status" 0 "each CPU has what was done there, and all CPUs everything" || note "$(cat err)"
	has_not out FAILED "in every case"
	is "$(wc -l <out)" 20 "which were all tried"
fi

run timeout -k 5 60 "$ANYPERF" stat -x, -a -e syscalls:sys_enter_getppid,sched:sched_process_exit \
	-- "$PROGRAMS/perf_cpu_words" image
is "$(grep -c '^3,,syscalls:sys_enter_getppid' err)" 1 "anyperf stat -a" || note "$(cat err)"
is "$(grep -c '^1,,sched:sched_process_exit' err)" 1 "and an end" || note "$(cat err)"

if command -v perf >perf_path 2>&1; then
	run timeout -k 5 60 "$ANYPERF" run -- perf stat -x, -a -e syscalls:sys_enter_getppid \
		-- "$PROGRAMS/perf_cpu_words" image
	is "$(grep -c '^3,,syscalls:sys_enter_getppid' err)" 1 "perf stat -a" || note "$(cat err)"
	run timeout -k 5 60 "$ANYPERF" run -- perf record -q -a -c 1 -o data \
		-e syscalls:sys_enter_getppid -- "$PROGRAMS/perf_cpu_words" image
	run timeout -k 5 60 perf script -i data
	is "$(grep -c 'sys_enter_getppid' out)" 3 "perf record -a" || note "$(cat out err)"
else
	lack "perf stat -a, perf record -a" "no perf"
fi

done_testing
