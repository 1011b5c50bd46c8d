#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What --model-sample costs and how far its estimates are off: each program once with all of it modelled and once with one
# part in each N.  A program's addresses are fixed (--deterministic), since predictors and caches depend on them.
#
#	bench/model_sample.sh [-n N,...] [program...]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"

parts=(16)
if [ "${1:-}" = -n ]; then
	IFS=, read -ra parts <<<"$2"
	shift 2
fi
[ $# = 0 ] || programs=("$@")
limit=600
events=cycles,branch-misses,L1-dcache-load-misses,L1-icache-load-misses,dTLB-load-misses,LLC-loads,LLC-load-misses

# counts N FILE: $cpu, and lines of EVENT COUNT
counts()
{
	measure "$limit" "$in" "$ANYPERF" stat --deterministic --model-sample "$1" -x, -o "$work/out/csv" \
		-e "$events" -- "${cmd[@]}"
	[ "$status" = 0 ] || die "$program with one part in $1: status $status"
	awk -F, '$3 { print $3, $1 }' "$work/out/csv" >"$2"
}

prepare
echo "| program | all, x native | one in | x native | ${events//,/ | } |"
printf '|---|---:|---:|---:|'
for _ in ${events//,/ }; do printf -- '---:|'; done
echo
for program in "${programs[@]}"; do
	cmd=() in=
	command_of "$program"
	measure "$limit" "$in" "${cmd[@]}"
	native=$cpu
	counts 1 "$work/out/all"
	all=$cpu
	for part in "${parts[@]}"; do
		counts "$part" "$work/out/part"
		awk -v p="$program" -v n="$part" -v native="$native" -v all="$all" -v part="$cpu" '
			NR == FNR { want[$1] = $2; next }
			FNR == 1 { printf "| %s | %.1f | %s | %.1f |", p, all / native, n, part / native }
			want[$1] < 100000 { printf " (%d for %d) |", $2, want[$1]; next }
			{ printf " %+.1f %% |", 100 * ($2 / want[$1] - 1) }
			END { print "" }' "$work/out/all" "$work/out/part"
	done
done
