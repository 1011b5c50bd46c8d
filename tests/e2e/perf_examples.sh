#!/bin/bash
# SPDX-License-Identifier: MIT
# The examples that the descriptions of perf_event_open give, call for call, under anyperf run.
. "$(dirname "$0")/lib.sh"
need objdump awk

cd "$tmp" || exit 1
serve() { timeout -k 5 60 "$ANYPERF" run "$@"; }

# --- a printf: what lies between the second and the third ioctl of a trace
call=$(objdump -d "$PROGRAMS/perf_example_printf" |
	awk '/<(__)?ioctl>:$/ { on = 1 } on && /\tsyscall/ { sub(/:$/, "", $1); print $1; exit }')
"$ORACLE" -o oracle --trace trace -- "$PROGRAMS/perf_example_printf" >traced 2>&1
if grep -q '^perf_event_open of event' traced; then
	lack "the printf example" "the kernel does not let us open software events"
else
	want=$(awk -v call="$call" '
		{ pc = $2; sub(/^0x0*/, "", pc) }
		calls == 2 { n++ }
		pc == call { calls++ }
		END { print n }' trace)
	run serve -- "$PROGRAMS/perf_example_printf"
	is "$status $(sed -n 2p out)" "0 Used $want instructions" "the printf example"
	has traced '^Used [0-9]+ (ns of CPU time|instructions)$' "natively it counts time where it has to, and says so"
fi
run serve --paranoid 3 -- "$PROGRAMS/perf_example_printf"
is "$status $(cat err)" "1 perf_event_open of event 1: Permission denied" "it leaves where it may not count"
is "$(cat out)" "" "and prints nothing then"

# --- reading without a call
run serve --deterministic -- "$PROGRAMS/perf_example_rdpmc" count
is "$status" 0 "the reading loop: count" || note "$(cat out err)"
serve=$(anyperf_for --stress)
run timeout -k 5 60 "$serve" run --deterministic --stress narrow -- "$PROGRAMS/perf_example_rdpmc" narrow
is "$status" 0 "the reading loop: a counter of 40 bits, extended by its sign" || note "$(cat out err)"
run timeout -k 5 60 "$serve" run --deterministic --stress narrow -- "$PROGRAMS/perf_example_rdpmc" count
is "$status" 0 "the reading loop: count, of 40 bits" || note "$(cat out err)"
for what in time time-hw; do
	run serve -- "$PROGRAMS/perf_example_rdpmc" $what
	is "$status" 0 "the reading loop: $what" || note "$(cat out err)"
done
run "$PROGRAMS/perf_example_rdpmc" time
if [ "$status" = 2 ]; then
	lack "the reading loop: the kernel's time" "the kernel does not let us open software events"
else
	is "$status" 0 "the reading loop: the kernel's time" || note "$(cat out err)"
fi
run serve --counters 1 -- "$PROGRAMS/perf_example_rdpmc" turns
is "$status" 0 "the reading loop: two events on one counter" || note "$(cat out err)"
run "$PROGRAMS/perf_example_rdpmc" scale
is "$status" 0 "the reading loop: scaled counts" || note "$(cat out err)"

# --- ioctl and prctl: the kernel shows with a software event who counts after each call
cat >want <<'END'
--cp as opened = 0
lmcp ioctl(leader, PERF_EVENT_IOC_ENABLE, 0) = 0
l-cp ioctl(member, PERF_EVENT_IOC_DISABLE, 0) = 0
lmcp ioctl(member, PERF_EVENT_IOC_ENABLE, 0) = 0
--cp ioctl(leader, PERF_EVENT_IOC_DISABLE, 0) = 0
lmcp ioctl(member, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) = 0
--cp ioctl(member, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP) = 0
l-cp ioctl(leader, PERF_EVENT_IOC_ENABLE, 0) = 0
lmcp ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) = 0
--cp ioctl(leader, PERF_EVENT_IOC_RESET, 0) = 0
leader 0, member 1
--cp ioctl(member, PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP) = 0
leader 0, member 0
lmcp ioctl(leader, PERF_EVENT_IOC_REFRESH, 3) = -1 EINVAL
lmcp ioctl(leader, PERF_EVENT_IOC_PERIOD, &period) = -1 EINVAL
lmcp ioctl(leader, PERF_EVENT_IOC_SET_OUTPUT, leader) = -1 EINVAL
lmcp ioctl(leader, PERF_EVENT_IOC_SET_FILTER, "common_pid == 1") = -1 EINVAL
---p prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0) = 0
l--p ioctl(leader, PERF_EVENT_IOC_ENABLE, 0) = 0
lmcp prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0) = 0
END
run serve -- "$PROGRAMS/perf_example_ioctl" hw
same out want "ioctl and prctl: what they switch" || note "$(cat err)"
run serve -- "$PROGRAMS/perf_example_ioctl" sw
same out want "ioctl and prctl: a software event is no other" || note "$(cat err)"
run "$PROGRAMS/perf_example_ioctl" sw
if grep -q '^perf_event_open' err; then
	lack "ioctl and prctl: as the kernel does it" "it does not let us open software events"
else
	same out want "ioctl and prctl: as the kernel does it"
fi
# an overflow counter is enabled for nr events: its count is that many periods, to the instruction
for nr in 1 2 3; do
	echo "ioctl(fd, PERF_EVENT_IOC_REFRESH, $nr) = 0, counted $((nr * 10000))"
done >want
run serve -- "$PROGRAMS/perf_example_ioctl" refresh
same out want "ioctl: enabled for so many events, then off" || note "$(cat err)"

# --- a cgroup: that of this shell
point=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ -n "$point" ] && [ -d "$point$group" ]; then
	run serve --deterministic -- "$PROGRAMS/perf_example_cgroup" "$point$group"
	is "$status" 0 "the cgroup example" || note "$(cat out err)"
else
	lack "the cgroup example" "no cgroup2"
fi

# --- each level of paranoid by what it permits, as the kernel has it: a column for each, 3 as some distributions' kernels do
cat >levels <<'END'
user:				EACCES	ok	ok	ok	ok
user, on one CPU:		EACCES	ok	ok	ok	ok
a CPU:				EACCES	EACCES	EACCES	ok	ok
physical addresses:		EACCES	EACCES	ok	ok	ok
namespaces:			EACCES	EACCES	EACCES	EACCES	EACCES
kernel:				EACCES	EACCES	ok	ok	ok
kernel only:			EACCES	EACCES	ok	ok	ok
own calls:			EACCES	ok	ok	ok	ok
calls of a CPU:			EACCES	EPERM	EPERM	EPERM	ok
calls of a CPU without fields:	EACCES	EACCES	EACCES	ok	ok
END
for level in 3 2 1 0 -1; do
	awk -F '\t+' -v column=$((5 - level)) '{ print $1, $column }' levels >want
	serve --paranoid $level -- "$PROGRAMS/perf_example_paranoid" >out 2>err
	serve --paranoid $level -- "$PROGRAMS/perf_example_paranoid" tracepoint >>out 2>>err
	same out want "paranoid $level: what a user may count" || note "$(cat err)"
	if [ -e /sys/bus/event_source/devices/uprobe/type ]; then
		run serve --paranoid $level -- "$PROGRAMS/perf_example_paranoid" probe
		is "$(cat out)" "a probe: EACCES" "paranoid $level: no user may probe text" || note "$(cat err)"
	else
		lack "paranoid $level: probes" "the kernel has no uprobe PMU"
	fi
done
awk -F '\t+' '!/calls/ { print $1, $3 }' levels >want
cp "$PROGRAMS/perf_example_paranoid" example
if [ "$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null)" != 2 ]; then
	lack "paranoid 2: the kernel's answers" "it has another level"
elif ! "$PROGRAMS/perf_native" reset >out 2>&1; then
	lack "paranoid 2: the kernel's answers" "it refuses all events"
else
	who=()
	[ "$(id -u)" != 0 ] || who=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	run "${who[@]+"${who[@]}"}" ./example
	same out want "paranoid 2: the kernel's answers"
fi
if command -v perf >/dev/null; then
	run serve -- perf stat -e instructions:k -- true
	is "$((status != 0))" 1 "paranoid 2: perf stat of kernel mode fails"
	has err 'perf_event_paranoid' "paranoid 2: and says what refuses"
	run serve -- perf stat -x, -o csv -e instructions:u -- true
	is "$status" 0 "paranoid 2: perf stat of user mode works"
	has csv '^[1-9][0-9]*,,instructions:u' "paranoid 2: and counts"
	run serve --paranoid 2 -- perf stat -x, -o csv -e cycles:u sleep 0.000001
	is "$status" 0 "paranoid 2: perf stat of cycles in user mode works"
	has csv '^[1-9][0-9]*,,cycles:u' "paranoid 2: and counts them"
else
	skip "paranoid 2: stock perf" "no perf"
fi
done_testing
