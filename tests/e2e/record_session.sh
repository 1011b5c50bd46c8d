#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf record` of exact events: as many samples as there are periods in the count, each on the
# instruction that the single-stepping oracle names.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need perf gcc
cd "$tmp" || exit 1
HOME=$tmp/home
export HOME
mkdir "$HOME"

cat >work.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i * i; }
__attribute__((noinline)) void mid(int n) { leaf(n); s++; }
static void *thread(void *arg) { mid(300000); return arg; }
int main(int argc, char **argv)
{
	pthread_t t[3];
	if (argc > 1)
		for (int i = atoi(argv[1]); i; i--)
			mid(100000);
	else {
		mid(1000000);
		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, thread, NULL);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
		if (!fork()) {
			mid(500000);
			_exit(0);
		}
		wait(NULL);
	}
	puts("worked");
	return 7;
}
END
gcc -O0 -g -pthread -o work work.c || exit 1

# Without the shell's "_", which is as long as the name of what it starts: where strings lie on the stack, strlen counts.
record() { run env -u _ "$limited" -k 5 100 "$ANYPERF" record "$@"; }
said() { sed -n 's/.*Captured and wrote .*(\([0-9]*\) samples).*/\1/p' err; }
script() { perf script "$@" 2>/dev/null; }
count() { env -u _ "$limited" -k 5 100 "$ANYPERF" stat --deterministic -x, -e "$1" -- ./work "${@:2}" 2>&1 >/dev/null | sed 's/,.*//'; }

# --- on the oracle's instructions; static programs lie where they lie
for program in and_few branches loads_stores; do
	"$ORACLE" --trace trace -- "$PROGRAMS/$program" >/dev/null 2>&1
	for period in 7 1000; do
		# room for all of them: a buffer that is full loses samples where its reader waits for a CPU
		record -m 8M -e instructions -c "$period" -o data -- "$PROGRAMS/$program"
		script -i data -F ip | awk '{ print $1 }' >got
		awk -v n="$period" 'NR % n == 0 { print $2 }' trace | sed 's/^0x//' >want
		[ -s want ]
		is $? 0 "$program, each $period: there are some"
		is "$(said)" "$(wc -l <want)" "$program, each $period: as many as we say"
		same got want "$program, each $period: where the oracle says"
	done
done

# --- as many as periods
for event in instructions branches; do
	n=$(count "$event" 20)
	for period in 10007 100000; do
		record --deterministic -e "$event" -c "$period" -o data -- ./work 20
		is "$status" 7 "$event, each $period: the status is the command's"
		is "$(said)" "$((n / period))" "$event, each $period: one sample a period"
		is "$(script -i data -F ip | wc -l)" "$((n / period))" "$event, each $period: perf finds them"
	done
done
is "$(perf evlist -i data)" branches:u "named as perf names it"
record --deterministic -e instructions,branches -c 10007 -o data -- ./work 20
is "$(script -i data -F event | sort -u | awk '{ print $1 }' | tr '\n' ' ')" "branches:u: instructions:u: " \
	"two events in one ring"
is "$(script -i data -F event | wc -l)" "$(said)" "two events: perf finds all samples"
# and where each is alone: a block in which both marks are near has to count for both
for event in instructions branches; do
	is "$(script -i data -F event | grep -c "$event")" "$(($(count "$event" 20) / 10007))" \
		"two events: as many $event as periods"
	script -i data -F event,ip | awk -v e="$event:u:" '$1 == e || $2 == e { print $(NF > 2 ? 3 : $1 == e ? 2 : 1) }' |
		sed 's/ .*//' >together
	record --deterministic -e "$event" -c 10007 -o alone -- ./work 20
	script -i alone -F ip | awk '{ print $1 }' >want
	is "$(wc -l <together)" "$(wc -l <want)" "two events: $event as many as alone"
	same together want "two events: $event on the same instructions as alone"
done

# --- branch stacks: the last taken branches, that of the sample's own instruction first
"$ORACLE" --trace trace -- "$PROGRAMS/nested_calls" >/dev/null 2>&1
objdump -d "$PROGRAMS/nested_calls" | awk '/^ +[0-9a-f]+:/ { sub(":", "", $1); if (p) print p, $1; p = $1 }' >next
awk -v period=1000 'NR == FNR { next_of[$1] = $2; next }
	{ pc = $2; sub(/^0x/, "", pc); at[++n] = pc }
	END {
		for (k = period; k <= n; k += period) {
			line = ""; found = 0
			for (j = k; j > 0 && found < 32; j--)
				if (at[j + 1] != next_of[at[j]]) {
					line = line " 0x" at[j] "/0x" at[j + 1]; found++
				}
			print line
		}
	}' next trace >want
record -b -e instructions -c 1000 -o data -- "$PROGRAMS/nested_calls"
is "$status $(said)" "0 $(wc -l <want)" "branch stacks: as many samples as without"
stacks() { script -i data -F brstack | sed -E 's,(0x[0-9a-f]+/0x[0-9a-f]+)/[^ ]*,\1,g; s/ +/ /g; s/ $//; s/^ ?/ /' | grep .; }
stacks >got
same got want "branch stacks: those of the trace"
record -j any,any_ret -e instructions -c 1000 -o data -- "$PROGRAMS/nested_calls"
stacks >got
same got want "branch stacks: any, with a kind beside it, is any"
record -j any_ret,save_type -e instructions -c 1000 -o data -- "$PROGRAMS/nested_calls"
script -i data -F brstack | tr ' ' '\n' | grep / | sed 's,.*/,,' | sort | uniq -c | awk '{ print $2, ($1 > 100) }' >kinds
is "$status $(xargs <kinds)" "0 RET 1" "branch stacks: a filter leaves what it names"

# --- the default
record -- ./work 200
is "$status" 7 "without options"
is "$(perf evlist -v -i perf.data 2>/dev/null | grep -o '^[^:]*:u: .*sample_freq }: [0-9]*' | sed 's/: .*:/:/')" \
	'instructions:u: 4000' "4000 times a second by default"
perf report --stdio -i perf.data >report 2>report.err
has_not report.err 'WARNING|rror' "perf report has no complaint"
has report 'work  .*leaf' "the program's function is on top"
has <(perf script --show-mmap-events -i perf.data 2>/dev/null) 'MMAP2.*libc.so' "libraries are known"
is "$("$ANYPERF" export -i perf.data -f collapsed --weight samples -o - | awk '{ n += $NF } END { print n }')" \
	"$(said)" "we find as many as we wrote"

# --- threads and children, each with a period of its own
record -e instructions -c 50000 -g -o data -- ./work
script -i data -F tid,ip | awk 'NF == 1 && /^ *[0-9]+ *$/ { n[$1]++ } END { for (t in n) print n[t] }' | sort -n >got
is "$(wc -l <got)" 5 "a process, its threads and its child" || note "$(cat got)"
is "$(sed -n 1,3p got | sort -u | wc -l)" 1 "threads that do the same have as many samples" || note "$(cat got)"
is "$(script -i data -F ip,sym | awk -v RS= '/ leaf/ && / mid/ && / main/ { n++ } END { print (n > 10) }')" 1 \
	"callchains"
record -i -e instructions -c 50000 -o data -- ./work
is "$(script -i data -F tid | sort -u | wc -l)" 1 "-i: the first thread only"
record -e instructions -c 500000 --call-graph dwarf,4096 -o data -- ./work 20
is "$(script -i data -F ip,sym | awk -v RS= '/ leaf/ && / mid/ && / main/ { n++ } END { print (n > 3) }')" 1 \
	"dwarf: perf unwinds the stacks"

# --- several at once: the kernel would sample the engine, so clocks are the session's as well
record -e instructions,cpu-clock -F 2000 -o data -- ./work 200
is "$status" 7 "a clock beside instructions"
is "$(script -i data -F comm,sym | grep -c unknown)" 0 "and no sample is of the engine"

# --- attached, and left alone
if is_filtered; then
	lack "-p" "a seccomp filter around us: nobody can be attached to"
else
	start ./work 100000
	worker=$pid
	record -e instructions -c 1000000 -p "$worker" -o data -- bash "$until_ran" "$worker" 20
	is "$status" 0 "-p"
	is "$(($(said) > 3))" 1 "-p: there are samples"
	has <(perf report --stdio -i data 2>/dev/null) 'work  .*leaf' "-p: names from /proc"
	kill -0 "$worker"
	is $? 0 "the process runs on"
	kill "$worker"
fi

# --- in order: more threads than CPUs, small rings that are read all the time
cat >many.c <<'END'
#include <pthread.h>
static void *thread(void *arg) { volatile unsigned long s = 0; for (long i = 0; i < 30000000; i++) s += i; return arg; }
int main(void)
{
	pthread_t t[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
gcc -O2 -pthread -o many many.c || exit 1
record -q -m 8 -e instructions -c 997 --switch-events -o ordered -- ./many
perf report --stdio -i ordered >theirs 2>why </dev/null
has theirs many "8 threads: perf reads them"
is "$(grep -c 'out of order' why)" 0 "8 threads: nothing is older than what a round said"

# --- killed
"$ANYPERF" record -e instructions -c 20000 -m 4 -o k -- ./work 1000000 >/dev/null 2>&1 &
pid=$!
wait_for 20 eval '[ -s k ] && [ "$(stat -c %s k)" -gt 50000 ]'
child=$(pgrep -P "$pid" | head -n 1)
kill -9 "$pid"
wait "$pid" 2>/dev/null
[ -n "$child" ] && kill -9 "$child" 2>/dev/null
script -i k >got
is "$(($(grep -c instructions got) > 100))" 1 "the file of a recorder that was killed is whole"
"$ANYPERF" record -e instructions -c 20000 -o k2 -- ./work 1000000 >/dev/null 2>err &
pid=$!
wait_for 20 eval '[ -s k2 ] && [ "$(stat -c %s k2)" -gt 50000 ]'
pkill -9 -P "$pid"
wait "$pid"
is $? 137 "a command that was killed"
is "$(script -i k2 -F ip | wc -l)" "$(said)" "its file is whole"

# --- in a session, and where the kernel gives nothing
record_in_session() { run "$ANYPERF" run -- "$ANYPERF" record "$@"; }
n=$(count instructions 20)
record_in_session --deterministic -e instructions -c 100003 -o data -- ./work 20
is "$status" 7 "anyperf record in anyperf run"
is "$(($(said) - n / 100003 <= 2 && $(said) - n / 100003 >= -2))" 1 \
	"as many samples as periods, but for what differs from run to run" || note "$(said) of $n"
if [ -x "$PROGRAMS/lockbox" ]; then
	run "$PROGRAMS/lockbox" "$ANYPERF" record -e cpu-clock -F 1000 -o data -- ./work 2000
	is "$status" 7 "a clock where perf_event_open is refused" || note "$(cat err)"
	is "$(($(said) > 3))" 1 "has samples"
fi
done_testing
