#!/bin/bash
# SPDX-License-Identifier: MIT
# A process that runs already joins a session: it counts from there on, and does not notice.
. "$(dirname "$0")/lib.sh"

! is_filtered || lack_all "a seccomp filter around us: nobody can be attached to"
mkfifo "$tmp/in" "$tmp/out.fifo"
exec 8<>"$tmp/in"

# begin: starts perf_attach, $pid, and waits until each of its threads is where it belongs
begin()
{
	: >"$tmp/said"
	"$limited" -k 5 60 "$PROGRAMS/perf_attach" <"$tmp/in" >"$tmp/got" 2>"$tmp/said" 8>&- &
	job=$!
	tap_reaped+=("$job")
	wait_for 20 grep -q ready "$tmp/said"
	read -r pid <"/proc/$job/task/$job/children"
}

# finish NAME: lets it end, and compares what it said
finish()
{
	printf x >&8
	wait "$job"
	is "$?" 9 "$1: status"
	same "$tmp/got" "$tmp/native" "$1: what it prints" || note "$(cat "$tmp/said")"
}

begin
printf x >&8
wait "$job"
mv "$tmp/got" "$tmp/native"

begin
"$limited" -k 5 60 "$ANYPERF" run --attach "$pid" 8>&- 2>"$tmp/err" &
session=$!
tap_reaped+=("$session")
wait_for 20 grep -q memfd "/proc/$pid/maps"
finish 'threads in all kinds of waits'
wait "$session"
is "$?" 0 'the session ends with it' || note "$(cat "$tmp/err")"

# is_native NAME: nothing of the session is left in $pid but dead memory
is_native()
{
	grep '^Sig' "/proc/$pid/status" | grep -v '^SigQ' >"$tmp/signals"
	same "$tmp/signals" "$tmp/signals.before" "$1: dispositions and masks"
	is "$(find "/proc/$pid/fd" -lname '*memfd*' | wc -l)" 0 "$1: no descriptor of the session"
	is "$(awk '/TracerPid/ { print $2 }' "/proc/$pid/status")" 0 "$1: no tracer"
}

begin
grep '^Sig' "/proc/$pid/status" | grep -v '^SigQ' >"$tmp/signals.before"
for i in 1 2 3; do
	run timeout -k 5 60 "$ANYPERF" run --attach "$pid" -- true 8>&-
	is "$status" 0 "left when the command ends, time $i: status" || note "$(cat "$tmp/err")"
	is "$(cat "$tmp/err")" '' "left when the command ends, time $i: nothing is said"
	is_native "left when the command ends, time $i"
done
run timeout -k 5 60 "$ANYPERF" run --attach "$pid" --timeout 50 8>&-
is "$status" 0 'left when the time is over: status' || note "$(cat "$tmp/err")"
is_native 'left when the time is over'
"$limited" -k 5 60 "$ANYPERF" run --attach "$pid" 8>&- 2>"$tmp/err" &
session=$!
wait_for 20 sh -c "find /proc/$pid/fd -lname '*memfd*' | grep -q ."
kill -TERM "$session"
wait "$session"
is_native 'left when told to' || note "$(cat "$tmp/err")"
finish 'left five times'

# layout: the mappings of $pid
layout()
{
	awk '{ print $1, $2, $6 }' "/proc/$pid/maps"
}

begin
layout >"$tmp/maps.before"
grep '^Max' "/proc/$pid/limits" >"$tmp/limits.before"
failed=0
for ((i = 0; i < 100; i++)); do
	timeout -k 5 60 "$ANYPERF" run --attach "$pid" -- true 8>&- 2>>"$tmp/err" || failed=$((failed + 1))
done
is "$failed" 0 'a hundred times: statuses' || note "$(cat "$tmp/err")"
layout >"$tmp/maps"
same "$tmp/maps" "$tmp/maps.before" 'a hundred times: no mapping of ours is left'
grep '^Max' "/proc/$pid/limits" >"$tmp/limits"
same "$tmp/limits" "$tmp/limits.before" 'a hundred times: limits'
finish 'left a hundred times'

# Who waits for an answer of the supervisor's gets it while it is being left.
: >"$tmp/said"
"$limited" -k 5 60 "$PROGRAMS/perf_attach_ask" <"$tmp/in" >"$tmp/got" 2>"$tmp/said" 8>&- &
job=$!
tap_reaped+=("$job")
wait_for 20 grep -q ready "$tmp/said"
read -r pid <"/proc/$job/task/$job/children"
failed=0
: >"$tmp/err"
for ((i = 0; i < 10; i++)); do
	timeout -k 5 60 "$ANYPERF" run --attach "$pid" -- true 8>&- 2>>"$tmp/err" || failed=$((failed + 1))
done
is "$failed $(cat "$tmp/err")" '0 ' 'left while threads ask for something'
printf x >&8
wait "$job"
is "$? $(cat "$tmp/said")" '9 ready' 'left while threads ask for something: it goes on as if nothing had been'

# memory NAME WANT [ARG]: what perf_attach_memory says when it is left in between
memory()
{
	: >"$tmp/said"
	"$limited" -k 5 60 "$PROGRAMS/perf_attach_memory" "${@:3}" <"$tmp/in" >"$tmp/got" 2>"$tmp/said" 8>&- &
	job=$!
	tap_reaped+=("$job")
	wait_for 20 grep -q ready "$tmp/said"
	read -r pid <"/proc/$job/task/$job/children"
	layout >"$tmp/maps.before"
	run timeout -k 5 60 "$ANYPERF" run --attach "$pid" -- sh -c 'printf x >"$1"
		while ! grep -q done "$2"; do :; done' sh "$tmp/in" "$tmp/said" 8>&-
	is "$status" 0 "$1: status" || note "$(cat "$tmp/err")"
	layout >"$tmp/maps"
	printf x >&8
	wait "$job"
	is "$(cat "$tmp/got")" "$2" "$1: what it says"
}
memory 'left with a limit of its own' 'limit 10737418240'
same "$tmp/maps" "$tmp/maps.before" 'left with a limit of its own: mappings'
memory 'left with another process in its memory' 'status 7' shared

# begin_loop: starts perf_attach_loop, whose instructions are known, and waits until it reads
begin_loop()
{
	exec 9<>"$tmp/out.fifo"
	"$limited" -k 5 60 "$PROGRAMS/perf_attach_loop" <"$tmp/in" >"$tmp/out.fifo" 8>&- 9>&- &
	job=$!
	tap_reaped+=("$job")
	wait_for 20 grep -q . "/proc/$job/task/$job/children"
	read -r pid <"/proc/$job/task/$job/children"
	wait_for 20 grep -q '^0 ' "/proc/$pid/syscall"
	exec 9>&-
}

begin_loop
run timeout -k 5 60 "$ANYPERF" run --attach "$pid" -- \
	"$PROGRAMS/perf_attach_count" "$pid" "$tmp/in" "$tmp/out.fifo"
is "$status" 0 'a client counts it: status' || note "$(cat "$tmp/err")"
printf 'instructions 2000009\nbranches 1000000\n' >"$tmp/want"
same "$tmp/out" "$tmp/want" 'a client counts it from the attach to its end'
wait "$job"
is "$?" 7 'its status is its own'

if command -v perf >/dev/null; then
	begin_loop
	run timeout -k 5 60 "$ANYPERF" run --attach "$pid" -- \
		perf stat -x, -e instructions:u,branches:u -p "$pid" -- \
		sh -c 'exec 5<"$2"; printf x >"$1"; cat <&5 >/dev/null' sh "$tmp/in" "$tmp/out.fifo"
	is "$status" 0 "perf stat -p: status" || note "$(cat "$tmp/err")"
	is "$(stat_value "$tmp/err" instructions)" 2000009 'perf stat -p: instructions'
	is "$(stat_value "$tmp/err" branches)" 1000000 'perf stat -p: branches'
	wait "$job"
else
	skip 'perf stat -p: instructions' 'needs perf (linux-perf)'
fi

# refused NAME PID TEXT
refused()
{
	run timeout -k 5 60 "$ANYPERF" run --attach "$2"
	is "$status" 125 "refused, $1: status"
	has "$tmp/err" "cannot attach to $2: .*$3" "refused, $1: the reason"
}

run "$ANYPERF" run --attach nobody
is "$status" 129 'what is no number is refused'
refused 'no such process' 4194304 'no such process'
"$PROGRAMS/perf_attach_refused" zombie "$tmp/pid" 8>&- &
tap_reaped+=("$!")
wait_for 20 test -s "$tmp/pid"
refused 'a zombie' "$(cat "$tmp/pid")" 'zombie'
rm "$tmp/pid"
if grep -q '^Kthread:.1' /proc/2/status 2>/dev/null; then
	refused 'a thread of the kernel' 2 'thread of the kernel'
else
	lack 'refused, a thread of the kernel: the reason' 'none to be seen here'
fi
"$PROGRAMS/perf_attach_refused" traced "$tmp/pid" 8>&- &
tap_reaped+=("$!")
wait_for 20 test -s "$tmp/pid"
refused 'traced already' "$(cat "$tmp/pid")" 'traces it already'
rm "$tmp/pid"
"$PROGRAMS/perf_attach_refused" vfork "$tmp/pid" 8>&- &
tap_reaped+=("$!")
wait_for 20 test -s "$tmp/pid"
refused 'it waits for its vfork child' "$(cat "$tmp/pid")" 'vfork child'
refused 'a vfork child' "$(cut -d' ' -f1 "/proc/$(cat "$tmp/pid")/task/$(cat "$tmp/pid")/children")" 'vfork'
rm "$tmp/pid"
"$PROGRAMS/perf_attach_refused" seccomp "$tmp/pid" 8>&- &
tap_reaped+=("$!")
wait_for 20 test -s "$tmp/pid"
refused 'a seccomp filter' "$(cat "$tmp/pid")" 'seccomp'

rm "$tmp/pid"
"$PROGRAMS/perf_attach_refused" dispatch "$tmp/pid" 8>&- &
dispatcher=$!
tap_reaped+=("$dispatcher")
wait_for 20 eval '[ -s "$tmp/pid" ] || ! kill -0 "$dispatcher" 2>/dev/null'
if [ -s "$tmp/pid" ]; then
	refused 'user dispatch of system calls' "$(cat "$tmp/pid")" 'user dispatch'
	is "$(ps -o stat= -p "$dispatcher" | cut -c 1)" S 'and it runs on'
	rm "$tmp/pid"
else
	lack 'refused, user dispatch of system calls: the reason' 'this kernel has none'
fi
"$PROGRAMS/perf_attach_refused" dump "$tmp/pid" 8>&- &
dumper=$!
tap_reaped+=("$dumper")
wait_for 60 eval '[ -s "$tmp/pid" ] || ! kill -0 "$dumper" 2>/dev/null'
if [ -s "$tmp/pid" ]; then
	refused 'it dumps core' "$(cat "$tmp/pid")" 'dumping core'
	kill -KILL "$dumper"
else
	lack 'refused, it dumps core: the reason' 'no cores are dumped here'
fi

# It is on behind the session if the program has turned it on meanwhile.
exec 7<>"$tmp/out.fifo"
"$PROGRAMS/perf_attach_dispatch" <"$tmp/in" >"$tmp/out.fifo" 7>&- 8>&- &
pid=$!
tap_reaped+=("$pid")
read -r -t 20 line <&7
if [ "$line" = ready ]; then
	# shellcheck disable=SC2016 # these are the inner shell's
	run timeout -k 5 60 "$ANYPERF" run --attach "$pid" -- \
		bash -c 'printf x >"$1"; read -r -t 20 line <"$2"; [ "$line" = on ]' - "$tmp/in" "$tmp/out.fifo" 7>&- 8>&-
	is "$status" 0 'user dispatch is turned on meanwhile: status' || note "$(cat "$tmp/err")"
	printf x >&8
	wait "$pid"
	is "$?" 0 'user dispatch is turned on meanwhile: and goes on, in each thread'
else
	lack 'user dispatch is turned on meanwhile' 'this kernel has none that a tracer may set'
fi
exec 7>&-

# A second engine would count the first one's code cache.
begin
"$ANYPERF" run --attach "$pid" 8>&- 2>"$tmp/err" &
session=$!
tap_reaped+=("$session")
wait_for 20 grep -q memfd:anyperf "/proc/$pid/maps"
refused 'in another session' "$pid" 'another anyperf counts it'
kill -KILL "$session"
wait "$session"
refused 'its supervisor was killed' "$pid" 'was killed'
finish 'refused, in another session'

# of either version's hierarchy; thawed before it is ended, which a frozen one would not notice
frozen=
for dir in /sys/fs/cgroup/freezer /sys/fs/cgroup/unified /sys/fs/cgroup; do
	mkdir "$dir/anyperf-frozen-$$" 2>/dev/null || continue
	[ -e "$dir/anyperf-frozen-$$/freezer.state" ] || [ -e "$dir/anyperf-frozen-$$/cgroup.freeze" ] &&
		frozen=$dir/anyperf-frozen-$$ && break
	rmdir "$dir/anyperf-frozen-$$"
done
if [ -n "$frozen" ]; then
	sleep 600 8>&- &
	pid=$!
	echo $pid >"$frozen/cgroup.procs"
	if [ -e "$frozen/freezer.state" ]; then
		echo FROZEN >"$frozen/freezer.state"
		wait_for 10 grep -q FROZEN "$frozen/freezer.state"
	else
		echo 1 >"$frozen/cgroup.freeze"
		wait_for 10 grep -q 'frozen 1' "$frozen/cgroup.events"
	fi
	refused 'frozen' $pid 'its cgroup is frozen'
	if [ -e "$frozen/freezer.state" ]; then
		echo THAWED >"$frozen/freezer.state"
	else
		echo 0 >"$frozen/cgroup.freeze"
	fi
	kill $pid
	wait $pid 2>/dev/null
	wait_for 10 rmdir "$frozen"
else
	lack 'refused, frozen: the reason' 'no cgroup can be made'
fi

if [ "$(id -u)" = 0 ]; then
	cp "$ANYPERF" "$tmp/anyperf"
	run timeout -k 5 60 setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/anyperf" \
		run --attach "$$"
	is "$status" 125 "refused, another user's: status"
	has "$tmp/err" 'another user' "refused, another user's: the reason"
else
	refused "another user's" 1 'another user'
fi
done_testing
