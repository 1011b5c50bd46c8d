#!/bin/bash
# SPDX-License-Identifier: MIT
# rdpmc counts exactly up to itself, faults where it may not be used, and CPUID describes the counters
# and else what it always does.
. "$(dirname "$0")/lib.sh"

serve()
{
	timeout -k 5 60 "$ANYPERF" run "$@"
}

run serve -- "$PROGRAMS/perf_rdpmc" counts
is "$status" 0 "counters are read"
# n rounds of three instructions; before them the rdpmc itself and two moves
cat >"$tmp/want" <<'END'
rdpmc 1, width 1
1 rounds: 6 instructions, 1 branches
1000 rounds: 3003 instructions, 1000 branches
1000000 rounds: 3000003 instructions, 1000000 branches
in order 1
stopped: index 0, equal 1
END
same "$tmp/out" "$tmp/want" "the counts are those of the code" || note "$(head -n 5 "$tmp/err")"

run serve -- "$PROGRAMS/perf_rdpmc" often
is "$status" 0 "counters are read often"
cat >"$tmp/want" <<'END'
branches by read: steps of 3, others 0
instructions: steps of 7, others 0
branches: steps of 1, others 0
instructions again: steps of 7, others 0
instructions by read: steps of 11, others 0
branches of a thread: steps of 1, others 0
END
same "$tmp/out" "$tmp/want" "each reading is exact" || note "$(head -n 5 "$tmp/err")"
run serve -- "$PROGRAMS/perf_rdpmc" flops
cat >"$tmp/want" <<'END'
fp-128-double by read: steps of 1, others 0
fp-128-double: steps of 1, others 0
flops by read: steps of 7, others 0
flops: steps of 7, others 0
in all 84000, 12000
END
same "$tmp/out" "$tmp/want" "operations on elements are exact, too" || note "$(head -n 5 "$tmp/err")"
run serve -- "$PROGRAMS/perf_rdpmc" flags
cat >"$tmp/want" <<'END'
instructions: flags wrong 0, steps of 13, others 0
branches: flags wrong 0, steps of 1, others 0
instructions while sampled: flags wrong 0, steps of 13, others 0
instructions while sampled: steps of 7, others 0
branches while sampled: flags wrong 0, steps of 1, others 0
END
same "$tmp/out" "$tmp/want" "flags are left alone" || note "$(head -n 5 "$tmp/err")"
run serve -- "$PROGRAMS/perf_rdpmc" gone
is "$(cat "$tmp/out")" "signal 11, code 128, trap 13, at rdpmc 1, rax 123456789a, rdx fedcba9876" \
	"a counter whose page has gone faults, also where it was read often"

run "$PROGRAMS/perf_rdpmc" index
mv "$tmp/out" "$tmp/native"
run serve -- "$PROGRAMS/perf_rdpmc" index
same "$tmp/out" "$tmp/native" "a counter that nobody mapped faults as natively"
run "$PROGRAMS/perf_rdpmc" none
mv "$tmp/out" "$tmp/native"
for n in 0 1; do
	run serve -- "$PROGRAMS/perf_rdpmc" none $n
	same "$tmp/out" "$tmp/native" "and so do numbers that are no counter's, $n counters read"
done

run "$PROGRAMS/perf_rdpmc" cpuid
ours='^(a|80000000|80000022):'
highest=$(sed -n 's/^80000000: \([^ ]*\).*/\1/p' "$tmp/out")
grep -vE "$ours" "$tmp/out" >"$tmp/native"
run serve -- "$PROGRAMS/perf_rdpmc" cpuid
grep -vE "$ours" "$tmp/out" >"$tmp/rest"
same "$tmp/rest" "$tmp/native" "CPUID says of all else what it does natively"
run serve --cpu-id zen3 -- "$PROGRAMS/perf_rdpmc" cpuid
has "$tmp/out" '^80000022: 1 f 0 0$' "and of AMD's counters, what the session has"
[ $((0x$highest)) -gt $((0x80000022)) ] || highest=80000022
grep -q '^vendor_id.*: GenuineIntel' /proc/cpuinfo && highest=80000022
has "$tmp/out" "^80000000: $highest " "in a leaf that there is"
has "$tmp/out" '^a: 0 0 0 0$' "where AMD's CPUs have it"
run serve --cpu-id skylake -- "$PROGRAMS/perf_rdpmc" cpuid
has "$tmp/out" '^a: 7304002 0 0 8000$' "of Intel's as well"
run serve --cpu-id GenuineIntel-6-1a -- "$PROGRAMS/perf_rdpmc" cpuid
has "$tmp/out" '^a: 0 0 0 0$' "and of a CPU's whose codes are not known, that there are none"
run serve -- "$PROGRAMS/perf_time" session
if [ "$status" = 77 ]; then
	lack "a page converts the time stamp counter to the time of records" "it is no clock here"
else
	is "$(cat "$tmp/out")" "the page tells the time of records" \
		"a page converts the time stamp counter to the time of records"
fi

done_testing
