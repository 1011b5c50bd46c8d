#!/bin/bash
# SPDX-License-Identifier: MIT
# The hand-over at an exec when the supervisor does not do its part: it is killed, it is stopped.
. "$(dirname "$0")/lib.sh"
need sh

cd "$tmp" || exit 1

# Killed at any moment: whoever was about to exec, or in the middle of it, goes on with the signals
# that it had.  (In the middle of a call that the supervisor makes in its name it cannot.)
chain()
{
	local i child good=0 bad=0
	for i in {1..6}; do
		rm -f result
		start "$ANYPERF" stat -- "$PROGRAMS/exec_chain" first "$tmp/result"
		wait_for 5 grep -q . "/proc/$pid/task/$pid/children"
		read -r child <"/proc/$pid/task/$pid/children"
		# a few execs later each time
		perl -e 'select(undef, undef, undef, $ARGV[0] / 1000)' $((i * 6))
		kill -9 "$pid"
		wait "$pid"
		wait_for 20 gone "$child"
		case $(cat result) in
		done) good=$((good + 1)) ;;
		?*) bad=$((bad + 1)) ;;
		esac
	done
	echo "$((good > 0)) $bad $good"
}
gone()
{
	! kill -0 "$1" || grep -q '^State:.Z' "/proc/$1/status"
}
got=$(chain 2>/dev/null)
is "${got% *}" "1 0" "a chain of execs outlives its supervisor at any moment" || note "$got"
note "done: ${got##* } of 6"

# stopped: the task takes its request back and forks its own tracer
# shellcheck disable=SC2016
run "$ANYPERF" stat -e instructions,syscalls -- \
	sh -c 'kill -STOP $PPID; /bin/true; r=$?; kill -CONT $PPID; exit $r'
is "$status" 0 "exec with a stopped supervisor"
has "$tmp/err" ' instructions .*# exact' "and it is counted"
has_not "$tmp/err" 'not counted|running' "all of it"

# tasks that were made, and have ended, while nobody was told of them
run "$ANYPERF" stat --deterministic -x, -o table -e instructions,calls -- "$PROGRAMS/stopped_fork"
want=$(stat_value table calls)
run "$ANYPERF" stat --deterministic -x, -o table -e instructions,calls -- "$PROGRAMS/stopped_fork" stop
is "$status" 0 "forks with a stopped supervisor"
is "$(stat_value table calls)" "$want" "are all counted when it goes on" || note "$(cat table)"

# an exec that fails, and one more, while nobody answers
# shellcheck disable=SC2016
run "$ANYPERF" stat -e instructions -- \
	sh -c 'echo >x; chmod +x x; kill -STOP $PPID; (exec ./x); (exec /bin/true); r=$?
		kill -CONT $PPID; /bin/true; exit $r'
is "$status" 0 "failing exec with a stopped supervisor"
has_not "$tmp/err" 'not counted|running' "goes on counted"
# a command that does not listen to SIGTERM: the second one is for us
start "$ANYPERF" stat -e instructions -- \
	sh -c 'trap "echo once >told" TERM; echo $$ >started; until test -e stop; do sleep 0.05; done
		echo yes >ended'
wait_for 10 test -s started
kill -TERM "$pid" "$pid"
wait_for 10 test -e told
sleep 0.3
check "told twice at once, as by timeout(1): it waits for the command" kill -0 "$pid"
kill -TERM "$pid"
wait "$pid"
is "$?" 125 "told twice to end: status"
has "$tmp/bg.err" '^anyperf: told twice to end: sh runs on$' "says so"
has "$tmp/bg.err" '^ +[0-9]+ +instructions' "prints the counts so far"
has "$tmp/bg.err" 'tasks? still running' "and that it runs on"
touch stop
check "which it does" wait_for 10 test -e ended
# A slot that names somebody who cannot stop: the supervisor does not wait for it, and follows on.
run "$ANYPERF" stat -x, -o table -e instructions -- "$PROGRAMS/vfork_slot"
is "$status" 0 "asked for the parent of a vfork: status"
is "$(cat out)" "let go, status 0" "asked for the parent of a vfork: it is answered"
is "$(($(stat_value table instructions) > 100000))" 1 "its exec is counted after that"

done_testing
