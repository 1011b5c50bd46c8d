#!/bin/bash
# SPDX-License-Identifier: MIT
# anyperf c2c: two threads that take turns take each line from each other once a turn, but for the first.
. "$(dirname "$0")/lib.sh"
need awk nm

cd "$tmp" || exit 1
prog=$PROGRAMS/false_share

run timeout -k 5 60 "$ANYPERF" stat --machine skylake -x, -o csv -e hitm-loads -- "$prog"
n=$(awk -F, '$3 { print $1 }' csv)
is "$((n >= 3998 && n < 4100))" 1 "each turn but the first, in two lines, and what the library does" || note "$n"

# processes that share a page do the same to each other; at the end one looks at both lines, which the other wrote last and
# has no more where it is gone
for how in anonymous shm "file $tmp/page"; do
	# shellcheck disable=SC2086 # two words
	run timeout -k 5 60 "$ANYPERF" stat --machine skylake -x, -o csv -e hitm-loads -- "$PROGRAMS/share_fork" $how
	n=$(awk -F, '$3 { print $1 }' csv)
	is "$((status == 0 && n >= 3998 && n <= 4000))" 1 "two processes: ${how%% *}" || note "$status $n"
done
run timeout -k 5 60 "$ANYPERF" stat --machine skylake -x, -o csv -e hitm-loads -- "$PROGRAMS/share_fork" private
is "$status $(awk -F, '$3 { print $1 }' csv)" "0 0" "two processes that have copies"
run timeout -k 5 100 "$ANYPERF" stat --machine skylake --model-sample 1 -x, -o csv -e hitm-loads -- "$PROGRAMS/share_fork" killed
n=$(awk -F, '$3 { print $1 }' csv)
is "$((status == 0 && n >= 3998))" 1 "two more that were killed hold up nobody" || note "$status $n"

# thread-local memory is told apart by the base of %fs, which not all CPUs give without a call
for stress in "" "--stress no-fsgsbase"; do
	for resets in "" resets; do
		# shellcheck disable=SC2086 # options, and no argument
		run timeout -k 5 60 "$(anyperf_for $stress)" stat $stress --machine skylake -x, -o csv -e hitm-loads -- "$PROGRAMS/tls_turns" $resets
		n=$(awk -F, '$3 { print $1 }' csv)
		is "$((status == 0 && n < 100))" 1 "$stress $resets: no line of a thread's own memory is another's" || note "$n"
	done
done

run timeout -k 5 100 "$ANYPERF" c2c record -q -m 64M -c 1 --machine skylake --deterministic -o data -- "$prog"
is "$status" 0 "c2c record" || note "$(tail -n 3 err)"
run timeout -k 5 60 "$ANYPERF" c2c report -i data -x '|'
is "$status" 0 "c2c report" || note "$(cat err)"
# of DATUM: kind, operation, number of threads, HITM
uses()
{
	awk -F'|' -v d="$1" '$13 == d && $11 ~ /^turn/ { kind = $2; n[$4]++; hitm[$4] += $7; sum[$4] += $8 }
		END { print kind, n["load"] + 0, hitm["load"] + 0, n["store"] + 0, sum["store"] + 0 }' out
}
is "$(uses own+0x0)" "false 1 999 1 1000" "the first word of a line is one thread's"
is "$(uses own+0x20)" "false 1 1000 1 1000" "another the other's: false sharing"
is "$(uses both+0x10)" "true 2 1999 2 2000" "a word of both: true sharing"
is "$(awk -F'|' '$13 ~ /^alone/' out)" "" "lines of one thread are not shown"
is "$(awk -F'|' '$13 ~ /^own/ { print $12 }' out | sort -u | sed 's/:.*//')" "false_share.c" "with the source"
run timeout -k 5 60 "$ANYPERF" c2c report -i data --false-only -n 1
has out 'false sharing by 2 threads: 1999 HITM' "the worst that is false"
is "$(grep -c 'true sharing' out)" 0 "and no other"
run timeout -k 5 60 "$ANYPERF" c2c report -i data --line-size 32 -x '|'
is "$(awk -F'|' '$13 ~ /^own/' out)" "" "half a line is nobody else's"

# without stores nobody can say what a word of both is
run timeout -k 5 100 "$ANYPERF" c2c record -q -m 64M -c 1 -e mem-loads --machine skylake --deterministic -o loads -- "$prog"
run timeout -k 5 60 "$ANYPERF" c2c report -i loads -x '|'
is "$(uses both+0x10)" "unknown 2 1999 0 0" "without stores: a word of both"
is "$(uses own+0x20)" "false 1 1000 0 0" "a word of one's own, beside the other's"

if command -v perf >/dev/null && [ -r /sys/devices/system/node/online ]; then
	timeout -k 5 100 perf c2c report -i data --stdio >theirs 2>err
	is "$(awk -F: '/Load Local HITM/ { print $2 + 0; exit }' theirs)" \
		"$("$ANYPERF" script -i data -F data_src | grep -c 'OP LOAD.*SNP HitM')" "perf c2c report: as many HITM" ||
		note "$(head -n 3 err theirs)"
else
	lack "perf c2c report" "no perf, or no nodes"
fi

run timeout -k 5 60 "$ANYPERF" record -q -c 100 -o plain -- "$prog"
run timeout -k 5 60 "$ANYPERF" c2c report -i plain
is "$status" 125 "samples that say nothing of data"
has err 'anyperf c2c record' "says how to make them"
run timeout -k 5 60 "$ANYPERF" c2c report -i data --line-size 48
is "$status" 129 "no line has 48 bytes"
run timeout -k 5 60 "$ANYPERF" c2c
is "$status" 129 "no word"

done_testing
