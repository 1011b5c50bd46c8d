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
kernel=$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 2)
run "$ANYPERF" stat -o outer -e instructions -- "$ANYPERF" run --paranoid=-1 -- \
	cat /proc/sys/kernel/perf_event_paranoid
is "$status $(cat out)" "0 $((kernel < 2 ? kernel : 2))" "but no more than the kernel permits, or 2 does"
run "$ANYPERF" stat -o outer -e page-faults --wait-all -- "$ANYPERF" run -- true
is "$status $(cat err)" "125 anyperf: the session around us cannot serve perf events" \
	"not where no instruction is counted"

# models and perfctr are the session's
run "$ANYPERF" run --machine zen4 -- "$ANYPERF" stat -x, -o inner --machine zen4 -e cycles true
is "$status" 0 "the session's own machine"
run "$ANYPERF" run --machine zen4 -- "$ANYPERF" stat -x, -o inner --machine skylake -e cycles true
is "$status $(cat err)" \
	"125 anyperf: the session around us models zen4, not skylake: give --machine to the outer anyperf" "not another one"
run "$ANYPERF" run --machine zen4 -- "$ANYPERF" gate record -b base --machine skylake -e cycles -- true
is "$status" 125 "nor as a baseline"
has err 'models zen4, not skylake' "which says why"
check "and is not written" [ ! -e base ]
run "$ANYPERF" run --cpu k7 -- "$ANYPERF" perfex --cpu k7 -l
is "$status" 0 "the session's own CPU of perfctr"
run "$ANYPERF" run --cpu k7 -- "$ANYPERF" perfex --cpu p4 -e 4100c0 -- true
is "$status" 125 "not another one"
has err 'the session around us has the CPU AMD K7: give --cpu p4 to the outer anyperf' "which says why"

# a root that is used again has no notes of who had it
cat >i386.s <<'END'
	.globl _start
_start:	mov $1, %eax
	xor %ebx, %ebx
	int $0x80
END
if as --32 -o i386.o i386.s 2>/dev/null && ld -m elf_i386 -o i386 i386.o && ./i386 2>/dev/null; then
	# shellcheck disable=SC2016 # the inner shell expands them
	run "$ANYPERF" stat -o outer -e instructions -- sh -c '
		for i in 1 2 3 4 5 6 7 8 9 10; do
			"$ANYPERF" stat -o first$i -e instructions -- sh -c "./i386; exit 0"
		done
		sleep 1
		for i in 1 2 3 4 5 6 7 8 9 10; do
			"$ANYPERF" stat -o second$i -e instructions -- true
		done'
	is "$status" 0 "commands that run natively, and others behind them"
	is "$(grep -l 'not counted: .*i386' first* | wc -l)" 10 "the first ones are told of them"
	is "$(cat second* | grep -c 'not counted')" 0 "the others are not"
	has outer 'not counted: .*i386' "who is around them is"
	run "$ANYPERF" perfex -e 4100c0 -- ./i386
	has err '^not counted: .*i386: 32-bit program' "perfex tells what is in no sum"
else
	lack "notes of roots that are used again" "no 32-bit emulation"
fi

done_testing
