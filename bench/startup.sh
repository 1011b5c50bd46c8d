#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What `anyperf stat -- true` costs beyond `true`: medians of alternating runs.
#
#	bench/startup.sh [runs]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
runs=${1:-50}

prepare
for kind in native counted; do
	: >"$work/out/$kind.wall"
	: >"$work/out/$kind.cpu"
done
for ((n = 0; n < runs; n++)); do
	for kind in native counted; do
		tool=()
		[ $kind = native ] || tool=("$ANYPERF" stat -o "$work/out/table" --)
		measure 60 /dev/null "${tool[@]}" /bin/true
		[ "$status" = 0 ] || die "true ends with $status: $(head -n 3 "$work/out/stderr")"
		echo "$wall" >>"$work/out/$kind.wall"
		echo "$cpu" >>"$work/out/$kind.cpu"
	done
done
for what in wall cpu; do
	awk -v what="$what" -v runs="$runs" -v native="$(median <"$work/out/native.$what")" \
		-v counted="$(median <"$work/out/counted.$what")" 'BEGIN {
		printf "- `anyperf stat -- true`, %s time: %.1f ms over native (%.1f against %.1f, " \
			"medians of %d)\n", what == "cpu" ? "CPU" : what,
			(counted - native) * 1e3, counted * 1e3, native * 1e3, runs
	}'
done
