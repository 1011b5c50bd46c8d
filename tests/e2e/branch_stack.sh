#!/bin/bash
# SPDX-License-Identifier: MIT
# Branch stacks: what the predictors said of each branch, against the samples of what they got wrong; calls that have not
# returned, against the single-stepper's trace.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/oracle.bash"
need awk objdump

cd "$tmp" || exit 1
walk=$PROGRAMS/model_walk

# recorded FILE OPTION... -- COMMAND...
recorded()
{
	run timeout -k 5 100 "$ANYPERF" record -q -b --machine skylake -o "$@"
	is "$status" 0 "recorded" || note "$(tail -n 3 err)"
}
script() { timeout -k 5 60 "$ANYPERF" script -i "$1" -F "$2"; }

# --- each branch; those that are taken; those that were predicted wrongly: samples of one branch follow each other
for command in "$PROGRAMS/branches" "$PROGRAMS/chain" "$walk branch 0xffffffffffffffff 60 1000"; do
	name=$(basename "${command%% *}")
	# shellcheck disable=SC2086
	recorded data -m 32768 -e branches:u,taken-branches:u,branch-misses:u -c 1 -- $command
	script data event,ip,brstack >all
	awk '
		function check() {
			if (taken)
				bad += from != ip || flag != (missed ? "M" : "P")
			ntaken += taken; nmissed += missed; m += taken && missed
		}
		{ split($3, b, "/"); stray += $1 != "branches:u:" && $2 != ip }
		$1 == "branches:u:" { check(); ip = $2; missed = taken = 0 }
		$1 == "taken-branches:u:" { taken = 1; from = substr(b[1], 3); flag = b[3] }
		$1 == "branch-misses:u:" { missed = 1 }
		END { check(); print bad + 0, stray + 0, (ntaken > 100), (nmissed > 50), (m > 20) }' all >verdict
	is "$(cat verdict)" "0 0 1 1 1" "$name: M are those of which there is a sample of branch-misses, P the others"
	# a branch says the same in all stacks that it is in
	awk '
		$1 != "taken-branches:u:" { next }
		{
			for (k = 4; k <= NF && k - 4 < n; k++) bad += $k != was[k - 4]
			bad += NF - 2 != (n < 32 ? n + 1 : 32)
			n = NF - 2
			for (k = 3; k <= NF; k++) was[k - 3] = $k
		}
		END { print bad + 0, n }' all >verdict
	is "$(cat verdict)" "0 32" "$name: a stack is the one before it and the newest"
done

# --- far samples: all that a stack has is told
recorded far -e instructions:u,branch-misses:u -c 5003 -- "$walk" branch 0xffffffffffffffff 60 30000
script far event,brstack | awk '$1 == "instructions:u:" { for (k = 2; k <= NF; k++) { split($k, b, "/"); n[b[3]]++ } }
	END { print (n["M"] > 50), (n["P"] > 500), n["-"] + 0 }' >verdict
is "$(cat verdict)" "1 1 0" "every 5003rd instruction: all branches are told" || note "$(script far event,brstack | head -n 3)"

# --- nothing is said where nothing is modelled
recorded plain -e branches:u -c 100 -- "$PROGRAMS/chain"
is "$(script plain brstack | tr ' ' '\n' | grep / | cut -d/ -f3 | sort -u)" "-" "no model: neither"

# --- samples of what was mispredicted: nothing that came after it
recorded wrong -e branch-misses:u -c 50 -- "$walk" branch 0xffffffffffffffff 60 30000
# a branch that is taken is the newest of its own sample; of others the newest leads to straight code before them
script wrong ip,brstack | awk 'function hex(s) { return index("0123456789abcdef", s) - 1 }
	function value(s, v, i) { v = 0; for (i = 3; i <= length(s); i++) v = v * 16 + hex(substr(s, i, 1)); return v }
	NF > 1 {
		n++
		for (k = 2; k <= NF; k++) {
			split($k, b, "/")
			from = value(b[1]); to = value(b[2])
			untold += b[3] == "-"
			if (k == 2) {
				if (b[1] == "0x" $1 && b[3] == "M") own++
				else stray += to > value("0x" $1) || value("0x" $1) - to > 2000
			} else {
				gaps += newer < to || newer - to > 2000
			}
			newer = from
		}
	}
	END { print (n > 250), (own > 100), stray + 0, gaps + 0, untold + 0 }' >verdict
is "$(cat verdict)" "1 1 0 0 0" "branch-misses: the newest branch is the sampled one, or leads to it; and each to the next" ||
	note "$(script wrong ip,brstack | cut -c1-90 | head -n 5)"

# --- hw_index: a word after the number of branches, which is 0 since the newest is the first; all else stays
sizes() { "$ANYPERF" report -D -i "$1" | awk '/PERF_RECORD_SAMPLE/ { print substr($3, 2, length($3) - 3) }'; }
for what in any,u any,u,hw_index; do
	run in_same_place "$limited" -k 5 60 "$ANYPERF" record -q --deterministic -e instructions:u -c 997 -j $what -o "$what" -- "$PROGRAMS/chain"
	is "$status" 0 "-j $what" || note "$(tail -n 3 err)"
	script "$what" ip,brstack >"$what.all"
done
same any,u.all any,u,hw_index.all "hw_index: the same branches"
is "$(($(grep -c / any,u.all) > 15))" 1 "there are stacks"
is "$(sizes any,u,hw_index)" "$(for size in $(sizes any,u); do printf '0x%x\n' $((size + 8)); done)" "each sample is a word longer"
# IP, TID and TIME, then from 0x20 on how many there are and the index
is "$("$ANYPERF" report -D -i any,u,hw_index | awk '/event: 9$/ { sample = 1 } sample && $2 == "0020:" { for (k = 11; k < 19; k++) printf "%s", $k; print ""; sample = 0 }' | sort -u)" \
	0000000000000000 "the newest branch has index 0"
if command -v perf >/dev/null; then
	perf script -i any,u,hw_index -F ip,brstack 2>/dev/null >theirs
	same theirs any,u,hw_index.all "perf script finds the branches after the index"
fi

# --- calls that have not returned: those of the trace, innermost first, up to 32
chain=$PROGRAMS/chain
objdump -d "$chain" | awk -F'\t' 'match($3, /(^| )(call|ret)/) { gsub(/[: ]/, "", $1); print $1, $3 ~ /call/ ? "call" : "ret" }' >transfers
in_same_place "$limited" -k 5 100 "$ORACLE" --trace trace -- "$chain" >/dev/null 2>&1
for period in 61 97 331 997; do
	awk -v n=$period 'NR == FNR { what[$1] = $2; next }
		went { if (went == "call") to[depth] = $2; went = "" }
		what[$2] == "call" { from[++depth] = $2; went = "call" }
		what[$2] == "ret" { depth -= depth > 0 }
		FNR % n == 0 { ready = 1; ip = $2; held = went == "call"; if (!held) show() ; next }
		ready && held { show() }
		function show(k, line) {
			line = ip
			for (k = depth; k > 0 && k > depth - 32; k--) line = line " 0x" from[k] "/0x" to[k]
			print line
			ready = 0
		}' transfers trace >want
	run in_same_place "$limited" -k 5 60 "$ANYPERF" record -q --deterministic -e instructions:u -c $period --call-graph lbr -o stack -- "$chain"
	is "$status" 0 "--call-graph lbr, each ${period}th instruction" || note "$(tail -n 3 err)"
	timeout -k 5 60 "$ANYPERF" script -G -i stack -F ip,brstack |
		awk 'NF { for (k = 2; k <= NF; k++) { split($k, b, "/"); $k = b[1] "/" b[2] } print }' >got
	is "$(($(wc -l <want) > 15))" 1 "there are samples"
	same want got "each call stack is that of the trace"
done

if command -v perf >/dev/null; then
	is "$(perf script -i far -F brstack 2>/dev/null | tr ' ' '\n' | grep / | cut -d/ -f3 | sort | uniq -c)" \
		"$(script far brstack | tr ' ' '\n' | grep / | cut -d/ -f3 | sort | uniq -c)" "perf script shows the same"
	perf report --stdio -i far --sort mispredict 2>/dev/null | grep -E ' [YN] *$' | awk '{ print $2 }' | sort -u >got
	is "$(tr '\n' ' ' <got)" "N Y " "perf report --sort mispredict: both"
	for what in "script -F comm,ip,sym" "report --stdio -g none --no-children -s comm,sym"; do
		# shellcheck disable=SC2086
		perf $what -i stack 2>/dev/null | grep -v '^#' >theirs
		# shellcheck disable=SC2086
		"$ANYPERF" $what -i stack 2>/dev/null | grep -v '^#' >ours
		same theirs ours "$what of call stacks: as perf prints it"
		has ours 'leaf' "of functions"
	done
else
	lack "perf script -F brstack" "no perf"
fi

# --- code is made anew in the middle of walks
run timeout -k 5 100 "$ANYPERF" run -- "$PROGRAMS/sample_switch" 8000
is "$status $(cat out err)" "0 1" "breakpoints come and go beside a thread that is sampled with its branches"

done_testing
