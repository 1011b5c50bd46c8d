#!/bin/bash
# SPDX-License-Identifier: MIT
# What stalls wait for, by levels: on a machine that does one thing after the other each miss is in full; on one that
# overlaps them cycles are what they are without.
. "$(dirname "$0")/lib.sh"
need awk
cd "$tmp" || exit 1
walk=$PROGRAMS/model_walk
levels=stalled-cycles-l1d-miss,stalled-cycles-l2-miss,stalled-cycles-llc-miss

# counts FILE MACHINE EVENTS COMMAND...: lines of EVENT COUNT
counts()
{
	local file=$1 machine=$2 events=$3
	shift 3
	timeout -k 5 120 env -i "$ANYPERF" stat --deterministic --machine "$machine" -x, -o csv -e "$events" -- "$@" >out 2>err </dev/null
	awk -F, '$3 { print $3, $1 }' csv >"$file"
}

# of FILE EVENT: its count
of()
{
	awk -v event="$2" '$1 == event { $1 = ""; print substr($0, 2) }' "$1"
}

# 1 MiB: more than L1D, less than the last level. A load takes 1 cycle, 10, 100.
counts once cachegrind stalled-cycles-backend,$levels "$walk" walk 16384 1
counts more cachegrind stalled-cycles-backend,$levels "$walk" walk 16384 5
is "$(($(of more stalled-cycles-l1d-miss) - $(of once stalled-cycles-l1d-miss)))" $((4 * 16384 * 9)) "each miss of L1D in full"
is "$(of more stalled-cycles-llc-miss)" "$(of once stalled-cycles-llc-miss)" "and the last level has them"
is "$(($(of once stalled-cycles-llc-miss) >= 16384 * 99))" 1 "after the first time" || note "$(cat once)"
is "$(of more stalled-cycles-l1d-miss)" "$(of more stalled-cycles-backend)" "nothing else is waited for"
is "$(of more stalled-cycles-l2-miss)" "<not supported>" "there is no L2"

for command in "walk 65536 2" "branch 0xffffffffffffffff 60 5000" "halves 1 20000"; do
	# shellcheck disable=SC2086 # its words
	counts without skylake cycles,stalled-cycles-backend,stalled-cycles-frontend "$walk" $command
	# shellcheck disable=SC2086
	counts with skylake cycles,stalled-cycles-backend,stalled-cycles-frontend,$levels "$walk" $command
	head -n 3 with >same
	same without same "$command: the same cycles"
	is "$(awk 'NR == 2 || NR > 3 { if (NR > 3 && $2 > last || $2 !~ /^[0-9]+$/) bad++; last = $2; n++ } END { print n, bad + 0 }' with)" \
		"4 0" "$command: each level's are among those before it" || note "$(cat with)"
done
counts two skylake "$levels" "$walk" walk 65536 2
is "$(($(of two stalled-cycles-llc-miss) > 0))" 1 "stalls of misses of the last level" || note "$(cat two)"

# sampled, and in a session
run "$ANYPERF" record -o data --machine cachegrind -e stalled-cycles-llc-miss -c 99000 -- "$walk" walk 16384 1
is "$status" 0 "recorded"
run "$ANYPERF" script -i data
is "$(($(grep -c stalled-cycles-llc-miss out) >= 16))" 1 "a sample of each period" || note "$(tail -n 3 err)"
run "$ANYPERF" run --machine cachegrind -- "$ANYPERF" stat -x, -o csv -e stalled-cycles-llc-miss,cycles -- "$walk" walk 16384 1
is "$(awk -F, '$3 == "stalled-cycles-llc-miss" { print ($1 >= 16384 * 99) }' csv)" 1 "counted in a session" || note "$(cat csv)"
done_testing
