#!/bin/bash
# SPDX-License-Identifier: MIT
# Samples of modelled events: as many as the count says, each of the very reference or branch that met the period, with
# its address, its level and the registers behind it.
. "$(dirname "$0")/lib.sh"
need awk nm

cd "$tmp" || exit 1
walk=$PROGRAMS/model_walk
lines=16384

# What start-up misses depends on the environment: all runs have the same, so that counts stay where they are between two periods.
alike() { env -i LC_ALL=C "$limited" -k 5 60 "$@"; }

# sampled FILE EVENT OPTION... -- COMMAND...
sampled()
{
	local file=$1 event=$2
	shift 2
	run alike "$ANYPERF" record --deterministic --machine skylake -o "$file" -e "$event" "$@"
	is "$status" 0 "$event: recorded" || note "$(tail -n 3 err)"
}
count()
{
	alike "$ANYPERF" stat --deterministic --machine skylake -x, -o csv -e "$1" -- "${@:2}" >/dev/null
	awk -F, '$3 { print $1 }' csv
}
# samples of FILE, as FIELDS
script() { timeout -k 5 60 "$ANYPERF" script -i "$1" -F "$2"; }

# periods SAMPLES PERIOD: $n, if it has as many periods as there are samples, give or take a part in 256 of it: the piece that a sample stops in may
# be missing in the models, or begin with an empty pipeline (design/feed.md); and a period's end may be that near.
periods()
{
	local slack=$((n / 256))
	if (($1 * $2 <= n + slack && n - slack < ($1 + 1) * $2)); then
		echo "$n"
	else
		echo "$1 periods of $2"
	fi
}

# --- a frequency of cycles: the machine says how many are a second, whatever time they take here
sampled cycles cycles -F 50000 -- "$walk" walk $lines 100
n=$(count cycles "$walk" walk $lines 100)
script cycles period >found
is "$(tail -n 50 found | sort -u | tr -d ' ')" 68000 "cycles have the period that their machine's clock makes of a frequency"
check "all of them are in samples" awk -v n="$n" '{ sum += $1 } END { exit !(sum > n - 70000 && sum < n + n / 256) }' found

# --- misses of a walk through twice L2's size: all its references, in an order that is known
sampled misses L1-dcache-load-misses -c 1000 -d -W -- "$walk" walk $lines 5
n=$(count L1-dcache-load-misses "$walk" walk $lines 5)
is "$(script misses ip | wc -l)" $((n / 1000)) "as many samples as periods"
script misses ip,sym,addr | awk '$NF == "walk" { print $1 }' >addresses
between=$(($(wc -l <addresses)))
is "$((between > 75))" 1 "nearly all in the walk"
# line(k + 1) = a * line(k) + c; and so are samples that are 1000 references apart, but for where the area begins.  Not the
# first two: of the lines between them one may be in L1 still, since before the walk.
a=1 c=0
for ((i = 0; i < 1000; i++)); do
	a=$((a * 1664525 % lines)) c=$(((c * 1664525 + 1013904223) % lines))
done
previous='' bases=$(
	while read -r address; do
		line=$(((16#$address / 64) % lines))
		[ -n "$previous" ] && echo $((((line - a * previous - c) % lines + lines) % lines))
		previous=$line
	done < <(tail -n +2 addresses) | sort -u | wc -l
)
is "$bases" 1 "each is the thousandth reference behind the one before"
script misses ip,sym | awk '$NF == "walk" { print $1 }' | sort -u >ips
is "$(wc -l <ips)" 1 "at one instruction"
is "$(script misses ip,sym,data_src | grep walk | grep -c 'OP LOAD.*LVL L1')" 0 "of which L1 had none"
is "$(script misses ip,sym,data_src | grep walk | grep -c 'OP LOAD')" "$between" "all are loads"
is "$(script misses ip,sym,weight | awk '/walk/ && $1 < 10' | wc -l)" 0 "and took their time"

# --- branches
sampled wrong branch-misses -c 300 -- "$walk" branch 0xffffffffffffffff 60 56700
n=$(count branch-misses "$walk" branch 0xffffffffffffffff 60 56700)
is "$(periods "$(script wrong ip | wc -l)" 300)" "$n" "as many samples as periods"
script wrong ip,sym | awk '$NF == "branch" { print $1 }' | sort | uniq -c | sort -rn >ips
is "$(awk 'NR == 1 { print ($1 > 80) }' ips)" 1 "of the one branch that cannot be predicted"

# --- cycles
sampled time cycles -c 10000 --call-graph dwarf -- "$walk" walk $lines 5
n=$(count cycles "$walk" walk $lines 5)
is "$(periods "$(script time comm | grep -c .)" 10000)" "$n" "as many samples as periods"
chains=$(script time ip,sym | grep -c ' _start$')
is "$((chains * 10 > n / 10000 * 8))" 1 "with the stack of the moment" || note "$chains"

# a loop's are at its own instructions: what stands behind it runs once
sampled loop cycles -c 997 -- "$walk" walk 16 20000
size=$(nm -S "$walk" | awk '$4 == "walk" { print $2 }')
script loop ip,sym,symoff | awk '{ print $2 }' >offsets
is "$(awk '/^walk[+]/ { n++ } END { print (n > 1000) }' offsets)" 1 "a loop takes its time" || note "$(sort offsets | uniq -c)"
is "$(grep -cx "walk+0x$(printf %x $((16#$size - 1)))" offsets)" 0 "and the return behind it none"

# loops of three to twenty instructions, 20,000 rounds, four micro-operations a cycle: whether they are sampled or not
for period in 0 997 10007; do
	run timeout -k 5 60 "$ANYPERF" run --deterministic --machine skylake -- "$PROGRAMS/sample_loops" $period
	is "$(awk '$1 > 4 { n += $2 >= 5000 * ($1 - 1) && $2 < 5000 * ($1 - 1) + 100 } END { print n }' out)" 16 \
		"period $period: a loop takes what its slots take" || note "$(cat out)"
done

# --- under a filter that kills for all but write and exit: a log that was short for a mark does not end in a fault
for period in 1000 5000 100000; do
	for event in cycles L1-dcache-load-misses branch-misses; do
		sampled filter $event -c $period -- "$walk" filter 16384 5
		is "$(tr '\n' ' ' <out)" "walked joined " "$event each $period: under a filter"
	done
done

# --- frequencies, several events, threads and processes
sampled both cycles,instructions,LLC-load-misses -F 100000 -- "$walk" forks 5
script both event >events
is "$(grep -c cycles events | awk '{ print ($1 > 4) }')" 1 "cycles by frequency"
is "$(grep -c instructions events | awk '{ print ($1 > 10) }')" 1 "beside instructions"

# --- between windows of the models: cycles go on by the last one's rate, so samples are of the whole run.  Two functions do as much as
# each other in turn, and a turn is longer than a window.
turns=("$PROGRAMS/in_turn" 1000000 12)
n=$(count cycles "${turns[@]}")
sampled turns cycles:upp -c 10000 --model-sample 24 -- "${turns[@]}"
samples=$(script turns ip | wc -l)
first=$(script turns ip,sym | grep -c '[^_]first$')
check "as many samples as all of the cycles have periods" awk -v n="$n" -v s="$samples" 'BEGIN { d = s * 10000 / n - 1; exit !(d * d < 0.02 ^ 2) }' ||
	note "$samples samples each 10000, $n cycles"
check "each function has half of them" awk -v n="$samples" -v f="$first" 'BEGIN { d = 2 * f / n - 1; exit !(d * d < 0.02 ^ 2) }' ||
	note "$first of $samples are in the first"
if command -v perf >/dev/null; then
	# 0x4002: MISC_EXACT_IP and user mode
	is "$(perf report -D -i turns 2>/dev/null | grep -aoE 'PERF_RECORD_SAMPLE[(]IP, 0x[0-9a-f]+' | sed 's/.* //' | sort -u | tr '\n' ' ')" \
		"0x2 0x4002 " "what nobody looked at is not exact"
	run timeout -k 5 60 "$ANYPERF" run --machine skylake -- perf record -q -o data -e cache-misses:u -c 100 -- \
		"$walk" walk 1048576 1
	is "$status" 0 "perf record -e cache-misses:u" || note "$(tail -n 3 err)"
	is "$(perf script -i data -F ip,sym 2>/dev/null | grep -c walk | awk '{ print ($1 > 5000) }')" 1 "finds where they are"
	run timeout -k 5 60 "$ANYPERF" run -- perf record -q -o data -- "$walk" walk $lines 20
	is "$status" 0 "perf record alone" || note "$(tail -n 3 err)"
	has <(perf evlist -i data 2>/dev/null) 'cycles' "samples cycles"
else
	lack "perf record -e cache-misses" "no perf"
fi

done_testing
