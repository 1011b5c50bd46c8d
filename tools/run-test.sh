#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs one test for prove: with a time limit, LONG=1 arguments where the source asks for them
# (a line "LONG: ..." left in TEST.long by the build), and a copy of its TAP in $AP_TAP_DIR, from
# which .ci/run counts.
set -u -o pipefail
test=$1
shift
limit=${AP_TEST_TIMEOUT:-300}
args=()
if [ "${LONG:-0}" = 1 ] && [ -s "$test.long" ]; then
	read -ra args <"$test.long"
fi
case $test in
*.sh) cmd=(bash "$test") ;;
*) cmd=("$test") ;;
esac

run()
{
	timeout -k 10 "$limit" "${cmd[@]}" "${args[@]}" "$@" </dev/null
	local status=$?
	if [ $status = 124 ] || [ $status = 137 ]; then
		echo "# timed out after $limit s: $test"
	fi
	return $status
}

if [ -n "${AP_TAP_DIR:-}" ]; then
	name=${test//\//_}
	run "$@" | tee "$AP_TAP_DIR/$name.tap"
else
	run "$@"
fi
