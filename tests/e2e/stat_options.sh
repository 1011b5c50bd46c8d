#!/bin/bash
# SPDX-License-Identifier: MIT
# What `anyperf stat` counts with each of its options, against what it counts without: the same events,
# split by time, CPU or thread, add up to the same numbers.
. "$(dirname "$0")/lib.sh"
need python3 awk

cd "$tmp" || exit 1
work=$PROGRAMS/stat_work
stat=("$ANYPERF" stat --deterministic)
run "${stat[@]}" -x, -o whole -e instructions,branches,calls -- "$work"
mv out native
instructions=$(stat_value whole instructions)
branches=$(stat_value whole branches)
calls=$(stat_value whole calls)

# json FILE KEY EVENT: that key of each of the event's objects; every line must be JSON
json()
{
	python3 -m json.tool --json-lines "$1" >/dev/null || echo "not JSON"
	python3 -c 'import json, sys
for line in open(sys.argv[1]):
    o = json.loads(line)
    if o.get("event") == sys.argv[3]:
        print(o.get(sys.argv[2]))' "$@"
}

# column N EVENT FILE: the sum of a CSV column, with N fields before the event's name
column()
{
	awk -F, -v at="$1" -v event="$2" '$at == event { n += $(at - 2) } END { printf "%d\n", n }' "$3"
}

# --- formats
run "${stat[@]}" -j -o json -e instructions,branches,node-load-misses,branch-misses -- "$work"
is "$status" 0 "-j: status"
is "$(json json counter-value instructions)" "$instructions.000000" "-j: the count"
is "$(json json kind branches)" exact "-j: what it is"
is "$(json json counter-value node-load-misses)" "<not supported>" "-j: not supported"
is "$(json json kind branch-misses)" modelled "-j: modelled"
is "$(json json pcnt-running branches)" 100.0 "-j: all of the time"
run "${stat[@]}" -j -o json -r 3 -e calls -- "$work"
is "$(json json variance calls)" 0.0 "-j -r: the deviation"
is "$(json json counter-value calls)" "$calls.000000" "-j -r: the mean"
for _ in 1 2 3; do
	"${stat[@]}" -x, -o many --append -e calls -- "$work" >out
done
is "$(grep -c '^# started on' many)" 3 "--append: three reports"
is "$(column 3 calls many)" $((3 * calls)) "--append: with their counts"
run "${stat[@]}" -x, -o - -e calls -- true
is "$status $(grep -c ',calls,' err) $(ls -- - 2>/dev/null)" "0 1 " "-o -: standard error, as in perf"
run "${stat[@]}" -x, --append -o /dev/full -e calls -- true
is "$status" 125 "--append: a full device is a failure"

# --- the same events by other ways of asking
run "${stat[@]}" -x, -o csv -e '{instructions,branches}' -e calls,cpu/anyperf=1/,branch-instructions:u -- "$work"
is "$(stat_value csv instructions) $(stat_value csv branches) $(stat_value csv calls)" \
	"$instructions $branches $calls" "a group counts what its members count"
is "$(stat_value csv cpu/anyperf=1/) $(stat_value csv branch-instructions)" \
	"$instructions $branches" "terms of a PMU, another name"
run "${stat[@]}" -x, -o csv -e '{instructions,page-faults}:u,{branches,task-clock}' -- "$work"
is "$(stat_value csv instructions) $(stat_value csv branches)" "$instructions $branches" \
	"groups with events of the kernel"
has csv '^([0-9]+|<not supported>),,page-faults' "whose modes the kernel tells, where it lets us count (fault_modes)"
has csv '^[0-9.]+,msec,task-clock' "and are counted otherwise"
run "${stat[@]}" -x, -o csv -e 'dummy,dummy:u,{instructions,dummy:k}' -- "$work"
is "$(grep '^[0-9]' csv | cut -d, -f1,3 | xargs)" "0,dummy 0,dummy:u $instructions,instructions 0,dummy:k" \
	"dummy is 0, in any mode and group"
raw=r00c0
run "${stat[@]}" -x, -o csv -e $raw,instructions -- "$work"
is "$(stat_value csv $raw)" "$(stat_value csv instructions)" "a raw code"
run "${stat[@]}" -x, -o csv -e rffff -- true
has csv '^<not supported>,,rffff,' "a code that nobody counts"

# --- by time
run "${stat[@]}" -I 20 -x, -o csv -e instructions,branches -- "$work"
is "$status" 0 "-I: status"
same out native "-I: the command's output"
is "$(column 4 instructions csv) $(column 4 branches csv)" "$instructions $branches" \
	"-I: the intervals add up"
is "$(($(grep -c ,instructions, csv) > 2))" 1 "-I: there are some" || note "$(cat csv)"
is "$(grep -v '^#' csv | awk -F, 'NF && $1 + 0 < last { print "back" } NF { last = $1 + 0 }')" "" \
	"-I: time goes on"
run "${stat[@]}" -I 20 -j -e instructions -- "$work"
mv err json
is "$(json json counter-value instructions | awk '{ n += $1 } END { printf "%d\n", n }')" \
	"$instructions" "-I -j: the intervals add up"
run "${stat[@]}" -I 30 --interval-count 2 -x, -e instructions -- sleep 100
is "$status $(grep -c ,instructions, err)" "0 2" "--interval-count ends the command, which is no failure"
run "${stat[@]}" -I 1000 -e instructions -- "$work"
has err '^#           time             counts unit events$' "-I: the head"
has err "^ +[0-9]+\.[0-9]{9} +$instructions +instructions .*# exact$" "-I: a row of the table"
run "${stat[@]}" -D 100000 -x, -o csv -e instructions,page-faults -- "$work"
has csv '^<not counted>,,instructions,0,' "-D: a command that is over before"
has csv '^<not counted>,,page-faults,0,' "-D: of the kernel's events as well"
# some 180 ms of it: where nobody was woken for so long, once more
for ((try = 0; try < 20; try++)); do
	run "${stat[@]}" -D 40 -x, -o csv -e instructions -- "$work"
	n=$(stat_value csv instructions)
	[[ $n == [1-9]* ]] && break
done
is "$([[ $n == [1-9]* ]] && [ "$n" -lt "$instructions" ] && echo 1)" 1 "-D: a part of it" || note "$n of $instructions"

# --- by commands
mkfifo ctl ack go
exec 6<>ctl 7<>ack 8<>go
start "${stat[@]}" -D -1 --control fifo:ctl,ack -x, -o csv -e calls,returns -- \
	sh -c '"$0" x <go' "$work"
# answer FD: the 5 bytes of an answer, perf's
answer() { [ "$(timeout 60 head -c 5 <&"$1" | tr '\n\0' '.0')" = ack.0 ] && echo ack; }
# tell COMMAND: and waits for its answer
tell()
{
	echo "$1" >&6
	answer 7
}
is "$(tell ping)" ack "--control: ping"
is "$(tell 'enable calls')" ack "--control: enable one event"
printf x >&8
echo bogus >&6
is "$(tell ping)" ack "--control: what is not known"
is "$(tell 'enable nobody')" ack "--control: an event that is not counted"
has bg.err "^failed: can't find 'nobody' event" "--control: an event that is not counted: says so"
is "$(tell disable)" ack "--control: disable"
printf x >&8
wait "$pid"
is "$?" 0 "--control: status"
read -r -t 0 -u 7
is "$?" 1 "--control: is not answered"
has bg.err '^Events disabled$' "--control: says what it does"
has bg.err '^Events enabled$' "--control: says what it does"
has csv '^<not counted>,,returns' "--control: what was not enabled"
run "${stat[@]}" --control fd:6,7 -x, -o csv -e instructions -- "$work"
is "$(stat_value csv instructions)" "$instructions" "--control fd: counts from the start"
# whoever asked may be gone, or read nothing any more
mkfifo deaf full
exec 8<>deaf 9>deaf 8<>full
dd if=/dev/zero of=full bs=65536 count=1 oflag=nonblock 2>/dev/null
for ack in 9 8; do
	echo ping >&6
	run timeout -k 5 60 "${stat[@]}" --control "fd:6,$ack" -x, -o csv -e instructions -- "$work"
	is "$status $(grep -c '^[0-9]*,,instructions,.*,exact$' csv)" "0 1" \
		"--control: nobody takes the answer, descriptor $ack"
done
exec 8>&- 9>&-

# --- by CPU
run "${stat[@]}" -a -A -x, -o csv -e instructions,branches,page-faults -- "$work"
is "$status" 0 "-a -A: status"
is "$(column 4 instructions csv) $(column 4 branches csv)" "$instructions $branches" \
	"-a -A: the CPUs add up"
is "$(grep -c ,instructions, csv)" "$(getconf _NPROCESSORS_CONF)" "-a -A: a row for each"
is "$(awk -F, '$4 == "page-faults" && $6 != "100.00"' csv)" "" \
	"-a -A: to be elsewhere is not to wait for a counter"
run "${stat[@]}" -a -x, -o csv -e instructions,branches -- "$work"
is "$(stat_value csv instructions) $(stat_value csv branches)" "$instructions $branches" "-a: the sum"
run "${stat[@]}" -C 0 -A -j -o json -e instructions -- taskset -c 0 "$PROGRAMS/nested_calls"
is "$(json json cpu instructions)" 0 "-C: its number"
last=$(taskset -cp $$ | sed 's/.*[ ,-]//')
if [ "$last" = 0 ]; then
	lack "-A: short-lived processes are counted where they may run" "one CPU"
else
	# shellcheck disable=SC2016 # the inner shell's
	run taskset -c "$last" "${stat[@]}" -a -A -x, -o csv -e instructions -- \
		sh -c 'i=0; while [ $i != 60 ]; do (:); i=$((i + 1)); done'
	is "$(awk -F, -v own="CPU$last" '$4 == "instructions" && $1 != own && $2 != 0' csv)" "" \
		"-A: short-lived processes are counted where they may run"
fi

# --- running processes
cat >loop.py <<'EOF'
import threading
def spin():
    while True:
        sum(range(1000))
for i in range(2):
    threading.Thread(target=spin, daemon=True).start()
open('up', 'w').close()
spin()
EOF
start python3 loop.py
wait_for 20 test -e up
victim=$pid
if is_filtered; then
	lack "-p" "a seccomp filter around us: nobody can be attached to"
else
	run timeout -k 5 60 "$ANYPERF" stat -x, -o csv -p "$victim" -e instructions,page-faults -- bash "$until_ran" "$victim" 20 3
	is "$status" 3 "-p: the status is the command's" || note "$(cat err)"
	is "$(($(stat_value csv instructions) > 100000))" 1 "-p: it is counted"
	is "$(find "/proc/$victim/fd" -lname '*memfd*' | wc -l)" 0 "-p: and left"
	check "-p: it runs on" kill -0 "$victim"
	run timeout -k 5 60 "$ANYPERF" stat --per-thread -x, -o csv -p "$victim" -e instructions -- bash "$until_ran" "$victim" 50
	is "$(grep -c ",instructions," csv)" 3 "--per-thread: a row for each" || note "$(cat csv err)"
	is "$(awk -F, '$4 == "instructions" && $1 !~ /^python3.*-[0-9]+$/' csv)" "" "--per-thread: with its name"
	is "$(awk -F, '$4 == "instructions" && $2 + 0 > last && NR > 3 { print "more" } { last = $2 + 0 }' csv)" "" \
		"--per-thread: the busiest first"
	run timeout -k 5 60 "$ANYPERF" stat -x, -o csv -t "$victim" -e instructions,task-clock -- bash "$until_ran" "$victim" 50
	is "$(($(stat_value csv instructions) > 1000))" 1 "-t: one thread"
	run timeout -k 5 60 "$ANYPERF" stat -x, -o csv -p "$victim" -e task-clock,page-faults --timeout 2000
	is "$status" 0 "-p without a command: until the time is over"
	has csv '^[0-9.]+,msec,task-clock,[1-9]' "-p: without an engine for the kernel's events"
	start timeout -k 5 60 "$ANYPERF" stat -p "$victim" -e instructions -I 50
	wait_for 20 grep -q instructions "$tmp/bg.err"
	kill -9 "$victim"
	wait "$pid"
	is "$?" 0 "-p: until it ends"
fi
run "$ANYPERF" stat -p 4194303 -e instructions true
is "$status $(wc -l <err)" "125 1" "-p: nobody: one line"
run "$ANYPERF" stat -p 4194303 -e page-faults true
is "$status $(wc -l <err)" "125 1" "-p: nobody, natively: one line"

# --- two clients that count the same report the same
if command -v perf >/dev/null; then
	run "$ANYPERF" run --deterministic -- perf stat -x, -o perf.csv \
		-e '{instructions:u,branches:u}' -- "$PROGRAMS/nested_calls"
	run "${stat[@]}" -x, -o csv -e '{instructions:u,branches:u}' -- "$PROGRAMS/nested_calls"
	is "$(stat_value csv instructions) $(stat_value csv branches)" \
		"$(stat_value perf.csv instructions) $(stat_value perf.csv branches)" "as perf stat"
	run "$ANYPERF" run --deterministic -- \
		"$ANYPERF" stat -x, -o inner.csv -e '{instructions:u,branches:u}' -- "$PROGRAMS/nested_calls"
	is "$(stat_value inner.csv instructions)" "$(stat_value perf.csv instructions)" "nested, as perf"
	run "$ANYPERF" run -- perf stat -x, -o alone.csv -e page-faults -- sh -c ':'
	run "$ANYPERF" run -- perf stat -x, -o more.csv -e page-faults -- \
		sh -c '/bin/true; /bin/true; /bin/true; :'
	is "$(($(stat_value more.csv page-faults) > 2 * $(stat_value alone.csv page-faults)))" 1 \
		"page faults of children are counted from their birth" || note "$(cat more.csv)"
	run "$ANYPERF" run --counters 1 -- "$ANYPERF" stat -x, -o inner.csv \
		-e calls,returns,loads,stores -- python3 -c 'sum(range(300000))'
	is "$(awk -F, '$NF == "scaled"' inner.csv | wc -l)" 4 "on one counter all four are scaled" || note "$(cat inner.csv)"
	run "$ANYPERF" run --counters 1 -- perf stat -x, -o inner.csv -e instructions:u,cycles:u -- \
		/bin/sh -c 'i=0; while [ $i -lt 8000 ]; do i=$((i + 1)); done'
	has_not inner.csv 'not counted' "with a modelled one, too, as from the exec" || note "$(cat inner.csv)"
else
	lack "as perf stat" "no perf"
fi
done_testing
