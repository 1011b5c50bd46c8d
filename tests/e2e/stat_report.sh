#!/bin/bash
# SPDX-License-Identifier: MIT
# Where the report of `anyperf stat` goes, how its rows are put together, and what is done around runs: the
# same as perf's where perf is there, and never another count than without these options.
. "$(dirname "$0")/lib.sh"
need python3 awk

cd "$tmp" || exit 1
work=$PROGRAMS/stat_work
stat=("$ANYPERF" stat --deterministic)
run "${stat[@]}" -x, -o whole -e instructions,branches -- "$work"
instructions=$(stat_value whole instructions)
branches=$(stat_value whole branches)

# has_perf: may stock perf count by CPUs here?
has_perf()
{
	command -v perf >/dev/null && perf stat -a -e page-faults -o probe -- true >/dev/null 2>&1
}

# --- parts of the machine
for part in core die socket node; do
	run "${stat[@]}" -a --per-$part -x, -o csv -e instructions,branches -- "$work"
	is "$status" 0 "--per-$part: status" || note "$(cat err)"
	is "$(awk -F, '$5 == "instructions" { n += $3 } END { print n + 0 }' csv)" "$instructions" "--per-$part: all is there"
	is "$(awk -F, '$5 == "branches" { n += $3 } END { print n + 0 }' csv)" "$branches" "--per-$part: of each event"
	is "$(awk -F, '$5 == "branches" { n += $2 } END { print n + 0 }' csv)" "$(getconf _NPROCESSORS_CONF)" \
		"--per-$part: each CPU is in one"
	run "${stat[@]}" -a --per-$part -j -o json -e branches -- "$work"
	is "$(python3 -c 'import json, sys
print(sum(int(float(json.loads(l)["counter-value"])) for l in open("json") if sys.argv[1] in json.loads(l)))' $part)" \
		"$branches" "--per-$part: lines of JSON"
	run "${stat[@]}" -C 0 --per-$part -x, -o csv -e branches -- taskset -c 0 "$work"
	is "$(cut -d, -f2 csv | grep -c '^1$')" 1 "--per-$part -C: of one CPU"
	if has_perf; then
		perf stat -a --per-$part -x, -o theirs -e page-faults -- true 2>/dev/null
		"${stat[@]}" -a --per-$part -x, -o ours -e page-faults -- true 2>/dev/null
		is "$(grep page-faults ours | cut -d, -f1,2)" "$(grep page-faults theirs | cut -d, -f1,2)" \
			"--per-$part: parts as perf names them"
		# perf prints none where the command ends before it looks
		for _ in 1 2 3 4 5; do
			perf stat -a --per-$part -I 50 -o theirs -e page-faults -- sleep 0.3 2>/dev/null
			grep -q '^#  ' theirs && break
		done
		"${stat[@]}" -a --per-$part -I 60000 -o ours -e page-faults -- true 2>/dev/null
		is "$(grep '^#  ' ours)" "$(grep -m 1 '^#  ' theirs)" "--per-$part -I: perf's head"
	else
		lack "--per-$part: parts as perf names them" "perf may not count CPUs here"
	fi
done
run "${stat[@]}" -a --per-core --metric-only -M IPC -x, -o csv -- "$work"
is "$status $(awk -F, '!/^#/ && NF { print NF }' csv | sort -u | wc -l)" "0 1" "--per-core --metric-only: as many fields in each line" ||
	note "$(cat csv err)"
run "$ANYPERF" stat --per-core -- true
is "$status $(head -n 1 err)" \
	"129 anyperf stat: --per-core, --per-die, --per-socket and --per-node need -a or -C" "--per-core needs CPUs"
run "$ANYPERF" stat -a -A --per-core -- true
is "$status" 129 "rows are of one kind"

# --- where it goes
run "${stat[@]}" -x, --log-fd 9 -e instructions -- "$work" 9>log
is "$status $(stat_value log instructions) $(wc -c <err)" "0 $instructions 0" "--log-fd: the report and nothing else"
echo before >log
run "${stat[@]}" -x, --log-fd 9 -I 60000 -e instructions -- "$work" 9>>log
is "$(head -n 1 log) $(awk -F, '$4 == "instructions" { n += $2 } END { print n }' log)" "before $instructions" \
	"--log-fd: intervals, behind what is there"
run "$ANYPERF" stat --log-fd 99 -- touch ran
is "$status $(cat err) $(ls ran 2>/dev/null)" \
	"129 anyperf stat: --log-fd: descriptor 99 is not open for writing " "--log-fd: nothing is run without it"
run "$ANYPERF" stat --log-fd 9 -e calls -- true 9</dev/null
is "$status" 129 "--log-fd: a descriptor for reading"
run "$ANYPERF" stat --log-fd 9 -o x -e calls -- true 9>log
is "$status" 129 "--log-fd and -o"
run "$ANYPERF" stat --log-fd 9 -e calls -- true 9>/dev/full
is "$status $(wc -l <err)" "125 1" "--log-fd: a full device is a failure"
run "${stat[@]}" --quiet -D 1 -I 1 -e instructions -- "$work"
is "$status $(wc -c <err)" "0 0" "--quiet: nothing" || note "$(cat err)"
run "${stat[@]}" --quiet -e instructions -- sh -c 'exit 3'
is "$status" 3 "--quiet: but the status"

# --- all intervals together
run "${stat[@]}" -x, -I 20 --summary -e instructions,branches -- "$work"
is "$(awk -F, '/^ +summary,/ { print $2 " " $4 }' err)" "$instructions instructions
$branches branches" "--summary: the sum of all"
is "$(awk -F, '!/summary/ && $4 == "instructions" { n += $2 } END { print n }' err)" "$instructions" \
	"--summary: behind the intervals"
run "${stat[@]}" -x, -I 60000 --summary --no-csv-summary -e instructions -- "$work"
is "$(awk -F, '$3 == "instructions" { print $1 }' err)" "$instructions" "--no-csv-summary: no word before it"
run "${stat[@]}" -I 60000 --summary -e instructions -- "$work"
has err "^ +$instructions +instructions .*# exact$" "--summary: a table"
has err 'seconds time elapsed' "--summary: with the time"
run "${stat[@]}" -j -I 60000 --summary -e instructions -- "$work"
is "$(grep -vc interval err) $(grep -c "\"$instructions.000000\"" err)" "1 2" "--summary: JSON"
run "$ANYPERF" stat -I 10 -r 2 --summary -- true
is "$status" 129 "--summary of several runs"
run "${stat[@]}" -I 60000 --interval-clear -e instructions -- "$work"
is "$(head -c 7 err | od -An -c | tr -d ' ')" '033[H033[2J' "--interval-clear: the screen"
has err '^.*#           time             counts unit events$' "--interval-clear: has its head again"
run "$ANYPERF" stat --interval-clear -- true
is "$status" 129 "--interval-clear needs intervals"

# --- numbers
run "$ANYPERF" run --counters 1 -- "$ANYPERF" stat --no-scale -x, -o raw -e loads,stores -- \
	python3 -c 'sum(range(300000))'
is "$(awk -F, '$NF == "exact" && $5 < 100' raw | wc -l) $(awk -F, '$NF == "scaled"' raw | wc -l)" "2 0" \
	"--no-scale: as they were read" || note "$(cat raw err)"
many=$(locale -a 2>/dev/null | grep -m 1 -iE '^en_US\.utf-?8$')
if [ "$many" ]; then
	LC_ALL=$many run "${stat[@]}" -e instructions -- "$work"
	has_not err "^ +$instructions +instructions" "a locale that groups digits"
	LC_ALL=$many run "${stat[@]}" --no-big-num -e instructions -- "$work"
	has err "^ +$instructions +instructions" "--no-big-num"
else
	run "${stat[@]}" --no-big-num -e instructions -- "$work"
	has err "^ +$instructions +instructions" "--no-big-num"
fi
run "${stat[@]}" --all-user -x, -o csv -e instructions,page-faults,task-clock -- "$work"
"${stat[@]}" -x, -o modes.csv -e page-faults:u -- "$work"
is "$(stat_value csv instructions) $(stat_value csv page-faults | sed 's/^[0-9]*$/some/')" \
	"$instructions $(grep -v "^#" modes.csv | grep . | cut -d, -f1 | sed 's/^[0-9]*$/some/')" "--all-user: as :u"
run "${stat[@]}" --all-kernel -x, -o csv -e instructions,branches -- "$work"
is "$(grep -c '^<not supported>' csv)" 2 "--all-kernel: which is not counted"
run "${stat[@]}" -g -x, -o csv -e instructions,branches -- "$work"
is "$(stat_value csv instructions) $(stat_value csv branches)" "$instructions $branches" "-g: one group"
run "$ANYPERF" run --counters 1 -- "$ANYPERF" stat -g -x, -o csv -e loads,stores -- "$work"
is "$(stat_value csv stores)" "<not supported>" "-g: which has to fit as a whole" || note "$(cat csv err)"
run "${stat[@]}" --scale --no-merge --hybrid-merge --metric-no-group --metric-no-merge -x, -o csv -e instructions -- "$work"
is "$(stat_value csv instructions)" "$instructions" "options of no effect"

# --- around runs
run "${stat[@]}" -S -r 2 --pre 'echo pre >>order' --post 'echo post >>order' -x, -o csv -e instructions -- \
	sh -c 'echo run >>order'
is "$status $(xargs <order)" "0 pre run post pre run post" "--pre, --post: around each run"
rm -f ran
run "$ANYPERF" stat --pre 'exit 4' -e calls -- touch ran
is "$status $(cat err) $(ls ran 2>/dev/null)" "125 anyperf: --pre: 'exit 4' ended with status 4 " \
	"--pre: a failure ends it"
run "${stat[@]}" --post 'kill -9 $$' -x, -o csv -e instructions -- "$work"
is "$status $(cat err) $(stat_value csv instructions)" \
	"125 anyperf: --post: 'kill -9 \$\$' ended with status 137 $instructions" "--post: a failure loses nothing"
rm -f order
run "${stat[@]}" -r 2 --post 'echo post >>order; [ "$(wc -l <order)" -gt 2 ]' -e instructions -- sh -c 'echo run >>order'
is "$status $(xargs <order)" "125 run post run post" "and the runs go on"
has err ' \(2 runs\)' "as the table says"
run "${stat[@]}" -r 3 --table -e instructions -- "$work"
is "$(grep -cE '^ +[0-9.]+ \([+-][0-9.]+\) #+$' err)" 3 "--table: the time of each run" || note "$(cat err)"
run "$ANYPERF" stat --table -- true
is "$status" 129 "--table needs -r"

# --- what is refused says why
for option in -T --cputype=core --filter=x --iostat --smi-cost --percore-show-thread; do
	run "$ANYPERF" stat $option -- touch ran
	is "$status $(wc -l <err) $(ls ran 2>/dev/null)" "129 1 " "$option: one line, and nothing is run"
done
done_testing
