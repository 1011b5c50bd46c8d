#!/bin/bash
# SPDX-License-Identifier: MIT
# --model-thread: counts are the same with helpers that read the models' logs; programs do not meet them; a helper, program
# or supervisor that is killed leaves nobody waiting.
. "$(dirname "$0")/lib.sh"
need awk gzip pgrep

cd "$tmp" || exit 1
events=instructions,branches,cycles,stalled-cycles-frontend,stalled-cycles-backend,L1-dcache-loads,L1-dcache-load-misses,L1-icache-load-misses,LLC-loads,LLC-load-misses,dTLB-load-misses,iTLB-load-misses,branch-misses
helper=$PROGRAMS/model_helper

# counts FILE EVENTS OPTION... -- COMMAND...: lines of EVENT COUNT; what the command says in $tmp/out
counts()
{
	local file=$1 events=$2
	shift 2
	timeout -k 5 60 env -i "$(anyperf_for "$@")" stat --deterministic --machine skylake -x, -o csv -e "$events" \
		"$@" >out 2>err </dev/null
	status=$?
	awk -F, '$3 { print $3, $1 }' csv >"$file"
}

[ -r /proc/thread-self/children ] || lack_all "the kernel does not list children"
"$helper" possible || lack_all "the kernel has no close_range" # docs/limits.md
counts got cycles -- "$helper" helper
is "$status" 1 "nobody has a helper who did not ask for it"
counts got instructions --model-thread -- "$helper" helper
is "$status" 1 "nor without anything to be modelled"
counts got cycles --model-thread -- "$helper" helper
is "$status" 0 "with it a thread has one"

# --- counts
for e in "$events" branch-misses L1-dcache-load-misses; do
	for command in "model_helper none" "model_walk walk 16384 5" "model_walk branch 0xffffffffffffffff 60 20000" \
		"model_walk blocked 4096 5" fork_count vfork_exec nested_calls signal_mid \
		smc_store rep_iter "model_helper filters" "model_helper forks" "model_helper execs"; do
		# shellcheck disable=SC2086 # words
		set -- $command
		counts want "$e" -- "$PROGRAMS/$1" "${@:2}"
		was=$status
		cp out said
		counts got "$e" --model-thread -- "$PROGRAMS/$1" "${@:2}"
		is "$status" "$was" "$command: ${e%%,*}: status"
		same want got "$command: ${e%%,*}: the same counts with helpers"
		same said out "$command: ${e%%,*}: and output"
	done
done

# descriptions go with the code, which is flushed all the time
cat "$root"/docs/limits*.md | head -c 60000 >input
counts want "$events" --cache-limit 64K -- gzip -9c input
is "$status" 0 "a small cache"
counts got "$events" --cache-limit 64K --model-thread -- gzip -9c input
same want got "while code is flushed: the same counts with helpers"
counts got "$events" --stress unlinked --model-thread -- "$PROGRAMS/model_walk" walk 1024 5
counts want "$events" --stress unlinked -- "$PROGRAMS/model_walk" walk 1024 5
same want got "while each block comes to the engine: the same counts"

# --- programs do not meet them
for how in looks filters setuids crowded execs forks threads segv; do
	timeout -k 5 60 "$helper" "$how" >want 2>/dev/null </dev/null
	was=$?
	counts got "cycles,branch-misses" --model-thread -- "$helper" "$how"
	is "$status" "$was" "$how: status"
	same want out "$how: sees what it sees natively"
done

# --- a helper that dies or stops
counts want "$events" --model-thread -- "$helper" signal 18
is "$status" 0 "a helper is sent SIGCONT"
counts got "$events" --model-thread -- "$helper" signal 09
is "$status" 0 "and SIGKILL"
same want got "one that is killed between two logs changes no count"
counts got "$events" --model-thread -- "$helper" signal 19
is "$status" 0 "one that is stopped holds nobody up for long"
is "$(head -n 2 got)" "$(head -n 2 want)" "and exact counts are the same"
counts want "$events" -- "$helper" none
counts got "$events" --model-thread --stress helper -- "$helper" none
is "$status" 2 "they die in logs: status"
is "$(head -n 2 got)" "$(head -n 2 want)" "they die in logs: exact counts are the same"
is "$(grep L1-dcache-loads got)" "$(grep L1-dcache-loads want)" "they die in logs: no load is lost, or counted twice"

# loads_after_deaths FLAGS: of the last level, where helpers die in logs, with all memory locked or not (mlockall);
# a run in which nobody found one dead in a log is made again
loads_after_deaths()
{
	for _ in {1..10}; do
		counts got LLC-loads --model-thread --stress helper -- "$helper" locks "$1"
		grep -q "a helper of the models was killed" csv && break
	done
	count_of got LLC-loads
}
count_of()
{
	awk -v e="$2" '$1 == e { print $2 }' "$1"
}
counts want LLC-loads -- "$helper" locks 0
warm=$(count_of want LLC-loads)
counts got LLC-loads -- "$helper" locks 3
if [ "$status" != 0 ]; then
	note "memory may not be locked here"
fi
for flags in 0 3; do
	cold=$(loads_after_deaths $flags)
	check "tables begin empty after a death, mlockall($flags)" test "$cold" -gt $((warm + 4000)) ||
		note "$cold, undisturbed $warm"
done
counts want cycles -- "$helper" crowded bytes
cp out said
counts got cycles --model-thread -- "$helper" crowded bytes
same said out "a fork that helpers stood in the way of: its child has the random bytes of without"

# --- nothing stays behind
# helpers: of a program that has the folder's name as an argument
helpers()
{
	local pid n=0

	for pid in /proc/[0-9]*; do
		[ "$(cat "$pid/comm" 2>/dev/null)" = anyperf-models ] || continue
		tr '\0' '\n' 2>/dev/null <"$pid/cmdline" | grep -qxF "$tmp" && n=$((n + 1))
	done
	echo "$n"
}
there_are()
{
	[ "$(helpers)" = "$1" ]
}
program()
{
	pgrep -f "^$helper for-ever $tmp" | while read -r pid; do
		[ "$(cat "/proc/$pid/comm")" = model_helper ] && echo "$pid"
	done
}

"$ANYPERF" stat --model-thread -e cycles -- "$helper" for-ever "$tmp" >out 2>err </dev/null &
supervisor=$!
tap_reaped+=("$supervisor")
wait_for 30 there_are 1
is "$(helpers)" 1 "a program that runs has a helper"
kill -9 "$(program)"
wait "$supervisor" 2>/dev/null
is "$?" 137 "it is killed"
wait_for 30 there_are 0
is "$(helpers)" 0 "its helper goes with it"

"$ANYPERF" stat --model-thread -e cycles -- "$helper" for-ever "$tmp" >out 2>err </dev/null &
supervisor=$!
tap_reaped+=("$supervisor")
wait_for 30 there_are 1
kill -9 "$supervisor"
wait "$supervisor" 2>/dev/null
pid=$(program)
tap_reaped+=("$pid")
is "$(helpers)" 1 "the supervisor is killed: the program goes on with its helper"
kill "$pid"
wait_for 30 there_are 0
is "$(helpers)" 0 "until it ends"

# --- the other commands
run timeout -k 5 60 "$ANYPERF" record -q -o data --model-thread -e cycles -c 10007 -- "$helper" none
is "$status" 2 "record: the program's status"
run timeout -k 5 60 "$ANYPERF" run --model-thread -- "$helper" none
is "$status" 2 "run: the program's status"
run timeout -k 5 60 "$ANYPERF" gate record -b baseline --model-thread -e instructions,cycles -- /bin/true
is "$status" 0 "gate record"
run timeout -k 5 60 "$ANYPERF" gate -b baseline --model-thread --max instructions=+0% -- /bin/true
is "$status" 0 "gate"

done_testing
