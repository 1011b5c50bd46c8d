#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs one test for prove: with a time limit, and with LONG=1 arguments where the source asks for
# them (a "LONG:" line, which the build leaves in TEST.long).  prove hides what a test says on
# "# " lines, so those before a failure are repeated on stderr.  A copy of the TAP stays in
# $AP_TAP_DIR, from which .ci/run counts.  $AP_EMULATOR runs programs of another machine.
set -u -o pipefail
test=$1
shift
limit=${AP_TEST_TIMEOUT:-900}
# of CPU, where the programs of tests have been built (tests/programs/limited.c)
timeout=${PROGRAMS:-}/limited
[ -x "$timeout" ] || timeout=timeout
cmd=("$test")
if [[ $test == *.sh ]]; then
	cmd=(bash "$test")
elif [ -n "${AP_EMULATOR:-}" ]; then
	cmd=("$AP_EMULATOR" "$test")
fi
# make waits at its end for who holds its pipe of jobs: no test, and nothing that one leaves behind
if [[ ${MAKEFLAGS:-} =~ --jobserver-(auth|fds)=([0-9]+),([0-9]+) ]]; then
	eval "exec ${BASH_REMATCH[2]}<&- ${BASH_REMATCH[3]}>&-"
fi
unset MAKEFLAGS MFLAGS MAKELEVEL
# a shell starts what is in the background with SIGINT and SIGQUIT ignored, nohup with SIGHUP: tests have the defaults
cmd=(env "--default-signal=HUP,INT,QUIT" "${cmd[@]}")
args=()
if [ "${LONG:-0}" = 1 ] && [ -s "$test.long" ]; then
	read -ra args <"$test.long"
fi

if [ -n "${AP_TAP_DIR:-}" ]; then
	tap=$AP_TAP_DIR/${test//\//_}.tap
else
	tap=$(mktemp "${TMPDIR:-/tmp}/anyperf-tap.XXXXXX") || exit 1
	trap 'rm -f "$tap"' EXIT
fi

"$timeout" -k 10 "$limit" "${cmd[@]}" "${args[@]}" "$@" </dev/null | tee "$tap"
status=$?
if [ $status != 0 ]; then
	{
		echo
		awk '/^not ok/ { printf "%s%s\n", said, $0 } /^(not )?ok/ { said = ""; next }
			{ said = said $0 "\n" } END { printf "%s", said }' "$tap" | tail -n 200
		if [ $status = 124 ] || [ $status = 137 ]; then
			echo "timed out after $limit s"
		fi
		echo "^ $test, exit status $status"
	} >&2
fi
exit $status
