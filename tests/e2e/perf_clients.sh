#!/bin/bash
# SPDX-License-Identifier: MIT
# Clients as Debian ships them, under anyperf run: perf, PAPI, libpfm4, python, the manual's example.
# What they report is what the programs' sources say, to the instruction.
. "$(dirname "$0")/lib.sh"
need perf papi_avail python3 gcc objdump

cd "$tmp" || exit 1
python=/usr/bin/python3
[ -x "$python" ] || python=$(python3 -c 'import sys; print(sys.executable)')
cp "$PROGRAMS"/{and_loop,branches,fork_count,killed,perf_gate} . || exit 1
expect() { sed -n "s/.* EXPECT $2 //p" "$root/tests/programs/$1.S"; }
instr=$(expect and_loop instructions)
branch=$(expect and_loop branches)
loops=100000 gate=200003 # perf_gate behind its gate
both=(-e 'instructions:u,branches:u')

# session COMMAND...: as run, in a session
session() { run timeout -k 5 120 "$ANYPERF" run "${opts[@]+"${opts[@]}"}" -- "$@"; }
opts=()
# values FILE EVENT: all counts of an event in a CSV of perf's
values() { awk -F, -v e="$2" '{ for (i = 1; i < NF; i++) if ($(i + 2) == e) print $i }' "$1" | xargs; }
total() { values "$1" "$2" | tr ' ' '\n' | awk '{ s += $1 } END { print s }'; }

# --- perf stat: the program's own counts in every form of output
session perf stat "${both[@]}" ./and_loop
is "$status" 0 "perf stat"
has err "^ +$instr +instructions:u" "perf stat: instructions"
has err "^ +$branch +branches:u" "perf stat: branches"
session perf stat -x, -o csv -e '{instructions:u,branches:u}' ./and_loop
is "$(grep -v '^#' csv | cut -d, -f1,3,5 | xargs)" \
	"$instr,instructions:u,100.00 $branch,branches:u,100.00" "a group, -x,"
session perf stat -j -e '{instructions:u,branches:u}' ./and_loop
is "$("$python" -c 'import json, sys
for l in open("err"): e = json.loads(l); print(float(e["counter-value"]), e["event"])' | xargs)" \
	"$instr.0 instructions:u $branch.0 branches:u" "-j"
session perf stat -r 3 -x, -o csv "${both[@]}" ./and_loop
is "$(grep -v '^#' csv | cut -d, -f1,3,4 | xargs)" \
	"$instr,instructions:u,0.00% $branch,branches:u,0.00%" "-r 3: without variance"
# perf 6.1 loses the last interval when its child's SIGCHLD comes at the wrong instant, natively too: of one event or of both
for _ in 1 2 3 4 5 6 7 8 9 10; do
	session perf stat -I 100 -x, -o csv "${both[@]}" ./and_loop
	[ "$(total csv instructions:u) $(total csv branches:u)" = "$instr $branch" ] && break
done
is "$(total csv instructions:u) $(total csv branches:u)" "$instr $branch" "-I: the parts are the whole"
session perf stat -x, -o csv "${both[@]}" ./fork_count
is "$(values csv instructions:u) $(values csv branches:u)" \
	"$(expect fork_count instructions) $(expect fork_count branches)" "children are counted"
session perf stat -i -x, -o csv -e instructions:u ./fork_count
is "$(($(values csv instructions:u) < $(expect fork_count instructions)))" 1 "and with -i they are not"
# perf waits for it before it reads: /proc does not know the task any more
session perf stat -x, -o csv "${both[@]}" -e task-clock ./killed
is "$(values csv instructions:u) $(values csv branches:u)" \
	"$(expect killed instructions) $(expect killed branches)" "a program that is killed"
has csv '^[0-9.]+,msec,task-clock,' "its time" || note "$(cat csv)"
# by SIGTERM, asleep, as perf ends what takes too long
session perf stat --timeout 2000 -x, -o csv "${both[@]}" sleep 60
has csv '^[1-9][0-9]*,,instructions:u,' "perf stat --timeout" || note "$(cat csv)"
session perf stat -x, -o csv -e r00c0:u,instructions:u,instructions:u ./and_loop
is "$(values csv r00c0:u) $(values csv instructions:u)" "$instr $instr $instr" "a raw code"
session perf stat -x, -o csv -e cpu/instructions/u,cpu/event=0xc0/u ./and_loop
is "$(grep -v '^#' csv | cut -d, -f1,3 | xargs)" \
	"$instr,cpu/instructions/u $instr,cpu/event=0xc0/u" "a name of the PMU's"

# --- what there is not, and what the kernel counts
session perf stat -x, -o csv true
is "$status" 0 "the default events"
is "$(grep -c '^[1-9][0-9]*,,cycles:u\|^[1-9][0-9]*,,branch-misses:u' csv)" 2 \
	"and those of models"
has csv '^[1-9][0-9]*,,instructions:u,' "perf asks for user mode by itself"
has csv '^[0-9.]+,msec,task-clock,' "task-clock"
session perf stat -x, -o csv -e task-clock,page-faults,context-switches ./and_loop
is "$status $(grep -c '^[0-9]' csv)" "0 3" "software events"
has csv '^[1-9][0-9]*,,page-faults' "a program faults its pages in"
session perf stat -x, -o csv -e \
	raw_syscalls:sys_enter,syscalls:sys_enter_write,sched:sched_process_fork ./fork_count
is "$(values csv raw_syscalls:sys_enter) $(values csv syscalls:sys_enter_write)" \
	"$(expect fork_count syscalls) 1" "tracepoints of system calls"
is "$(values csv sched:sched_process_fork)" 5 "tracepoints of forks"
session perf stat -e instructions:k ./and_loop
is "$((status != 0))" 1 "kernel mode is refused"
has err "perf_event_paranoid setting is 2" "as of any user"
session perf stat -e instructions:k,instructions:u ./and_loop
is "$status" 255 "also beside one of user mode"
has err "perf_event_paranoid setting is 2" "with the same words"
session perf list
is "$status" 0 "perf list"
has out 'instructions +\[Hardware event\]' "lists what is counted"
has out 'cpu-cycles OR cycles +\[Hardware event\]' "and what is modelled"
# perf's own tables of a CPU may have topdown.*
has_not out '(^|[ /])topdown-' "and not what is not"
has out ' OR cpu/instructions/ +\[Kernel PMU event\]' "with the PMU's names"

# --- of tasks that run: perf attaches while they wait, then something opens the gate
mkfifo gate ctl ack
exec 5<>gate 6<>ctl 7<>ack
session sh -c './perf_gate <gate >ready & p=$!
	until grep -q ready ready && grep -q " (perf_gate) S " /proc/$p/stat; do :; done
	exec perf stat -x, -o csv -e instructions:u,branches:u -p $p sh -c "
		echo >gate; while grep -q \" (perf_gate) [^Z]\" /proc/$p/stat; do :; done"'
is "$status $(values csv instructions:u) $(values csv branches:u)" "0 $gate $loops" "-p"
# shellcheck disable=SC2016
session bash -c './perf_gate 1000 2000 3000 <gate >ready & p=$!
	asleep() { grep -q ready ready || return; for t in /proc/$p/task/*; do
		[ "$(cut -d" " -f3 $t/stat)" = S ] || return; done; }
	until asleep; do :; done
	perf stat -x, -o csv -e instructions:u --per-thread -p $p sh -c "
		printf ... >gate; while grep -q \" (perf_gate) [^Z]\" /proc/$p/stat; do :; done"'
is "$status $(cut -d, -f2 csv | grep -xE '2003|4003|6003' | sort | xargs)" "0 2003 4003 6003" \
	"--per-thread" || note "$(cat csv err)"
# late ARG...: perf stat with these; opens the gate once perf says it counts
late()
{
	: >said
	: >ready
	"$ANYPERF" run -- perf stat -x, -o csv "${both[@]}" "$@" ./perf_gate <gate >ready 2>said &
	pid=$!
	tap_reaped+=("$pid")
}
# the program is to be at its gate by then: a busy machine has more time
for ms in 200 2000 20000; do
	late -D $ms
	wait_for 60 grep -q 'Events enabled' said
	was=$?
	echo >&5
	wait "$pid"
	ended=$?
	[ "$(values csv instructions:u)" != "$gate" ] || break
done
is "$was" 0 "-D says when it counts"
is "$ended" 0 "-D: ends"
is "$(values csv instructions:u) $(values csv branches:u)" "$gate $loops" \
	"-D: counts from then on"
late -D -1 --control fifo:ctl,ack
# perf's child, in the read that follows its word
at_gate() { grep -q ready ready && grep -q ' (perf_gate) S ' "/proc/$(pgrep -P "$(pgrep -P "$pid")")/stat"; }
check "--control: the program waits" wait_for 60 at_gate
for word in enable disable enable; do
	echo $word >&6
	read -r -t 60 answer <&7
	is "$answer" ack "--control: $word"
done
echo >&5
wait "$pid"
is "$(values csv instructions:u) $(values csv branches:u)" "$gate $loops" \
	"--control: counts from then on"
exec 5>&- 6>&- 7>&-

# --- of CPUs: perf itself is a task of the session, and counted too
session perf stat -a -x, -o csv -e instructions:u ./and_loop
all=$(values csv instructions:u)
is "$status $((all >= instr && all < instr + 100000))" "0 1" "-a" || note "$all"
session perf stat -a -A -x, -o csv -e '{instructions:u,instructions:u}' ./and_loop
is "$(grep -c '^CPU' csv)" "$((2 * $(getconf _NPROCESSORS_ONLN)))" "-A: a row for each CPU"
all=$(awk -F, '/^CPU/ { s += $2 } END { print s / 2 }' csv)
is "$status $((all >= instr && all < instr + 100000))" "0 1" "-A: their sum" || note "$all"

# --- two clients, one number: with one environment, and addresses that do not change
opts=(--deterministic)
session env -i PATH="$PATH" perf stat -x, -o csv -e instructions:u env -0
mapfile -d '' environment <out
session env -i PATH="$PATH" perf stat -x, -o csv "${both[@]}" /bin/true
env -i "${environment[@]}" "$ANYPERF" stat --deterministic -x, -o stat -e instructions,branches /bin/true
is "$(values csv instructions:u) $(values csv branches:u)" \
	"$(stat_value stat instructions) $(stat_value stat branches)" "perf stat counts what anyperf stat does"
session env -i "${environment[@]}" "$ANYPERF" stat -x, -o stat -e instructions /bin/true
is "$(values csv instructions:u)" "$(stat_value stat instructions)" "also within the session"
"$ORACLE" -o oracle -- ./branches
session perf stat -x, -o csv "${both[@]}" ./branches
is "$(values csv instructions:u) $(values csv branches:u)" \
	"$(awk '$1 == "instructions" || $1 == "branches" { print $2 }' oracle | xargs)" "and the oracle"
opts=()

# --- PAPI
opts=("${papi_cpu[@]}")
session papi_avail
is "$status" 0 "papi_avail"
has out '^Number Hardware Counters : [1-9]' "papi_avail: counters"
has out '^Fast counter read \(rdpmc\): yes' "papi_avail: read in place"
awk '$3 == "Yes" && /^PAPI_(TOT|BR)_INS / { print $1 }' out >presets
mapfile -t presets <presets
session papi_native_avail
is "$status" 0 "papi_native_avail"
generic=(perf::INSTRUCTIONS perf::BRANCHES) pmus='perf, perf_raw, .'
has out "${generic[0]}" "papi_native_avail: instructions"
session papi_component_avail
has out "PMUs supported: $pmus" "papi_component_avail: knows the CPU's PMU"
session papi_command_line "${generic[@]}" "${presets[@]}"
is "$status" 0 "papi_command_line"
for event in "${generic[@]}" "${presets[@]}"; do
	has out "^$event :[[:space:]]+[1-9][0-9]{6,}" "papi_command_line: $event"
done
cat >papi.c <<'END'
#include <papi.h>
#include <stdio.h>
#include <string.h>

static void __attribute__((noipa)) work(long n)
{
	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(n));
}

/* PAPI's loop over a counter's page goes round once more where the page is written meanwhile: until two rounds agree. */
int main(int argc, char **argv)
{
	long long few[8], many[8], before[8] = { 0 };
	int set = PAPI_NULL, differs = 1;

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set))
		return 1;
	for (int i = 1; i < argc; i++)
		if (PAPI_add_named_event(set, argv[i]))
			return 2;
	if (PAPI_start(set) || PAPI_read(set, few))
		return 3;
	for (int round = 0; round < 100 && differs; round++) {
		if (PAPI_reset(set))
			return 4;
		work(1);
		if (PAPI_read(set, few) || PAPI_reset(set))
			return 5;
		work(100001);
		if (PAPI_read(set, many))
			return 6;
		differs = round == 0;
		for (int i = 1; i < argc; i++) {
			differs |= many[i - 1] - few[i - 1] != before[i - 1];
			before[i - 1] = many[i - 1] - few[i - 1];
		}
	}
	for (int i = 1; i < argc; i++)
		printf("%s %lld\n", strchr(argv[i], '_') ? strchr(argv[i], '_') : argv[i],
		       many[i - 1] - few[i - 1]);
	return PAPI_stop(set, many) ? 7 : 0;
}
END
check "a program with PAPI compiles" gcc -O2 -o papi papi.c -lpapi
session ./papi "${generic[@]/%/:u}" "${presets[@]}"
{
	printf '%s\n' 'perf::INSTRUCTIONS:u 200000' 'perf::BRANCHES:u 100000'
	sed 's/PAPI//; s/_TOT_INS/& 200000/; s/_BR_INS/& 100000/' presets
} >want
is "$status" 0 "and runs"
same out want "and counts a loop"
# its tables may not have this CPU: a table of the user's
session sh -c 'papi_component_avail | sed -n "s/.*PMUs supported:.*perf_raw, \([^,]*\).*/\1/p"'
pmu=$(cat out) names=(perf::INSTRUCTIONS perf::BRANCHES perf::TASK-CLOCK)
printf '%s\n' "CPU,$pmu" "PRESET,PAPI_TOT_INS,NOT_DERIVED,${names[0]}" \
	"PRESET,PAPI_BR_INS,NOT_DERIVED,${names[1]}" "PRESET,PAPI_TOT_CYC,NOT_DERIVED,${names[2]}" >papi.csv
export PAPI_CSV_EVENT_FILE=$tmp/papi.csv
cat >overflow.c <<'END'
#include <papi.h>
#include <stdio.h>

static volatile int hits;

static void handler(int set, void *addr, long long which, void *context)
{
	(void)set, (void)addr, (void)which, (void)context;
	hits++;
}

static void __attribute__((noipa)) work(long n)
{
	__asm__ volatile("1: dec %0\n jnz 1b" : "+r"(n));
}

int main(void)
{
	int set = PAPI_NULL, code;
	long long count;

	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT || PAPI_create_eventset(&set) ||
	    PAPI_add_named_event(set, "PAPI_TOT_INS") || PAPI_event_name_to_code("PAPI_TOT_INS", &code) ||
	    PAPI_overflow(set, code, 100000, 0, handler) || PAPI_start(set))
		return 1;
	work(2500000);
	if (PAPI_stop(set, &count))
		return 2;
	printf("%d %d\n", hits > 49, hits == count / 100000);
	return 0;
}
END
check "a program with PAPI's overflows compiles" gcc -O2 -o overflow overflow.c -lpapi
session ./overflow
is "$status $(cat out)" "0 1 1" "PAPI_overflow: a call for each period"
session papi_cost -t 50
is "$status" 0 "papi_cost"
has out 'Total cost for PAPI_read \(2 counters\)' "papi_cost: reads"
session ./papi PAPI_TOT_INS PAPI_BR_INS
is "$status $(xargs <out)" "0 _TOT_INS 200000 _BR_INS 100000" "presets"
unset PAPI_CSV_EVENT_FILE
opts=()

# --- libpfm4: its examples
examples=/usr/share/doc/libpfm4-dev/examples
if [ -r $examples/showevtinfo.c ]; then
	mkdir -p include/perfmon
	echo '#include <err.h>' >include/perfmon/err.h # the package has forgotten it
	for example in check_events showevtinfo; do
		check "libpfm4: $example compiles" gcc -w -O1 -Iinclude -o $example $examples/$example.c -lpfm
	done
	session ./check_events perf::INSTRUCTIONS
	is "$status" 0 "check_events"
	has out '^Codes +: 0x1' "check_events: the event's code"
	session ./showevtinfo instructions
	is "$status" 0 "showevtinfo"
	has out '^Name +: ' "showevtinfo: finds events"
else
	lack "libpfm4: its examples" "the package's documentation is not installed"
fi

# --- the example of perf_event_open(2), as printed there
page=/usr/share/man/man2/perf_event_open.2.gz
if [ -r $page ]; then
	gzip -dc $page | sed -n '/^\.SH EXAMPLES/,/^\.SH SEE/p' | sed -n '/^\.EX/,/^\.EE/p' |
		sed '/^\.E/d; s/\\-/-/g; s/\\e/\\/g' >example.c
	check "the manual's example compiles" gcc -static -o example example.c
	# the same with an event that every kernel has shows the way to the oracle
	sed 's/PERF_TYPE_HARDWARE/PERF_TYPE_SOFTWARE/; s/_HW_INSTRUCTIONS/_SW_DUMMY/' example.c >dummy.c
	gcc -static -o dummy dummy.c
	session ./example
	cp out got
	is "$status $(head -n 1 out)" "0 Measuring instruction count for this printf" "it runs"
	call=$(objdump -d --no-show-raw-insn dummy |
		awk '/<__ioctl>:/ { on = 1 } on && $2 == "syscall" { sub(/:/, "", $1); print $1; exit }')
	"$ORACLE" -o oracle --trace trace -- ./dummy >out
	want=$(awk -v call="$call" '{ pc = $2; sub(/^0x/, "", pc); sub(/^0*/, "", pc) }
		calls == 2 { n++ }
		pc == call { calls++ }
		END { print n }' trace)
	if grep -q Used out; then
		is "$(tail -n 1 got)" "Used $want instructions" "its printf takes what a trace shows"
	else
		lack "what its printf takes" "perf_event_open is refused here"
	fi
else
	lack "the manual's example" "the manual is not installed"
fi

# --- system calls by hand: as Go's programs do, and with ctypes
session "$PROGRAMS/perf_raw"
is "$status" 0 "a program without a libc counts itself"
cat >self.py <<'END'
import ctypes, fcntl, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
size = 112
def event(config, flags):
    attr = ctypes.create_string_buffer(size)
    struct.pack_into('IIQ', attr, 0, 0, size, config)
    struct.pack_into('Q', attr, 40, flags)
    return libc.syscall(298, attr, 0, -1, -1, 0)
count = lambda fd: struct.unpack('Q', os.read(fd, 8))[0]
disabled, inherit, exclude_kernel, on_exec = 1, 2, 32, 4096
fds = [event(c, disabled | inherit | exclude_kernel | on_exec) for c in (1, 4)]
for i in range(2):
    os.waitpid(os.posix_spawn(sys.argv[1], [sys.argv[1]], {}), 0)
    print(*[count(fd) for fd in fds])
mine = event(1, exclude_kernel)
before = count(mine)
sum(range(1000))
print(count(mine) > before > 0)
END
session "$python" self.py ./and_loop
is "$status $(xargs <out)" "0 $instr $branch $((2 * instr)) $((2 * branch)) True" \
	"python counts its children and itself" || note "$(cat err)"

# --- all of it in the locked box
cp "$ANYPERF" anyperf
cp "$PROGRAMS/lockbox" .
if ./lockbox true 2>err; then
	ANYPERF=$tmp/anyperf
	session true
	boxed() { run ./lockbox timeout -k 5 120 ./anyperf run "${opts[@]+"${opts[@]}"}" -- "$@"; }
	boxed perf stat -x, -o csv "${both[@]}" ./and_loop
	is "$status $(values csv instructions:u) $(values csv branches:u)" "0 $instr $branch" \
		"locked box: perf stat"
	boxed perf stat -x, -o csv true
	is "$status" 0 "locked box: the default events"
	has csv '^[1-9][0-9]*,,instructions:u,' "locked box: instructions"
	boxed perf list
	has out 'instructions +\[Hardware event\]' "locked box: perf list"
	boxed perf stat -j -e '{instructions:u,branches:u}' ./and_loop
	is "$(sed -n 's/.*"counter-value" : "\([0-9]*\)[.0]*".*/\1/p' err | xargs)" "$instr $branch" "locked box: a group, -j"
	boxed perf stat -r 3 -x, -o csv "${both[@]}" ./and_loop
	is "$(grep -v '^#' csv | cut -d, -f1,3,4 | xargs)" \
		"$instr,instructions:u,0.00% $branch,branches:u,0.00%" "locked box: -r 3"
	boxed perf stat -x, -o csv "${both[@]}" ./fork_count
	is "$(values csv instructions:u) $(values csv branches:u)" \
		"$(expect fork_count instructions) $(expect fork_count branches)" "locked box: children are counted"
	boxed perf stat -a -A -x, -o csv -e '{instructions:u,instructions:u}' ./and_loop
	is "$status $(grep -c '^CPU' csv)" "0 $((2 * $(getconf _NPROCESSORS_ONLN)))" "locked box: -A: a row for each CPU"
	opts=("${papi_cpu[@]}")
	boxed ./papi "${names[@]:0:2}"
	is "$status $(awk '{ print $NF }' out | xargs)" "0 200000 100000" "locked box: PAPI"
	boxed papi_avail
	has out '^Number Hardware Counters : [1-9]' "locked box: papi_avail"
	boxed papi_native_avail
	has out "${generic[0]}" "locked box: papi_native_avail: instructions"
	boxed papi_command_line "${generic[@]}" "${presets[@]}"
	is "$status" 0 "locked box: papi_command_line"
	for event in "${generic[@]}" "${presets[@]}"; do
		has out "^$event :[[:space:]]+[1-9][0-9]{6,}" "locked box: papi_command_line: $event"
	done
	boxed papi_cost -t 50
	has out 'Total cost for PAPI_read \(2 counters\)' "locked box: papi_cost: reads"
	opts=()
	boxed "$python" self.py ./and_loop
	is "$status $(xargs <out)" "0 $instr $branch $((2 * instr)) $((2 * branch)) True" \
		"locked box: python"
else
	lack "the locked box" "$(head -n 1 err)"
fi

done_testing
