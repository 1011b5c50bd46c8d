#!/bin/bash
# SPDX-License-Identifier: MIT
# Signals behave under the engine as they do natively: each sig_* program prints the same and ends
# the same way, no report of the engine among it; counts are exact wherever signals land; deaths have
# the kernel's status and core.
. "$(dirname "$0")/lib.sh"

programs=(sig_fault sig_flags sig_frame sig_altstack sig_actions sig_queue sig_jump sig_syscall sig_exec
	sig_threads sig_smc sig_seccomp sig_status)

cd "$tmp" || exit 1

# compare NAME COMMAND...: natively and counted
compare()
{
	local name=$1 want
	shift
	run "$@"
	want=$status
	mv "$tmp/out" "$tmp/want.out"
	run "$ANYPERF" stat -o "$tmp/table" -- "$@"
	is "$status" "$want" "$name: status"
	same "$tmp/out" "$tmp/want.out" "$name: output"
	no_word "$tmp/err" "$name: no report"
}

for p in sig_native sig_native_late; do
	run "$PROGRAMS/$p"
	mv "$tmp/out" "$tmp/want.out"
	run "$ANYPERF" stat -o "$tmp/table" -- "$PROGRAMS/$p"
	is "$status" 0 "$p: status"
	same "$tmp/out" "$tmp/want.out" "$p: output"
	is "$(grep -c 'not counted from here on' "$tmp/err")" 1 "$p: says so, once"
done

run timeout -k 5 400 "$ANYPERF" stat -o "$tmp/table" -- "$PROGRAMS/native_threads"
is "$status" 0 "threads going native: status"
has "$tmp/out" '^150 of 150 ' "threads going native: output"

for p in "${programs[@]}"; do
	compare "$p" "$PROGRAMS/$p"
done
for mode in strict narrow tsync notify; do
	compare "filters of system calls: $mode" "$PROGRAMS/seccomp_modes" $mode
done
for mode in sent fault strict ends threads; do
	compare "handlers under a filter: $mode" "$PROGRAMS/seccomp_handlers" $mode
done
compare "a storm of signals" "$PROGRAMS/sig_storm" 1

# exact NAME PERIOD HALVINGS OPTION...: a signal costs 4 instructions, one of them a return, one a
# system call, one that loads and stores
exact()
{
	local name=$1 period=$2 halvings=$3 events=instructions,branches,taken-branches,returns,syscalls
	events+=,loads,stores,mem-ops,rep-iterations,fp-scalar-double
	local event cost hits quiet
	shift 3
	# a quiet run has the same counts without trouble, and evicting all the time it takes minutes
	"$ANYPERF" stat -x, -e $events -o counts.0 -- "$PROGRAMS/sig_exact" 0 "$halvings" >hits 2>&1
	"$(anyperf_for "$@")" stat "$@" -x, -e $events -o "counts.$period" -- \
		"$PROGRAMS/sig_exact" "$period" "$halvings" >hits 2>&1
	hits=$(od -An -td8 hits | tr -d ' ')
	check "$name: signals came" test "$hits" -ge 3
	for event in ${events//,/ }; do
		case $event in
		instructions) cost=4 ;;
		loads | mem-ops) cost=2 ;;
		rep-iterations | fp-*) cost=0 ;;
		*) cost=1 ;;
		esac
		quiet=$(stat_value counts.0 "$event")
		is "$(stat_value "counts.$period" "$event")" $((quiet + cost * hits)) "$name: $event"
	done
}
# rep NAME OPTION...: what sig_rep.S says
rep()
{
	local name=$1
	shift
	run "$(anyperf_for "$@")" stat "$@" -x, -e rep-iterations -o counts -- "$PROGRAMS/sig_rep"
	is "$(cat "$tmp/out")" "sig_rep: ok" "$name: signals came"
	is "$(stat_value counts rep-iterations)" $((1000 * (1048576 + 65536))) "$name"
}
rep "iterations in a storm"
rep "iterations in a storm, code thrown away" --stress evict
exact "counts in a storm" 1 0
exact "counts in a storm, unlinked blocks" 1 2 --stress unlinked
exact "counts in a storm, counters in parts" 1 2 --stress shapes
exact "counts in a storm, blocks thrown away" 1 4 --stress evict

ulimit -S -c 0
compare "deaths without a core" "$PROGRAMS/sig_death"
case $(cat /proc/sys/kernel/core_pattern) in
'|'* | */*) lack "deaths with a core" "core_pattern takes the files elsewhere" ;;
*)
	if ulimit -S -c unlimited 2>/dev/null; then
		compare "deaths with a core" "$PROGRAMS/sig_death"
	else
		lack "deaths with a core" "ulimit -c is limited"
	fi
	;;
esac

# registers_of CORE: what address randomization and pids do not change
registers_of()
{
	gdb -batch -nx -ex 'x/i $pc' -ex 'p/x $rcx' -ex 'p/x $r12' -ex 'p/x $r15' -ex 'p/x $rax' \
		-ex 'p/x $xmm3.v2_int64' -ex 'p/x $gs_base' -ex 'p $_siginfo.si_code' -ex bt \
		"$PROGRAMS/sig_death" "$1" 2>/dev/null |
		grep -E '^(=>|\$|#)' | sed -E 's/0x[0-9a-f]{8,}/ADDRESS/g'
}

# core COMMAND...: runs it and leaves its core in $tmp/the-core
core()
{
	rm -f core* the-core
	"$@" >/dev/null 2>&1
	status=$?
	cat core* >the-core 2>/dev/null
}

if ! command -v gdb >/dev/null; then
	skip "registers in cores" "no gdb"
elif core "$PROGRAMS/sig_death" load && [ -s the-core ]; then
	for way in load int3 call abort thread; do
		core "$PROGRAMS/sig_death" $way
		is "$status" "$((status | 128))" "$way: dies of a signal"
		registers_of the-core >native.txt
		has native.txt '^\$7 = ' "$way: gdb reads the native core"
		core "$ANYPERF" stat -- "$PROGRAMS/sig_death" $way
		registers_of the-core >counted.txt
		same counted.txt native.txt "$way: the core shows the program's registers"
	done
else
	lack "registers in cores" "no core files here"
fi

# Fatal signals of the command itself
for way in load divide ud2 int3 abort "cpu limit"; do
	compare "dying of $way" "$PROGRAMS/sig_death" "$way"
done

done_testing
