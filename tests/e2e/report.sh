#!/bin/bash
# SPDX-License-Identifier: MIT
#
# `anyperf report` of files that perf recorded: the same text as perf's own report.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/as_perf.bash
. "$(dirname "$0")/as_perf.bash"

cat >"$tmp/work.c" <<'END'
static volatile unsigned long s;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) s += i * i; }
__attribute__((noinline)) void mid(int n) { leaf(n); s++; }
__attribute__((noinline)) void top(int n) { mid(n); leaf(n / 2); s++; }
int main(void) { for (int i = 0; i < 700; i++) top(100000); return 0; }
END
gcc -O1 -g -fno-omit-frame-pointer -o "$tmp/work" "$tmp/work.c" || exit 1
cat >"$tmp/named.cc" <<'END'
#include <string>
namespace ns { struct A { volatile unsigned long s;
	template<typename T> __attribute__((noinline)) void run(T n, std::string x)
	{ for (T i = 0; i < n; i++) s += i; s += x.size(); } }; }
int main() { ns::A a{}; for (int i = 0; i < 1000; i++) a.run<int>(100000, "abc"); }
END
g++ -O2 -fno-omit-frame-pointer -o "$tmp/named" "$tmp/named.cc" || exit 1

record "$tmp/work.data" -g -- "$tmp/work"
record "$tmp/named.data" -g -- "$tmp/named"
# no shell: of files without symbols perf shows addresses, and we functions
cat >"$tmp/both.c" <<'END'
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!fork())
			execl(argv[i], argv[i], NULL);
		wait(NULL);
	}
	return 0;
}
END
gcc -O1 -o "$tmp/both" "$tmp/both.c" || exit 1
perf record -q -z -e cpu-clock:u,page-faults:u -o "$tmp/two.data" -- "$tmp/both" "$tmp/work" "$tmp/named" \
	>/dev/null 2>&1 || exit 1
perf record -q -e cpu-clock:u -g -o - -- "$tmp/work" >"$tmp/pipe.data" 2>/dev/null || exit 1

# same NAME ARGS...: both reports
same()
{
	perf_report "${@:2}" >"$tmp/theirs"
	run "$ANYPERF" report --stdio "${@:2}"
	as_theirs "$1" %
}

for file in work named; do
	same "$file: the table with callers" -i "$tmp/$file.data"
	same "$file: without children" -i "$tmp/$file.data" --no-children
	same "$file: callees" -i "$tmp/$file.data" -g callee
	same "$file: no trees" -i "$tmp/$file.data" -g none
	same "$file: fractal trees" -i "$tmp/$file.data" -g fractal,0.5
	same "$file: counts, three branches" -i "$tmp/$file.data" -g graph,2,3,caller,count
	same "$file: by file and symbol, above 1 percent" -i "$tmp/$file.data" -s dso,sym \
		--percent-limit 1
	same "$file: by thread" -i "$tmp/$file.data" -s pid,comm,dso --no-children
	same "$file: numbers" -i "$tmp/$file.data" -n --show-total-period --showcpuutilization
	same "$file: columns" -i "$tmp/$file.data" -F overhead,comm,period,sample
	same "$file: a column more" -i "$tmp/$file.data" -F +sample
	same "$file: columns more, other keys" -i "$tmp/$file.data" -s sym -F +cpu,period
	same "$file: a number more, by symbol" -i "$tmp/$file.data" -s sym -F +sample
	same "$file: separator" -i "$tmp/$file.data" -s comm,dso -t,
	same "$file: header" -i "$tmp/$file.data" --header
	same "$file: raw names" -i "$tmp/$file.data" --no-demangle -g none
done
same "packed, two events" -i "$tmp/two.data"
# perf has no tip then
perf report --stdio -q -i "$tmp/work.data" >"$tmp/theirs" 2>/dev/null </dev/null
run "$ANYPERF" report --stdio -q -i "$tmp/work.data"
has "$tmp/theirs" '%.*work' "perf -q has the table"
check "quiet: nothing but the table" cmp "$tmp/theirs" "$tmp/out"

run "$ANYPERF" report --stdio -i "$tmp/pipe.data" --no-children -g none
# of the table alone: a tip of perf's has a % as well
perf_report -i "$tmp/pipe.data" --no-children -g none | grep '%' >"$tmp/theirs"
grep '%' "$tmp/out" >"$tmp/ours"
is "$(cat "$tmp/ours")" "$(cat "$tmp/theirs")" "a stream in a file"
"$ANYPERF" report --stdio -i - --no-children -g none <"$tmp/pipe.data" 2>/dev/null | grep '%' >"$tmp/ours"
is "$(cat "$tmp/ours")" "$(cat "$tmp/theirs")" "a stream from standard input"

run "$ANYPERF" report -i "$tmp/none"
is "$status" 125 "no file: status 125"
has "$tmp/err" 'none: No such file or directory' "no file: says so"
for pair in report:record 'mem report:mem record' 'c2c report:c2c record'; do
	read -ra words <<<"${pair%:*}"
	run "$ANYPERF" "${words[@]}" -i "$tmp/none"
	is "$(sed 's/.*directory//' "$tmp/err")" " (try 'anyperf ${pair#*:}' first, or -i file)" \
		"${pair%:*}: which command makes one"
done
run "$ANYPERF" report -i "$tmp/work"
is "$status" 125 "no perf.data: status 125"
has "$tmp/err" 'is not a perf.data file' "no perf.data: says so"
run "$ANYPERF" report -s nonsense -i "$tmp/work.data"
is "$status" 129 "unknown key: status 129"
is "$(cat "$tmp/err")" "anyperf report: unknown key 'nonsense': 'anyperf report --help' has the keys (-s, -F), and a field of the file's tracepoints is one" \
	"unknown key: says where they are, in one whole line"

# in the last record: mappings may stand behind the samples of another CPU's buffer
read -r offset size < <(od -A n -t u8 -j 40 -N 16 "$tmp/work.data")
head -c $((offset + size - 4)) "$tmp/work.data" >"$tmp/cut.data"
run "$ANYPERF" report --stdio -i "$tmp/cut.data"
is "$status" 125 "a cut file: status 125"
has "$tmp/err" 'cut off' "a cut file: says so"
has "$tmp/out" 'leaf' "a cut file: what could be read is shown"
done_testing
