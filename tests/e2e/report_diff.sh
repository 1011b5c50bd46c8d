#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf diff` of files that perf recorded: the same text as perf's own.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/as_perf.bash
. "$(dirname "$0")/as_perf.bash"

cat >"$tmp/work.c" <<'END'
static volatile unsigned long s;
#ifdef NEW
__attribute__((noinline)) void added(int n) { while (n--) s -= n; }
#else
__attribute__((noinline)) void removed(int n) { while (n--) s += 3 * n; }
#endif
__attribute__((noinline)) void kept(int n) { while (n--) s ^= n; }
int main(void)
{
	for (int i = 0; i < 500; i++) {
#ifdef NEW
		added(70000);
#else
		removed(100000);
#endif
		kept(100000);
	}
	return 0;
}
END
mkdir "$tmp/old" "$tmp/new"
gcc -O1 -o "$tmp/old/work" "$tmp/work.c" && gcc -O1 -DNEW -o "$tmp/new/work" "$tmp/work.c" || exit 1
for build in old new; do
	spread "$tmp/$build.data" record "$tmp/$build.data" -c 100000 -- "$tmp/$build/work"
done
perf record -q -e page-faults:u -c 1 -o "$tmp/faults.data" -- true || exit 1

# same NAME ARGS...: both tables
same()
{
	perf diff "${@:2}" >"$tmp/theirs" 2>/dev/null </dev/null
	run "$ANYPERF" diff "${@:2}"
	as_theirs "$1" %
}
same "two builds" "$tmp/old.data" "$tmp/new.data"
has "$tmp/out" ' added$' "what is new is there"
has "$tmp/out" ' removed$' "what is gone is there"
same "the other way round" "$tmp/new.data" "$tmp/old.data"
same "a file and itself" "$tmp/new.data" "$tmp/new.data"
same "quiet" -q "$tmp/old.data" "$tmp/new.data"
same "signed" -c delta "$tmp/old.data" "$tmp/new.data"
same "ratio" -c ratio -b "$tmp/old.data" "$tmp/new.data"
same "what both have" -b "$tmp/old.data" "$tmp/new.data"
same "weighted" -c wdiff:1,2 "$tmp/old.data" "$tmp/new.data"
same "weighted against" -c wdiff:2,-1 "$tmp/old.data" "$tmp/new.data"
same "periods" -p "$tmp/old.data" "$tmp/new.data"
same "formulas" -F "$tmp/old.data" "$tmp/new.data"
same "formulas of what both have" -b -F "$tmp/old.data" "$tmp/new.data"
same "ratio, periods and formulas" -c ratio -p -F "$tmp/old.data" "$tmp/new.data"
same "options behind the files" "$tmp/old.data" "$tmp/new.data" -s comm -p
same "weighted, periods and formulas" -c wdiff:1,3 -p -F "$tmp/old.data" "$tmp/new.data"
same "one function" -S kept "$tmp/old.data" "$tmp/new.data"
same "part of the time" --time 20%-60% "$tmp/old.data" "$tmp/new.data"
same "by command and file" -s comm,dso "$tmp/old.data" "$tmp/new.data"
cd "$tmp" || exit 1
cp new.data perf.data
cp old.data perf.data.old
same "files by default"
same "one file is the later one" "$tmp/new.data"
run "$ANYPERF" diff old.data faults.data
is "$status" 125 "no event in common: status 125"
has "$tmp/err" 'no event in common' "no event in common: says so"
run "$ANYPERF" diff old.data none
is "$status" 125 "no second file: status 125"
run "$ANYPERF" diff -c odd
is "$status" 129 "an unknown way: status 129"
run "$ANYPERF" diff -s cpu old.data new.data
is "$status" 129 "a key that is not compared by: status 129"
done_testing
