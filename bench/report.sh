#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Reading a large perf.data with callchains: `anyperf report --stdio` and `script` against perf's, the same
# file, one after the other.  The file is a short recording, its samples repeated.
#
#	bench/report.sh [megabytes]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
size=${1:-1000}

prepare
# shellcheck disable=SC2034 # build uses it
libs=()
build "$work/bin/grow_profile" "$bench/grow_profile.c" gcc -O2 -Wall
perf record -q -e cpu-clock:u -g -o "$work/out/small.data" -- "$work/bin/stl" >/dev/null 2>&1 ||
	die "perf cannot record here"
"$work/bin/grow_profile" "$work/out/small.data" "$work/out/large.data" "$size" || die "cannot make the file"

# timed TOOL COMMAND...: one line "seconds KiB"
timed()
{
	/usr/bin/time -f '%e %M' -o "$work/out/time" "$@" -i "$work/out/large.data" >"$work/out/text" \
		2>"$work/out/stderr" || die "$1 fails: $(head -n 1 "$work/out/stderr")"
	tail -n 1 "$work/out/time"
}

printf '%s MB, %s samples\n\n' "$size" "$("$ANYPERF" report --stdio -n -g none -s comm --no-children \
	-i "$work/out/large.data" | awk '/%/ { n += $2 } END { print n }')"
printf '| command | perf, s | anyperf, s | times faster | perf, MiB | anyperf, MiB |\n|---|--:|--:|--:|--:|--:|\n'
for command in "report --stdio" "report --stdio --no-children" "script"; do
	read -ra words <<<"$command"
	theirs=$(timed perf "${words[@]}")
	ours=$(timed "$ANYPERF" "${words[@]}")
	awk -v name="$command" -v t="$theirs" -v o="$ours" 'BEGIN {
		split(t, a); split(o, b)
		printf "| %s | %.2f | %.2f | %.1f | %.0f | %.0f |\n", name, a[1], b[1], a[1] / b[1],
			a[2] / 1024, b[2] / 1024
	}'
done
rm -f "$work/out/large.data" "$work/out/text"
