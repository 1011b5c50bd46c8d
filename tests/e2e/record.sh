#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf record` of what the kernel samples: Debian's perf reads the files, and finds what we say we wrote.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

command -v perf >/dev/null || skip_all "no perf"
command -v gcc >/dev/null || skip_all "no gcc"
cd "$tmp" || exit 1
HOME=$tmp/home
export HOME
mkdir "$HOME"
perf record -q -e cpu-clock:u -o probe -- true >/dev/null 2>why ||
	perf_refused why

cat >work.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i * i; }
__attribute__((noinline)) void mid(int n) { leaf(n); s++; }
int main(int argc, char **argv)
{
	for (int i = argc > 1 ? atoi(argv[1]) : 100; i; i--)
		mid(100000);
	puts("worked");
	return 7;
}
END
gcc -O0 -g -o work work.c || exit 1

# samples that we say, that perf finds, that we find
said() { sed -n 's/.*Captured and wrote .*(\([0-9]*\) samples).*/\1/p' err; }
theirs() { perf script -i "$1" -F event,ip 2>/dev/null | grep -c :; }
ours() { "$ANYPERF" export -i "$1" -f collapsed --weight samples -o - | awk '{ n += $NF } END { print n + 0 }'; }

agree() # FILE NAME
{
	local n
	n=$(said)
	if [ "${n:-0}" -gt 3 ]; then
		is "$(theirs "$1")" "$n" "$2: perf finds all $n samples"
		is "$(ours "$1")" "$n" "$2: so do we"
	else
		not_ok "$2: samples" "$(cat err)"
	fi
}

# until CONDITION: a line of shell; children come and go while it is looked at
until_true() { wait_for 20 eval "$1" || note "waited in vain: $1"; }
is_working() { grep -q work "/proc/$1/comm"; }
child_of() { pgrep -P "$1" | head -n 1; }

record() { run "$ANYPERF" record "$@"; }

# --- a plain file
record -e cpu-clock:u -- ./work
is "$status" 7 "the status is the command's"
is "$(cat out)" worked "its output is its own"
agree perf.data "one event"
perf report --stdio -i perf.data >report 2>report.err
has_not report.err 'WARNING|rror' "perf report has no complaint"
has report 'work  .*leaf' "the program's function is on top"
is "$(perf evlist -i perf.data 2>&1)" cpu-clock:u "perf evlist names the event as it was asked for"
is "$(perf evlist -v -i perf.data 2>&1 | grep -c 'exclude_kernel: 1.*freq: 1.*enable_on_exec: 1')" 1 "and its attr"
id=$(readelf -n work | sed -n 's/.*Build ID: //p')
is "$(perf buildid-list -i perf.data | grep -F "$tmp/work")" "$id $tmp/work" "build id"
perf report --header-only -i perf.data >header 2>&1
for line in "hostname : $(uname -n)" "os release : $(uname -r)" "arch : $(uname -m)" \
	"nrcpus online : $(getconf _NPROCESSORS_ONLN)" 'cmdline : anyperf record -e cpu-clock:u -- ./work' \
	"total memory : $(sed -n 's/MemTotal: *//p' /proc/meminfo)"; do
	if grep -qF "$line" header; then ok "header: ${line%% :*}"; else not_ok "header: $line" "$(cat header)"; fi
done
is "$(stat -c %a perf.data)" 600 "nobody else reads it"
n=$(said)
perf inject -b -i perf.data -o injected 2>why || note "$(cat why)"
is "$(theirs injected)" "$n" "perf inject takes it"
record -e cpu-clock:u -q -- ./work
is "$(cat err)" "" "-q is quiet"
is "$(theirs perf.data.old)" "$n" "the file before it is kept"

# --- what samples have
record -e cpu-clock:u -c 200000 -g -o g -- ./work
agree g "-g"
is "$(perf script -i g -F ip,sym 2>/dev/null | awk -v RS= '/ leaf/ && / mid/ && / main/ { n++ } END { print (n > 0) }')" 1 \
	"callchains"
is "$(perf evlist -v -i g | grep -o 'sample_period, sample_freq }: [0-9]*')" 'sample_period, sample_freq }: 200000' "-c"
record -e cpu-clock:u --call-graph dwarf,4096 -o d -- ./work 60
agree d "dwarf"
is "$(perf script -i d -F ip,sym 2>/dev/null | awk -v RS= '/ leaf/ && / mid/ && / main/ { n++ } END { print (n > 0) }')" 1 \
	"dwarf: perf unwinds the stacks"
record -e '{cpu-clock:u,page-faults:u},context-switches' -o m -- ./work
is "$status" 7 "several events"
perf evlist -g -i m >got 2>&1
has got '^\{cpu-clock:u,page-faults:u\}$' "a group is one"
is "$(theirs m)" "$(said)" "several events: perf finds all samples"
record -e cpu-clock:u -d -R -P -s --sample-cpu -T -o x -- ./work
is "$(perf script -i x -F cpu,addr,period,time 2>/dev/null | grep -c .)" "$(said)" "-d -R -P -T --sample-cpu"
record -e cpu-clock:u -i -o i -- sh -c './work; :'
is "$(perf script -i i -F comm 2>/dev/null | sort -u | tr -d ' \n')" "$(perf script -i i -F comm 2>/dev/null | grep -v work | sort -u | tr -d ' \n')" \
	"-i: no children"
record -e cpu-clock:u -o c -- sh -c './work; ./work'
has <(perf script -i c -F comm 2>/dev/null) work "children are followed"
is "$(theirs c)" "$(said)" "children: perf finds all samples"

# --- forms of the file
record -e cpu-clock:u -z -o z -- ./work
agree z "-z"
has <(perf report --header-only -i z 2>&1) 'compressed : Zstd, level = 1' "-z: perf knows"
# section FILE: the five words of its HEADER_COMPRESSED (bit 27): version, type, level, ratio, size of a chunk.
section()
{
	python3 - "$1" <<'END'
import struct, sys
data = open(sys.argv[1], 'rb').read()
at, size = struct.unpack_from('<QQ', data, 40)
bits = int.from_bytes(data[72:104], 'little')
nth = bin(bits & ((1 << 27) - 1)).count('1')
at, size = struct.unpack_from('<QQ', data, at + size + 16 * nth)
print(size, *struct.unpack_from('<III', data, at))
END
}
perf record -q -e cpu-clock:u -z -o perf-z -- ./work >out 2>err
is "$(section z)" "$(section perf-z)" "-z: the section's version, type and level are perf's"
is "$(section z)" "20 0 1 1" "-z: version 0, zstd, level 1"
is "$("$ANYPERF" report -D -i z 2>/dev/null | grep -c FINISHED_INIT) $("$ANYPERF" report --stats -i z 2>/dev/null | grep -c FINISHED_INIT)" \
	"0 0" "no FINISHED_INIT, where readers from before it stop: no reader of these files needs it"
"$ANYPERF" record -e cpu-clock:u -o - -- ./work >pipe 2>err
agree pipe "a stream"
has err '^worked$' "a stream: the command's output goes elsewhere"
"$ANYPERF" record -e cpu-clock:u -z -- ./work 2>err | cat >pipe
agree pipe "a packed stream, because standard output is a pipe"
is "$(grep -c '^anyperf record: standard output is a pipe: the profile goes there' err)" 1 "which is said, because nobody wrote -o -"
"$ANYPERF" record -q -e cpu-clock:u -- ./work 2>err | cat >pipe
is "$(cat err)" worked "-q: it is not"
"$ANYPERF" record -e cpu-clock:u -o - -- ./work 2>err | cat >pipe
has_not err 'is a pipe' "nor with -o -"
"$ANYPERF" record -e cpu-clock:u -o - -- ./work 2>&1 | cat >pipe
has <(grep -a 'one pipe' pipe) 'what the command prints gets into the profile' "standard error into the same pipe: said"

# --- attached
start ./work 100000
worker=$!
until_true 'is_working $worker'
record -e cpu-clock:u -p "$worker" -o p -- bash "$until_ran" "$worker" 20
is "$status" 0 "-p: the status is that of the command beside it"
agree p "-p"
has <(perf report --stdio -i p 2>/dev/null) 'work  .*leaf' "-p: names from /proc"
record -e cpu-clock:u -t "$worker" --timeout 500 -o t
is "$status" 0 "-t without a command"
agree t "-t"
kill -0 "$worker"
is $? 0 "the process runs on"
kill "$worker"

# --- interrupted
for sig in INT TERM; do
	# the shell has a job in the background ignore SIGINT
	env --default-signal=INT "$ANYPERF" record -e cpu-clock:u -o s -- ./work 1000000 >/dev/null 2>err &
	pid=$!
	until_true '[ -s s ]'
	until_true 'is_working $(child_of $pid)'
	kill -"$sig" "$pid"
	wait "$pid"
	[ $? -gt 128 ]
	is $? 0 "SIG$sig ends the command"
	is "$(theirs s)" "$(said)" "SIG$sig: the file is whole"
	rm -f s s.old
done

# --- killed: whatever is there is read by perf without a complaint
bad=0
seen=0
for ((i = 0; i < 12; i++)); do
	"$ANYPERF" record -F 20000 -e cpu-clock:u -g -m 8 -o k -- ./work 1000000 >/dev/null 2>&1 &
	pid=$!
	((i % 3)) && until_true '[ -s k ]'
	((i % 3 == 2)) && until_true '[ $(stat -c %s k) -gt 20000 ]'
	child=$(child_of "$pid")
	kill -9 "$pid"
	[ -n "$child" ] && kill -9 "$child" 2>/dev/null
	wait "$pid" 2>/dev/null
	for file in k*; do
		[ -e "$file" ] || continue
		seen=$((seen + 1))
		# a small ring may lose samples, which the file then says
		perf script -i "$file" 2>&1 >got | grep -Ev 'Warning:|lost [0-9]+ chunks|overload|^$' >why
		[ -s why ] && { bad=$((bad + 1)); note "$file: $(head -n 3 why)"; }
		[ "$(theirs "$file")" = "$(ours "$file")" ] || { bad=$((bad + 1)); note "$file: not alike"; }
	done
	rm -f k*
done 2>/dev/null
# who was killed before the command was known leaves it running
for pid in $(pgrep -x work); do
	[ "$(readlink "/proc/$pid/cwd")" != "$tmp" ] || kill -9 "$pid"
done
is "$bad" 0 "killed at some moments: $seen files, all of them whole"
[ "$seen" -gt 6 ]
is $? 0 "killed: there were files"

# --- under control
mkfifo ctl ack
exec 5<>ack
"$ANYPERF" record -e cpu-clock:u -D -1 --control fifo:ctl,ack -o o -- ./work 1000000 >/dev/null 2>err &
pid=$!
until_true '[ -s o ]'
for word in enable disable 'enable cpu-clock:u' 'enable nobody' evlist ping stop; do
	# perf answers what it knows only: one answer each time
	printf 'unheard\n%s\n' "$word" >ctl
	answer=$(timeout 60 head -c 5 <&5 | tr '\n\0' '.0') # perf's, with its zero
	is "$answer" ack.0 "--control: $word"
done
wait "$pid"
is $? 143 "--control: stop ends the command"
read -r -t 0 -u 5
is $? 1 "--control: what is not known is not answered"
is "$(grep -c "unknown command 'unheard'" err) $(grep -cx 'cpu-clock:u' err)" "7 1" \
	"--control: is told, as are the events"
has err "^failed: can't find 'nobody' event" "--control: an event that is not recorded"
is "$(theirs o)" "$(said)" "--control: what was sampled"
has <(perf script --show-task-events -i o 2>/dev/null) 'COMM exec: work' "-D: names are known although events were disabled"
record -e cpu-clock:u -D 1000000000 -o o -- ./work
is "$(said)" 0 "-D: nothing before"

# --- from file to file
"$ANYPERF" record -e cpu-clock:u --switch-output -o w -- ./work 1000000 >/dev/null 2>err &
pid=$!
until_true '[ -s w ]'
for n in 1 2; do
	until_true 'is_working $(child_of $pid)'
	kill -USR2 "$pid"
	until_true '[ $(ls w.* 2>/dev/null | wc -l) -ge $n ]'
done
kill "$pid"
wait "$pid"
is "$(ls w.* | wc -l)" 3 "--switch-output: three files"
is "$(for f in w.*; do theirs "$f"; done | awk '{ n += $1 } END { print n }')" "$(said)" \
	"--switch-output: together they have all samples"
last=$(ls w.* | tail -n 1)
has <(perf script --show-mmap-events -i "$last" 2>/dev/null) "MMAP2.*$tmp/work" "--switch-output: the last knows the mappings"
record -e cpu-clock:u -F 20000 -g -m 4 --switch-output=20K --switch-max-files 2 -o v -- ./work 6000
is "$(ls v.* | wc -l)" 2 "--switch-max-files"
record -e cpu-clock:u -F 20000 -g --max-size 20K -o y -- ./work 1000000
is "$status" 143 "--max-size ends it"
is "$(theirs y)" "$(said)" "--max-size: the file is whole"

# --- registers, names with a time, words of perf's that change nothing
record -e cpu-clock:u -I --user-regs=ip,sp -c 1000000 -o regs -- ./work
is "$(perf script -i regs -F ip,iregs,uregs 2>/dev/null | grep -cE 'AX:0x.*R15:0x.*ABI:2 +SP:0x.*IP:0x')" "$(said)" \
	"registers of each sample"
record --user-regs=xx -o n -- ./work
is "$status" 129 "an unknown register"
rm -f dated*
record -e cpu-clock:u --timestamp-filename --aio --buildid-all --tail-synthesize --timestamp-boundary -o dated -- ./work
is "$status" 7 "what changes nothing is taken"
check "a file with the time in its name" grep -qE '^dated\.20[0-9]{14}$' <(printf '%s\n' dated*)
record --dry-run -o dry -- ./work
is "$status$(cat out)$(echo dry*)" '0dry*' "--dry-run does nothing"

# --- a file that may not grow on: a write is cut short, as on a disk that is full
(
	trap '' XFSZ
	ulimit -f 64
	exec "$ANYPERF" record -e cpu-clock:u -F 20000 -g -o short -- ./work 6000
) >out 2>err
is "$?" 125 "a file that may not grow on"
has err 'cannot write short: File too large; recording ends' "says so"
n=$(theirs short)
check "perf finds many of its samples: $n" test "$n" -gt 200
is "$(ours short)" "$n" "we find as many"
check "and little is wasted" test "$(stat -c %s short)" -gt 64000

# --- killed early: what is older than a tenth of a second is there
rm -f early
"$ANYPERF" record -q -e cpu-clock:u -o early -- ./work 1000000 >/dev/null 2>&1 &
pid=$!
until_true '[ "$(theirs early)" -gt 3 ]'
child=$(child_of "$pid")
kill -9 "$pid"
[ -n "$child" ] && kill -9 "$child" 2>/dev/null
wait "$pid" 2>/dev/null
check "killed early: there are samples" test "$(theirs early)" -gt 3

# --- what is refused
rm -f n n.*
record -e cpu-clock:u -o n -- ./nothing
is "$status" 127 "no such command"
record -e cpu-clock:u -o nowhere/n -- ./work
is "$status" 125 "no such folder"
is "$(cat out)" "" "and nothing is run"
record -e cpu-clock:u -o /dev/full -- ./work
is "$status" 125 "a full disk"
record -e node-load-misses -o n -- ./work
is "$status" 125 "an event that nobody counts"
has err 'cannot sample node-load-misses' "says so"
for event in alignment-faults emulation-faults; do
	rm -f z
	run "$ANYPERF" record -e $event -o z -- true
	is "$status" 125 "$event, of which nobody tells: status 125"
	has err "cannot sample $event" "$event: says so"
	is "$(ls z 2>/dev/null)" "" "$event: no file"
done
has err "'-e instructions' is counted exactly" "and what to do"
record -e nonsense -o n -- ./work
is "$status" 129 "an unknown event"
record -o n
is "$status" 129 "no command"
record -c 0 -o n -- ./work
is "$status" 129 "period 0"
record --control fd:99 -e cpu-clock -o n -- ./work
is "$status" 129 "a descriptor that is not open"
is "$(echo n*)" 'n*' "none of them left a file"
done_testing
