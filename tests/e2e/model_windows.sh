#!/bin/bash
# SPDX-License-Identifier: MIT
# Windows of the models belong to the session: a tree of short processes is mostly not looked at, its sums are estimates over all of
# it with an error beside them, a thread that no window saw is not counted, and a process outside of a window has no tables.
. "$(dirname "$0")/lib.sh"
need awk

cd "$tmp" || exit 1
chain=$PROGRAMS/image_chain
events=instructions,cycles,branch-misses,L1-dcache-load-misses

# counts FILE OPTION... -- COMMAND...: lines of EVENT COUNT KIND ERROR
counts()
{
	local file=$1
	shift
	timeout -k 5 100 env -i "$ANYPERF" stat --machine skylake -x, -o csv "$@" >out 2>err </dev/null
	status=$?
	awk -F, '$3 && !/^#/ { print $3, $1, $NF, $(NF - 1) }' csv >"$file"
}

# inside NAME: each estimate in got is as near to the count in want as it says itself, which is less than half of it
inside()
{
	local e
	for e in cycles branch-misses L1-dcache-load-misses; do
		note "$(awk -v e="$e" '$1 == e { print FILENAME, $2, $4 }' want got | tr '\n' ' ')"
		check "$1: $e is as near as it says" awk -v e="$e" '
			$1 == e { n[FILENAME] = $2; error = $4 }
			END { d = n["got"] - n["want"]; exit !(error + 0 > 0 && error + 0 < 50 && (d < 0 ? -d : d) <= n["got"] * error / 100) }' want got
	done
}

# --- of one program that is replaced again and again: the same in each run
counts want --deterministic --model-sample 1 -e "$events" -- "$chain" 150
is "$status" 0 "a chain, all of it"
cp out want.out
is "$(awk '$1 == "cycles" { print $3 }' want)" modelled "which is no estimate"
counts got --deterministic --model-sample 24 -e "$events" -- "$chain" 150
is "$status" 0 "a chain, parts of it"
same out want.out "does the same"
is "$(awk '$1 == "instructions" { print $2, $3 }' got)" "$(awk '$1 == "instructions" { print $2, "exact" }' want)" \
	"instructions are exact"
is "$(awk '$1 == "cycles" { print $3 }' got)" estimated "cycles are estimated"
inside "a chain"
cp got first
counts got --deterministic --model-sample 24 -e "$events" -- "$chain" 150
is "$(grep -v '^cycles' got)" "$(grep -v '^cycles' first)" "the same again"
counts short --model-sample 24 -e "$events" -- "$chain" 2
is "$(awk '$1 == "cycles" { print $3 }' short)" modelled "a short chain is seen whole"

# --- a tree
# shellcheck disable=SC2016 # the shell's that is counted
tree='for ((i = 0; i < 60; i++)); do "$1" 0; done'
counts got --model-sample 24 -e "$events" -- bash -c "$tree" bash "$chain"
is "$status" 0 "a tree"
is "$(awk '$1 == "cycles" { print $3 }' got)" estimated "is estimated"
timeout -k 5 100 "$ANYPERF" stat -j --model-sample 24 -e "$events" -o json -- bash -c "$tree" bash "$chain" >out 2>err </dev/null
has json '"event" : "cycles".*"error" : [0-9]+[.][0-9][0-9], "kind" : "estimated"' "its error in JSON"
has_not json '"event" : "instructions".*"error"' "what is exact has none"
timeout -k 5 100 "$ANYPERF" stat -x, --model-sample 24 -e "$events" -M ipc -o csv -- bash -c "$tree" bash "$chain" >out 2>err </dev/null
is "$(awk -F, '!/^#/ && NF { print NF }' csv | sort -u | wc -l)" 1 "rows of metrics have as many fields as those of events"
timeout -k 5 100 "$ANYPERF" stat --model-sample 24 -e "$events" -o table -- bash -c "$tree" bash "$chain" >out 2>err </dev/null
has table ' cycles .*# estimated  [(] \+- *[0-9]+[.][0-9][0-9]% [)]' "and in the table"
timeout -k 5 100 "$ANYPERF" stat -D 1 -j --model-sample 24 -e cycles -o json -- bash -c "$tree" bash "$chain" >out 2>err </dev/null
has json '"event" : "cycles".*"kind" : "estimated"' "what is counted from -D on is estimated"
has_not json '"error"' "and has no error, which would be of all of the run"
timeout -k 5 100 "$ANYPERF" stat --per-thread --model-sample 24 -x, -e instructions,cycles -o csv -- \
	bash -c "$tree" bash "$chain" >out 2>err </dev/null
check "some threads no window saw" awk -F, '$2 == "<not counted>" && $4 == "cycles" { n++ } END { exit !(n > 5) }' csv
check "and some it did" awk -F, '$2 > 0 && $4 == "cycles" { n++ } END { exit !(n > 5) }' csv
check "instructions of all are counted" awk -F, '$2 == "<not counted>" && $4 == "instructions" { n++ } END { exit n > 0 }' csv

# --- a process outside of a window has no tables: its memory, seen from outside while it waits
# all_wait: twelve programs wait for somebody to write
all_wait()
{
	local pid
	[ "$(wc -l <pids)" = 12 ] || return
	for pid in $(cat pids); do
		[ "$(cat "/proc/$pid/comm")" = cat ] && grep -q '^State:.S' "/proc/$pid/status" || return
	done
}
# sizes OPTION...: their memory in MB, into the file sizes
sizes()
{
	local pid session
	rm -f fifo
	mkfifo fifo
	: >pids
	# shellcheck disable=SC2016 # the shell's that is counted
	timeout -k 5 200 "$ANYPERF" stat -o table "$@" -- \
		bash -c "$tree"'; for ((i = 0; i < 12; i++)); do cat fifo & echo $!; done >pids; wait' bash "$chain" >out 2>err </dev/null &
	session=$!
	wait_for 60 all_wait
	for pid in $(cat pids); do
		awk '/^VmSize:/ { printf "%d\n", $2 / 1024 }' "/proc/$pid/status"
	done >sizes
	: >fifo
	wait "$session"
}
sizes -e instructions
note "none modelled: $(tr '\n' ' ' <sizes)"
# tables are some 40 MB; who waits for a window has places of plain code, which are few
most=$(($(sort -n sizes | tail -1) + 12))
sizes --model-sample 1 -e cycles
note "all modelled: $(tr '\n' ' ' <sizes)"
is "$(awk -v m=$most '$1 <= m' sizes | wc -l)" 0 "who is modelled has tables"
sizes --model-sample 1000 -e cycles
note "parts: $(tr '\n' ' ' <sizes)"
check "and most of the others none" [ "$(awk -v m=$most '$1 <= m' sizes | wc -l)" -ge 6 ]
done_testing
