#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What `anyperf stat --exact -- true` costs beyond `true`, and `anyperf stat -- true`, which models cycles: medians of
# alternating runs.
#
#	bench/startup.sh [runs]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
runs=${1:-50}

declare -A option=([native]="" [--exact]=--exact [default]="")
declare -A title=([--exact]='--exact --' [default]=--)

prepare
for kind in "${!option[@]}"; do
	: >"$work/out/$kind.wall"
	: >"$work/out/$kind.cpu"
done
for ((n = 0; n < runs; n++)); do
	for kind in "${!option[@]}"; do
		tool=()
		# shellcheck disable=SC2206 # an option or none
		[ "$kind" = native ] || tool=("$ANYPERF" stat -o "$work/out/table" ${option[$kind]} --)
		measure 60 /dev/null "${tool[@]}" /bin/true
		[ "$status" = 0 ] || die "true ends with $status: $(head -n 3 "$work/out/stderr")"
		echo "$wall" >>"$work/out/$kind.wall"
		echo "$cpu" >>"$work/out/$kind.cpu"
	done
done
for kind in --exact default; do
	for what in wall cpu; do
		awk -v what="$what" -v runs="$runs" -v title="${title[$kind]}" \
			-v native="$(median <"$work/out/native.$what")" -v counted="$(median <"$work/out/$kind.$what")" 'BEGIN {
			printf "- `anyperf stat %s true`, %s time: %.1f ms over native (%.1f against %.1f, " \
				"medians of %d)\n", title, what == "cpu" ? "CPU" : what,
				(counted - native) * 1e3, counted * 1e3, native * 1e3, runs
		}'
	done
done
