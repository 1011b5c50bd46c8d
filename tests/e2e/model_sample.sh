#!/bin/bash
# SPDX-License-Identifier: MIT
# --model-sample: the models see parts of a run; what they would have counted is near what they count of all of it, exact
# counts stay as they are, and reports say what is an estimate.
. "$(dirname "$0")/lib.sh"
need awk

cd "$tmp" || exit 1
walk=$PROGRAMS/model_walk
events=instructions,branches,cycles,L1-dcache-loads,L1-dcache-load-misses,branch-misses

# counts FILE OPTION... -- COMMAND...: lines of EVENT COUNT KIND
counts()
{
	local file=$1
	shift
	timeout -k 5 100 env -i "$ANYPERF" stat --deterministic --machine skylake -x, -o csv "$@" >out 2>err </dev/null
	status=$?
	awk -F, '$3 { print $3, $1, $NF }' csv >"$file"
}

# near EVENT PERCENT NAME: the count in got is as that in want, to so many per cent
near()
{
	local off
	off=$(awk -v e="$1" '$1 == e { n[FILENAME] = $2 }
		END { d = n["got"] - n["want"]; printf "%.2f", 100 * (d < 0 ? -d : d) / n["want"] }' got want)
	note "$3: $1 is off by $off %"
	check "$3: $1 is near" awk -v a="$off" -v b="$2" 'BEGIN { exit a >= b }'
}

# --- a short run is modelled whole
counts want -e "$events" -- "$walk" walk 1024 5
counts got --model-sample 1000 -e "$events" -- "$walk" walk 1024 5
is "$status" 0 "a short run"
same want got "of which all is modelled, and called so"

# --- a long one in parts
for command in "walk 2048 5000" "branch 0xffffffffffffffff 60 4000000"; do
	# shellcheck disable=SC2086 # words
	set -- $command
	counts want -e "$events" -- "$walk" "$@"
	is "$status" 0 "$1: all of it"
	for n in 4 16; do
		counts got --model-sample "$n" -e "$events" -- "$walk" "$@"
		is "$status" 0 "$1: one in $n"
		for e in instructions branches L1-dcache-loads; do
			is "$(grep "^$e " got)" "$(grep "^$e " want)" "$1, one in $n: $e is exact"
		done
		is "$(awk '$1 == "cycles" { print $3 }' got)" estimated "$1, one in $n: cycles are an estimate"
		for e in cycles branch-misses L1-dcache-load-misses; do
			if awk -v e="$e" '$1 == e { exit !($2 > 100000) }' want; then
				near "$e" 3 "$1, one in $n"
			fi
		done
		counts again --model-sample "$n" -e "$events" -- "$walk" "$@"
		same got again "$1, one in $n: the same again"
		counts again --model-sample "$n" --model-thread -e "$events" -- "$walk" "$@"
		same got again "$1, one in $n: and with a helper"
	done
done

# --- one rule for tables and named events: a part, but where all of it was asked for, or runs are to count alike
set -- walk 2048 5000
for events_of in "" "-d" "-e cycles,instructions"; do
	# shellcheck disable=SC2086 # words
	timeout -k 5 100 env -i "$ANYPERF" stat -x, -o csv $events_of -- "$walk" "$@" >out 2>err </dev/null
	is "$(awk -F, '$3 == "cycles" { print $NF }' csv)" estimated "stat $events_of: an estimate"
	is "$(awk -F, '$3 == "instructions" { print $NF }' csv)" exact "stat $events_of: but for exact counts"
	has csv '# estimated: the models saw one part in 24 of the run; --model-sample 1 has them see all of it' "it says so"
done
counts got -d -- "$walk" "$@"
is "$(awk '$1 == "cycles" { print $3 }' got)" modelled "with --deterministic all of it is modelled"
has_not csv estimated "then nothing is estimated"
timeout -k 5 100 env -i "$ANYPERF" stat -x, -o csv -d --model-sample 1 -- "$walk" "$@" >out 2>err </dev/null
has_not csv estimated "nor where all of it was asked for"
timeout -k 5 100 "$ANYPERF" stat -j -o json -- "$walk" "$@" >out 2>err </dev/null
has json '"event" : "cycles".*"kind" : "estimated"' "JSON"
timeout -k 5 100 "$ANYPERF" stat -M ipc -o table -- "$walk" "$@" >out 2>err </dev/null
has table '# estimated' "metrics"

# --- many threads, processes, code that goes
counts got --model-sample 16 -e instructions,cycles,branch-misses -- "$PROGRAMS/model_helper" threads
is "$status" 0 "threads"
counts got --model-sample 16 -e instructions,cycles -- "$PROGRAMS/fork_count"
is "$status" 0 "processes"
counts got --model-sample 16 --cache-limit 64K -e cycles -- "$walk" "$@"
is "$status" 0 "a small cache"

# --- samples: each stands for what was passed over behind it as well, and is of what it says
# recorded FILE OPTION...: its samples go into FILE, a period and a function a line
recorded()
{
	local file=$1
	shift
	timeout -k 5 100 env -i "$ANYPERF" record --deterministic --machine skylake -o "$file.data" "$@" >out 2>err </dev/null
	status=$?
	timeout -k 5 60 "$ANYPERF" script -i "$file.data" -F period,sym >"$file" 2>/dev/null
}
# apart: how far the functions' shares (between windows a sample is of the beginning of the block that is next) are from each other, in per cent of all
apart()
{
	awk '{ n[FILENAME] += $1; s[FILENAME, $2] += $1; at[$2] }
		END { for (a in at) { d = s["got", a] / n["got"] - s["want", a] / n["want"]; off += d < 0 ? -d : d }
			printf "%d", 50 * off }' got want
}
# per cent too many: branches log few words, and what the last burst stands for is some of them where the run ends in a gap
for command in "12 walk 2048 5000" "12 branch 0xffffffffffffffff 60 4000000"; do
	# shellcheck disable=SC2086 # words
	set -- $command
	most=$1
	shift
	counts all -e cycles -- "$walk" "$@"
	recorded want --model-sample 1 -e cycles -c 10007 -- "$walk" "$@"
	has_not err estimated "$1: samples of all of it"
	recorded got --model-sample 16 -e cycles -c 10007 -- "$walk" "$@"
	is "$status" 0 "$1: samples of a part"
	has err 'estimated: the models saw one part in 16 of the run; --model-sample 1 has' "$1: that says so"
	check "$1: there are as many" awk -v want="$(wc -l <want)" -v got="$(wc -l <got)" -v most="$most" \
		'BEGIN { d = 100 * (got / want - 1); exit !(want > 500 && d > -5 && d < most) }' || note "$(wc -l <got) of $(wc -l <want)"
	# (a loop of few cycles may keep step with the period)
	[ "$1" = walk ] || check "$1: of the same code" [ "$(apart)" -lt 10 ] || note "$(apart) % apart"
	mv got first
	recorded got --model-sample 16 -e cycles -c 10007 -- "$walk" "$@"
	same got first "$1: the same again"
done
counts all --model-sample 4 -e cycles -- "$walk" branch 0xffffffffffffffff 60 40000000
recorded got --model-sample 24 -e cycles -F 2000 -- "$walk" branch 0xffffffffffffffff 60 40000000
has err 'estimated: the models saw one part in 24 ' "samples by time are of a part"
check "whose periods add up to the count" awk -v want="$(awk '{ print $2 }' all)" \
	'{ n += $1 } END { d = n - want; exit !(d * d < want * want / 100) }' got || note "$(cat all; wc -l got)"
recorded got -e cycles -c 10007 -- "$walk" "$@"
has_not err estimated "with --deterministic of all of it"
recorded got -e instructions -- "$walk" "$@"
has_not err estimated "and so are exact ones"
run timeout -k 5 60 "$ANYPERF" run --model-sample 8 -- "$ANYPERF" stat -e cycles -o table -- "$walk" "$@"
has err '^anyperf: modelled counts are estimated: the models saw one part in 8 of the run; --model-sample 1 has them see all of it$' "a session of parts says so"

# --- in another's session, whose models these are
timeout -k 5 100 "$ANYPERF" stat -o outer --model-sample 8 -e cycles -- \
	"$ANYPERF" stat -x, -o csv -e cycles -- "$walk" "$@" >out 2>err </dev/null
is "$(awk -F, '$3 { print $3, $NF }' csv)" "cycles estimated" "in a session of parts"
has csv '# estimated: the models saw one part in 8 ' "which are told as they are"

# --- mistakes
for n in 0 1001 -1 1.5 x ""; do
	run timeout -k 5 60 "$ANYPERF" stat --model-sample "$n" -- true
	is "$status" 129 "--model-sample '$n'"
	has err 'needs a number from 1 [(]all is modelled[)] to 1000' "says what it needs"
done
done_testing
