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
# of the same random bytes: one run in 250 has three instructions more by others
for way in on of; do
	run timeout -k 5 60 "$ANYPERF" stat --deterministic -x, -o $way.csv -e instructions:u,branches:u,loads:u,stores:u -- "$program" $way
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

# the same where it is a return, or where the file has no name any more
offset_in() # program, function
{
	local at off vaddr

	at=0x$(nm "$1" | awk -v name="$2" '$3 == name { print $1 }')
	readelf -lW "$1" | awk '$1 == "LOAD" && $8 == "E" { print $2, $3 }' >load
	read -r off vaddr <load
	printf '0x%x' $((at - vaddr + off))
}
# anyperf while somebody counts EVENT: outside_of EVENT ARG...
outside_of()
{
	cp "$PROGRAMS/uprobe_out" new && mv new outer
	[ "$1" = dummy ] || echo "${1%%:*}:$group/${1#*:} $PWD/outer:$at" >>$probes
	run timeout -k 5 100 perf stat -a -x, -o csv -e "${1/#[pr]:/$group:}" -- "$ANYPERF" stat --deterministic -x, -o mine -e instructions:u$more -- ./outer "${@:2}"
	[ "$1" = dummy ] || echo "-:$group/${1#*:}" >>$probes
	instructions=$(awk -F, '/instructions/ { print $1, $NF }' mine)
}
same_outside() # p or r, what it is, argument...
{
	outside_of dummy "${@:3}"
	want=$instructions
	outside_of "$1:hit" "${@:3}"
	is "$status $(awk -F, '/:hit/ { print $1 }' csv)" "0 1000" "$2: the kernel counts for somebody outside" || note "$(cat csv err)"
	is "$instructions" "$want" "$2: and the program's instructions are the same"
}
group=anyperf$$
more=
mkdir empty
at=$(offset_in "$PROGRAMS/uprobe_out" f_out)
cp "$PROGRAMS/uprobe_out" outer
if echo "r:$group/try $PWD/outer:$at" 2>/dev/null >>$probes && timeout -k 5 60 perf stat -a -x, -o csv -e $group:try -- ./outer 2>/dev/null; then
	echo "-:$group/try" >>$probes
	same_outside p "a function"
	same_outside r "its return"
	same_outside p "unlinked" unlink
	same_outside p "in a chroot" chroot empty
	same_outside p "unlinked, in a chroot" other empty
	same_outside p "traced" traced
	# a breakpoint on data: what is probed accesses memory, or what the kernel has executed with it
	more=,mem:0x$(nm "$PROGRAMS/uprobe_out" | awk '$3 == "seen" { print $1 }')/8:rw
	for function in f_out f_push f_load f_jump f_jcc; do
		at=$(offset_in "$PROGRAMS/uprobe_out" $function)
		outside_of dummy $function
		want="1000 $instructions $(awk -F, '/mem:/ { print $1 }' mine)"
		outside_of p:hit $function
		is "$status $(awk -F, '/:hit/ { print $1 }' csv) $instructions $(awk -F, '/mem:/ { print $1 }' mine)" "0 $want" "$function, with a breakpoint on data: both count" || note "$(cat csv err)"
	done
	more=
	at=$(offset_in "$PROGRAMS/uprobe_out" f_odd)
	for how in odd "traced odd" "traced poked"; do
		outside_of dummy "$how"
		want=$instructions
		outside_of p:hit "$how"
		is "$status $instructions" "0 $want" "$how: it goes on" || note "$(cat err)"
	done
	at=$(offset_in "$PROGRAMS/uprobe_out" f_out)
	more=,mem:0x$(nm "$PROGRAMS/uprobe_out" | awk '$3 == "f_out" { print $1 }'):x
	same_outside p "with a breakpoint event at the same place"
	is "$(awk -F, '/mem:/ { print $1 }' mine)" 1000 "which counts as well"
else
	lack "uprobes of somebody outside at returns" "perf cannot open any"
fi
done_testing
