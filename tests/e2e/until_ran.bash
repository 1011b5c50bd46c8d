#!/bin/bash
# SPDX-License-Identifier: MIT
# until_ran PID TICKS [STATUS]: a command for who attaches to a process: it ends when that has had so many ticks of CPU more, or has
# ended
ticks()
{
	local text fields
	{ read -r text <"/proc/$1/stat"; } 2>/dev/null || exit 0
	read -ra fields <<<"${text##*) }"
	echo $((fields[11] + fields[12]))
}
until=$(($(ticks "$1") + $2))
while now=$(ticks "$1") && [ -n "$now" ] && [ "$now" -lt "$until" ]; do
	sleep 0.02
done
exit "${3:-0}"
