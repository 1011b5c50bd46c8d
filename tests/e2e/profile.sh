#!/bin/bash
# SPDX-License-Identifier: MIT
# profile: how often each instruction was executed is what the single-stepping oracle says, the sum what stat counts, and each reader
# of perf.data, callgrind_annotate included, has the same totals.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/oracle.bash
. "$(dirname "$0")/oracle.bash"
need awk

# addresses FILE: of a profile, how often each address was executed, in order
addresses()
{
	"$ANYPERF" script -i "$1" -F ip,period 2>"$tmp/script.err" |
		awk '{ sum[$2] += $1 } END { for (pc in sum) print pc, sum[pc] }' | sort
}

# stepped FILE: the same of the oracle
stepped()
{
	awk '$2 > 0 { sub(/^0x/, "", $1); sum[$1] += $2 } END { for (pc in sum) print pc, sum[pc] }' "$1" | sort
}

# total FILE: of a callgrind.out or perf.data's addresses
total()
{
	awk '{ sum += $2 } END { printf "%d\n", sum }' "$1"
}

# like_oracle NAME OPTIONS: one test for the exit status, one for what is missing, one for all addresses
like_oracle()
{
	local name=$1 want
	shift
	in_same_place "$ORACLE" -o "$tmp/oracle" --blocks "$tmp/blocks" -- "$PROGRAMS/$name" >"$tmp/oracle.out" 2>&1 </dev/null
	want=$?
	in_same_place "$ANYPERF_TEST" profile -q --deterministic "$@" -o "$tmp/data" -- "$PROGRAMS/$name" >"$tmp/out" 2>"$tmp/err" </dev/null
	is "$?" "$want" "$name $*: exit status"
	is "$(grep -c '^anyperf' "$tmp/err")" 0 "$name $*: nothing is missing" || note "$(head -n 3 "$tmp/err")"
	stepped "$tmp/blocks" >"$tmp/want"
	addresses "$tmp/data" >"$tmp/have"
	is "$(test -s "$tmp/want" && echo some)" some "$name $*: the oracle stepped"
	same "$tmp/want" "$tmp/have" "$name $*: each instruction as often as the oracle stepped it"
}

programs="and_few branches nested_calls plt_entries page_cross shadow rep_stosb flags_live mid_insn fault_mid smc_store signal_mid"
for name in ${NAMES:-$programs fork_count threads_count vfork_exec setjmp_sig}; do
	like_oracle "$name"
done
# code that is thrown away and made again, that is never linked, that has no shapes left
for stress in evict unlinked shapes far; do
	for name in ${NAMES:-branches plt_entries smc_store fork_count}; do
		like_oracle "$name" --stress "$stress"
	done
done

# --- the sum is that of stat, in the formats of others as well

in_same_place "$ANYPERF" stat --deterministic -x, -e instructions -o "$tmp/stat" -- "$PROGRAMS/c_dynamic" >"$tmp/out" 2>&1
in_same_place "$ANYPERF" profile --deterministic -o "$tmp/data" -- "$PROGRAMS/c_dynamic" >"$tmp/out" 2>"$tmp/err"
is "$?" 0 "a C program is profiled" || note "$(head -n 3 "$tmp/err")"
want=$(stat_value "$tmp/stat" instructions)
addresses "$tmp/data" >"$tmp/have"
is "$(total "$tmp/have")" "$want" "the sum is the count of stat"
has "$tmp/err" "($want instructions, exact)" "which the last line says"
run "$ANYPERF" export -i "$tmp/data" -f callgrind -o "$tmp/callgrind.out"
is "$(sed -n 's/^summary: //p' "$tmp/callgrind.out")" "$want" "so it is in callgrind.out"
has "$tmp/callgrind.out" '^events: Ir' "whose event is callgrind's"
if command -v callgrind_annotate >/dev/null; then
	callgrind_annotate --threshold=100 "$tmp/callgrind.out" >"$tmp/annotated" 2>"$tmp/annotated.err"
	is "$?" 0 "callgrind_annotate reads it"
	is "$(awk '/PROGRAM TOTALS/ { gsub(",", "", $1); print $1 }' "$tmp/annotated")" "$want" "with the same total"
fi
run "$ANYPERF" report -i "$tmp/data" --stdio
has "$tmp/out" "^# Event count [(]approx.[)]: $want" "and report has it"

# --- a killed program leaves what it has counted

cat >"$tmp/killed.S" <<'END_S'
	.globl _start
_start:	mov $1000, %ecx
loop:	dec %ecx
	jnz loop
	mov $39, %eax	/* getpid */
	syscall
	mov %eax, %edi
	mov $9, %esi
	mov $62, %eax	/* kill */
	syscall
END_S
if command -v gcc >/dev/null && gcc -nostdlib -static -o "$tmp/killed" "$tmp/killed.S"; then
	run "$ANYPERF" profile -q -o "$tmp/data" -- "$tmp/killed"
	is "$status" 137 "a program that kills itself"
	addresses "$tmp/data" >"$tmp/have"
	is "$(awk '{ print $2 }' "$tmp/have" | sort -n | uniq -c | awk '{ print $1 "x" $2 }' | tr '\n' ' ')" "7x1 2x1000 " "leaves all of its counts"
fi

# --- bad input

run "$ANYPERF" profile
is "$status" 129 "no command: wrong usage"
has "$tmp/err" 'no command to profile' "which is said"
run "$ANYPERF" profile -o "$tmp/none/data" -- true
is "$status" 125 "a folder that is not there"
is "$(wc -l <"$tmp/err")" 1 "is one line" || note "$(cat "$tmp/err")"
run "$ANYPERF" stat -- "$ANYPERF" profile -o "$tmp/data2" -- true
has "$tmp/err" 'no exact profile inside of a session' "a profile inside of a session is refused"
run "$ANYPERF" profile -q -o "$tmp/data" -- "$tmp/no-such-program"
is "$status" 127 "a command that is not there"

done_testing
