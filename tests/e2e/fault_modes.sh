#!/bin/bash
# SPDX-License-Identifier: MIT
# Faults and switches by mode (:u, :k), where the kernel's own events tell them: natively counted by perf, by
# `anyperf stat` alone and beside exact events, and in a session.
. "$(dirname "$0")/lib.sh"
need perf awk

cd "$tmp" || exit 1
cp "$PROGRAMS/fault_modes" . || exit 1
events=page-faults,page-faults:u,page-faults:k,minor-faults:u,context-switches:u
u=2000 k=6000 more=1000 # what starts a program and its engine faults less than that
if ! perf stat -x, -o probe -e page-faults,page-faults:k true 2>/dev/null || grep -q '^<not' probe; then
	lack_all 'the kernel does not let us count its faults: no oracle'
fi

# value FILE EVENT
value() { awk -F, -v e="$2" '$3 == e { print $1 }' "$1"; }
# within FILE EVENT LEAST: yes, or the value that is not in LEAST .. LEAST + more
within()
{
	local n
	n=$(value "$1" "$2")
	if [[ $n =~ ^[0-9]+$ ]] && [ "$n" -ge "$3" ] && [ "$n" -lt $(($3 + more)) ]; then
		echo yes
	else
		echo "$2: ${n:-none}, not $3 and at most $more more"
	fi
}
# shows NAME: the counts in csv are those of the work
shows()
{
	is "$status" 0 "$1: status"
	is "$(within csv page-faults:u $u)" yes "$1: those of the program"
	is "$(within csv minor-faults:u $u)" yes "$1: minor ones"
	is "$(within csv page-faults:k $k)" yes "$1: those of its system calls"
	is "$(within csv page-faults $((u + k)))" yes "$1: all"
	is "$(value csv context-switches:u)" 0 "$1: nobody switches in user mode"
}

for where in "" child; do
	args=(./fault_modes "$u" "$k" ${where:+"$where"})
	run perf stat -x, -o csv -e "$events" "${args[@]}"
	shows "natively${where:+, $where}"
	run timeout -k 5 60 "$ANYPERF" stat -x, -o csv -e "$events" -- "${args[@]}"
	shows "stat${where:+, $where}"
	is "$(($(value csv page-faults:u) + $(value csv page-faults:k)))" "$(value csv page-faults)" \
		"stat${where:+, $where}: the modes are all there is"
	run timeout -k 5 60 "$ANYPERF" stat -x, -o csv -e "instructions,$events" -- "${args[@]}"
	shows "stat with the engine${where:+, $where}"
	run timeout -k 5 60 "$ANYPERF" run -- perf stat -x, -o csv -e "$events" "${args[@]}"
	shows "perf in a session${where:+, $where}"
done
run timeout -k 5 60 "$ANYPERF" run -- perf stat -x, -o csv -e "$events" sh -c 'for i in 1 2 3; do (/bin/true; /bin/true); done'
is "$status $(($(value csv page-faults:u) + $(value csv page-faults:k)))" "0 $(value csv page-faults)" \
	"perf in a session, a tree of programs: the modes are all there is"
done_testing
