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

# spread FILE COMMAND...: records the clock into FILE, again until each tenth of the recording's time has a sample: on a
# busy machine a program may wait for a CPU as long as that
spread()
{
	local file=$1 try
	shift
	for ((try = 0; try < 20; try++)); do
		"$@" || return
		perf script -i "$file" -F event,time 2>/dev/null | awk '
			{ time = $1; sub(/:$/, "", time); at[NR] = time }
			/cpu-clock/ { clock[NR] = 1 }
			END {
				for (i in at) {
					if (!n++ || at[i] < first) first = at[i]
					if (at[i] > last) last = at[i]
				}
				for (i in clock) has[int((at[i] - first) * 10 / (last - first + 1e-9))] = 1
				for (i = 0; i < 10; i++) some += has[i]
				exit some < 10
			}' && return
	done
	note "no recording in which each tenth has a sample"
}

# plain FILE: its lines but for the names of PLT stubs, which perf 6.1 takes from the wrong relocations ("@plt" where that is a
# resolver's), the head of a PLT, which we call .plt and perf by its address, and what a longer name moves
plain()
{
	sed -E 's/[^ ;]*@plt/@plt/g; s/\[\.\] (\.plt|0x[0-9a-f]{16})( |$)/[.] .plt\2/; s/ (\.plt(\+0x[0-9a-f]+)?|\[unknown\])/ [unknown]/g
		s/-{2,}/--/g; s/\.{2,}/../g; s/ +/ /g; s/ $//' "$1" | sort
}

# as_theirs NAME REGEX: $tmp/out is $tmp/theirs, which says something: it has a line that matches
as_theirs()
{
	if ! grep -q -e "$2" "$tmp/theirs"; then
		not_ok "$1" "perf prints nothing"
	elif cmp -s "$tmp/theirs" "$tmp/out"; then
		ok "$1"
	elif grep -q -e '@plt' -e ' \.plt' "$tmp/theirs" "$tmp/out" && [ "$(plain "$tmp/theirs")" = "$(plain "$tmp/out")" ]; then
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
