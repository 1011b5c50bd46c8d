# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For oracle.sh and oracle.long.sh: run a command under the oracle and under anyperf and compare.
#
# Both get one CPU and the same few environment variables: the environment lies on the stack, and
# its size moves whatever is aligned by it (a shell's own "_" has the length of the tool's name).

base_events="instructions branches cond-branches taken-branches calls returns \
indirect-branches syscalls"
oracle_events="$base_events loads stores mem-ops rep-iterations fp-scalar-double fp-scalar-single \
fp-128-double fp-128-single flops"
! grep -qw avx /proc/cpuinfo || oracle_events+=" fp-256-double fp-256-single"
! grep -qw avx512f /proc/cpuinfo || oracle_events+=" fp-512-double fp-512-single"
oracle_cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')

# in_same_place COMMAND...: with what anyperf and the oracle have in common
in_same_place()
{
	env -i PATH="$PATH" LC_ALL=C TZ=UTC0 HOME="$tmp" PERL_HASH_SEED=0 \
		taskset -c "$oracle_cpu" "$@"
}

# known_count SOURCE EVENT: what the program's source says it retires, or nothing
known_count()
{
	sed -n "s/.*EXPECT $2 \([0-9]*\)\$/\1/p" "$1" 2>/dev/null
}

# how many digits pids have now: shells write theirs and their parent's down digit by digit
pid_digits()
{
	sh -c 'pid=$$; echo ${#pid}'
}

# was_late NAME OUTPUT: restarts, which a timer interrupts, had no CPU when it was to be blocked already; the next time it gets a word
# more, in $later, and its timer twice the time, up to half a second
later=()
was_late()
{
	[ "$1" = restarts ] && ! grep -q 'restarts: ok' "$2" || return 1
	[ ${#later[@]} = 5 ] || later+=(later)
}

# The first run of anyperf feeds the models as well; the second is as most are: what is not asked for is not counted.  In the
# third instructions that lock are watched for.
run_both()
{
	rm -f "$tmp/oracle" "$tmp/anyperf" "$tmp/base" "$tmp/locked"
	in_same_place "$ORACLE" -o "$tmp/oracle" -- "$@" >"$tmp/oracle.out" 2>&1 </dev/null
	oracle_status=$?
	in_same_place "$ANYPERF" stat --deterministic -x, -e "${oracle_events// /,},cycles,branch-misses" \
		-o "$tmp/anyperf" -- "$@" >"$tmp/anyperf.out" 2>&1 </dev/null
	anyperf_status=$?
	in_same_place "$ANYPERF" stat --deterministic -x, -e "${base_events// /,}" \
		-o "$tmp/base" -- "$@" >"$tmp/base.out" 2>&1 </dev/null
	in_same_place "$ANYPERF" stat --deterministic -x, -e "locked-instructions,${base_events// /,}" \
		-o "$tmp/locked" -- "$@" >"$tmp/locked.out" 2>&1 </dev/null
}

# the lines of base_events in a table, as event and value
base_values()
{
	local event
	for event in $base_events; do
		echo "$event $(stat_value "$1" "$event")"
	done
}

# compare_with_oracle NAME COMMAND...: one test per event, one for output and status each
compare_with_oracle()
{
	local name=$1 event theirs ours known source digits oracle_status anyperf_status tries=0
	shift
	later=()
	while :; do
		digits=$(pid_digits)
		run_both "$@" "${later[@]}"
		if [ "$digits" != "$(pid_digits)" ]; then
			note "pids went around, once more"
		elif ((tries++ < 20)) && { was_late "$name" "$tmp/oracle.out" || was_late "$name" "$tmp/anyperf.out" ||
			was_late "$name" "$tmp/base.out" || was_late "$name" "$tmp/locked.out"; }; then
			note "the signal came too early, once more"
		else
			break
		fi
	done
	source=$(ls "$root/tests/programs/$name".* 2>/dev/null)
	is "$anyperf_status" "$oracle_status" "$name: exit status"
	same "$tmp/oracle.out" "$tmp/anyperf.out" "$name: output"
	base_values "$tmp/anyperf" >"$tmp/values"
	base_values "$tmp/base" >"$tmp/values.base"
	same "$tmp/values" "$tmp/values.base" "$name: the same where nothing else is counted"
	base_values "$tmp/locked" >"$tmp/values.locked"
	same "$tmp/values" "$tmp/values.locked" "$name: and where instructions that lock are"
	known=$(known_count "$source" locked-instructions)
	theirs=$(awk '$1 == "locked-instructions" { print $2 }' "$tmp/oracle")
	is "anyperf $(stat_value "$tmp/locked" locked-instructions)" "anyperf ${known:-$theirs}" "$name: locked-instructions"
	is "oracle $theirs" "oracle ${known:-$theirs}" "$name: locked-instructions of the oracle"
	for event in $oracle_events; do
		theirs=$(awk -v e="$event" '$1 == e { print $2 }' "$tmp/oracle")
		ours=$(stat_value "$tmp/anyperf" "$event")
		known=$(known_count "$source" "$event")
		if [ -n "$known" ]; then
			is "anyperf $ours, oracle $theirs" "anyperf $known, oracle $known" \
				"$name: $event as its source says"
		else
			is "anyperf $ours" "anyperf ${theirs:-none}" "$name: $event"
		fi
	done
}
