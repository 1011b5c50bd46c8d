#!/bin/bash
# SPDX-License-Identifier: MIT
# `anyperf stat record` and `stat report`: what is reported is what was counted, to the last digit, by both tools and of files of
# either.  A file that is written here by hand, in both byte orders, has counts that nothing of ours has made.
. "$(dirname "$0")/lib.sh"
need python3 awk

cd "$tmp" || exit 1
work=$PROGRAMS/stat_work
record=("$ANYPERF" stat record --deterministic)
report=("$ANYPERF" stat report)

# fields FILE: value and event of the lines of -x, in order; places and times stand before them, as many as may be
fields()
{
	awk -F, '{ for (i = 3; i <= NF; i++) if ($i ~ /^(instructions|branches|cycles|page-faults|context-switches|task-clock|duration_time|syscalls)/) { print $(i - 2), $i; next } }' "$1"
}

# --- ours, read by ours: the report is printed once more
# again NAME OPTIONS... -- COMMAND...
again()
{
	local name=$1
	shift
	run "${record[@]}" -x, -o f.data "$@"
	is "$status" 0 "$name: status" || note "$(cat err)"
	mv err live
	run "${report[@]}" -x, -i f.data
	is "$status" 0 "$name: report: status"
	same err live "$name: report prints what was printed"
}
again "a command" -e instructions,branches,page-faults,task-clock,duration_time,user_time -- "$work"
instructions=$(stat_value live instructions)
run "$ANYPERF" stat --deterministic -x, -e instructions,branches,page-faults,task-clock,duration_time,user_time -- "$work"
is "$instructions" "$(stat_value err instructions)" "recording changes no count"
again "a group, a tracepoint, what is not supported" -e '{instructions,branches},syscalls:sys_enter_write,cycles:k' -- "$work"
has live '^<not supported>,,cycles:k' "what is not supported is there"
again "estimates" -I 20 -e cycles,instructions --model-sample 24 -- "$work"
has live ',estimated$' "a modelled count stays estimated"
again "errors of estimates" -e cycles,branch-misses,instructions --model-sample 24 -- "$PROGRAMS/image_chain" 150
is "$(grep -cE ',[0-9]+[.][0-9]{2}%,estimated$' live)" 2 "each estimate has its error"
again "intervals" -I 20 -e instructions,branches,task-clock,duration_time -- sh -c "'$work'; sleep 0.1; '$work'"
again "CPUs" -a -A -e instructions,branches -- "$work"
again "cores" -a --per-core -e instructions,branches -- "$work"
again "threads of a command" --per-thread -e instructions,branches -- "$work"
run "${record[@]}" -o f.data -e instructions,user_time -- "$work"
mv err live
run "${report[@]}" -i f.data
same err live "the table, too, with its times"
run "${report[@]}" -i f.data -j -o json
is "$(python3 -c 'import json; print([int(float(json.loads(l)["counter-value"])) for l in open("json")][0])')" "$instructions" "-j -o"

# rows that were recorded one by one are put together in another way
run "${record[@]}" -x, -a -o f.data -e instructions -- "$work"
is "$(stat_value err instructions)" "$instructions" "-a: one number"
for how in -A --per-core --per-die --per-socket --per-node; do
	run "${report[@]}" -x, -i f.data $how
	is "$(fields err | awk '{ n += $1 } END { print n }')" "$instructions" "report $how: all is there"
done
run "${report[@]}" -i f.data -A --per-core
is "$status" 129 "rows are of one kind"


# --- perf's report of ours
if command -v perf >/dev/null; then
	# theirs NAME OPTIONS...: the counts of both reports of f.data
	theirs()
	{
		local name=$1
		shift
		"${report[@]}" -x, -i f.data "$@" 2>ours
		perf stat -x, report -i f.data "$@" >perf.out 2>theirs
		is "$? $(fields theirs | sort)" "0 $(fields ours | sort)" "perf stat report: $name"
	}
	run "${record[@]}" -o f.data -e instructions:u,branches,task-clock,page-faults,duration_time,cycles:k -- "$work"
	theirs "of a command"
	is "$(fields theirs | awk '$2 == "instructions:u" { print $1 }')" "$instructions" "perf stat report: the count itself"
	perf stat report -i f.data >perf.out 2>&1
	has perf.out "counter stats for 'anyperf stat record .*stat_work'" "perf stat report: the command line"
	has perf.out '^ *<not supported> +cycles:k' "perf stat report: what is not supported"
	run "${record[@]}" -I 20 -o f.data -e instructions,branches -- sh -c "'$work'; sleep 0.1; '$work'"
	theirs "of intervals"
	is "$(awk -F, '$4 ~ /instructions/ { n += $2 } END { print n }' theirs)" \
		"$(awk -F, '$4 ~ /instructions/ { n += $2 } END { print n }' ours)" "perf stat report: intervals are differences"
	run "${record[@]}" -a -o f.data -e instructions,branches -- "$work"
	for how in -A --per-core --per-socket; do
		theirs "of CPUs, $how" $how
	done
	run "${record[@]}" --per-thread -o f.data -e instructions,branches -- "$work"
	theirs "of threads"
	"${record[@]}" -o - -e instructions,branches -- true 2>/dev/null >f.data
	is "$(perf stat -x, report -i - <f.data 2>&1 | fields /dev/stdin)" \
		"$("${report[@]}" -x, -i - <f.data 2>&1 | fields /dev/stdin)" "perf stat report: of a stream"
	is "$(perf report --header-only -i f.data 2>&1 | grep -c 'perf.data\|cmdline.*stat record')" 1 "perf reads the stream's header"

	# --- ours of perf's
	if perf stat record -o p.data -e page-faults,context-switches,task-clock,cycles -- "$work" >/dev/null 2>printed; then
		perf stat -x, report -i p.data 2>theirs
		run "${report[@]}" -x, -i p.data
		is "$status $(fields err)" "0 $(fields theirs)" "report of perf's file"
		is "$(awk -F, '!/supported/ && NF { print $NF }' err | sort -u)" kernel "its counts are the kernel's"
		perf stat record -I 20 -o p.data -e page-faults,task-clock -- sh -c "'$work'; sleep 0.1; '$work'" >/dev/null 2>&1
		perf stat -x, report -i p.data 2>theirs
		run "${report[@]}" -x, -i p.data
		is "$(cut -d, -f1-4 err)" "$(cut -d, -f1-4 theirs)" "report of perf's intervals"
		perf stat record -o - -e page-faults -- true >p.data 2>/dev/null
		is "$("${report[@]}" -x, -i - <p.data 2>&1 | fields /dev/stdin)" \
			"$(perf stat -x, report -i - <p.data 2>&1 | fields /dev/stdin)" "report of perf's stream"
	else
		lack "report of perf's file" "the kernel refuses perf's events: $(head -n 1 printed)"
	fi
	if perf stat record -a -o p.data -e page-faults,context-switches -- true >/dev/null 2>&1; then
		for how in -A --per-core --per-socket --per-node; do
			perf stat -x, report -i p.data $how 2>theirs
			run "${report[@]}" -x, -i p.data $how
			is "$(fields err | sort)" "$(fields theirs | sort)" "report $how of perf's CPUs"
			is "$(cut -d, -f1 err | sort -u)" "$(cut -d, -f1 theirs | sort -u)" "report $how: parts as perf names them"
		done
	else
		lack "report of perf's CPUs" "the kernel refuses perf's events"
	fi
else
	skip "perf stat report" "no perf"
fi

# --- a file by hand: two CPUs of two cores in a machine that is not this one, two intervals, an event with a scale
cat >make.py <<'END'
import struct, sys
order, path = sys.argv[1], sys.argv[2]
version, aggr = sys.argv[3:] if len(sys.argv) > 3 else (None, 0)
def pack(fmt, *v): return struct.pack(order + fmt, *v)
def record(kind, body): return pack("IHH", kind, 0, 8 + len(body)) + body
def text(s): return pack("I", 64) + s.encode().ljust(64, b"\0")
events = [("instructions:u", 0, 1, [11, 12]), ("power/energy-pkg/", 9, 2, [21, 22])]
def attr(kind, config): return pack("IIQQQQQ", kind, 128, config, 0, 1 << 16, 3, 0) + bytes(128 - 48)
ids = b"".join(pack("QQ", *e[3]) for e in events)
attrs = b"".join(attr(e[1], e[2]) + pack("QQ", 104 + 16 * i, 16) for i, e in enumerate(events))
data = record(78, pack("QQ", 0, 21) + b"Joules\0\0") + record(78, pack("QQd", 1, 21, 0.25))
data += record(73, pack("Qq", 1, -1) + bytes(16)) + record(74, pack("HHHHI", 0, 2, 0, 5, 0))
data += record(75, pack("QQQQQQQ", 3, 0, int(aggr), 1, 50, 2, 1))
def stat(ident, cpu, count, ran): return record(76, pack("QiIQQQ", ident, cpu, 0, count, 100, ran))
data += stat(11, 0, 1000, 100) + stat(12, 5, 70, 100) + stat(21, 0, 8, 100) + stat(22, 5, 0, 100)
data += record(77, pack("QQ", 0, 50000000))
def stat(ident, cpu, count, ran): return record(76, pack("QiIQQQ", ident, cpu, 0, count, 300, ran))
data += stat(11, 0, 1234, 300) + stat(12, 5, 71, 200) + stat(21, 0, 10, 300) + stat(22, 5, 4, 300)
data += record(77, pack("QQ", 1, 90000000))
topology = pack("I", 1) + text("0-5") + pack("I", 2) + text("0-2") + text("3-5")
topology += b"".join(pack("II", c // 3 + 7, c // 3) for c in range(6))
topology += pack("I", 1) + text("0-5") + b"".join(pack("I", 2) for c in range(6))
nodes = pack("I", 2) + b"".join(pack("IQQ", n, 1, 1) + text(l) for n, l in ((3, "0-2"), (4, "3,4-5")))
names = pack("II", 2, 128) + b"".join(attr(e[1], e[2]) + pack("I", 2) + text(e[0]) + pack("QQ", *e[3]) for e in events)
features = {7: pack("II", 6, 6), 11: pack("I", 2) + text("perf") + text("stat"), 12: names, 13: topology, 14: nodes, 19: b""}
if version: features[5] = text(version)
at = 104 + len(ids) + len(attrs)
head = b"PERFILE2" if order == "<" else b"2ELIFREP"
head += pack("QQ", 104, 144) + pack("QQ", 104 + len(ids), len(attrs)) + pack("QQ", at, len(data)) + pack("QQ", 0, 0)
head += pack("QQQQ", sum(1 << f for f in features), 0, 0, 0)
end, table, bodies = at + len(data) + 16 * len(features), b"", b""
for f in sorted(features):
    table += pack("QQ", end + len(bodies), len(features[f]))
    bodies += features[f]
open(path, "wb").write(head + ids + attrs + data + table + bodies)
END
cat >want <<'END'
0.050000000,CPU0,1000,,instructions:u,100,100.00,,,kernel
0.050000000,CPU5,70,,instructions:u,100,100.00,,,kernel
0.050000000,CPU0,2.00,Joules,power/energy-pkg/,100,100.00,,,kernel
0.050000000,CPU5,0.00,Joules,power/energy-pkg/,100,100.00,,,kernel
0.090000000,CPU0,234,,instructions:u,200,100.00,,,kernel
0.090000000,CPU5,2,,instructions:u,100,50.00,,,scaled
0.090000000,CPU0,0.50,Joules,power/energy-pkg/,200,100.00,,,kernel
0.090000000,CPU5,1.00,Joules,power/energy-pkg/,200,100.00,,,kernel
END
for order in '<' '>'; do
	python3 make.py "$order" hand.data
	run "${report[@]}" -x, -i hand.data
	is "$status" 0 "by hand, order $order: status" || note "$(cat err)"
	sed 's/^ *//' err >got
	same got want "by hand, order $order"
	run "${report[@]}" -x, -i hand.data --per-core
	is "$(awk -F, '{ print $2 }' err | sort | uniq -c | tr -s ' \n' ' ')" " 4 S0-D2-C7 4 S1-D2-C8 " "by hand, order $order: that machine's cores"
	run "${report[@]}" -x, -i hand.data --per-node
	is "$(awk -F, '{ print $2 }' err | sort | uniq -c | tr -s ' \n' ' ')" " 4 N3 4 N4 " "by hand, order $order: its nodes"
	run "${report[@]}" -x, -i hand.data --per-thread
	is "$(awk -F, '$5 ~ /instr/ { print $3 }' err | tr '\n' ' ')" "1070 313 " "by hand, order $order: CPUs together"
done
# numbers of what rows are of have moved with perf's versions: 6.5 has caches, 6.9 clusters
while read -r version number want; do
	python3 make.py '<' hand.data "$version" "$number"
	run "${report[@]}" -x, -i hand.data
	is "$status $(awk -F, '$NF != "" && /instr/ { print $2; exit }' err)" "0 $want" "perf $version: rows of number $number" || note "$(cat err)"
done <<'END2'
6.1.187 2 S0
6.1.187 3 S0-D2
6.1.187 4 S0-D2-C7
6.1.187 7 N3
6.4.12 4 S0-D2-C7
6.5.1 4 1070
6.5.1 5 S0-D2-C7
6.8.12 8 N3
6.9.g0123abc 4 1070
6.9.g0123abc 5 1070
6.12.0 6 S0-D2-C7
7.0 9 N3
6.12.0 3 S0-D2
END2
python3 make.py '>' hand.data
# damage: no cut and no flipped byte of it makes more of it than there is, or a crash
size=$(stat -c %s hand.data)
broken=
for ((i = 0; i < size; i += 61)); do
	head -c $i hand.data >cut.data
	run "${report[@]}" -A -i cut.data
	[ "$status" = 0 ] || [ "$status" = 125 ] || broken="$broken cut:$i:$status"
	python3 -c 'import sys; b = bytearray(open("hand.data", "rb").read()); b[int(sys.argv[1])] ^= 255; open("cut.data", "wb").write(b)' $i
	run "${report[@]}" -A -i cut.data
	[ "$status" = 0 ] || [ "$status" = 125 ] || broken="$broken flip:$i:$status"
done
is "$broken" "" "cut and flipped files give what they have, or 125"

# --- the file
rm -f perf.data perf.data.old
run "${record[@]}" -e instructions -- true
run "${record[@]}" -e branches -- true
is "$("${report[@]}" -x, 2>&1 | cut -d, -f3)" branches "perf.data is the default"
is "$("${report[@]}" -x, -i perf.data.old 2>&1 | cut -d, -f3)" instructions "what had the name is perf.data.old"
mkdir dir
run "${record[@]}" -o dir -e instructions -- touch ran
is "$status $(ls ran 2>/dev/null)" "125 " "a file that cannot be written: nothing is run"
run "${record[@]}" -o f.data -e instructions -- sh -c 'exit 3'
is "$status" 3 "the command's status"
run "$ANYPERF" stat -x, -- record
is "$status" 127 "behind -- record is a program"
run "${record[@]}" -r 2 -- true
is "$status $(head -n 1 err)" "129 anyperf stat: record and -r do not go together" "-r"
again "no events" -n -- true
run "${record[@]}" -n -o f.data -- true
run "${report[@]}" -i f.data
has err 'seconds time elapsed' "no events: the time"
if command -v perf >/dev/null; then
	perf stat report -i f.data >perf.out 2>&1
	has perf.out 'seconds time elapsed' "no events: perf's report, too"
fi
run "${report[@]}" -i none.data
is "$status $(cat err)" "125 anyperf stat report: none.data: No such file or directory (try 'anyperf stat record' first, or -i file)" "no file"
"$ANYPERF" record -q -e instructions -c 1000 -o samples.data -- "$work" >/dev/null 2>&1
run "${report[@]}" -i samples.data
is "$status $(cat err)" \
	"125 anyperf stat report: samples.data: has no counts: 'anyperf stat record' writes them, and 'anyperf report' shows samples" "samples"
run "${record[@]}" -o f.data -e instructions -- true
run "${report[@]}" -i f.data -A
is "$status $(cat err)" "125 anyperf stat report: the counts are of no CPU in particular: record them with -a or -C" "-A of a command"
# a recorder that is killed leaves the intervals that it had
rm -f f.data
start "$ANYPERF" stat record -I 10 -o f.data -e instructions -- sh -c 'echo $$ >spinner; while :; do :; done'
has_rounds()
{
	[ "$("${report[@]}" -x, -i f.data 2>&1 | grep -c instructions)" -ge 3 ]
}
check "intervals are in the file while it is recorded" wait_for 20 has_rounds
{
	kill -9 "$pid" "$(cat spinner)"
	wait "$pid"
} 2>/dev/null
run "${report[@]}" -x, -i f.data
is "$status $(($(grep -c ',instructions:u,.*exact$' err) >= 3))" "0 1" "a killed recorder leaves its intervals"

done_testing
