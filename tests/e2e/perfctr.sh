#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of perfctr 2.6 find its device in a session and count exactly, on whichever CPU they are given.
. "$(dirname "$0")/lib.sh"

on()
{
	local cpu=$1
	shift
	run timeout -k 5 60 "$ANYPERF" run --cpu "$cpu" -- "$@"
}

# says NAME WANT: what the program has printed
says()
{
	cat >"$tmp/want"
	same "$tmp/out" "$tmp/want" "$1" || note "$(head -n 5 "$tmp/err")"
}

on k8 "$PROGRAMS/perfctr_self" info </dev/null
says "the device says what it is" <<'END'
abi 5020501 5020501 type 13 features 7 mult 1 khz some
cpus: Value too large for defined data type
needs 1
forbidden 0
read: Invalid argument
no such ioctl: Invalid argument
one of perf's: Invalid argument
a state's: Invalid argument
mmap: No such device
on a pipe: Inappropriate ioctl for device
END
on k8 "$PROGRAMS/perfctr_self" calls
says "calls answer as perfctr does" <<'END'
a handle: more than 0
read: Invalid argument
again: File exists
iresume: Operation not permitted
control comes back
many: Invalid argument
an unknown tag: Protocol error
unlink: 0
control: No such process
read: 0
unlink: 0
without descriptors it lives: 0
no such thread: No such process
END
on k8 "$PROGRAMS/perfctr_self" sums
says "controls start, stop, keep and zero" <<'END'
a million more: 2000000
stopped, kept, zeroed
END

on k8 "$PROGRAMS/perfctr_self" nobody
says "without privileges as well" <<'END'
a million more: 2000000
stopped, kept, zeroed
END

declare -A of=([both]='instructions: 2000000
branches: 1000000' [alone]='instructions: 2000000')
goes='the page goes on'
while read -r cpu type events cstatus; do
	on "$cpu" "$PROGRAMS/perfctr_self" info </dev/null
	has "$tmp/out" "type $type features" "$cpu: is of type $type"
	on "$cpu" "$PROGRAMS/perfctr_self" both
	is "$(cat "$tmp/out")" "${of[$events]}" "$cpu: counts exactly" || note "$(cat "$tmp/err")"
	on "$cpu" "$PROGRAMS/perfctr_self" page
	case $cstatus in
	none) want='no rdpmc: cstatus 202' ;;
	off) want=${of[$events]} ;;
	*) want="${of[$events]}
$goes" ;;
	esac
	is "$(cat "$tmp/out")" "cstatus 0
$want" "$cpu: and by rdpmc, with the seed's algorithm" || note "$(cat "$tmp/err")"
done <<'END'
p5 1 both none
p5mmx 2 both on
mii 6 both on
c6 7 alone off
winchip2 8 alone off
p6 3 both on
pii 4 both on
piii 5 both on
pentium-m 14 both on
k7 9 both on
k8 13 both on
k8c 15 both on
p4 11 both on
p4m2 12 both on
p4m3 16 both on
c3 10 alone on
core2 18 both on
nehalem 21 both on
westmere 22 both on
END
for filter in "" filtered; do
	# shellcheck disable=SC2086
	on k8 "$PROGRAMS/perfctr_signal" marked $filter
	says "a page is told after 2^28 instructions${filter:+, under a seccomp filter as well}" <<'END'
200 million instructions: 0 in the sum
300 million: 256 << 20, and 300 million
END
done
on generic "$PROGRAMS/perfctr_self" both
is "$(cat "$tmp/out")" "CPU type 0 has no events" "generic: has no events"
run "$ANYPERF" run --cpu i486 -- true
is "$status" 129 "a CPU that there is not: status"
has "$tmp/err" "is none of p5 .*k8" "and the line names those that there are"

for cpu in p6 pentium-m k7 k8 p4 p4m3 core2 nehalem; do
	on "$cpu" "$PROGRAMS/perfctr_signal" periods
	is "$(cat "$tmp/out")" "floor(count / 25), 0 bad" "$cpu: a period of 25 signals each 25th"
done
for cpu in p5 c3; do
	on "$cpu" "$PROGRAMS/perfctr_signal" periods
	has "$tmp/err" "VPERFCTR_CONTROL: Operation not permitted" "$cpu: has no interrupts"
done
on k8 "$PROGRAMS/perfctr_signal" places
is "$(cat "$tmp/out")" "0 wrong places, less than the period apart" "signals come at the instruction"
on k8 "$PROGRAMS/perfctr_signal" once
says "without iresume there is one, and the clock goes on" <<'END'
1 signal, 1000 counted
2 signals
END
on k8 "$PROGRAMS/perfctr_signal" blocked
is "$(cat "$tmp/out")" "0 signals, 1 signal, 0 bad, 1000 counted" "a blocked one waits"

on k8 "$PROGRAMS/perfctr_signal" paged
is "$(cat "$tmp/out")" "0 wrong, 0 bad, floor(count / 97) overflows" "the page is read right while overflows change it" ||
	note "$(cat "$tmp/err")"

# whoever makes a call that the filter does not know is killed
on k8 "$PROGRAMS/perfctr_signal" periods filtered
is "$status $(cat "$tmp/out")" "0 floor(count / 25), 0 bad" "under a seccomp filter: each 25th"
on k8 "$PROGRAMS/perfctr_signal" places filtered
is "$status $(cat "$tmp/out")" "0 0 wrong places, less than the period apart" "and at the instruction"
on k8 "$PROGRAMS/perfctr_signal" once filtered
says "and once without iresume, and the clock goes on" <<'END'
1 signal, 1000 counted
2 signals
END
on k8 "$PROGRAMS/perfctr_signal" first filtered
is "$status $(cat "$tmp/out")" "0 1 signal, 0 bad, 16 millions" "and the first one of all"
on k8 "$PROGRAMS/perfctr_signal" blocked filtered
is "$status $(cat "$tmp/out")" "0 0 signals, 1 signal, 0 bad, 1000 counted" "and a blocked one waits"
for filter in "" filtered; do
	# shellcheck disable=SC2086
	on k8 "$PROGRAMS/perfctr_signal" taken $filter
	is "$status $(cat "$tmp/out")" "0 0 handled, 0 bad" "${filter:+and }sigwaitinfo and signalfds say the same" ||
		note "$(cat "$tmp/err")"
done
# where models see a part, code counts down from the start, and one could interrupt
run timeout -k 5 60 "$ANYPERF" run --model-sample 1 --cpu k8 -- "$PROGRAMS/perfctr_signal" periods earlier
is "$status $(cat "$tmp/out")" "0 refused
and counts without" "a filter that was there before: no counter that interrupts"

on k8 "$PROGRAMS/perfctr_signal" modelled
says "modelled events overflow too" <<'END'
misses: 0 bad
cycles: 0 bad
END

run timeout -k 5 60 "$ANYPERF" run --deterministic -- "$PROGRAMS/perfctr_tasks" execs
says "the dead leave their sums to who was sent the descriptor" <<'END'
exited, a million more: 2000000
killed, a million more: 2000000
close on exec, a million more: 0
END
on k8 "$PROGRAMS/perfctr_early"
if grep -q refused "$tmp/out"; then
	lack "also to who asks before the supervisor has heard of the end" "ptrace is refused here"
else
	is "$(cat "$tmp/out")" "all of it" \
		"also to who asks before the supervisor has heard of the end" || note "$(cat "$tmp/err")"
fi
on k8 "$PROGRAMS/perfctr_tasks" receives
says "who receives a state without its padding hears of the padding, as perfex wants; nobody else" <<'END'
a state: 24 of 20
the device: 24 of 20
a perf event: 20 of 20
a file: 20 of 20
END
on k8 "$PROGRAMS/perfctr_tasks" forks
says "children and threads have none" <<'END'
a child's: Invalid argument
of the parent: No such process
a thread's: Invalid argument
of another: No such process
counts itself alone
END
on k8 "$PROGRAMS/perfctr_tasks" threads
is "$(cat "$tmp/out")" "1000 of 1000 right" "a thousand threads count themselves" || note "$(cat "$tmp/err")"
on k8 "$PROGRAMS/perfctr_tasks" monitors
says "a monitor has stopped the owner" <<'END'
creat: more than 0
control: 0
read: 0
a million more: 2000000
control: No such process
read: 0
unlink: 0
creat of who runs: No such process
END
on k8 "$PROGRAMS/perfctr_tasks" ends
is "$(cat "$tmp/out")" "200 of 200 ended" "killed and other programs while they count" || note "$(cat "$tmp/err")"

run timeout -k 5 60 "$ANYPERF" run --cpu k8 -- "$PROGRAMS/perfctr_global" calls
says "calls on global counters answer as perfctr does" <<'END'
start of nothing: 0
stop of nothing: 0
often: Invalid argument
no such CPU: Invalid argument
nor to read: Invalid argument
an unknown tag: Protocol error
one that interrupts: Operation not permitted
a reserved bit: Operation not permitted
control: 1
the same again: 1
start: 1
while it counts: Device or resource busy
again: 1
read: 0
the control comes back
on a state: Invalid argument
stop: 0
start: 0
control: 1
kept, zeroed
END
for cpu in p5 k8 p4 nehalem; do
	run timeout -k 5 60 "$ANYPERF" run --deterministic --cpu "$cpu" -- "$PROGRAMS/perfctr_global" sums
	says "$cpu: the sum over CPUs is that of all processes" <<'END'
one: 2000000 instructions, 1000000 branches more
children: 6000000 instructions, 3000000 branches more
stopped, and kept
END
done
on k8 "$PROGRAMS/perfctr_global" threads
is "$(cat "$tmp/out")" "threads: all of them" "and of all threads"
on k8 "$PROGRAMS/perfctr_global" kills
says "who has them is killed at any time, and the next one has them" <<'END'
120 of 120 taken, 60 of 60 exact
the other one: 40 of 40 right, then exact
END
done_testing
