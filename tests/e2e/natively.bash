# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For tests that hold what a program prints in a session to two things: what is written down in TEST.want, which is the answer
# of Linux 6.18, and what the kernel at hand says, where it lets us ask.  To be read after lib.sh.

native=yes # the kernel opens software events
"$PROGRAMS/perf_native" reset >"$tmp/out" 2>&1 || native=
who=()	   # the user that all of it is run by
# shellcheck disable=SC2034 # for tests
session=("$ANYPERF" run --)

# expected NAME: the lines below "-- NAME"
expected()
{
	awk -v at="-- $1" '/^-- / { on = $0 == at; next } on' "${0%.sh}.want" 2>/dev/null
}

# in_session NAME COMMAND...: what is written down
in_session()
{
	local name=$1
	shift
	run timeout -k 5 60 "${who[@]+"${who[@]}"}" "${session[@]}" "$@"
	mv "$tmp/out" "$tmp/counted"
	expected "$name" >"$tmp/want"
	[ ! -s "$tmp/want" ] || same "$tmp/counted" "$tmp/want" "$name: what Linux answers" || note "$(head -n 20 "$tmp/err")"
}

# both NAME COMMAND...: that, and the same output and status as natively
both()
{
	local name=$1 in_it
	in_session "$@"
	shift
	if [ -z "$native" ]; then
		[ -s "$tmp/want" ] || lack "$name: answers" "the kernel does not let us open software events"
		return
	fi
	in_it=$status
	run "${who[@]+"${who[@]}"}" "$@"
	mv "$tmp/out" "$tmp/native"
	is "$in_it" "$status" "$name: status"
	same "$tmp/counted" "$tmp/native" "$name: answers"
}
