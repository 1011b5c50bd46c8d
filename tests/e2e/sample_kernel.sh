#!/bin/bash
# SPDX-License-Identifier: MIT
# Samples of what only the kernel sees: page faults at their instructions, clocks in time.  As natively.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1

for case in periods reads several contents signals traps thread inherit switches namespaces sleeps moves native filtered; do
	run timeout -k 5 60 "$PROGRAMS/sample_kernel" "$case"
	native=$status
	mv out native
	run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/sample_kernel" "$case"
	if [ "$native" = 77 ]; then
		case $case in
		switches) # docs/limits-events.md: SWITCH records
			is "$status $(tail -n 1 out)" "0 switches missing, sleeps missing, 0 wrong" "none where the kernel refuses: $case" ;;
		namespaces) is "$status" 0 "where the kernel refuses as well: $case" ;;
		*) is "$status" 77 "refused where the kernel refuses: $case" ;;
		esac
		[ "$case" != periods ] || refused=1
		continue
	fi
	# a kernel without 32-bit calls ends "native" with SIGSEGV
	is "$status" "$native" "a session samples: $case" || note "$(head -n 5 err)"
	same out native "as the kernel does: $case"
done

# Where the kernel permits nothing page faults cannot be sampled, and clocks are looked at by the supervisor.
cp "$ANYPERF" anyperf
cp "$PROGRAMS"/{lockbox,sample_kernel} .
run timeout -k 5 60 ./lockbox ./anyperf run -- ./sample_kernel periods
if [ "$status" = 99 ]; then
	lack "page faults in a locked box" "no namespaces here"
else
	is "$status" 77 "page faults in a locked box are refused"
	has out 'cannot open: Operation not supported' "with EOPNOTSUPP"
fi

# The samples of a clock are of the program's instructions, and stand for all its time.
type perf >perf.path 2>&1 || {
	skip "perf record of clocks and faults" "no perf"
	done_testing
	exit 0
}
for clock in cpu-clock task-clock; do
	# where the supervisor looks, it needs a CPU meanwhile: more time on a busy machine
	for n in 600000 6000000 60000000; do
		program=(perl -e "my \$s = 0; for my \$i (1 .. $n) { \$s += \$i * \$i } print qq(\$s\\n)")
		run timeout -k 5 120 "$ANYPERF" run -- perf record -q -o data -e "$clock:u" -c 200000 -- "${program[@]}"
		perf script -i data -F ip,dso 2>/dev/null >ips
		[ "$(wc -l <ips)" -le 20 ] || break
	done
	is "$status" 0 "perf record of $clock" || note "$(head -n 5 err)"
	is "$(($(wc -l <ips) > 20))" 1 "$clock has samples"
	is "$(grep -c unknown ips)" 0 "$clock: all of them in what is mapped"
done

if [ -n "${refused-}" ]; then
	lack "perf record of page faults" "the kernel refuses them"
	done_testing
	exit 0
fi
run timeout -k 5 60 "$ANYPERF" run -- perf record -q -o data -e page-faults:u -c 1 -d -- "${program[@]}"
is "$status" 0 "perf record of page faults" || note "$(head -n 5 err)"
perf script -i data -F ip,addr,dso 2>/dev/null >ips
is "$(($(wc -l <ips) > 100))" 1 "page faults have samples"
is "$(awk '$1 == "0"' ips | wc -l)" 0 "with addresses"

done_testing
