# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For tests that run real programs twice in a folder of the same name, once natively and once under
# `anyperf stat`: same stdout, stderr, exit status and files.  To be read after lib.sh.
# AP_TWICE=session: the second time under the system's own perf, in a session.

# The system's own programs: shims of version managers run a shell first.
export PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=$tmp PYTHONDONTWRITEBYTECODE=1
# What is asked of sanitizers for builds of our own is not for programs that are to be wrong.
unset ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS LSAN_OPTIONS MSAN_OPTIONS
ulimit -c 0
limit=300
counted=("$ANYPERF" stat)
[ "${AP_TWICE:-}" != session ] || counted=("$ANYPERF" run -- perf stat)

# one KIND SETUP COMMAND...: runs in $tmp/w, which becomes $tmp/KIND
one()
{
	local kind=$1 setup=$2
	shift 2
	rm -rf "${tmp:?}/$kind" "$tmp/w"
	mkdir "$tmp/w" || return
	cd "$tmp/w" || return
	$setup
	# What the shell says about a signal is not the program's.
	{ timeout -k 5 "$limit" "$@" >"$tmp/$kind.out" 2>"$tmp/$kind.err" </dev/null; } 2>/dev/null
	echo $? >"$tmp/$kind.status"
	cd "$tmp" && mv w "$kind"
}

# differences: of the two runs, empty where there are none
differences()
{
	local what status
	status=$(cat "$tmp/native.status")
	# As perf, anyperf names the signal that ended the command.
	if [ "$status" -gt 128 ]; then
		# of a signal perf's own status says nothing, here or natively
		[ "${counted[1]}" = stat ] || [ "$(cat "$tmp/counted.status")" != 0 ] || echo "$status" >"$tmp/counted.status"
		sed -i -E '$ { /^[^ ]+: (Segmentation fault|Interrupt|Terminated|Aborted)$/d }' \
			"$tmp/counted.err"
	fi
	for what in status out err; do
		cmp -s "$tmp/native.$what" "$tmp/counted.$what" ||
			diff -a -u "$tmp/native.$what" "$tmp/counted.$what" | head -n 20
	done
	diff -a -r "$tmp/native" "$tmp/counted" | head -n 20
	# What diff -r does not see: kinds, modes, targets of links.
	diff <(cd "$tmp/native" && find . -printf '%p %y %m %l\n' | sort) \
		<(cd "$tmp/counted" && find . -printf '%p %y %m %l\n' | sort)
}

# both NAME STATUS SETUP COMMAND...: STATUS is what the command has to end with natively, so that
# a program which fails in both cases does not pass for one that works
both()
{
	local name=$1 want=$2 setup=$3 diffs
	shift 3
	if [[ $1 != ./* ]] && ! command -v "$1" >/dev/null; then
		skip "$name" "no $1"
		return
	fi
	one native "$setup" "$@"
	one counted "$setup" "${counted[@]}" -x, -e instructions:u -o "$tmp/table" -- "$@"
	diffs=$(differences)
	if [ "$(cat "$tmp/native.status")" != "$want" ]; then
		not_ok "$name" "natively status $(cat "$tmp/native.status"), not $want" \
			"$(head -n 20 "$tmp/native.err")"
	elif [ -n "$diffs" ]; then
		not_ok "$name" "$diffs" "$(tail -n 5 "$tmp/counted.err")"
	elif ! [ "$(stat_value "$tmp/table" instructions)" -gt 1000 ] 2>/dev/null; then
		not_ok "$name" "nothing was counted" "$(cat "$tmp/table" 2>&1)"
	elif grep -q '^# not counted' "$tmp/table"; then
		not_ok "$name" "it was not counted to its end" "$(cat "$tmp/table")"
	else
		ok "$name"
	fi
}

nothing()
{
	:
}

# Some lines of text to work on.
text()
{
	awk 'BEGIN { for (i = 0; i < 20000; i++)
		printf "%d line %d of text, %x\n", (i * 7919) % 1000, i, i * 2654435761 % 4294967296
	}' >text
}

# both_if PROBES NAME STATUS SETUP COMMAND...: both, if the program is one of those chosen (words of names in chosen[], all
# by default) and each probe, a command or an absolute path, is here
both_if()
{
	local probes=$1 name=$2 word found=1
	shift
	for word in ${chosen[@]+"${chosen[@]}"}; do
		found=0
		[[ $name != *"$word"* ]] || { found=1 && break; }
	done
	[ $found = 1 ] || return
	for word in $probes; do
		if [ "$word" = upx ] && ! command -v upx >/dev/null; then
			lack "$name" "no upx: Debian 12 has none"
			return
		elif ! [ -e "$word" ] && ! command -v "$word" >/dev/null; then
			skip "$name" "no $word"
			return
		fi
	done
	both "$@"
}
