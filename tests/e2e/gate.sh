#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf gate`: the verdict, its exit status and its files. gate_loop has 20,000 instructions and 100 more,
# half a percent, for each argument, so what each limit says is known without counting.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need python3

cd "$tmp" || exit 1
cp "$PROGRAMS/gate_loop" loop
gate=("$ANYPERF" gate --baseline base --any-command)

# json FILE EXPRESSION: of the parsed file, o
json()
{
	python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
e = {x.get("event", x.get("name")): x for x in o["events"]}
print(eval(sys.argv[2]))' "$@"
}

# verdict LIMITS ARGS WANT NAME: the exit status with these limits and so many arguments
verdict()
{
	# shellcheck disable=SC2086 # words
	run "${gate[@]}" --max "$1" -- ./loop $2
	is "$status" "$3" "$4" || note "$(cat err)"
}

# exists FILE: 1 or 0
exists()
{
	[ -e "$1" ] && echo 1 || echo 0
}

# --- recording
run "$ANYPERF" gate record --baseline base -- ./loop 1 2
is "$status" 0 "record: status"
is "$(json base '[(x["name"], x["count"], x["kind"]) for x in o["events"]]')" \
	"[('instructions', 20200, 'exact'), ('branches', 10097, 'exact'), ('loads', 1, 'exact'), ('stores', 0, 'exact')]" \
	"record: what was counted"
is "$(json base 'o["command"], o["deterministic"], o["runs"]')" "('./loop 1 2', True, 1)" "record: of what"
is "$("$ANYPERF" --version | sed -n 1p)" "anyperf version $(json base 'o["anyperf"]')" "record: by whom"
has err '^ instructions +20200  # exact$' "record: says what it has"
run "$ANYPERF" gate record --baseline base -- ./loop
cp base kept

# --- limits: 20000 instructions, and 100 more for each argument
verdict instructions=+0.5% "" 0 "no change is within"
verdict instructions=+0.5% 1 0 "exactly the limit is within"
verdict instructions=+0.499999% 1 1 "one part in a million less is not"
verdict instructions=+0.5% "1 2" 1 "twice the limit is not"
verdict instructions=+100 1 0 "absolute: the limit"
verdict instructions=+99 1 1 "absolute: one more"
verdict instructions=0 "" 0 "no change at all"
verdict instructions=0 1 1 "no change at all: more"
verdict instructions=+0 1 1 "+0: more"
verdict instructions=-1% "" 1 "must improve, and did not"
verdict stores=+5% 1 0 "nothing of nothing is no change"
verdict instructions=+0.4%,branches=+2% 1 1 "one of two is exceeded"
verdict branches=+2%,loads=0 1 0 "what has no limit may grow"
cp "$PROGRAMS/loads_stores" more
run "${gate[@]}" --max stores=+1000% --json json -- ./more
is "$status $(json json 'e["stores"]["verdict"], e["stores"]["change"] > 0, "change-percent" in e["stores"]')" \
	"1 ('exceeded', True, False)" "something of nothing is more than any percentage, and has none"
run "${gate[@]}" --max stores=+1000000 -- ./more
is "$status" 0 "of nothing: absolute"
run "${gate[@]}" --max instructions=+1% --max branches=+0 -- ./loop 1
is "$status" 1 "--max more than once"

# --- improvements
run "$ANYPERF" gate record --baseline base -- ./loop 1 2 3 4
verdict instructions=-1% "" 0 "must improve, and did"
has err '^ instructions +20400 +20000 +-400 \(-1\.9608%\) +-1% +improved +# exact$' "the row of it"
has err 'instructions improved by 400 \(1\.9608%\)' "improvements are told"
verdict instructions=-2% "" 1 "but by less than was asked"
verdict instructions=-400 "" 0 "absolute"
verdict instructions=-401 "" 1 "absolute, one more"
verdict instructions=0 "" 1 "no change at all: fewer"

# --- reports
cp kept base
run "${gate[@]}" --max instructions=+0.1%,branches=+2% --json json --markdown md -- ./loop 1
is "$status" 1 "reports: the status stays"
has err "^ Gate of './loop 1': 1 of 2 limits exceeded$" "the head of the table"
has err '^ instructions +20000 +20100 +\+100 \(\+0\.5000%\) +\+0\.1% +EXCEEDED +# exact$' "a row of it"
has err '^ loads +1 +1 +none +- +no limit +# exact$' "a row without limit"
is "$(json json 'o["verdict"], o["limits"], o["exceeded"], e["instructions"]["change"], e["instructions"]["change-percent"]')" \
	"('exceeded', 2, 1, 100, 0.5)" "--json"
is "$(json json 'e["loads"]["limit"], e["branches"]["verdict"]')" "(None, 'within')" "--json: its rows"
# shellcheck disable=SC2016 # Markdown's backquotes
has md '^\| `instructions` \| 20000 \| 20100 \| \+100 \(\+0\.5000%\) \| \+0\.1% \| \*\*EXCEEDED\*\* \| exact \|$' \
	"--markdown"
has err 'the baseline is of another command: ./loop$' "--any-command: another command is told"
run "$ANYPERF" gate --baseline base --max instructions=0 -- touch ran
is "$status $(exists ran) $(wc -l <err)" "125 0 1" "another command decides nothing and is not run"
has err "^anyperf gate: base: it is of another command, './loop'; --any-command" "and says how to compare all the same"
sed 's/"count": 20000/"count": 0/' base >changed
run "$ANYPERF" gate --baseline changed --max instructions=+1 -- ./loop
is "$status $(grep -c 'not comparable: the baseline has no instructions' err)" "125 1" "a baseline without instructions cannot be"
sed 's/"count": 20000/"count": 20/' base >changed
run "$ANYPERF" gate --baseline changed --max instructions=+99999 -- ./loop
is "$status $(grep -c 'the baseline has more branches than instructions' err)" "125 1" "nor one with more branches"
run "${gate[@]}" --max instructions=+0.1% --json - -- ./loop 1
is "$status $(json out 'o["verdict"], o["exceeded"]') $(exists -)" "1 ('exceeded', 1) 0" "--json -: standard output"
run "${gate[@]}" --max instructions=0 --markdown - -- ./loop
is "$status $(head -n 1 out) $(exists -)" "0 ### Performance gate: within the limit 0" "--markdown -: too"
run "${gate[@]}" --max instructions=0 --markdown - --json - -- touch ran
is "$status $(exists ran) $(grep -c 'may be -' err)" "129 0 1" "not both"
for bad in "" record; do
	# shellcheck disable=SC2086 # a word or none
	run "$ANYPERF" gate $bad --baseline - -- touch ran
	is "$status $(exists ran) $(exists -)" "129 0 0" "gate $bad --baseline -"
done
echo before >summary
GITHUB_STEP_SUMMARY=$tmp/summary run "${gate[@]}" --max stores=0 --github-summary -- ./loop 'a|b`c'
is "$status $(head -n 1 summary)" "0 before" "--github-summary: is added to"
has summary '^### Performance gate: within the limit$' "--github-summary: the verdict"
has summary "^.\./loop a..b'c.$" "--github-summary: a command cannot break the page"
run env -u GITHUB_STEP_SUMMARY "${gate[@]}" --max stores=0 --github-summary -- touch ran
is "$status $(exists ran)" "125 0" "--github-summary without a file runs nothing"
run "${gate[@]}" --max stores=0 --json none/json -- touch ran
is "$status $(exists ran)" "125 0" "a report that cannot be written: nothing runs"
run "${gate[@]}" --max stores=0 --json /dev/full -- ./loop
is "$status" 125 "a report that is not written is no success"

# --- repetition
run "${gate[@]}" -r 3 --max instructions=0 -- ./loop
is "$status" 0 "-r: the mean of equals"
has_not err 'from run to run' "-r: which do not differ"
cat >grow <<'END'
#!/bin/sh
echo >>runs
exec ./loop $(cat runs | sed s/^/x/)
END
chmod +x grow
rm -f runs
run "$ANYPERF" gate record --baseline grown -r 3 -e syscalls,instructions -- ./grow
is "$status $(json grown 'o["runs"], e["instructions"]["deviation-percent"] > 0')" "0 (3, True)" \
	"-r: what differs is said"
has err '^ instructions .* \+- [0-9.]+% from run to run$' "-r: for people too"

# --- functions: gate_loop has one, sampled at each third of its instructions
run "$ANYPERF" gate record --functions --baseline f -- ./loop
is "$status $(json f 'o["functions"]')" \
	"0 {'period': 3, 'instructions': [{'name': '_start', 'file': 'loop', 'count': 19998}]}" \
	"record --functions: samples of a fixed period"
# shellcheck disable=SC2046 # words
run "$ANYPERF" gate --functions=2 --baseline f --any-command --max instructions=0 --json json --markdown md -- ./loop $(seq 40)
is "$status $(json json 'o["functions"]')" \
	"1 [{'name': '_start', 'file': 'loop', 'baseline': 19998, 'now': 24000, 'error': 1090}]" "--functions: JSON"
has err '^ \+4002 +\+- 1090 +19998 +24000  _start  \[loop\]  # sampled$' "--functions: the table"
# shellcheck disable=SC2016 # Markdown's backquotes
has md '^\| `_start` \| `loop` \| 19998 \| 24000 \| 1090 \|$' "--functions: Markdown"
run "$ANYPERF" gate --functions=2 --baseline f --any-command --max instructions=0 --json json -- ./loop 1
is "$status $(json json 'o["functions"]')" "1 []" "--functions: what samples differ by is shown as no change"
run "$ANYPERF" gate --functions --baseline f --max instructions=0 -- ./loop
has err 'changed most: none, beyond the error of samples$' "--functions: no change"
run "$ANYPERF" gate --functions=1 --baseline f --any-command --max instructions=+999999% --json json -- "$PROGRAMS/nested_calls"
is "$(json json '[(x["name"], x["baseline"]) for x in o["functions"]]')" "[('_start', 19998)]" \
	"--functions: at most so many, what is gone too"
cp "$PROGRAMS/nested_calls" loop
run "$ANYPERF" gate --functions=1 --baseline f --any-command --max instructions=+999999% --json json -- ./loop
has out 'nested_calls: ok' "--functions: the command's output is shown"
is "$(grep -c . out)" 1 "--functions: once"
is "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'anyperf-gate.*' -newer f | wc -l)" 0 "--functions: no file is left"
cp "$PROGRAMS/gate_loop" loop
run "$ANYPERF" gate --functions --baseline base --max instructions=0 -- touch ran
is "$status $(exists ran) $(grep -c 'it has no functions' err)" "125 0 1" "--functions without a baseline's"
sed 's/"period": 3/"period": 0/' f >changed
run "$ANYPERF" gate --functions --baseline changed --max instructions=0 -- touch ran
is "$status $(exists ran) $(grep -c 'damaged: functions' err)" "125 0 1" "--functions: damaged"
sed 's/"period": 3/"period": 1/' f >changed
# shellcheck disable=SC2046 # words
run "$ANYPERF" gate --functions --baseline changed --any-command --max instructions=+9999% -- ./loop $(seq 999)
if [ "$status" = 0 ]; then
	has err '^ .* 119900  _start  \[loop\]  # sampled$' "--functions: all samples, or an error"
else
	has err 'functions: samples were lost' "--functions: all samples, or an error"
fi
run "$ANYPERF" gate --functions=x --baseline f --max instructions=0 -- touch ran
is "$status" 129 "--functions=x"

# --- modelled events are of a machine
run "$ANYPERF" gate record --baseline model --machine zen3 -e cycles,instructions -- ./loop
run "$ANYPERF" gate --baseline model --max cycles=0,instructions=0 -- ./loop
is "$status" 0 "the baseline's machine is taken" || note "$(cat err)"
run "$ANYPERF" gate --baseline model --machine skylake --max cycles=+50% -- ./loop
is "$status" 125 "another machine is refused"
has err '^anyperf gate: not comparable: cycles is modelled for zen3 in the baseline and for skylake here$' \
	"in one line"
sed 's/"id": "[0-9a-f]*"/"id": "0"/' model >changed
run "$ANYPERF" gate --baseline changed --max cycles=+50% -- ./loop
is "$status $(grep -c 'described otherwise' err)" "125 1" "another description of it, too"
sed 's/"modelled"/"exact"/' model >changed
run "$ANYPERF" gate --baseline changed --max cycles=+50% -- ./loop
is "$status $(grep -c 'cycles is exact in the baseline and modelled here' err)" "125 1" "another kind, too"
run "$ANYPERF" gate record --baseline none -e instructions,node-loads,rffff -- ./loop
is "$status $(exists none)" "125 0" "what cannot be counted is not recorded"
sed 's/"notes": \[\]/"notes": ["not counted: x: set-uid"]/' base >changed
run "$ANYPERF" gate --baseline changed --max instructions=0 -- ./loop
is "$status $(grep -c 'not comparable.*set-uid' err)" "125 1" "other parts that were counted: refused"

# --- baselines that are none
# refused FILE TEXT NAME: 125 and one line, and nothing was run
refused()
{
	run "$ANYPERF" gate --baseline "$1" --max "${4:-instructions=0}" -- touch ran
	is "$status $(exists ran) $(wc -l <err)" "125 0 1" "$3: status"
	has err "^anyperf gate: $1: .*$2" "$3" || rm -f ran
}
refused missing 'No such file' "no baseline"
has err "'anyperf gate record' makes one" "no baseline: says how to come by one"
refused . '[Dd]irectory|cannot be read' "a folder"
refused /dev/null 'damaged' "an empty one"
refused /dev/zero 'is no regular file' "a device"
size=$(wc -c <base)
for n in 1 100 $((size / 2)) $((size - 3)); do
	head -c "$n" base >part
	refused part 'damaged: line [0-9]+' "cut after $n bytes"
done
echo '{"events": []}' >other
refused other "no baseline of 'anyperf gate record'" "other JSON"
printf '\177ELF\0\1' >other
refused other 'damaged' "no text at all"
sed 's/"format-version": 1/"format-version": 2/' base >other
refused other 'newer anyperf' "of the future"
sed 's/"format-version": 1/"format-version": 0/' base >other
refused other 'damaged: there is no format version 0' "of no format"
sed 's/20000/-20000/' base >other
refused other 'damaged: it lacks a whole number: count' "a negative count"
sed 's/20000/"20000"/' base >other
refused other 'damaged: it lacks a whole number: count' "a count that is text"
sed 's/"loads"/"branches"/' base >other
refused other 'damaged: an event is in it twice: branches' "an event twice"
sed 's/"loads"/"loadz"/' base >other
refused other "loadz" "an unknown event"
sed 's/"loads"/"loads,calls"/' base >other
refused other 'damaged' "two events in one name"
refused base 'has no calls, only instructions, branches, loads, stores' "a limit on what it lacks" calls=+1%
for pair in instructoins:instructions branch-mises:branch-misses; do
	run "${gate[@]}" --max "loads=0,${pair%:*}=+1%" -- touch ran
	is "$status $(exists ran)" "129 0" "a limit on ${pair%:*}"
	has err "^anyperf gate: --max: no event is called '${pair%:*}', did you mean '${pair#*:}'" "which one was meant"
done

# --- what is asked for wrongly
for bad in instructions instructions= =+1% instructions=1% instructions=+1%% instructions=+x \
	instructions=+1.1234567% instructions=+1.5 instructions=+99999999999999999999 'instructions=+1%,' \
	instructions=+1%,instructions=+2%; do
	run "${gate[@]}" --max "$bad" -- touch ran
	is "$status $(exists ran) $(wc -l <err)" "129 0 1" "--max $bad"
done
run "$ANYPERF" gate --max instructions=0 -- true
is "$status $(sed -n 1p err)" "129 anyperf gate: needs --baseline before the command: true" "no --baseline"
run "$ANYPERF" gate recrod --baseline x -- true
is "$status $(sed -n 1p err)" "129 anyperf gate: needs --baseline before the command: recrod" "a mistyped record"
run "$ANYPERF" gate
is "$status $(sed -n 1p err)" "129 anyperf gate: needs --baseline" "neither --baseline nor a command"
run "${gate[@]}" -- true
is "$status" 129 "no --max"
has err "such as --max instructions" "no --max: says what to give"
run "${gate[@]}" --max instructions=0
is "$status" 129 "no command"
run "${gate[@]}" --max instructions=0 -e calls -- true
is "$status" 129 "-e without record"
run "$ANYPERF" gate record --baseline x --max instructions=0 -- true
is "$status" 129 "record with --max"
run "$ANYPERF" gate record --baseline x -e loads,loads -- ./loop
is "$status $(exists x)" "125 0" "record: an event twice"

# --- commands that fail, and folders that cannot be written
run "${gate[@]}" --max instructions=+99999% -- sh -c 'exit 3'
is "$status $(grep -c 'failed with status 3' err)" "125 1" "a command that fails decides nothing"
run "$ANYPERF" gate record --baseline failed -- sh -c 'exit 3'
is "$status $(exists failed) $(cat err)" \
	"125 0 anyperf gate: the command failed with status 3, no baseline was written (--ignore-status counts it all the same)" \
	"record: so does it, and no baseline is written"
run "${gate[@]}" --max loads=-1% -- ./loop 1 2
has err "^ Gate of './loop 1 2': the limit is exceeded$" "one limit, exceeded"
run "${gate[@]}" --ignore-status --max stores=+99999999 -- sh -c 'exit 3'
is "$status" 0 "--ignore-status"
run "${gate[@]}" --ignore-status --max stores=+99999999 -- sh -c 'kill -9 $$'
is "$status" 125 "but not a signal"
run "${gate[@]}" --max instructions=0 -- ./no-such-command
is "$status" 127 "a command that is not there"
run "${gate[@]}" --timeout 50 --max instructions=+99999% -- sleep 1000
is "$status $(grep -c '^anyperf gate: the command ran longer than --timeout 50 ms, nothing was decided$' err)" \
	"125 1" "--timeout: says so"
has_not err 'by a signal' "--timeout: and of no signal"
# no verdict of yesterday's stays where today's was asked for
echo '{"verdict": "within"}' >json
echo within >md
run "${gate[@]}" --timeout 50 --json json --markdown md --max instructions=+99999% -- sleep 1000
undecided() { python3 -c 'import json; o = json.load(open("json")); print(o["verdict"], o["status"])'; }
is "$status $(undecided) $(grep -c 'nothing was decided' md)" "125 undecided 125 1" \
	"nothing decided: said in the files"
run "$ANYPERF" gate --baseline nowhere --json - --max instructions=+1% -- true
is "$status" 125 "no baseline"
cp out json
is "$(undecided)" "undecided 125" "said on standard output"
run "${gate[@]}" --timeout 50 --max stores=+99999999 -- sh -c 'trap "exit 0" TERM; while :; do :; done'
is "$status $(grep -c 'longer than --timeout' err)" "125 1" "--timeout: whatever the command makes of it"
cp base before
run "$ANYPERF" gate record --baseline base -- false
is "$status" 125 "record: a command that fails"
same base before "and the baseline stays"
run "$ANYPERF" gate record --baseline /proc/x -- touch ran
is "$status $(exists ran)" "125 0" "record: a folder that takes no files: nothing runs"
mkdir locked && cp base locked/base && chmod 555 locked
user=()
[ "$(id -u)" = 0 ] && user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
if "${user[@]}" test -x "$ANYPERF" 2>/dev/null; then
	run "${user[@]}" "$ANYPERF" gate record --baseline locked/base -- touch ran
	is "$status $(exists ran)" "125 0" "record: a read-only folder"
	has err '^anyperf: cannot write output file locked/base: Permission denied$' "record: says so"
	same base locked/base "record: its file stays"
else
	lack "record: a read-only folder" "another user cannot run anyperf here, and root may write everywhere"
fi
chmod 755 locked
is "$(find . -name '*.??????' | wc -l)" 0 "no temporary file is left"

# --- the loop that tools which count by blocks get wrong (docs/ci.md)
run "$ANYPERF" gate record --baseline and -e instructions,branches -- "$PROGRAMS/and_loop"
is "$(json and 'e["instructions"]["count"], e["branches"]["count"]')" "(400006, 200000)" "and_loop: exact"
if command -v valgrind >/dev/null; then
	valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=cg.out "$PROGRAMS/and_loop" >out 2>&1
	is "$(sed -n 's/^summary: *//p' cg.out)" 600006 "and_loop: cachegrind"
else
	lack "and_loop: cachegrind" "no valgrind"
fi
done_testing
