#!/bin/bash
# SPDX-License-Identifier: MIT
# anyperf perfex: perfctr's perfex, on a virtual CPU.
. "$(dirname "$0")/lib.sh"

perfex()
{
	run timeout -k 5 60 "$ANYPERF" perfex "$@"
}

# sum N: of the n-th event
sum()
{
	awk '/^event/' "$tmp/err" | sed -n "$1p" | awk '{print $NF}'
}

perfex --cpu p6 -i
is "$status" 0 "info: status"
sed -E 's/^(cpu_khz\t*)[0-9]{5,}$/\1KHZ/; s/^(cpus\t).*/\1CPUS/; s/ \(anyperf\)$//' "$tmp/out" >"$tmp/info"
cat >"$tmp/want" <<'END'
PerfCtr Info:
abi_version		0x05020501
driver_version		2.6
cpu_type		3 (Intel Pentium Pro)
cpu_features		0x7 (rdpmc,rdtsc,pcint)
cpu_khz			KHZ
tsc_to_cpu_mult		1
cpu_nrctrs		2
cpus	CPUS
cpus_forbidden		[], total: 0
END
same "$tmp/info" "$tmp/want" "the CPU says what it is"
perfex -l
cat >"$tmp/want" <<'END'
CPU type AMD K8
One time-stamp counter available
4 performance counters available
Overflow interrupts available
Events Available:
RETIRED_INSTRUCTIONS
END
head -n 6 "$tmp/out" >"$tmp/head"
same "$tmp/head" "$tmp/want" "and which events it has"
perfex --cpu c3 -L
has "$tmp/out" '^INSTRUCTIONS_EXECUTED:0xC0:0x2:0x00$' "with their codes"
perfex --cpu p4 --list
is "$(grep -c 'Events Available' "$tmp/out")" 0 "a P4's have no names"

perfex --cpu k8 -e RETIRED_INSTRUCTIONS -x -e 4100c2@3 -- "$PROGRAMS/perfctr_tasks" work 1001000
is "$status" 0 "a command: status" || note "$(cat "$tmp/err")"
sed -E '/^#/d; s/[0-9]+$/N/' "$tmp/err" >"$tmp/table"
printf 'tsc\t\t\t\t%19s\nevent 0x004100C0@0\t\t%19s\nevent 0x004100C2@3\t\t%19s\n' N N N |
	sed -E 's/ +N$/ N/' >"$tmp/want"
sed -E -i 's/ +N$/ N/' "$tmp/table"
same "$tmp/table" "$tmp/want" "the table is perfex'"
is "$(grep '^#' "$tmp/err")" '# 0x004100C0@0 is exact
# 0x004100C2@3 is exact' "and behind it each sum has its label"
perfex --cpu nehalem -x -e 410000@40000000 -e 410000@40000001 -e 41010b -e 4120c0@1 --nhlm_offcore_rsp_0 0x10 -- \
	"$PROGRAMS/perfctr_tasks" work 1001000
sed -E '/^tsc/d; s/[0-9]+$/N/; s/ +([N<])/ \1/' "$tmp/err" >"$tmp/table"
printf '%s\n' $'event 0x00410000@0x40000000\t N' $'event 0x00410000@0x40000001\t N' $'event 0x0041010B@2\t\t N' \
	$'event 0x004120C0@1\t\t <not counted>' 'NHLM_OFFCORE_RSP_0 0x00000010' '# 0x00410000@0x40000000 is exact' \
	'# 0x00410000@0x40000001 is modelled' '# 0x0041010B@2 is exact' \
	'# 0x004120C0@1 is not counted: no count of the engine means this event' >"$tmp/want"
sed -i 's/0x00000010$/0x0000000N/; s/^NHLM.*/NHLM/' "$tmp/want" "$tmp/table"
same "$tmp/table" "$tmp/want" "modelled ones too, and what nobody counts is no 0" || note "$(cat "$tmp/err")"
for cpu in p5:96:92 p6:4100c0:0100c4 pentium-m:INST_RETIRED:BR_INST_RETIRED k7:4100c0:4100c2 \
	k8:RETIRED_INSTRUCTIONS:RETIRED_BRANCHES p4:39000/4000204@c:3b000/c001e04@d; do
	IFS=: read -r name instr branch <<<"$cpu"
	perfex --deterministic --cpu "$name" -x -e "$instr" -e "$branch" -- "$PROGRAMS/perfctr_tasks" work 1001000
	a=$(sum 1) b=$(sum 2)
	perfex --deterministic --cpu "$name" -x -e "$instr" -e "$branch" -- "$PROGRAMS/perfctr_tasks" work 2001000
	is "$(($(sum 1) - a)) $(($(sum 2) - b))" "2000000 1000000" "$name: sums are those of the code" ||
		note "$(cat "$tmp/err")"
done

perfex -d -e 0x4100c0 -o "$tmp/sums" -- sh -c 'exit 3'
is "$status" 3 "the command's status is ours"
has "$tmp/sums" '^event 0x004100C0@0' "sums go to a file"
is "$(cat "$tmp/err")" "" "and nowhere else"
perfex -e 4100c0 -- sh -c 'kill -9 $$'
is "$status" 137 "a killed command: status"
has "$tmp/err" 'child did not exit normally' "and a line says so"
has "$tmp/err" '^event 0x004100C0@0' "with what it had counted"
perfex -e 10 -- true
has "$tmp/err" '^anyperf perfex: 10 is taken as hexadecimal' "a number that C reads otherwise is pointed out"
is "$status" 125 "what the CPU does not take: status"
has "$tmp/err" 'does not take these events: Invalid argument' "and a line says so"
perfex -e 4100c0 -- ./nothing
is "$status $(cat "$tmp/err")" "127 anyperf perfex: ./nothing: No such file or directory" "no command: one line, no sums"
perfex -e nonesuch -- true
is "$status" 129 "an event that there is not: status"
has "$tmp/err" '-e nonesuch: no event of this CPU' "and a line says so"
perfex -e 4100c0 -- /nonesuch
is "$status" 127 "a command that there is not: status"
perfex -e 4100c0
is "$status" 129 "no command: status"
perfex --cpu nonesuch -i
is "$status" 129 "a CPU that there is not: status"
run timeout -k 5 60 "$ANYPERF" run --cpu k7 -- "$ANYPERF" perfex --inside -l
has "$tmp/out" 'CPU type AMD K7' "in a session it is a program as any other"

# --- PowerPC: through the driver's MMCRs into the model's counters
is "$(for cpu in 604 750 7400 7450 ppc; do
	"$ANYPERF" perfex --cpu $cpu -i | sed -n 's/^cpu_nrctrs\t*//p'
	"$ANYPERF" perfex --cpu $cpu -l | sed -n 's/^CPU type //p'
done | paste -sd,)" "2,PowerPC 604,4,PowerPC 750/740/750CX,4,PowerPC 7400,6,PowerPC 7451/7441,0,Generic PowerPC with timebase" \
	"PowerPCs say what they are"
perfex --cpu 7450 -L
has "$tmp/out" '^BRANCHES_COMPLETED:0x22:0x1$' "with codes and counters"
perfex --cpu 604 -l
is "$(sed '1,/^Events/d' "$tmp/out" | paste -sd,)" \
	"PROCESSOR_CYCLES,INSTRUCTIONS_COMPLETED,DTLB_MISSES,BRANCH_MISPREDICT_CORRECTION,DATA_CACHE_MISSES,ITLB_MISSES,BRANCHES_COMPLETED,LOADS_COMPLETED" \
	"a 604 has events of all, and those of its two counters"
perfex --cpu 604e -L
has "$tmp/out" '^SYSTEM_CALLS:0x0B:0x4$' "a 604e has those of its third"
perfex --cpu 7410 -L
has "$tmp/out" '^MISPREDICTED_BRANCHES:0x05:0x8$' "a 7410 has its own"
for cpu in 604:INSTRUCTIONS_COMPLETED:BRANCHES_COMPLETED 604ev:2@3:8@1 750:2@3: 7410:INSTRUCTIONS_COMPLETED@2: 7450:INSTRUCTIONS_COMPLETED:BRANCHES_COMPLETED \
	7457:2@3:22@0; do
	IFS=: read -r name instr branch <<<"$cpu"
	events=(-x -e "$instr")
	[ -z "$branch" ] || events+=(-e "$branch")
	perfex --deterministic --cpu "$name" "${events[@]}" -- "$PROGRAMS/perfctr_tasks" work 1001000
	a=$(sum 1) b=$(sum 2)
	perfex --deterministic --cpu "$name" "${events[@]}" -- "$PROGRAMS/perfctr_tasks" work 2001000
	is "$(($(sum 1) - a)) $(($(sum 2) - b))" "2000000 $((${#branch} ? 1000000 : 0))" "$name: sums are those of the code" ||
		note "$(cat "$tmp/err")"
done
# more than 2^32 of an event, which a counter holds only in steps, and the clock with them
perfex --deterministic --cpu 7450 -e INSTRUCTIONS_COMPLETED -- "$PROGRAMS/perfctr_tasks" work 1000001000
a=$(sum 1)
perfex --deterministic --cpu 7450 -e INSTRUCTIONS_COMPLETED -- "$PROGRAMS/perfctr_tasks" work 3200001000
is "$(($(sum 1) - a))" 4400000000 "7450: a sum of more than 32 bits"
is "$(awk '/^tsc/ { print ($2 > 0) }' "$tmp/err")" 1 "7450: the timebase is the thread's time"
perfex --cpu 7450 -e BRANCHES_COMPLETED -e INSTRUCTIONS_COMPLETED@0 -- true
is "$status $(cat "$tmp/err")" \
	"125 anyperf perfex: -e INSTRUCTIONS_COMPLETED@0: no counter is left that can count it (-L lists them)" "two events of one counter"
PATH=$PROGRAMS:$PATH perfex -x --cpu 7450 -e INSTRUCTIONS_COMPLETED -e LOAD_INSTRUCTIONS_COMPLETED -e DTLB_MISSES -e 7@4 -e BRANCHES_COMPLETED \
	-e 13@5 -- and_loop
is "$(sed -n 's/^# //p' "$tmp/err")" "0x00000002@3 is exact
0x0000001A@1 is exact
0x00000012@2 is modelled
0x00000007@4 is modelled
0x00000022@0 is exact
0x00000013@5 is not counted: no count of the engine means this event" "each sum has its label" || note "$(cat "$tmp/err")"
PATH=$PROGRAMS:$PATH perfex --cpu 7450 -e INSTRUCTIONS_COMPLETED -e BRANCHES_COMPLETED -- and_loop
is "$(awk '/^event/ { print $3 }' "$tmp/err" | tr '\n' ' ')" \
	"$(sed -n 's/.* EXPECT instructions //p' "$root/tests/programs/and_loop.S") $(sed -n 's/.* EXPECT branches //p' "$root/tests/programs/and_loop.S") " \
	"7450: counts begin with the command's first instruction"
for cpu in 604 604e 750 7400 7410 7450; do
	refused=
	for event in $("$ANYPERF" perfex --cpu $cpu -l | sed '1,/^Events/d'); do
		PATH=$PROGRAMS:$PATH perfex --cpu $cpu -e "$event" -- and_loop
		[ "$status:$(grep -c 'is exact\|is modelled' "$tmp/err")" = 0:1 ] || refused="$refused $event"
	done
	is "$refused" "" "$cpu: each event of the list is counted"
done
perfex --cpu 7450 -e FPU_INSTRUCTIONS_COMPLETED -- true
is "$status $(cat "$tmp/err")" "129 anyperf perfex: -e FPU_INSTRUCTIONS_COMPLETED: no event of this CPU (-l lists them), nor evntsel[@pmc]" \
	"what has no count is refused by name"
perfex --cpu ppc -e 2 -- true
is "$status" 125 "a CPU without counters takes none"
# counters are numbered from 0, and how wide a selector is depends on the counter
while read -r rule cpu event want; do
	perfex --cpu "$cpu" -x -e "$event" -- true
	is "$status" "$want" "$rule: $event on a $cpu" || note "$(cat "$tmp/err")"
done <<'END'
L-043 604 2@1 0
L-043 604 2@2 125
L-043 604e 2@3 0
L-043 604e 2@4 125
L-043 750 2@3 0
L-043 750 2@4 125
L-043 7450 2@5 0
L-040 7450 2@6 125
L-040 7450 2@953 125
L-050 750 7f@0 0
L-050 750 80@0 125
L-050 750 3f@1 0
L-050 750 40@1 125
L-050 750 1f@2 0
L-050 750 20@2 125
L-050 750 20@3 125
L-050 7450 1f@4 0
L-050 7450 20@4 125
L-050 7450 3f@5 0
L-050 7450 40@5 125
END
perfex --cpu ppc -- true
is "$status $(grep -c '^tsc' "$tmp/err")" "0 1" "L-049: a generic PowerPC has its timebase"
perfex --cpu 7450 --p4pe 1 -e 2 -- true
is "$status $(head -n 1 "$tmp/err")" "129 anyperf perfex: a PowerPC has no PEBS and no OFFCORE_RSP" "what other CPUs have"
perfex --cpu 750 -e 2 -o "$tmp/sums" -- sh -c 'exit 3'
is "$status $(grep -c '^event' "$tmp/sums") $(wc -c <"$tmp/err")" "3 1 0" "7450: the command's status, and sums in a file"
perfex --cpu 750 -e 2 -- ./nothing
is "$status" 127 "7450: no command"

# what perfex does on its way to the command is in no sum, however long it is
PATH=/nonesuch:/nonesuch/bin:$PROGRAMS:$PATH perfex -e 4100c0 -e 4100c2 -- and_loop
is "$(awk '/^event/ { print $3 }' "$tmp/err" | tr '\n' ' ')" \
	"$(sed -n 's/.* EXPECT instructions //p' "$root/tests/programs/and_loop.S") $(sed -n 's/.* EXPECT branches //p' "$root/tests/programs/and_loop.S") " \
	"counts begin with the command's first instruction"

done_testing
