#!/bin/bash
# SPDX-License-Identifier: MIT
# Filters of tracepoints: what passes is what passes the kernel's; through stock perf and our own commands.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1

run timeout -k 5 60 "$PROGRAMS/perf_trace_filter" kernel
if [ "$status" = 77 ]; then
	lack "the kernel counts what the program expects" "no tracefs, or not permitted"
else
	is "$status" 0 "the kernel counts what the program expects" || note "$(cat err out)"
fi

run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/perf_trace_filter"
is "$status" 0 "and so does a session" || note "$(cat err out)"
has_not out FAILED "all of it"
is "$(wc -l <out)" 44 "every case was tried"

# --- commands: writes of 1 to 20 bytes, by two processes
cat >writes <<'END'
for ((i = 1; i <= 20; i++)); do printf '%*s' $i ''; done
(for ((i = 1; i <= 20; i++)); do printf '%*s' $i ''; done)
exit 0
END

# counted TOOL...: each of what the tool counts, of its lines with a separator
counted()
{
	run timeout -k 5 60 "$@" -- bash writes
	awk -F';' '/sys_/ { printf "%s ", $1 }' report
}

one='-e syscalls:sys_enter_write --filter'
# shellcheck disable=SC2086 # words
is "$(counted "$ANYPERF" stat -x';' -o report $one 'fd == 1 && count > 5')" "30 " "anyperf stat"
# shellcheck disable=SC2086
is "$(counted "$ANYPERF" stat -x';' -o report $one 'fd == 1' $one 'fd == 1 && count & 1' -e syscalls:sys_enter_write \
	--filter 'fd == 1' --filter 'count < 3' -e syscalls:sys_exit_write --filter 'ret == 20')" "40 20 4 2 " \
	"each event has its own, and a second one narrows the first"
# shellcheck disable=SC2086
is "$(counted "$ANYPERF" stat -x';' -o report $one 'fd == 1 && count > 5' -r 3)" "30 " "run after run"

if command -v perf >/dev/null; then
	# shellcheck disable=SC2086
	is "$(counted "$ANYPERF" run -- perf stat -x';' -o report $one 'fd == 1 && count > 5')" "30 " "stock perf stat"
	run timeout -k 5 60 "$ANYPERF" run -- perf record -q -o data -e syscalls:sys_enter_write \
		--filter 'fd == 1 && count > 15' -- bash writes
	is "$status $(perf script -i data -F event,trace 2>err | grep -c 'sys_enter_write.*count: 0x0000001[0-4]')" "0 10" \
		"stock perf record: samples that match" || note "$(cat err)"
	is "$(perf script -i data 2>/dev/null | wc -l)" 10 "and no others"
	run timeout -k 5 60 "$ANYPERF" run -- perf stat -e syscalls:sys_enter_write --filter 'size > 5' -- true
	has err 'failed to set filter "size > 5"' "a field that there is not"
else
	lack "stock perf" "perf is not installed"
fi

# --- every second that matches, which is what a filter before the count makes of a period
run timeout -k 5 60 "$ANYPERF" record -q -o data -e syscalls:sys_enter_write -c 2 --filter 'fd == 1 && count > 10' -- bash writes
is "$status $("$ANYPERF" script -i data | wc -l)" "0 10" "a period counts what matches" || note "$(cat err)"

# --- more than a session has room for: named, and nothing else is lost
run timeout -k 5 60 "$ANYPERF" stat -v -x';' -o report -e 'syscalls:sys_exit_*' --filter 'ret == 20' \
	-e syscalls:sys_enter_write -- bash writes
is "$status $(grep -c '^<not supported>' report)" "0 $(($(grep -c ';syscalls:sys_exit_' report) - 64))" "64 filters in a session"
has report '^[0-9]+;.*;syscalls:sys_enter_write;' "what has none is counted"

run "$ANYPERF" stat -e syscalls:sys_enter_write --filter 'size > 5' -- true
is "$status" 129 "stat: a field that there is not: 129"
has err 'no such field of the tracepoint' "and is named"
run "$ANYPERF" stat -e instructions --filter 'count > 5' -- true
is "$status" 129 "stat: what is no tracepoint: 129"
run "$ANYPERF" stat -v -e sched:sched_process_exit --filter 'pid > 0' -- true
is "$status" 0 "stat: what is recorded elsewhere"
has err 'not supported.*sched:sched_process_exit|what it records is not known' "is not supported"

done_testing
