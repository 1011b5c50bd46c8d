#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs under filters that kill for what they do not call themselves: the same as natively, and counted.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/oracle.bash"

has_fsgsbase=$(grep -cw -m1 fsgsbase /proc/cpuinfo)

# goes_native HAS_FSGSBASE MODE: a task has a %gs of its own, which the filters of these let nobody set by a call
goes_native()
{
	[ "$1" = 0 ] && [[ $2 = threads || $2 = forks || $2 = answers || $2 = threads-of-children ]]
}

# compare NAME OPTIONS... -- MODE
compare()
{
	local name=$1 mode=${*: -1} want
	run timeout -k 5 120 "$PROGRAMS/seccomp_narrow" "$mode"
	want=$status
	mv "$tmp/out" "$tmp/want.out"
	run timeout -k 5 300 "$(anyperf_for "$@")" stat -x, "${@:2:$#-3}" -e instructions,branches -o "$tmp/table" -- \
		"$PROGRAMS/seccomp_narrow" "$mode"
	is "$status" "$want" "$name: status"
	same "$tmp/out" "$tmp/want.out" "$name: output"
	has "$tmp/table" '^[0-9]+,,branches' "$name: and counted"
	if [[ " $* " = *no-fsgsbase* ]] && goes_native 0 "$mode" || goes_native "$has_fsgsbase" "$mode"; then
		has "$tmp/err" '^anyperf: not counted from here on: .*FSGSBASE$' "$name: up to the filter, which is said"
	else
		no_word "$tmp/err" "$name: nothing is said"
		has_not "$tmp/table" 'not counted' "$name: all of it"
	fi
}

for mode in meet flood change threads forks memory limits answers codeless refused failing threads-of-children segments; do
	compare "$mode" -- $mode
	compare "$mode without FSGSBASE" --stress no-fsgsbase -- $mode
done
compare "change, evicted all the time" --stress evict -- change
compare "flood in a small cache" --cache-limit 256K -- flood

# threads that begin just before the filter, and after it where it lets them: a matter of moments, so tried often
for mode in later born born-all handlers bases; do
	run timeout -k 5 60 "$PROGRAMS/seccomp_gs" $mode
	want=$status
	mv "$tmp/out" "$tmp/want.out"
	for options in "" "--stress no-fsgsbase"; do
		for try in 1 2 3 4 5 6 7 8; do
			# shellcheck disable=SC2086 # none is none
			run timeout -k 5 60 "$(anyperf_for $options)" stat $options -x, -e instructions -o "$tmp/table" -- \
				"$PROGRAMS/seccomp_gs" $mode
			[ "$status" = "$want" ] && cmp -s "$tmp/out" "$tmp/want.out" || break
		done
		is "$status" "$want" "$mode $options: status, $try times"
		same "$tmp/out" "$tmp/want.out" "$mode $options: output"
	done
	if [[ $mode = born* ]]; then
		has_not "$tmp/table" 'not counted' "$mode: all of it counted"
	else
		has "$tmp/err" 'not counted from here on: .*FSGSBASE$' "$mode: not counted without FSGSBASE"
	fi
done

# new threads have models of their own, and who gets the filter from another has a log that may be full
for mode in threads meet; do
	run timeout -k 5 60 "$ANYPERF" stat -x, -e cycles,cache-misses -o "$tmp/table" -- "$PROGRAMS/seccomp_narrow" $mode
	is "$status" 0 "$mode, modelled: status"
	is "$(grep -c '^sum ' "$tmp/out")" 4 "$mode, modelled: output"
	goes_native "$has_fsgsbase" $mode || no_word "$tmp/err" "$mode, modelled: nothing is said"
done

# and so has a child, which takes its parent's along to where it moves, and that child's threads
for mode in forks threads-of-children; do
	run timeout -k 5 60 "$PROGRAMS/seccomp_narrow" $mode
	want=$status
	mv "$tmp/out" "$tmp/want.out"
	run timeout -k 5 120 "$ANYPERF" stat -x, -e cycles,cache-misses -o "$tmp/table" -- "$PROGRAMS/seccomp_narrow" $mode
	is "$status" "$want" "$mode, modelled: status"
	same "$tmp/out" "$tmp/want.out" "$mode, modelled: output"
	goes_native "$has_fsgsbase" $mode || no_word "$tmp/err" "$mode, modelled: nothing is said"
	has "$tmp/table" '^[0-9]+,,cycles' "$mode, modelled: and counted"
done

# one call kills that the program does not make, and the engine would like to: open, fstat, getppid, personality, tgkill,
# faccessat2; rt_sigreturn, pread64, dup3, lseek, ftruncate, memfd_create
as_natively()
{
	local native
	run timeout -k 5 60 "$PROGRAMS/seccomp_narrow" "$@"
	native=$status
	mv "$tmp/out" "$tmp/want.out"
	run timeout -k 5 60 "$ANYPERF" stat -x, -e instructions -o "$tmp/table" -- "$PROGRAMS/seccomp_narrow" "$@"
	is "$status" "$native" "$*: status"
	same "$tmp/out" "$tmp/want.out" "$*: output"
}
for call in 2 5 110 135 234 439; do
	as_natively image $call
	has "$tmp/table" 'not counted: .*seccomp filter' "image $call: goes on natively, which is said"
done
for call in 15 17 292 8 77 319; do
	as_natively without $call
	has_not "$tmp/table" 'not counted' "without $call: counted"
done

# a child whose parent does not come to tell it its number goes on natively, and has waited without a CPU where it may
mkfifo "$tmp/go"
timeout -k 5 60 "$ANYPERF" stat -e instructions -o "$tmp/table" -- "$PROGRAMS/fork_stopped" forks <"$tmp/go" \
	>"$tmp/forks" 2>"$tmp/err" &
pid=$!
tap_reaped+=("$pid")
exec 7>"$tmp/go"
wait_for 20 test -s "$tmp/forks"
timeout -k 5 60 "$PROGRAMS/fork_stopped" trace "$(cat "$tmp/forks")" >&7
traced=$?
exec 7>&-
wait "$pid"
status=$?
if [ "$traced" = 77 ]; then
	lack "a parent that is stopped in a fork" "ptrace is refused here"
elif [ "$has_fsgsbase" = 0 ]; then
	lack "a parent that is stopped in a fork" "its filter ends counting on a CPU without FSGSBASE"
else
	is "$status $traced" "0 0" "a parent that is stopped in a fork goes on"
	is "$(tail -n +2 "$tmp/forks")" "status 7
it slept" "its child ends before, and uses no CPU to wait" || note "$(cat "$tmp/err")"
	has "$tmp/table" 'not counted: .*stopped or killed in the fork' "not counted, which is said"
fi

# what the engine does instead is not the program's
for mode in change memory limits forks; do
	! goes_native "$has_fsgsbase" $mode || continue
	compare_with_oracle "$mode" "$PROGRAMS/seccomp_narrow" $mode
done
done_testing
