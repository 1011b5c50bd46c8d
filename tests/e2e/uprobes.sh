#!/bin/bash
# SPDX-License-Identifier: MIT
# Breakpoints that the kernel puts into text for others (uprobes): the program goes on, the kernel counts, and so do we.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
program=$PROGRAMS/uprobe_self

"$program" own >native
run timeout -k 5 60 "$ANYPERF" stat -- "$program" own
is "$status $(cat out)" "0 traps: 10" "a breakpoint of the program's own is its SIGTRAP"
same out native "as natively"

"$program" show >native
if [ $? = 2 ]; then
	lack "uprobes" "there are none, or not for this user"
	done_testing
	exit
fi
run timeout -k 5 60 "$ANYPERF" stat -- "$program" show
is "$status" 0 "a program opens uprobes on itself where no session serves it" || note "$(cat err)"
same out native "and the kernel counts each instruction as natively"
for way in on of; do
	run timeout -k 5 60 "$ANYPERF" stat -x, -o $way.csv -e instructions:u,branches:u,loads:u,stores:u -- "$program" $way
	is "$status" 0 "$way: it runs" || note "$(cat err)"
	awk -F, '/:u/ { print $1, $3 }' $way.csv >$way.counts
done
same on.counts of.counts "what the kernel executed is counted as well"

# somebody outside, by a name
probes=/sys/kernel/tracing/uprobe_events
probe=anyperf$$/outside
at=0x$(nm "$program" | awk '/ t f_mov$/ { print $1 }')
at=$(printf '0x%x' $((at - 0x$(readelf -lW "$program" | awk '$1 == "LOAD" && $8 == "E" { print substr($3, 3) }') + 0x$(readelf -lW "$program" | awk '$1 == "LOAD" && $8 == "E" { print substr($2, 3) }'))))
if echo "p:$probe $program:$at" 2>/dev/null >>$probes && timeout -k 5 60 perf stat -a -x, -o csv -e "${probe/\//:}" -- "$program" of 2>/dev/null; then
	is "$(awk -F, '/outside/ { print $1 }' csv)" 3000 "natively a uprobe of a whole system counts"
	for how in stat run; do
		run timeout -k 5 60 perf stat -a -x, -o csv -e "${probe/\//:}" -- "$ANYPERF" $how -- "$program" of
		is "$status $(awk -F, '/outside/ { print $1 }' csv)" "0 3000" "and of a program that anyperf $how counts" || note "$(cat csv err)"
	done
	echo "-:$probe" >>$probes
else
	lack "uprobes of somebody outside" "perf cannot open any"
fi
done_testing
