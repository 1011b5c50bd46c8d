#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf script` and `anyperf evlist` of files that perf recorded: byte for byte what perf prints.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/as_perf.bash
. "$(dirname "$0")/as_perf.bash"

cat >"$tmp/work.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i * i; }
__attribute__((noinline)) void top(int n) { leaf(n); s++; }
static void *thread(void *arg) { for (int i = 0; i < 300; i++) top(100000); return arg; }
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	for (int i = 0; i < 300; i++) top(100000);
	pthread_join(t, NULL);
	if (!fork()) { thread(NULL); execlp("true", "true", NULL); }
	wait(NULL);
	return 0;
}
END
gcc -O1 -g -fno-omit-frame-pointer -pthread -o "$tmp/work" "$tmp/work.c" || exit 1
record "$tmp/chains.data" -g -- "$tmp/work"
perf record -q -e cpu-clock:u,page-faults:u -d -o "$tmp/flat.data" -- "$tmp/work" || exit 1
perf record -q -e cpu-clock:u -c 500000 -T --sample-cpu -z -o "$tmp/packed.data" -- "$tmp/work" || exit 1
perf record -q -e cpu-clock:u -g -o - -- "$tmp/work" >"$tmp/pipe.data" || exit 1

# leaf functions without a frame pointer: only the stack's copy tells who called
gcc -O2 -g -fomit-frame-pointer -pthread -o "$tmp/bare" "$tmp/work.c" || exit 1
perf record -q -e cpu-clock:u -F 500 -D 10 --call-graph dwarf,4096 -o "$tmp/stacks.data" -- "$tmp/bare" 2>/dev/null ||
	exit 1

# code that lies elsewhere in memory than in the file, as lld links it
gcc -O2 -g -fomit-frame-pointer -pthread -Wl,--section-start=.text=0x20000 -o "$tmp/moved" "$tmp/work.c" || exit 1
perf record -q -e cpu-clock:u -F 500 -D 10 --call-graph dwarf,4096 -o "$tmp/moved.data" -- "$tmp/moved" 2>/dev/null ||
	exit 1

for file in chains flat packed; do
	in=$tmp/$file.data
	as_perf "$file: lines" script -i "$in"
	as_perf "$file: chosen fields" script -i "$in" -F comm,tid,pid,time,event,ip,sym,dso
	as_perf "$file: added and left out, nanoseconds" script -i "$in" -F +pid,-symoff,-period --ns
	as_perf "$file: addresses alone" script -i "$in" -G -F ip
	as_perf "$file: tasks and mappings" script -i "$in" --show-task-events --show-mmap-events
	as_perf "$file: of one command" script -i "$in" -c work
	as_perf "$file: events" evlist -i "$in"
	as_perf "$file: events with attrs" evlist -v -i "$in"
	as_perf "$file: events with frequency" evlist -F -i "$in"
done
as_perf "flat: data addresses" script -i "$tmp/flat.data" -F +addr
as_perf "copied stacks: lines" script -i "$tmp/stacks.data" -c bare
"$ANYPERF" script -i "$tmp/stacks.data" -F ip,sym >"$tmp/out"
has "$tmp/out" ' top$' "copied stacks: the caller of a leaf"
has "$tmp/out" ' main$' "copied stacks: main"
as_perf "copied stacks, code moved: lines" script -i "$tmp/moved.data" -c moved
"$ANYPERF" script -i "$tmp/moved.data" -F ip,sym >"$tmp/out"
has "$tmp/out" ' top$' "copied stacks, code moved: the caller of a leaf"
as_perf "a stream: lines" script -i "$tmp/pipe.data"
is "$("$ANYPERF" evlist -i "$tmp/pipe.data")" cpu-clock:u "a stream: events"

# the number of samples is the recorder's
n=$(perf report --stdio -n -g none --no-children -i "$tmp/chains.data" 2>/dev/null |
	awk '/^ .*%/ { n += $2 } END { print n + 0 }')
is "$("$ANYPERF" script -F event -i "$tmp/chains.data" | grep -c cpu-clock)" "$n" "all samples are there"

run "$ANYPERF" script -F cpu -i "$tmp/chains.data"
is "$status" 129 "a field that samples lack: status 129"
has "$tmp/err" "do not have CPU attribute set" "a field that samples lack: says so"
run "$ANYPERF" script -F nonsense -i "$tmp/chains.data"
is "$status" 129 "an unknown field: status 129"
run "$ANYPERF" evlist -i "$tmp/none"
is "$status" 125 "evlist: no file: status 125"
done_testing
