#!/bin/bash
# SPDX-License-Identifier: MIT
#
# perf.data folders of `perf record --threads`, and what headers say: as perf prints them.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/as_perf.bash
. "$(dirname "$0")/as_perf.bash"

cat >"$tmp/work.c" <<'END_OF_C'
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i * i; }
int main(void)
{
	for (int k = 0; k < 4; k++)
		if (!fork()) {
			for (int i = 0; i < 200; i++) leaf(100000);
			_exit(0);
		}
	while (wait(NULL) > 0);
	return 0;
}
END_OF_C
gcc -O1 -g -fno-omit-frame-pointer -o "$tmp/work" "$tmp/work.c" || exit 1
record "$tmp/dir.data" --threads -g -- "$tmp/work"
perf record -q --threads -z -e cpu-clock:u -o "$tmp/packed.data" -- "$tmp/work" 2>/dev/null || exit 1
perf record -q -z -k CLOCK_MONOTONIC -e '{cpu-clock:u,page-faults:u}' -o "$tmp/clock.data" -- "$tmp/work" 2>/dev/null ||
	exit 1

for file in dir packed; do
	in=$tmp/$file.data
	check "$file: is a folder with parts" test -f "$in/data.0"
	as_perf "$file: lines" script -i "$in"
	as_perf "$file: lines of tasks" script -i "$in" --show-task-events --show-mmap-events
	as_perf "$file: records by kind" report --stdio --stats -i "$in"
	as_perf "$file: header" report --header-only -i "$in"
	as_perf "$file: events" evlist -v -i "$in"
	"$ANYPERF" export --format collapsed -o - -i "$in" >"$tmp/folded" 2>/dev/null
	is "$(awk '{ n += $NF } END { print n / 250000 }' "$tmp/folded")" \
		"$(perf script -i "$in" -F event -G 2>/dev/null | grep -c cpu-clock)" "$file: export has all samples"
done
as_perf "clocks, groups, compression: header" report --header-only -i "$tmp/clock.data"

cp -r "$tmp/dir.data" "$tmp/cut.data"
for part in "$tmp"/cut.data/data.*; do
	[ -s "$part" ] && truncate -s -20 "$part"
done
run "$ANYPERF" script -i "$tmp/cut.data"
is "$status" 125 "a cut part: status 125"
has "$tmp/err" 'cut off in the middle of a record' "a cut part: says so"
has "$tmp/out" 'leaf' "a cut part: what could be read is shown"
mkdir "$tmp/empty"
run "$ANYPERF" report -i "$tmp/empty"
is "$status" 125 "no perf.data folder: status 125"
has "$tmp/err" 'is a folder, and no perf.data is in it' "no perf.data folder: says so"
mkfifo "$tmp/empty/data"
run timeout 60 "$ANYPERF" report -i "$tmp/empty"
is "$status" 125 "a pipe in it is not waited for"
done_testing
