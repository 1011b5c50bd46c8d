#!/bin/bash
# SPDX-License-Identifier: MIT
# anyperf inside anyperf: the inner one takes part in the outer one's session.
. "$(dirname "$0")/lib.sh"
need sh

cd "$tmp" || exit 1

run "$ANYPERF" stat --deterministic -x, -o alone -e instructions,syscalls true
run "$ANYPERF" stat --deterministic -x, -o outer -e instructions,syscalls -- \
	"$ANYPERF" stat -x, -o inner -e instructions,syscalls true
is "$status" 0 "a nested session"
is "$(stat_value inner instructions)" "$(stat_value alone instructions)" \
	"the inner count is the command's"
is "$(stat_value inner syscalls)" "$(stat_value alone syscalls)" "its system calls as well"
is "$(($(stat_value outer instructions) > 2 * $(stat_value inner instructions)))" 1 \
	"the outer one has the command and the inner anyperf"

# shellcheck disable=SC2016 # the inner shell expands them
run "$ANYPERF" stat -x, -o outer -e instructions -- sh -c '
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		"$ANYPERF" stat -x, -o inner$i -e instructions -- sh -c "/bin/true; /bin/true" || exit
	done'
is "$status" 0 "twenty nested sessions, more than there are roots"
sum=0
for i in {1..20}; do
	sum=$((sum + $(stat_value "inner$i" instructions)))
done
is "$(($(stat_value outer instructions) > sum))" 1 "the outer one has all of them"
is "$((sum > 20 * 300000))" 1 "each of them has its own"

run "$ANYPERF" stat -x, -o outer -e instructions -- \
	"$ANYPERF" stat -x, -o middle -e instructions -- \
	"$ANYPERF" stat -x, -o inner -e instructions -- sh -c '/bin/true; exit 5'
is "$status" 5 "three deep: the status"
a=$(stat_value outer instructions) b=$(stat_value middle instructions)
c=$(stat_value inner instructions)
is "$((a > b && b > c && c > 200000))" 1 "three deep: each contains the next" || note "$a $b $c"

run "$ANYPERF" stat -i -x, -o outer -e instructions -- \
	"$ANYPERF" stat -x, -o inner -e instructions "$PROGRAMS/and_loop"
is "$status" 0 "inside -i, which follows no child"
is "$(stat_value inner instructions)" "$(sed -n 's/.* EXPECT instructions //p' "$root/tests/programs/and_loop.S")" \
	"the inner one has a session of its own"

# perf events are served from when somebody inside wants them
run "$ANYPERF" run -- "$PROGRAMS/perf_run_printf"
mv out served
run "$ANYPERF" stat -x, -o outer -e instructions -- "$ANYPERF" run -- "$PROGRAMS/perf_run_printf"
is "$status" 0 "anyperf run in a session for a table: status"
same out served "the program reads what it reads in a session of its own"
is "$(cat err)" "" "nothing is said"
is "$(($(stat_value outer instructions) > 200000))" 1 "the outer one counts all of it"
run "$ANYPERF" stat -o outer -e instructions -- "$ANYPERF" run --paranoid 3 -- \
	cat /proc/sys/kernel/perf_event_paranoid
is "$status $(cat out)" "0 3" "with the options of who wants them"
run "$ANYPERF" stat -o outer -e page-faults --wait-all -- "$ANYPERF" run -- true
is "$status $(cat err)" "125 anyperf: the session around us cannot serve perf events" \
	"not where no instruction is counted"

done_testing
