#!/bin/bash
# SPDX-License-Identifier: MIT
# Modelled events: they leave exact counts and programs as they are, also where a program cannot have a fault;
# misses that follow from what a program does; the same in each run.
. "$(dirname "$0")/lib.sh"
need awk

cd "$tmp" || exit 1
exact=instructions,branches,cond-branches,taken-branches,calls,returns,indirect-branches,syscalls
models=cycles,L1-dcache-load-misses,branch-misses
walk=$PROGRAMS/model_walk

# counts FILE EVENTS OPTION... -- COMMAND...: lines of EVENT COUNT
counts()
{
	local file=$1 events=$2
	shift 2
	for ((try = 0; try < 20; try++)); do
		timeout -k 5 120 env -i "$(anyperf_for "$@")" stat --deterministic --machine skylake -x, -o csv -e "$events" \
			"$@" >out 2>err </dev/null
		status=$?
		# its timer came before it was blocked, it had no CPU: with a word more it comes twice as late
		[[ " $* " == */restarts\ * ]] && ! grep -q 'restarts: ok' out || break
		((try > 4)) || set -- "$@" later
	done
	awk -F, '$3 { print $3, $1 }' csv >"$file"
}

# count EVENT COMMAND...: one number
count()
{
	local event=$1
	shift
	counts one "$event" -- "$@"
	cut -d' ' -f2 one
}

between()
{
	if [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; then
		ok "$4"
	else
		not_ok "$4"
		note "$1, not $2 to $3"
	fi
}

# --- exact counts, with models and without
for program in c_static nested_calls signal_mid and_loop branches mid_insn page_cross smc_store \
	fault_mid fork_count vfork_exec threads_count odd_prefixes loads_stores rep_iter restarts; do
	counts want "$exact" -- "$PROGRAMS/$program"
	was=$status
	is "$(wc -l <want)" 8 "$program: counted"
	for trouble in "" "--stress evict" "--stress gaps --model-sample 3"; do
		# shellcheck disable=SC2086 # options without blanks in them
		counts got "$exact,$models" $trouble -- "$PROGRAMS/$program"
		is "$status" "$was" "$program: $trouble: status"
		head -n 8 got >exactly
		same want exactly "$program: $trouble: the same exact counts with models"
		is "$(awk 'NR > 8 && $2 ~ /^[0-9]+$/ && ($1 != "cycles" || $2 > 0)' got | wc -l)" 3 \
			"$program: $trouble: modelled counts"
	done
done

# --- what follows from the program
# arguments of one length: they lie on the stack, and where it begins decides on a line more or less
small=$(count L1-dcache-load-misses "$walk" walk 256 01)
is "$(count L1-dcache-load-misses "$walk" walk 256 40)" "$small" "16 KiB miss L1D in the first round only"
none=$(count L1-dcache-load-misses "$walk" walk 256 0)
between $((small - none)) 240 300 "once for each line"
once=$(count L1-dcache-load-misses "$walk" walk 16384 1)
is "$(($(count L1-dcache-load-misses "$walk" walk 16384 5) - once))" $((4 * 16384)) \
	"1 MiB miss L1D on each line in each round"
none=$(count branch-misses "$walk" branch 1 0 0)
between $(($(count branch-misses "$walk" branch 1 0 20000) - none)) 0 200 \
	"a branch that alternates is predicted"
between $(($(count branch-misses "$walk" branch 0xffffffffffffffff 60 20000) - none)) 9000 11000 \
	"one that is random is mispredicted half of the time"

# rep movs: some cycles to begin, then 32 bytes a cycle
few=$(count cycles "$walk" copy 64 1000)
between $(($(count cycles "$walk" copy 8000 1000) - few)) $((7936 / 32 * 1000)) $((7936 / 32 * 1100)) \
	"a copy takes cycles by its bytes"
none=$(count cycles "$walk" copy 0 1000)
between $((few - none)) 15000 40000 "and some to begin"

# a load of two halves that were stored apart waits until they are written (forward-block and a hit); of one store's it does not.
# It is found when the ways that are looked at come round.
few=$(count cycles "$walk" whole 1 200000)
between $(($(count cycles "$walk" halves 1 200000) - few)) $((11 * 200000)) $((16 * 200000)) \
	"a load that no one store answers is held up"
printf 'base = skylake\npipe.forward-block = 112\n' >slow
counts one cycles --machine slow -- "$walk" halves 1 200000
between $(($(cut -d' ' -f2 one) - few)) $((100 * 200000)) $((116 * 200000)) "by as much as the machine says"

# --- the same in each run
for command in "walk 1024 3" "branch 0xffffffffffffffff 60 5000"; do
	# shellcheck disable=SC2086
	counts first "$exact,$models" -- "$walk" $command
	# shellcheck disable=SC2086
	counts second "$exact,$models" -- "$walk" $command
	same first second "$command: the same in two runs"
done

# --- ends: what has been counted by then is not lost
for end in segv ill; do
	between "$(count L1-dcache-load-misses "$walk" $end 1024 5)" 5120 7000 "$end: nothing is lost at that end"
done

# --- signals come while a log is read as at any other time
for events in L1-dcache-load-misses "$models"; do
	run timeout -k 5 120 "$ANYPERF" stat -e "$events" -- "$PROGRAMS/sig_storm" 1
	is "$status" 0 "signals every 100 microseconds: $events"
done

# --- where a fault would end the process
# natively MISSES COMMAND...: does the same, with models; at least so many misses follow from its walks
natively()
{
	local misses=$1
	shift
	timeout -k 5 60 "$@" >want 2>&1 </dev/null
	was=$?
	counts got "instructions,$models" -- "$@"
	is "$status" "$was" "${*:2}: status"
	same want out "${*:2}: output"
	between "$(awk '/L1-dcache/ { print $2 }' got)" "$misses" $((misses + 9000)) "${*:2}: no miss is lost"
}
natively $((5 * 4096)) "$walk" blocked 4096 5
natively $((9 * 10 * 1024)) "$walk" taken 1024 10
natively $((5 * 4096)) "$walk" filter 4096 5

run timeout -k 5 60 "$ANYPERF" stat -e "instructions,$models" -- "$walk" forks 40
is "$status" 0 "processes with threads fork processes with threads"

done_testing
