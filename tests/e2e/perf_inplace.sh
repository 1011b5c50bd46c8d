#!/bin/bash
# SPDX-License-Identifier: MIT
# A thread's own events, served in place: exact in every order of calls, and as by request.
. "$(dirname "$0")/lib.sh"

run timeout -k 5 100 "$ANYPERF" run -- "$PROGRAMS/perf_inplace"
is "$status" 0 "in place: status" || note "$(head -n 20 "$tmp/err")"
mv "$tmp/out" "$tmp/place"
grep -v '^[0-9]*$' "$tmp/place" | sed 's/^[0-9]* reads/reads/; s/execed: [0-9]*/execed: N/' >"$tmp/said"
cat >"$tmp/want" <<'END'
reads, 0 wrong
killed: 20000 apart
execed: N, then 0
in the new image: 1400 apart
END
same "$tmp/said" "$tmp/want" "every count is that of the work done while it was enabled"

run timeout -k 5 100 "$ANYPERF_TEST" run --stress requests -- "$PROGRAMS/perf_inplace"
is "$status" 0 "by request: status" || note "$(head -n 20 "$tmp/err")"
same "$tmp/out" "$tmp/place" "all numbers are those that requests give"

run timeout -k 5 100 "$ANYPERF" run --counters 8 -- "$PROGRAMS/perf_inplace"
same "$tmp/out" "$tmp/place" "and those of a PMU with eight counters"
done_testing
