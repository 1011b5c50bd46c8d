#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What `anyperf script` prints beyond the usual line, and what it leaves out on request: byte for byte what perf
# prints, of files that perf recorded and of ours.

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
__attribute__((noinline)) void top(int n) { leaf(n); s++; }
static void *thread(void *arg) { for (int i = 0; i < 200; i++) top(100000); return arg; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	for (int i = 0; i < 200; i++) top(100000);
	pthread_join(t, NULL);
	if (!fork()) execlp("true", "true", NULL);
	wait(NULL);
	return 0;
}
END_OF_C
gcc -O1 -g -fno-omit-frame-pointer -pthread -o "$tmp/work" "$tmp/work.c" || exit 1
record "$tmp/chains.data" -g -- "$tmp/work"
spread "$tmp/two.data" perf record -q --sample-cpu -W -d -e cpu-clock:u,page-faults:u -o "$tmp/two.data" -- "$tmp/work" || exit 1
perf record -q -e cpu-clock:u --data-page-size --code-page-size --phys-data -d -o "$tmp/pages.data" -- "$tmp/work" ||
	exit 1
perf record -q -e cpu-clock:u -I --user-regs=ip,sp,ax -g -o "$tmp/regs.data" -- "$tmp/work" || exit 1
"$ANYPERF" record -q -b -e instructions:u -c 3000000 -o "$tmp/branches.data" -- "$tmp/work" 2>/dev/null || exit 1
calls=(-e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -e syscalls:sys_enter_openat)
"$ANYPERF" record -q "${calls[@]}" -c 1 -o "$tmp/calls.data" -- "$tmp/work" 2>/dev/null || exit 1
"$ANYPERF" record -q "${calls[@]}" -c 1 -o - -- "$tmp/work" >"$tmp/calls.pipe" 2>/dev/null || exit 1
"$ANYPERF" run -- perf record -q "${calls[@]}" -c 1 -o "$tmp/theirs.data" -- "$tmp/work" >/dev/null 2>&1 || exit 1
"$ANYPERF" run -- perf record -q "${calls[@]}" -c 1 -o - -- "$tmp/work" >"$tmp/theirs.pipe" 2>/dev/null || exit 1
pid=$(perf script -i "$tmp/two.data" -F pid,comm 2>/dev/null | awk '$2 == "work" || $1 == "work" { print $2 + $1; exit }')

# same NAME ARGS...: both scripts
same()
{
	as_perf "$1" script "${@:2}"
}

for file in calls.data calls.pipe theirs.data theirs.pipe; do
	same "$file: tracepoints" -i "$tmp/$file"
	has "$tmp/out" 'sys_enter: NR [0-9]+ \(' "$file: entries of calls"
	has "$tmp/out" 'sys_exit: NR [0-9]+ = ' "$file: exits of calls"
	has "$tmp/out" 'sys_enter_openat: dfd: 0x' "$file: calls by name"
done
"$ANYPERF" record -q -e 'syscalls:sys_enter_*,raw_syscalls:sys_enter' -o "$tmp/named.data" -- true 2>/dev/null
same "all calls by name" -i "$tmp/named.data"
is "$(grep -c ' syscalls:sys_enter_' "$tmp/out")" "$(grep -c ' raw_syscalls:sys_enter' "$tmp/out")" "each has its name"
same "tracepoints: names and values" -i "$tmp/calls.data" -F comm,trace
same "tracepoints without values" -i "$tmp/calls.data" -F -trace
if perf record -q -e raw_syscalls:sys_enter -o "$tmp/kernel.data" -- "$tmp/work" >/dev/null 2>&1; then
	same "tracepoints of the kernel" -i "$tmp/kernel.data"
else
	lack "tracepoints of the kernel" "perf cannot record them here"
fi

two=$tmp/two.data chains=$tmp/chains.data branches=$tmp/branches.data
same "data sources" -i "$two" -F +data_src
same "weights" -i "$two" -F +weight,+ins_lat
same "page sizes" -i "$tmp/pages.data" -F +data_page_size,+code_page_size
same "physical addresses" -i "$tmp/pages.data" -F +phys_addr
same "registers" -i "$tmp/regs.data" -F +iregs,+uregs
same "branches" -i "$branches" -F +brstack
same "branches alone" -i "$branches" -F brstack
same "branches by name" -i "$branches" -F +brstacksym
same "branches by name, without files" -i "$branches" -F comm,brstacksym
same "times since the first" -i "$two" --reltime
same "times since the last" -i "$chains" --deltatime --show-task-events
same "a process" -i "$two" --pid "$pid"
same "a thread" -i "$two" --tid "$pid"
same "CPUs" -i "$two" -C "0-$(($(getconf _NPROCESSORS_CONF) - 1))"
same "the first part of the time" -i "$two" --time 0%-20%
same "the rest of the time" -i "$two" --time 20%-100%
same "since a time" -i "$two" --time "$(perf script -i "$two" -F time | sed -n '50s/[: ]//gp'),"
same "a function" -i "$chains" -S leaf
same "a file" -i "$chains" --dsos work

same "frames" -i "$chains" --max-stack 2
same "taken" -i "$two" -a -f --demangle
if perf record -q --all-cgroups --switch-events --namespaces -e cpu-clock:u -o "$tmp/told.data" -- \
	unshare -u "$tmp/work" 2>/dev/null; then
	for what in switch namespace cgroup lost; do
		same "records of ${what}s" -i "$tmp/told.data" "--show-$what-events"
	done
	same "all records" -i "$tmp/told.data" --show-switch-events --show-namespace-events --show-cgroup-events \
		--show-task-events --show-mmap-events
else
	lack "records of cgroups, switches and namespaces" "perf cannot record them here"
fi
"$ANYPERF" record -q -a --switch-events -e instructions:u -c 1000003 -o "$tmp/wide.data" -- "$tmp/work" 2>/dev/null
same "switches of CPUs" -i "$tmp/wide.data" --show-switch-events
as_perf "groups of events" evlist -g -i "$tmp/two.data"
perf record -q -e '{cpu-clock:u,page-faults:u},task-clock:u' -o "$tmp/group.data" -- true 2>/dev/null
as_perf "a group" evlist -g -i "$tmp/group.data"

run "$ANYPERF" script -i "$chains" -C 0
is "$status" 125 "samples without a CPU: status 125"
has "$tmp/err" 'do not say their CPU' "samples without a CPU: says so"
run "$ANYPERF" script -i "$two" --time tomorrow
is "$status" 129 "no time: status 129"
done_testing
