# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For sample_points.sh and sample_points.long.sh: the instructions that --stress sample stops at are
# those that the single-stepping oracle names.  Needs lib.sh and oracle.bash.

# What the engine calls kinds (abi/raw.h), of the events that the oracle knows by name.
declare -A kinds_of=([instructions]=1 [cond-branches]=2 [taken-branches]=4 [calls]=8 [returns]=10
	[indirect-branches]=20 [branches]=40 [syscalls]=100 [loads]=200 [stores]=400
	[mem-ops]=100000 [flops]=80)

# Programs in whose every instruction a sample may fall.
# shellcheck disable=SC2034 # for the tests
sampled="and_few rep_stosb branches nested_calls plt_entries mid_insn fault_mid signal_mid fork_count \
	vfork_exec threads_count threads_exit restarts wild_jump shadow flags_live \
	odd_prefixes page_cross redzone smc_store fs_gs rdtsc_cpuid loads_stores fp_ops rep_iter"

# by_thread FILE: lines of TID TEXT; a checksum for each thread's list, whatever the threads are called
by_thread()
{
	local tid
	for tid in $(cut -d' ' -f1 "$1" | sort -u); do
		sed -n "s/^$tid //p" "$1" | md5sum
	done | sort
}

# samples_like_oracle NAME EVENT PERIODS COMMAND...: the oracle, which takes long, runs once for each name and event of a test
samples_like_oracle()
{
	local name=$1 event=$2 periods=$3 period try list=$tmp/list.$1.$2${BRANCHES:++}
	shift 3
	later=()
	rm -f "$tmp"/ours.* "$tmp/theirs"
	for ((try = 0; try < 20; try++)); do
		[ -e "$list.out" ] && break
		in_same_place "$ORACLE" -o /dev/null --samples "$list" --period 1 --event "$event" ${BRANCHES:+--branches} \
			-- "$@" "${later[@]}" >"$tmp/oracle.out" 2>&1 </dev/null 9>/dev/null
		was_late "$name" "$tmp/oracle.out" && [ $try != 19 ] || mv "$tmp/oracle.out" "$list.out"
	done
	for period in $periods; do
		for ((try = 0; try < 20; try++)); do
			: >"$tmp/ours.$period"
			in_same_place "$limited" -k 5 120 "$ANYPERF_TEST" stat --deterministic -o /dev/null -e instructions \
				--stress "log=9,sample=$period:${kinds_of[$event]}${BRANCHES:++}${STRESS:+,$STRESS}" \
				-- "$@" "${later[@]}" >"$tmp/ours.$period.out" 2>&1 </dev/null 9>>"$tmp/ours.$period"
			was_late "$name" "$tmp/ours.$period.out" || break
		done
	done
	for period in $periods; do
		awk -v n="$period" 'int($3 / n) != int($4 / n) { $3 = $4 = ""; $0 = $0; $1 = $1; print }' "$list" >"$tmp/theirs"
		same "$list.out" "$tmp/ours.$period.out" "$name: every ${period}th of $event: output"
		by_thread "$tmp/theirs" >"$tmp/want"
		by_thread "$tmp/ours.$period" >"$tmp/got"
		same "$tmp/want" "$tmp/got" \
			"$name: every ${period}th of $event: $(wc -l <"$tmp/theirs") samples"
	done
}
