#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What a party costs, as root: a process that becomes another user (setpriv) against one that says who it is already, each then
# executing `true`, under `anyperf stat --exact`; and a program of four threads that change one after another.  CPU time of the
# whole tree beyond the same natively, medians of alternating runs.
#
#	bench/party.sh [runs]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
runs=${1:-40}
[ "$(id -u)" = 0 ] || die "only root can become another user"

declare -A id=([same]=0 [other]=65534)
threads=$BUILD/programs/setuid_threads
kinds=(same other)
[ ! -x "$threads" ] || kinds+=(threads)

prepare
for kind in "${kinds[@]}"; do
	: >"$work/out/$kind.native"
	: >"$work/out/$kind.counted"
done
for ((n = 0; n < runs; n++)); do
	for kind in "${kinds[@]}"; do
		cmd=("$threads")
		[ "$kind" = threads ] || cmd=(/usr/bin/setpriv --reuid "${id[$kind]}" /bin/true)
		for how in native counted; do
			tool=()
			[ "$how" = native ] || tool=("$ANYPERF" stat -o "$work/out/table" --exact --)
			measure 60 /dev/null "${tool[@]}" "${cmd[@]}"
			[ "$status" = 0 ] || die "${cmd[*]} ends with $status: $(head -n 3 "$work/out/stderr")"
			echo "$cpu" >>"$work/out/$kind.$how"
		done
	done
done
for kind in "${kinds[@]}"; do
	awk -v kind="$kind" -v runs="$runs" -v native="$(median <"$work/out/$kind.native")" \
		-v counted="$(median <"$work/out/$kind.counted")" 'BEGIN {
		printf "- %s: %.1f ms of CPU time over native (%.1f against %.1f, medians of %d)\n", kind, (counted - native) * 1e3,
			counted * 1e3, native * 1e3, runs
	}'
done
