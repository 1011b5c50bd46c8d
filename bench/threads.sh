#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Whether threads run as parallel counted as they do natively: the slow-down of one busy thread
# against that of two.  A lock held too long shows in wall time, a shared cache line in both.
#
#	bench/threads.sh [runs]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
runs=${1:-5}

# medians WHAT THREADS: fills n, natively, and c, counted
medians()
{
	n=$(median <"$work/out/native.$1.$2")
	c=$(median <"$work/out/counted.$1.$2")
}

# rows NAME OPTION...: of anyperf stat
rows()
{
	local name=$1
	shift
	rm -f "$work"/out/{native,counted}.{wall,cpu}.{1,2}
	for ((i = 0; i < runs; i++)); do
		for threads in 1 2; do
			for kind in native counted; do
				tool=()
				[ $kind = native ] || tool=("$ANYPERF" stat -o "$work/out/table" "$@" --)
				measure 60 /dev/null "${tool[@]}" "$work/bin/pth" "$threads" 850
				[ "$status" = 0 ] || die "pth ends with $status"
				echo "$wall" >>"$work/out/$kind.wall.$threads"
				echo "$cpu" >>"$work/out/$kind.cpu.$threads"
			done
		done
	done
	for what in wall cpu; do
		medians $what 1
		n1=$n c1=$c
		medians $what 2
		print_row "$name"
	done
}

# print_row NAME
print_row()
{
	awk -v name="$1" -v what="${what/cpu/CPU}" -v n1="$n1" -v c1="$c1" -v n2="$n" -v c2="$c" 'BEGIN {
		printf "- " name "%s time: one busy thread takes %.2f times its native %.2f s, two take %.2f " \
			"times their %.2f s: two keep %.1f %% of the ratio that one has\n",
			what, c1 / n1, n1, c2 / n2, n2, 100 * (c1 / n1) / (c2 / n2)
	}'
}

prepare
[ "$(nproc)" -ge 2 ] || die "two busy threads need two CPUs"
rows "" -e "$all_events"
rows "tables of the models (\`-d\`), " -d
