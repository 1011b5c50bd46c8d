#!/bin/bash
# SPDX-License-Identifier: MIT
# valgrind's client requests under `anyperf stat --client-requests`: answers, messages, callgrind's regions.
. "$(dirname "$0")/lib.sh"

run timeout -k 5 60 "$PROGRAMS/client_requests" answers
cp "$tmp/out" "$tmp/natively"
run timeout -k 5 60 "$ANYPERF" stat -e instructions -- "$PROGRAMS/client_requests" answers
same "$tmp/out" "$tmp/natively" "without the option nothing is answered"
cat >"$tmp/want" <<'END'
running 0
stacks 77 77
discard 77
errors 77
memcheck 77
start 77
stop 77
END
same "$tmp/natively" "$tmp/want" "as natively"

run timeout -k 5 60 "$ANYPERF" stat --client-requests -e instructions -- "$PROGRAMS/client_requests" answers
cat >"$tmp/want" <<'END'
running 1
stacks 0 1
discard 0
errors 77
memcheck 77
start 0
stop 0
END
same "$tmp/out" "$tmp/want" "with it those that are known are"

# --- messages

run timeout -k 5 60 "$ANYPERF" stat --quiet --client-requests -e instructions -- "$PROGRAMS/client_requests" messages
sed 's/^\*\*[0-9]*\*\* /**PID** /' "$tmp/err" >"$tmp/said"
cat >"$tmp/want" <<END
**PID** one -7 two|   42|42   |00042|+42|ff|0XFF|18446744073709551615|-9223372036854775808|44|z|%
**PID** 0.300000 2.67 3 -0.000000 1000000001.000 inf
**PID** 1 2 3 4 5 6 7 on the stack abc|    ab|cd    |   9
**PID** 0.002900 0.001 0.000400 0.000123456 0.000000001000 0.000000000000000 0.1
**PID** $(printf 'l%.0s' $(seq 300))|7    |all|
**PID** in a line, and its end
**PID** and a second one
**PID** \\x1b[31mred\\x07 \\xc3\\xa4
END
same "$tmp/said" "$tmp/want" "messages are written as valgrind does, and escaped"
is "$(cat "$tmp/out")" 90 "the answer is the number of characters"
run timeout -k 5 60 "$ANYPERF" stat --quiet --client-requests -e instructions -- "$PROGRAMS/client_requests" backtrace
sed 's/^\*\*[0-9]*\*\* /**PID** /; s/0x[0-9a-f]*$/0xPC/' "$tmp/err" >"$tmp/said"
printf '**PID** here\n**PID**    at 0xPC\n' >"$tmp/want"
same "$tmp/said" "$tmp/want" "a backtrace is its innermost address"

# --- callgrind's and cachegrind's

run timeout -k 5 60 "$ANYPERF" stat --regions -x, -e instructions -- "$PROGRAMS/client_requests" callgrind
grep -E '^(region|#)' "$tmp/err" >"$tmp/regions"
cat >"$tmp/want" <<'END'
region,(cachegrind),1,0,instructions,1000,1000.00,1000,exact
region,(collected),1,0,instructions,3000,3000.00,3000,exact
region,(dump),1,0,instructions,0,0.00,0,exact
region,(dump) first part,1,0,instructions,1000,1000.00,1000,exact
region,(instrumented),2,0,instructions,3000,1500.00,1000,exact
END
same "$tmp/regions" "$tmp/want" "callgrind's macros make regions"
is "$status" 0 "and nothing is wrong"

# --- the headers that programs are made with

cat >"$tmp/real.c" <<'END'
#include <valgrind/callgrind.h>
#include <stdio.h>
int main(void)
{
	printf("%d\n", (int)RUNNING_ON_VALGRIND);
	CALLGRIND_ZERO_STATS;
	CALLGRIND_START_INSTRUMENTATION;
	CALLGRIND_TOGGLE_COLLECT;
	CALLGRIND_TOGGLE_COLLECT;
	CALLGRIND_STOP_INSTRUMENTATION;
	CALLGRIND_DUMP_STATS_AT("done");
	return VALGRIND_PRINTF("seen %d\n", 5) - 7;
}
END
if ! ${CC:-cc} -O1 -o "$tmp/real" "$tmp/real.c" 2>"$tmp/cc"; then
	skip "valgrind's own macros" "valgrind's headers or a compiler are not installed"
else
	run timeout -k 5 60 "$ANYPERF" stat --regions -x, -e instructions -- "$tmp/real"
	is "$status $(cat "$tmp/out")" "0 1" "valgrind's own macros: answers"
	is "$(grep -o '^region,[^,]*,[0-9]*' "$tmp/err" | tr '\n' ' ')" \
		"region,(collected),1 region,(dump) done,1 region,(instrumented),1 " "regions"
	has "$tmp/err" '^\*\*[0-9]*\*\* seen 5$' "and a message"
fi
done_testing
