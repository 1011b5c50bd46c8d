#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's own events in a session: opened, counted, recorded and refused as natively; sysfs and tracefs show both.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
# where another user reaches them
cp "$PROGRAMS/kernel_events" "$ANYPERF" . || exit 1
program=$tmp/kernel_events ANYPERF=$tmp/${ANYPERF##*/}
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
session() { run timeout -k 5 100 "$ANYPERF" run -- "$@"; }

"$program" >native
session "$program"
is "$status" 0 "the program runs"
same out native "its events are the kernel's, with its errors"
if [ "$(id -u)" = 0 ]; then
	"${nobody[@]}" "$program" >native
	has native '^msr|^sched_switch has|^a PMU that is none' "another user can run it"
	run timeout -k 5 100 "${nobody[@]}" "$ANYPERF" run -- "$program"
	same out native "and another user's"
else
	lack "and another user's" "not root"
fi

# --- files
find /sys/bus/event_source/devices/ | sed 's|.*/||' | sort >native
session find /sys/bus/event_source/devices/
sed 's|.*/||' out | sort >both
is "$(comm -23 native both | xargs)" "" "sysfs has the kernel's PMUs" || note "$(cat both)"
is "$(comm -13 native both | xargs | grep -cw cpu || grep -cx cpu native)" 1 "and ours"
if [ -r /sys/kernel/tracing/events/sched/sched_switch/id ]; then
	session cat /sys/kernel/tracing/events/sched/sched_switch/id
	is "$(cat out)" "$(cat /sys/kernel/tracing/events/sched/sched_switch/id)" "a tracepoint that we do not have is the kernel's"
	session sh -c 'cd /sys/kernel/debug/tracing/events/sched 2>/dev/null || cd /sys/kernel/tracing/events/sched; cat sched_switch/format'
	cat /sys/kernel/tracing/events/sched/sched_switch/format >native
	same out native "by a relative path"
	for folder in events events/sched events/syscalls events/raw_syscalls; do
		find /sys/kernel/tracing/$folder -mindepth 1 -maxdepth 1 | sort >native
		session find /sys/kernel/tracing/$folder -mindepth 1 -maxdepth 1
		sort out >both
		is "$(comm -23 native both | wc -l) $(uniq -d both | wc -l)" "0 0" "$folder: the kernel's entries, each once"
	done
	session cat /sys/kernel/tracing/events/raw_syscalls/sys_enter/id
	is "$(($(cat out) > 60000))" 1 "a tracepoint of ours has our number"
	session cat /sys/kernel/tracing/available_events
	cat /sys/kernel/tracing/available_events >native
	same out native "the list of events is the kernel's"
	grep -v '^ID' /sys/kernel/tracing/events/sched/sched_process_fork/format >native
	session cat /sys/kernel/tracing/events/sched/sched_process_fork/format
	grep -v '^ID' out >fields
	same fields native "what the kernel records for us has its fields"
	session "$program" groups
	is "$status" 0 "of groups with ours none is made"
	run "$program" rings
	is "$status" 0 "natively what was redirected to a ring ends with it"
	session "$program" rings
	is "$status" 0 "and in a session, where the ring is ours"
	run timeout -k 5 60 "${nobody[@]}" "$ANYPERF" run -- cat /sys/kernel/tracing/events/raw_syscalls/sys_enter/id
	is "$status" 0 "who may not see the kernel's sees ours"
else
	lack "tracefs shows both" "no tracefs, or not for this user"
fi

# --- perf
while read -r name; do
	# shellcheck disable=SC2086
	if timeout -k 5 60 perf $name true >/dev/null 2>&1; then
		# shellcheck disable=SC2086
		session perf $name true
		is "$status" 0 "perf $name" || note "$(tail -n 3 err)"
	else
		lack "perf $name" "not natively either"
	fi
done <<'END'
stat -e sched:sched_switch
stat -e sched:sched_process_exec
stat -e kmem:mm_page_alloc
stat -a -e context-switches,page-faults,sched:sched_switch
stat -e msr/tsc/
lock record -o lock.data
kvm stat record -o kvm.data
record -q -o data -e sched:sched_switch
record -q -o data -e sched:sched_process_exec
record -q -o data -a -e sched:sched_switch
sched record -o sched.data
END
if [ -s data ]; then
	session perf stat -x, -o csv -e sched:sched_switch,instructions:u,msr/tsc/ -- "$PROGRAMS/and_loop"
	is "$(awk -F, '/sched_switch/ { print ($1 > 0) }' csv)" 1 "mixed: the kernel's event counts" || note "$(cat csv err)"
	is "$(awk -F, '/instructions/ { print $1 }' csv)" "$(sed -n 's/.* EXPECT instructions //p' "$root/tests/programs/and_loop.S")" \
		"mixed: and ours is exact"
	# records of both in the rings of whose is the first
	for events in sched:sched_switch,branches:u,sched:sched_process_fork,instructions:u instructions:u,sched:sched_switch,branches:u,sched:sched_process_fork; do
		session perf record -q -c 50000 -o data -e $events -- "$PROGRAMS/kernel_events" work
		is "$status" 0 "recorded: $events" || note "$(tail -n 3 err)"
		perf script -i data -F event,period 2>/dev/null | awk '{ n[$2] += $1 } END { for (e in n) print e, n[e] }' >sums
		is "$(awk '/^instructions/ { print ($2 >= 4000000) }' sums)$(awk '/^branches/ { print ($2 >= 2000000) }' sums)" 11 "ours are there" || note "$(cat sums)"
		is "$(awk '/sched_switch/ { print ($2 > 0) }' sums)" 1 "the kernel's are there" || note "$(cat sums)"
		is "$(perf script -i data -F event 2>/dev/null | grep -c sched_process_fork)" 3 "all of them"
		is "$(perf script -i data -F trace:time 2>&1 | grep -c 'out of order')" 0 "in order"
	done
fi
# --- probes in text: the engine counts what the kernel's int3 would
ln "$PROGRAMS/text_probe" "$PROGRAMS/text_probe.$$" 2>/dev/null
again=$PROGRAMS/text_probe.$$
cat >want <<'END'
counted: 1234
with a child: 1334, without: 1234
off: 1234
from zero: 3
two mappings: 42
together: 24 13, a breakpoint: 24
samples: 50, of its address: 50, count: 50
returns: 123, entries: 123
returns of a recursion: 10, of a deep one: 74
returns, not by jumps: 8
returns of a fork: 2
samples of returns: 50, of its address: 50, count: 50
counter: 0, open: 1, with another place: 2, beside it: 0, count: 3, one closed: 2, both: 1, all: 0
counter, moved: 1, closed: 0, open: 1, moved back: 1, closed: 0
counter, 20 times in a loop: open: 20, closed: 0
no file: No such file or directory
a folder: Invalid argument
no path: Bad address
END
session "$PROGRAMS/text_probe" "$again"
if [ "$status" = 2 ]; then
	lack "probes in text" "the kernel has no uprobe PMU"
else
	same out want "probes in text: counts and samples are those of the code" || note "$(cat err)"
	"$PROGRAMS/text_probe" "$again" 2>/dev/null >native
	if [ $? = 2 ]; then
		lack "probes in text: as natively" "the kernel does not let us"
	else
		# the kernel does not always hold what a fork's child is to return from
		is "$(grep -v 'of a fork' native)" "$(grep -v 'of a fork' out)" "probes in text: as natively"
	fi
	session "$PROGRAMS/probe_threads"
	is "$status $(cat out)" "0 threads: 0 missing
reopened: 0 of a function that is never called
recursion: 0 entries missing, 0 returns" "probes in text: threads, new code, and one after another" ||
		note "$(cat err)"
	run timeout -k 5 60 "$ANYPERF" run -v -- "$PROGRAMS/probe_threads" without-descriptors
	is "$status $(cat out)" "0 without descriptors: 0" "probes in text: with no descriptor left none is found"
	has err 'not counted: .*probe_threads: probes in its text' "probes in text: and the session says so"
fi
rm -f "$again"
# by a tracepoint's name, as perf probe makes them, opened before the program's exec, and in a group with ours
probes=/sys/kernel/tracing/uprobe_events
at=$PROGRAMS/kernel_events:0x$(nm "$PROGRAMS/kernel_events" | awk '/ T main$/ { print $1 }')
group=anyperf$$
if echo "p:$group/entered $at argc=%di low=%di:u8 first=+0(+0(%si)):u8 negative=\\-5:s16 none=+0(%r12):x16" 2>/dev/null >>$probes; then
	echo "r:$group/left $at result=\$retval:s32" >>$probes
	echo "p:$group/text $at name=+0(+0(%si)):string task=\$comm high=%di:b31@1/32" >>$probes
	e=$group:entered
	for events in "$e,instructions:u" "{instructions:u,$e}" "$group:left,instructions:u"; do
		session perf stat -x, -o csv -e "$events" -- "$PROGRAMS/kernel_events" work
		is "$status $(awk -F, -v g="$group:" 'index($3, g) == 1 { print $1 }' csv)" "0 1" "a probe by name is counted: $events" || note "$(cat csv err)"
	done
	perf record -q -e "$e,$group:left,$group:text" -o native.data -- "$PROGRAMS/kernel_events" work
	perf script -i native.data -F event,trace >native 2>/dev/null
	session perf record -q -e "$e,$group:left,$group:text" -o data -- "$PROGRAMS/kernel_events" work
	perf script -i data -F event,trace >here 2>/dev/null
	# addresses are random
	sed -i 's/([0-9a-f]*\( <- [0-9a-f]*\)\?)/AT/' native here
	is "$(grep -c AT native)" 3 "natively all are recorded" || note "$(cat native)"
	# which of two probes at one place is first nobody says
	is "$(sed 's/^ *//' here | sort)" "$(sed 's/^ *//' native | sort)" "samples of probes have the fields and values that the kernel's have" || note "$(cat err)"
	perf script -i data -F event,ip,sym >here 2>/dev/null
	has here 'entered:.* main' "and their address"
	for name in entered left text; do
		echo "-:$group/$name" >>$probes
	done
else
	lack "a probe by name" "no uprobes here, or not for this user"
fi
done_testing
