#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Code and operands that an engine can misjudge: each program checks itself and must also be counted
# whole.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

for p in flags_patched gs_addr32 stack_code self_unpack; do
	run "$ANYPERF" stat -x, -e instructions -o "$tmp/table" -- "$PROGRAMS/$p"
	is "$status" 0 "$p: status"
	is "$(cat "$tmp/out")" "$p: ok" "$p: output"
	no_word "$tmp/err" "$p: no report"
done
run "$ANYPERF" stat -x, -e instructions -o "$tmp/table" -- "$PROGRAMS/stack_code" 300
counted=$(stat_value "$tmp/table" instructions)
check "code on a grown stack is counted" test "$counted" -gt 2000000
done_testing
