# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For tests that hold our output to perf's, of the same file: an empty home, so that nobody's settings
# count, recording, and the comparison.  Needs lib.sh.

need perf gcc
HOME=$tmp/home
export HOME
mkdir "$HOME"

# record FILE OPTIONS... -- COMMAND...: the clock, which the kernel samples if it samples anything
record()
{
	local file=$1
	shift
	perf record -q -e cpu-clock:u -o "$file" "$@" >/dev/null 2>"$tmp/why" ||
		perf_refused "$tmp/why"
}

# as_theirs NAME REGEX: $tmp/out is $tmp/theirs, which says something: it has a line that matches
as_theirs()
{
	if ! grep -q -e "$2" "$tmp/theirs"; then
		not_ok "$1" "perf prints nothing"
	elif cmp -s "$tmp/theirs" "$tmp/out"; then
		ok "$1"
	else
		not_ok "$1" "$(diff "$tmp/theirs" "$tmp/out" | head -n 20)" "$(cat "$tmp/err")"
	fi
}

# as_perf NAME COMMAND ARGS...: both tools' standard outputs
as_perf()
{
	local name=$1
	shift
	perf "$@" >"$tmp/theirs" 2>/dev/null </dev/null
	run "$ANYPERF" "$@"
	as_theirs "$name" ''
}

# perf_report ARGS...: without its tip of the day and the blank line before it
perf_report()
{
	perf report --stdio "$@" 2>/dev/null </dev/null | sed '/^# (Tip/,$d' | sed '$d'
}
