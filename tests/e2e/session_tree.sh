#!/bin/bash
# SPDX-License-Identifier: MIT
# Trees of processes: all of them are counted once, whoever outlives the command runs on, and
# nothing of ours stays behind.
. "$(dirname "$0")/lib.sh"
need sh bash python3 ps awk

# shellcheck disable=SC2016 # shells further down expand them
cd "$tmp" || exit 1

# count COMMAND...: instructions in $n
count()
{
	run "$ANYPERF" stat --deterministic -x, -o csv -e instructions -- "$@"
	n=$(stat_value csv instructions)
}

# a copy of our own, so that other tests' processes are not taken for ours
cp "$ANYPERF" "$tmp/anyperf"
ANYPERF=$tmp/anyperf

# how many processes of anyperf there are
ours()
{
	ps -eo pid=,stat=,args= | awk -v a="$ANYPERF" '$2 !~ /Z/ && $3 == a { n++ } END { print n + 0 }'
}
none_left()
{
	[ "$(ours)" = 0 ]
}

# --- sums: one exec more is one program more
count true
one=$n
count sh -c '/bin/true; :'
two=$n
count sh -c '/bin/true; /bin/true; :'
three=$n
count sh -c ':'
zero=$n
is "$((three - two > one && three - two < one + 60000))" 1 \
	"a further child adds its own instructions" || note "$zero $one $two $three"
count sh -c 'exec /bin/true'
is "$((n > zero && n < zero + one + 20000))" 1 "exec adds those of the new image"
count true
is "$n" "$one" "twice the same program, twice the same count"
run "$ANYPERF" stat --deterministic -i -x, -o csv -e instructions -- sh -c '/bin/true; /bin/true; :'
alone=$(stat_value csv instructions)
is "$((alone < three && alone > zero))" 1 "-i counts the first process only"
# shellcheck disable=SC2016
run "$ANYPERF" stat -x, -o csv -e instructions -- \
	bash -c 'for i in {1..40}; do /bin/true & done; wait'
is "$(($(stat_value csv instructions) > 40 * 100000))" 1 "forty children at once"
run "$ANYPERF" stat -x, -o csv -e instructions -- \
	python3 -c 'import subprocess
for i in range(20): subprocess.run(["/bin/true"], check=True)'
is "$status" 0 "posix_spawn and vfork"
run "$ANYPERF" stat -e instructions -- sh -c 'kill -9 $$'
is "$status" 137 "a killed command"
check "no supervisor is left when all have ended" wait_for 5 none_left

# --- more processes than the supervisor may have descriptors: none is taken for dead
expected=$(sed -n 's/.* EXPECT instructions //p' "$root/tests/programs/fork_crowd.S")
for limit in -Sn -n; do
	run bash -c 'ulimit "$0" 56 && exec "$@"' "$limit" "$ANYPERF" stat -x, -o csv -e instructions -- "$PROGRAMS/fork_crowd"
	is "$status $(stat_value csv instructions)" "0 $expected" "sixty processes at once under ulimit $limit 56"
done
run bash -c 'ulimit -Sn 123 && exec "$@"' bash "$ANYPERF" stat -r 2 -o table -- bash -c 'echo "$(ulimit -Sn) $(ulimit -Hn)"'
is "$(sort -u out)" "123 $(ulimit -Hn)" "the command's limit of descriptors is the one that we were given, in each of several runs"

# --- exec that fails
# shellcheck disable=SC2016
cat >fails.py <<'EOF'
import os, errno
for path, want in (('./nothing', errno.ENOENT), ('.', errno.EACCES), ('./text', errno.ENOEXEC)):
    try:
        os.execv(path, [path])
    except OSError as e:
        assert e.errno == want, (path, e.errno)
os.execv('/bin/echo', ['echo', 'in the end'])
EOF
echo text >text
chmod +x text
run "$ANYPERF" stat -e instructions -- python3 fails.py
is "$status $(cat "$tmp/out")" "0 in the end" "execs that fail, and one that does not"
has_not "$tmp/err" 'not counted' "all counted"

# a thread that execs takes the leader's name
cat >thread.py <<'EOF'
import os, threading
threading.Thread(target=lambda: os.execv('/bin/echo', ['echo', str(os.getpid())])).start()
while True: pass
EOF
run timeout 60 "$ANYPERF" stat -e instructions -- python3 thread.py
is "$status" 0 "exec by a thread"
has_not "$tmp/err" 'not counted' "exec by a thread is followed"

# --- tasks that run on
mkfifo go
run "$ANYPERF" stat -e instructions -- sh -c '(read x <go; /bin/echo late >late; exec cat late >later) \
	>/dev/null 2>&1 & :'
is "$status" 0 "the command ends"
has "$tmp/err" '^ *1 task still running' "and the table says who does not"
is "$(ours)" 1 "a supervisor stays"
echo >go
check "what runs on does its work" wait_for 10 test -s later
check "the supervisor goes with the last task" wait_for 10 none_left
# one after the other: whose clock is closed does not close the next one's descriptor
# shellcheck disable=SC2016
run "$ANYPERF" stat -e instructions -- sh -c \
	'(for i in 1 2 3 4 5 6; do (echo >up.$i; until [ -e end.$i ]; do sleep 0.02; done; /bin/true) & done; wait) \
		>/dev/null 2>&1 & for i in 1 2 3 4 5 6; do until [ -e up.$i ]; do sleep 0.02; done; done'
is "$status" 0 "a command that leaves several tasks"
has "$tmp/err" 'tasks still running' "and says so"
for i in 1 2 3 4 5 6; do
	touch end.$i
	sleep 0.05
done
check "the supervisor goes with the last of them" wait_for 10 none_left

start "$ANYPERF" stat --wait-all -x, -o csv -e instructions -- sh -c '(read x <go; /bin/true) & :'
command_is_gone() { pgrep -f 'read x <go' && ! pgrep -P "$pid"; }
check "the command of --wait-all ends" wait_for 10 command_is_gone
check "--wait-all waits" kill -0 "$pid"
echo >go
wait "$pid"
is "$?" 0 "--wait-all ends with the last task"
is "$(($(stat_value csv instructions) > 200000))" 1 "and counts it"
# nobody uses more CPUs than there are, and to wait is to measure
for e in task-clock,duration_time task-clock,duration_time,instructions; do
	"$ANYPERF" stat --wait-all -x, -o csv -e $e -- \
		sh -c '(i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; echo x >waited) & :'
	check "--wait-all -e $e waits" rm waited
	is "$(awk -F, -v cpus="$(nproc --all)" '$3 == "task-clock" { clock = $1 * 1e6 }
		$3 == "duration_time" { print clock <= $1 * cpus }' csv)" 1 \
		"--wait-all -e $e: the time elapsed is until the last task's end"
done

# a daemon: the original session and its descriptors are of no interest to it
cat >daemon.py <<'EOF'
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.closerange(0, 1 << 16)
for i in range(3): os.open('/dev/null', os.O_RDWR)
open('go').read()
os.execv('/bin/sh', ['sh', '-c', '/bin/echo $$ >daemon'])
EOF
run "$ANYPERF" stat -e instructions -- python3 daemon.py
has "$tmp/err" 'still running' "a daemon is reported as running"
echo >go
check "a double-forked daemon execs" wait_for 10 test -s daemon
check "nothing stays" wait_for 10 none_left

# --- signals and the clock
start "$ANYPERF" stat -e instructions -- sh -c 'trap "echo got; exit 3" TERM; echo up; while :; do sleep 0.05; done'
check "the command is up" wait_for 10 grep -q up "$tmp/bg.out"
kill -TERM "$pid"
wait "$pid"
is "$?" 3 "SIGTERM to anyperf reaches the command"
has "$tmp/bg.err" 'instructions' "and the table is printed"
run "$ANYPERF" stat --timeout 200 -e instructions -- sleep 60
has "$tmp/err" 'instructions' "--timeout: the table is printed"
start "$ANYPERF" stat -e instructions -- sh -c 'kill -STOP $$; echo again'
# shellcheck disable=SC2009 # pgrep tells no state
stopped() { ps -o stat= --ppid "$pid" | grep -q T; }
check "a stopped command stays stopped" wait_for 10 stopped
pkill -CONT -P "$pid"
wait "$pid"
is "$?" 0 "and goes on"

# --- the supervisor is killed: execs find another tracer, or run uncounted, but they run
start "$ANYPERF" stat -e instructions -- sh -c 'read x <go; /bin/echo survived >survived; exec /bin/true'
check "the command is up" wait_for 10 pgrep -P "$pid"
victim=$(pgrep -P "$pid")
kill -9 "$pid"
{ wait "$pid"; } 2>/dev/null
echo >go
check "an exec after the supervisor was killed" wait_for 10 test -s survived
gone() { ! kill -0 "$victim"; }
check "and the command ends" wait_for 10 gone

done_testing
