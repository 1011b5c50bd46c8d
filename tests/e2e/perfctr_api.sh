#!/bin/bash
# SPDX-License-Identifier: MIT
# perfctr's calls of 2004 by the library, in a session and without one.
. "$(dirname "$0")/lib.sh"
plan 3

run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/perfctr_api"
cat >"$tmp/want" <<'END'
too few words: Value too large for defined data type
info: 0
nothing: 0
type 13, features 7, CPU 0 is there, forbidden 0
open: more than 0
again: File exists
no control: Bad address
control: 0
a hundred thousand more: 200000
read: 0
2 signals, 0 bad, as many as periods
control comes back
unlink: 0
control: No such process
global control: more than 0
no global control: Bad address
start: more than 0
busy: Device or resource busy
read: 0
read: 0
what ran there, with the clock, and the control
stop: 0
END
is "$status" 0 "the program ends well" || note "$(cat "$tmp/err")"
same "$tmp/out" "$tmp/want" "info, counts, pages and signals are as the documentation says"
if [ -e /dev/perfctr ]; then
	lack "without a session there is no device" "this machine has perfctr"
else
	run "$PROGRAMS/perfctr_api"
	has "$tmp/out" "too few words: No such file or directory" "without a session there is no device"
fi
