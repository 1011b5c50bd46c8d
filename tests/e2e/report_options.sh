#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What `anyperf report` leaves out, puts together and draws otherwise on request: the same text as perf's.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/as_perf.bash
. "$(dirname "$0")/as_perf.bash"

cat >"$tmp/work.c" <<'END_OF_C'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i * i; }
__attribute__((noinline)) void mid(int n) { leaf(n); s++; }
__attribute__((noinline)) void top(int n) { mid(n); leaf(n / 2); s++; }
static void *thread(void *arg) { for (int i = 0; i < 300; i++) top(100000); return arg; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	for (int i = 0; i < 200; i++) top(100000);
	pthread_join(t, NULL);
	if (!fork()) { execl(SH, "sh", NULL); }
	wait(NULL);
	return 0;
}
END_OF_C
# another command, with symbols: of files without any, perf shows addresses, and we functions
cat >"$tmp/sh.c" <<'END_OF_C'
static volatile unsigned long n;
__attribute__((noinline)) void word(void) { for (int i = 0; i < 100; i++) n += i; }
__attribute__((noinline)) void line(void) { for (int i = 0; i < 30; i++) word(); n++; }
int main(void) { for (int i = 0; i < 20000; i++) line(); return 0; }
END_OF_C
gcc -O1 -g -fno-omit-frame-pointer -o "$tmp/sh" "$tmp/sh.c" || exit 1
gcc -O1 -g -fno-omit-frame-pointer -pthread -DSH="\"$tmp/sh\"" -o "$tmp/work" "$tmp/work.c" || exit 1
record "$tmp/chains.data" -g -- "$tmp/work"
spread "$tmp/two.data" perf record -q --sample-cpu -W -d -e cpu-clock:u,page-faults:u -o "$tmp/two.data" -- "$tmp/work" || exit 1
perf record -q -e '{cpu-clock:u,page-faults:u}' -o "$tmp/group.data" -- "$tmp/work" || exit 1
"$ANYPERF" record -q -b -e instructions:u -c 3000000 -o "$tmp/branches.data" -- "$tmp/work" 2>/dev/null || exit 1
perf report --stdio -i "$tmp/branches.data" >/dev/null 2>"$tmp/why" </dev/null || exit 1
pid=$(perf script -i "$tmp/two.data" -F pid,comm 2>/dev/null | awk '$1 == "work" { print $2; exit }')

# same NAME ARGS...: both reports; blanks at the ends of lines are compared in report.sh
same()
{
	perf_report "${@:2}" | sed 's/ *$//' >"$tmp/theirs"
	run "$ANYPERF" report --stdio "${@:2}"
	sed -i 's/ *$//' "$tmp/out"
	as_theirs "$1" '[0-9]%'
}

chains=$tmp/chains.data two=$tmp/two.data group=$tmp/group.data branches=$tmp/branches.data
same "flat paths" -i "$chains" -g flat --no-children
same "folded paths" -i "$chains" -g folded --no-children
same "folded paths, periods" -i "$chains" -g folded,1,5,period --no-children -t:
same "flat paths, counts" -i "$chains" -g flat,0,3,count --no-children
same "trees upside down" -i "$chains" -G --no-children
same "only known symbols" -i "$chains" -U --no-children
same "one function's callers" -i "$chains" -S leaf --no-children
same "one file's trees, of its own" -i "$chains" -d work --percentage relative --no-children
same "one function" -i "$two" -S leaf
same "one file" -i "$two" -d work
same "one command" -i "$two" -c sh
same "one of each" -i "$two" -S leaf -d work -c work -n
same "two commands, relative" -i "$two" -c work,sh --percentage relative
same "one command, relative" -i "$two" -c sh --percentage relative
same "a process" -i "$two" --pid "$pid"
same "a thread" -i "$two" --tid "$pid"
same "CPUs" -i "$two" -C "0-$(($(getconf _NPROCESSORS_CONF) - 1))" -s cpu,sym
same "the first tenth" -i "$two" --time 10%/1
same "two tenths" -i "$two" --time 10%/2,10%/10
same "percents of time" -i "$two" --time 10%-60%
same "events side by side" -i "$two" --group
same "a group" -i "$group"
same "a group by command, numbers" -i "$group" -n --show-total-period -s comm
same "a group's events apart" -i "$group" --no-group
same "a group, limited" -i "$group" -s sym --percent-limit 1
same "widths" -i "$two" -w 5,10,3
same "other widths" -i "$two" -w 15,3,30,40
same "by weight" -i "$two" -s local_weight,weight,comm
same "by time" -i "$two" -s time,comm
same "by time, rounded" -i "$two" -s time --time-quantum 10ms
same "by address" -i "$two" -s addr,sym
same "branches" -i "$branches"
same "branches by file" -i "$branches" -s dso_from,dso_to
same "branches by what the CPU says" -i "$branches" -s mispredict,abort,in_tx,cycles
same "branches by target" -i "$branches" -s comm,sym,dso
same "branches of one file, counted" -i "$branches" -d work -n
same "samples with branches" -i "$branches" --no-branch-stack

# exact NAME ARGS...: no tip there
exact()
{
	local name=$1
	shift
	perf report --stdio "$@" >"$tmp/theirs" 2>/dev/null </dev/null
	run "$ANYPERF" report --stdio "$@"
	if [ -s "$tmp/theirs" ] && diff "$tmp/theirs" "$tmp/out" >"$tmp/diff"; then
		ok "$name"
	else
		not_ok "$name" "$(head -n 20 "$tmp/diff")"
	fi
}
exact "records by kind" -i "$two" --stats
exact "records by kind, branches" -i "$branches" --stats
exact "tasks" -i "$two" --tasks
perf record -q -e cpu-clock:u -o "$tmp/many.data" -- sh -c 'i=0
while [ $i -lt 150 ]; do (true; (true) & wait); i=$((i + 1)); done' 2>/dev/null
exact "many tasks" -i "$tmp/many.data" --tasks
exact "tasks and mappings" -i "$two" --mmaps

same "frames, the innermost" -i "$chains" --max-stack 2 --no-children
same "frames, the outermost" -i "$chains" --max-stack 3 -c work --percent-limit 3
same "a parent" -i "$chains" -p '^leaf$' --no-children
same "a parent, and nothing else" -i "$chains" -p '^leaf$' -x --no-children --percent-limit 3
same "system calls as parents" -i "$chains" -s parent,sym -g none --no-children -c work --percent-limit 3
same "sizes of mappings" -i "$two" -s dso_size,dso
"$ANYPERF" record -q -s -e instructions:u,branches:u -c 1000003 -o "$tmp/threads.data" -- "$tmp/work" 2>/dev/null
perf report --stdio -T -i "$tmp/threads.data" 2>/dev/null </dev/null | sed -n '/^#  *PID/,$p' >"$tmp/theirs"
run "$ANYPERF" report --stdio -T -i "$tmp/threads.data"
sed -i -n '/^#  *PID/,$p' "$tmp/out"
as_theirs "counts of threads" '^ *[0-9]* *[0-9]* *[0-9]* *[0-9]*$'
# --- what samples say besides
"$ANYPERF" record -q -a --transaction --code-page-size --namespaces -e instructions:u -c 3000000 \
	-o "$tmp/facts.data" -- "$tmp/work" 2>/dev/null || exit 1
for key in socket socket,cpu code_page_size transaction cgroup_id cgroup_id,comm,sym; do
	same "-s $key" -i "$tmp/facts.data" -s $key
done
if perf record -q -a --namespaces -e cpu-clock:u -o "$tmp/all.data" -- "$tmp/work" 2>/dev/null; then
	# all that ran meanwhile is in it: a row of many commands has the name of the first, which -c goes by
	for key in socket socket,cpu; do
		same "-s $key of perf's file" -i "$tmp/all.data" -s $key
	done
	# and under names that perf has measured before they changed
	for key in socket,comm cgroup_id,comm; do
		same "-s $key of perf's file" -i "$tmp/all.data" -s $key -c work
	done
else
	lack "keys of perf's own files" "perf cannot record all CPUs here"
fi
same "-s socket of a command" -i "$tmp/two.data" -s socket
"$ANYPERF" report --stdio -i "$tmp/facts.data" -s socket | grep '%' >"$tmp/sockets"
is "$(grep -c '%  *0' "$tmp/sockets") $(grep -c '%  *-' "$tmp/sockets")" "$(wc -l <"$tmp/sockets") 0" "our files tell of sockets"

# records REPORT FILE: a line for each record, its bytes: perf has some of them in order of time
records()
{
	$1 report -D -i "$2" 2>/dev/null </dev/null | grep -a '^\.  \|^0x.*event: ' |
		awk '/^0x/ && NR > 1 { print "" } { printf "%s", $0 } END { print "" }' | LC_ALL=C sort
}
raw()
{
	records perf "$1" >"$tmp/theirs"
	records "$ANYPERF" "$1" >"$tmp/ours"
	is "$(($(wc -l <"$tmp/theirs") > 10)) $(diff "$tmp/theirs" "$tmp/ours" | head -n 4)" "1 " "-D: ${1##*/}"
}
raw "$tmp/facts.data"
raw "$tmp/two.data"
raw "$tmp/branches.data"

if perf record -q --all-cgroups -e cpu-clock:u -o "$tmp/cgroups.data" -- "$tmp/work" 2>/dev/null; then
	same "cgroups" -i "$tmp/cgroups.data" -s cgroup,sym
else
	lack "cgroups" "perf cannot record them here"
fi
same "what is done in any case" -i "$two" -f --demangle --source --skip-empty --stitch-lbr --ignore-vmlinux --stdio-color never

# perf -v says more on standard output only where it annotates; the letter tells whose symbols they are; tips may have a %
perf report --stdio -v -i "$two" 2>/dev/null </dev/null | sed -n 's/ [A-Za-z!] \[\.\]/ [.]/; /^#/d; /%/p' >"$tmp/theirs"
run "$ANYPERF" report --stdio -v -i "$two"
sed -n 's/ [A-Za-z!] \[\.\]/ [.]/; /^#/d; /%/p' "$tmp/out" >"$tmp/ours"
check "addresses of symbols" diff "$tmp/theirs" "$tmp/ours"

run "$ANYPERF" report -i "$two" --symbol-filter str
cp "$tmp/out" "$tmp/part"
run "$ANYPERF" report -i "$two" str
is "$(cat "$tmp/out")" "$(cat "$tmp/part")" "a word is a part of functions' names"
run "$ANYPERF" report "$two"
is "$status" 129 "a file needs -i"
has "$tmp/err" 'reads the file of -i' "and is told so"
run "$ANYPERF" script -s x.py -i "$two"
is "$status" 129 "script -s"
has "$tmp/err" 'runs and writes no scripts in Python or Perl' "says what there is not"
run "$ANYPERF" report -i "$two" --symbol-filter wor
has "$tmp/out" ' word$' "part of a name: has them"
has_not "$tmp/out" 'leaf' "part of a name: has no others"

# bad OPTION... -- REGEX
bad()
{
	local name=$1 what=$2
	shift 2
	run "$ANYPERF" report -i "$two" "$@"
	is "$status" 129 "$name: status 129"
	has "$tmp/err" "$what" "$name: says so"
}
bad "a list of CPUs" 'no list of CPUs' -C 1-x
bad "a time" 'is no time' --time foo
bad "a pid" 'no list of numbers' --pid x
bad "a way of percents" 'relative or absolute' --percentage some
bad "widths" 'widths of columns' -w a,b
bad "a pattern" 'no regular expression' -p '('
bad "a quantum" 'needs a time' --time-quantum 5
bad "a key of branches" "'symbol_from' is of branches" -s symbol_from
run "$ANYPERF" report -i "$chains" -C 0
is "$status" 125 "samples without a CPU: status 125"
has "$tmp/err" 'do not say their CPU' "samples without a CPU: says so"
done_testing
