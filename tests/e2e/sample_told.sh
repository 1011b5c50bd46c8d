#!/bin/bash
# SPDX-License-Identifier: MIT
# What is recorded of names that are written to files, of cgroups and of switches on a CPU is what the kernel
# records of the same program; by stock perf, too.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1
unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)

# like_native NAME ARG...: the program prints the same natively and counted
like_native()
{
	local name=$1
	shift
	rmdir told.dir 2>/dev/null
	run timeout -k 5 60 "$PROGRAMS/sample_told" "$@"
	if [ "$status" = 2 ]; then
		lack "$name" "$(grep -E '^(open|map|mkdir): ' out)"
		return
	fi
	is "$status" 0 "$name, natively" || note "$(cat out)"
	mv out want
	rmdir told.dir 2>/dev/null
	run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/sample_told" "$@"
	is "$status" 0 "$name, counted" || note "$(cat err)"
	same out want "$name: the same"
	has_not out 'FAILED' "$name: nothing failed"
}

like_native "names by files" names
if [ -e want ]; then
	has want 'by file of me by me' "one's own name"
	has want 'the other of thread by me' "another thread's"
fi
like_native "switches of a CPU" switches
if [ -n "$unified" ]; then
	like_native "cgroups" cgroups "$unified"
	like_native "events of a cgroup follow moves" moves "$unified"
else
	lack "cgroups" "no cgroup2 here"
fi

done_testing
