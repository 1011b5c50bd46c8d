#!/bin/bash
# SPDX-License-Identifier: MIT
# anyperf run: programs open counters on themselves and others, and what they read is exact.
. "$(dirname "$0")/lib.sh"
need nm awk

cd "$tmp" || exit 1

# --- the example of perf_event_open(2), against a trace of the same program
address() { nm "$PROGRAMS/perf_run_printf" | awk -v n="$1" '$3 == n { print $1 }' | sed 's/^0*//'; }
begin=$(address perf_run_begin)
end=$(address perf_run_end)
"$ORACLE" -o oracle --trace trace -- "$PROGRAMS/perf_run_printf" >traced.out
want=$(awk -v b="$begin" -v e="$end" '
	{ pc = $2; sub(/^0x/, "", pc); sub(/^0*/, "", pc) }
	on { n++ }
	pc == b { on = 1 }
	pc == e { on = 0 }
	END { print n }' trace)
run "$ANYPERF" run -- "$PROGRAMS/perf_run_printf"
is "$status $(sed -n 2p out)" "0 Used $want instructions" \
	"the instructions of a printf are those of the trace"
is "$(head -n 1 out)" "$(head -n 1 traced.out)" "and it prints what it prints"
is "$(cat err)" "" "anyperf run prints nothing of its own"

# --- what was not counted it says as stat does, without being asked
cp "$(type -P true)" gains && chmod 4755 gains && ln -s gains link
if [ "$(id -u)" != 0 ] || ! chown 65534 gains || ! chmod 4755 gains; then
	lack "what is not counted" "only root can make another user's set-uid program"
else
	run "$ANYPERF" stat -x, -o table -e instructions -- sh -c './gains; ./gains; ./link'
	sed -n 's/^# not counted/anyperf: not counted/p' table >said
	run "$ANYPERF" run -- sh -c './gains; ./gains; ./link; echo over'
	is "$status $(cat out)" "0 over" "a program that is not counted runs"
	if [ ! -s said ]; then
		lack "what is not counted" "set-uid programs are none here"
	else
		is "$(cat err)" "$(cat said)" "and is named at the end, by the lines of stat"
	fi
fi

# --- oneself, threads, children, descendants, strangers: the program compares
run timeout -k 5 120 "$ANYPERF" run --deterministic -- "$PROGRAMS/perf_run_tasks"
is "$status" 0 "differences of work are exact for all kinds of tasks" || note "$(cat err)"
has_not out FAILED "all of them"

run "$ANYPERF" run -- "$PROGRAMS/perf_run_page"
is "$status $(grep -c ok out)" "0 10" "the control page and rdpmc, before and after an exec" ||
	note "$(cat err)"

# --- kinds that are counted only since somebody asks
run timeout -k 5 120 "$ANYPERF" run -- "$PROGRAMS/perf_run_kinds"
is "$status" 0 "kinds asked for in the middle are exact from there on" || note "$(cat err)"
has_not out FAILED "all of them"
run timeout -k 5 120 "$ANYPERF" run -- "$PROGRAMS/perf_run_kinds" process
is "$status" 0 "also in a process that never leaves its loop" || note "$(cat err)"

run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/perf_run_models"
is "$status" 0 "models run while an event wants them" || note "$(cat err)"

run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/perf_filtered"
is "$status" 0 "and refused where a filter would have to let new code be made" || note "$(cat err)"

if unshare -Upf --mount-proc true 2>/dev/null; then
	run timeout -k 5 120 "$ANYPERF" run --deterministic -- unshare -Upf --mount-proc \
		"$PROGRAMS/perf_run_tasks"
	is "$status" 0 "also where they have names of their own" || note "$(cat err)"
	has_not out FAILED "all of them"
else
	lack "a pid namespace" "unshare: refused"
fi

# --- stock perf
if command -v perf >/dev/null; then
	expect() { sed -n "s/.* EXPECT $1 //p" "$root/tests/programs/branches.S"; }
	run "$ANYPERF" run -- perf stat -x, -o csv -e instructions:u,branches:u -- "$PROGRAMS/branches"
	is "$status $(stat_value csv instructions) $(stat_value csv branches)" \
		"0 $(expect instructions) $(expect branches)" "perf stat counts what the source says"
	run "$ANYPERF" run -- perf stat -x, -o csv -e instructions:u -- sh -c \
		"'$PROGRAMS/branches'; '$PROGRAMS/branches'; :"
	both=$(stat_value csv instructions)
	run "$ANYPERF" run -- perf stat -x, -o csv -e instructions:u -- sh -c "'$PROGRAMS/branches'; :"
	one=$(stat_value csv instructions)
	is "$((both - one >= $(expect instructions) && both - one < $(expect instructions) + 20000))" 1 \
		"and what a shell starts" || note "$both $one"
	run "$ANYPERF" run -- perf stat -x, -o csv -- true
	is "$status" 0 "perf stat with its default events"
	has csv '^[1-9][0-9]*,,instructions:u' "counts instructions"
	has csv '^[1-9][0-9]*,,cycles:u' "and has cycles modelled"
else
	skip "stock perf" "no perf"
fi

# --- many, and damage
if [ "$(ulimit -Hn)" -gt 10200 ]; then
	# shellcheck disable=SC2016 # the inner shell is the supervisor's child
	run timeout -k 5 120 "$ANYPERF" run -- sh -c 'exec "$PROGRAMS/perf_run_many" $PPID'
	is "$status" 0 "ten thousand events at once, 2 KiB each" || note "$(cat out err)"
else
	lack "ten thousand events at once" "no room for so many descriptors"
fi
run timeout -k 5 120 "$ANYPERF" run -- "$PROGRAMS/perf_run_chaos"
is "$status $(cat out)" "0 counts beside the killed: ok" "tasks that are killed while they ask" ||
	note "$(cat err)"
mkfifo go
"$ANYPERF" run -- "$PROGRAMS/perf_run_chaos" orphan <go >orphan 2>&1 &
pid=$!
exec 5>go
check "a program that counts itself is up" wait_for 20 grep -q up orphan
kill -KILL "$pid"
{ wait "$pid"; } 2>/dev/null
echo >&5
check "it ends after its supervisor was killed" wait_for 20 grep -q end orphan
has_not orphan FAILED "and its calls said ENODEV"
exec 5>&-

# --- the session lives as long as its tasks
run "$ANYPERF" run --deterministic -- sh -c "(read x <go; '$PROGRAMS/perf_run_tasks' >late 2>&1;
	echo over >>late) & :"
is "$status" 0 "the program ends before what it started"
echo >go
check "who is left is served" wait_for 60 grep -q over late
is "$(grep -c ok late) $(grep -c FAILED late)" "21 0" "and counts as exactly" || note "$(cat late)"

# --- exit status, options
run "$ANYPERF" run -- sh -c 'exit 7'
is "$status" 7 "exit status"
run "$ANYPERF" run -- sh -c 'kill -TERM $$'
is "$status" 143 "death by signal"
run "$ANYPERF" run -- ./nothing
is "$status" 127 "no such program"
run "$ANYPERF" run
is "$status" 129 "no program given"
for o in --counters=0 --counters=65 --counters=x --paranoid=4 --paranoid=-2 --paranoid= \
	--max-sample-rate=0 --max-sample-rate=1e5; do
	run "$ANYPERF" run $o true
	is "$status $(wc -l <err)" "129 1" "$o is refused in one line"
done
run "$ANYPERF" run --paranoid 3 -- "$PROGRAMS/perf_run_printf"
has_not out Used "--paranoid 3 refuses everything"
run "$ANYPERF" run --user-only true
is "$status $(wc -l <err)" "0 1" "--user-only says what it does"
run "$ANYPERF" run --deterministic --counters 2 -- "$PROGRAMS/perf_run_tasks"
is "$status" 0 "two counters do for one group of two" || note "$(cat err)"

# --- a count without time is none, to who prints intervals
run timeout -k 5 120 "$ANYPERF" run -- "$PROGRAMS/perf_live"
is "$status $(cat out)" "0 timeless 0, backwards 0" "what has counted has run meanwhile" || note "$(cat err)"

done_testing
