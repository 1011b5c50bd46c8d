#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What samples cost: how many a second one thread can take into a ring buffer, and what 10 kHz with
# callchains adds to counting, in CPU time of the whole; armed is an event that is never sampled.  The fastest of some runs each.
#
#	bench/sampling.sh [runs]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
runs=${1:-3}

# least COMMAND...: the least of the last words that it prints
least()
{
	local n
	for ((n = 0; n < runs; n++)); do
		"$@"
	done | awk 'NR == 1 || $NF < best { best = $NF; line = $0 } END { print line }'
}

prepare
# shellcheck disable=SC2034 # build uses it
libs=()
build "$work/bin/sampling" "$bench/sampling.c" gcc -O2 -Wall
session=("$ANYPERF" run --)

echo '| period | samples/s of one thread | CPU ns a sample |'
echo '|--:|--:|--:|'
read -r _ plain < <(least "${session[@]}" "$work/bin/sampling" 0 2000000000)
for period in 100 1000 10000; do
	n=$((period * 2000000 > 2000000000 ? 2000000000 : period * 2000000))
	read -r samples seconds < <(least "${session[@]}" "$work/bin/sampling" $period $n)
	awk -v p=$period -v s="$samples" -v t="$seconds" -v n=$n -v plain="$plain" 'BEGIN {
		printf "| %d | %.2f million | %.0f |\n", p, s / t / 1e6, (t - plain * n / 2e9) * 1e9 / s
	}'
done

# one COMMAND...: CPU seconds of a run
one()
{
	measure 120 /dev/null "$@"
	[ "$status" = 0 ] || die "$* ends with $status"
	echo "$cpu"
}

# Runs of a few seconds, so that what a recording takes to begin and to end is little of it, and kinds in turn, as machines
# become faster and slower meanwhile.
echo
echo '| program | counted s | armed | -F 10000 | -F 10000 -g |'
echo '|---|--:|--:|--:|--:|'
programs=("python3 -S -E $bench/programs/work.py 165" "$work/bin/nbody 45000000" "$work/bin/stl 255")
record=("$ANYPERF" record -q -o "$work/out/perf.data")
for program in "${programs[@]}"; do
	read -ra command <<<"$program"
	for ((n = 0; n < runs; n++)); do
		echo counted "$(one "$ANYPERF" stat -o "$work/out/table" -e instructions -- "${command[@]}")"
		echo armed "$(one "${record[@]}" -c 1000000000000 -- "${command[@]}")"
		echo flat "$(one "${record[@]}" -F 10000 -- "${command[@]}")"
		echo chains "$(one "${record[@]}" -F 10000 -g -- "${command[@]}")"
	done | awk -v name="${command[0]##*/}" '
		!($1 in best) || $2 < best[$1] { best[$1] = $2 }
		function more(kind) { return sprintf("%+.1f %%", 100 * (best[kind] / best["counted"] - 1)) }
		END { printf "| %s | %.2f | %s | %s | %s |\n", name, best["counted"], more("armed"), more("flat"),
			more("chains") }'
done
