#!/bin/bash
# SPDX-License-Identifier: MIT
# Sampling of programs by themselves: as the kernel does it where both count the same events, and exact
# to the instruction where only a session can.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1

# --- what both have: execution breakpoints and side-band

cases="counts contents chains period lost wakeups waiters signals owner refresh sigtrap overwrite forward paused
output inherit sideband"

# The kernel exchanges the contexts of clones when it switches between them, and what was left of a period
# goes along: now and then the sample is another's natively.  What each has done is known by reading.
inherited='own 5, thread 10, child 3, count 189'
natively()
{
	run timeout -k 5 60 "$PROGRAMS/sample_watch" "$1"
	for ((i = 0; i < 20; i++)); do
		[ "$1" = inherit ] && [ "$status" = 0 ] && ! grep -qx "$inherited" out || return 0
		run timeout -k 5 60 "$PROGRAMS/sample_watch" "$1"
	done
}

# expected CASE: what Linux does, on a machine that has all its debug exceptions; without where compilers put things
places='s/ +$//; s/^(chain of 4: user) .*/\1/; s/returns to -?[0-9]+ above/returns above/'
expected() { awk -v at="-- $1" '/^-- / { on = $0 == at } on' "$root/tests/e2e/sample_watch.want"; }

# where a host keeps a guest's debug exceptions to itself, the kernel has nothing more to compare with
run timeout -k 5 60 "$PROGRAMS/sample_watch" counts
lost=
grep -qw hypervisor /proc/cpuinfo && grep -q '^period 1: 0 samples of 0,' out && lost=yes

for case in $cases; do
	natively "$case"
	native=${lost:+77}
	native=${native:-$status}
	mv out native
	run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/sample_watch" "$case"
	is "$status" 0 "a session samples: $case" || note "$(head -n 5 err)"
	has_not out FAILED "and says nothing odd: $case"
	expected "$case" >want
	[ -s want ]
	is $? 0 "expected: $case"
	sed -E "$places" out >placeless
	same placeless want "as Linux does: $case"
	if [ "$native" = 77 ]; then
		lack "as this kernel does: $case" "no breakpoints here, not permitted, or lost by this virtual machine"
	else
		sed -E "$places" native >placeless
		same placeless want "which is what this kernel does: $case"
		same out native "as this kernel does: $case"
	fi
done

run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/sample_watch" inherit
has out "^$inherited\$" "each task has the samples of its own periods"

run timeout -k 5 60 "$ANYPERF" run --user-only -- "$PROGRAMS/sample_trace"
is "$status" 0 "tracepoints of calls are sampled" || note "$(head -n 5 err)"
mv out session
# the number of the call and its arguments, or what it gave: behind 8 bytes of common fields, and padded to 8 with the size
cat >want <<'END'
raw_syscalls/sys_enter: size 68 type 1 pid 1 110 11 22 33 44 55 66
raw_syscalls/sys_enter: size 68 type 1 pid 1 3 11 22 33 44 55 66
raw_syscalls/sys_exit: size 28 type 1 pid 1 110 -1
raw_syscalls/sys_exit: size 28 type 1 pid 1 3 -9
syscalls/sys_exit_getppid: size 28 type 1 pid 1 110 -1
syscalls/sys_enter_close: size 28 type 1 pid 1 3 11
END
same session want "with the fields that their formats have"
# shellcheck disable=SC2016 # the inner shell's
run unshare -m sh -c 'mount -t tracefs nodev /sys/kernel/tracing && exec "$0"' "$PROGRAMS/sample_trace"
if [ "$status" = 0 ] && ! grep -q cannot out; then
	same session out "with the fields that the kernel gives"
else
	lack "with the fields that the kernel gives" "no tracefs, or not permitted"
fi

# --- instructions: known by reading the code

run timeout -k 5 120 "$ANYPERF" run -- "$PROGRAMS/sample_self"
is "$status" 0 "programs sample their own instructions" || note "$(head -n 5 err)"
cat >want <<'END'
period 1: all 1, in the loop 1, on dec 1
period 2: all 1, in the loop 1, on dec 1
period 3: all 1, in the loop 1, on dec 1
period 7: all 1, in the loop 1, on dec 1
period 64: all 1, in the loop 1, on dec 1
period 1000: all 1, in the loop 1, on dec 1
period 99991: all 1, in the loop 1, on dec 1
branches: all 1, on jnz 1
set output 0
both: 1 1
group: 1, 0 wrong
signals: 1, all POLL_IN 1
data: found 2
inherit: threads 1, child 1, sum 1
killed: 1, 0 bad
survivors: 0 bad
later: 4000 2000 4000, all 1
END
same out want "each period ends where it must, whatever is sampled besides"
run timeout -k 5 120 "$ANYPERF" run -- "$PROGRAMS/sample_self" later
is "$status $(cat out)" "0 later: 4000 2000 4000, all 1" \
	"branches that are counted only from the middle of sampling on"

# not evict, which makes each sample take a tenth of a second: sample_points.sh has it, and sampling_evict.long.sh
for stress in unlinked requests; do
	run timeout -k 5 400 "$ANYPERF_TEST" run --stress "$stress" -- "$PROGRAMS/sample_self" periods
	head -n 7 want >part
	same out part "also under stress: $stress" || note "$(head -n 5 err)"
done

# --- throttling: by a rate that was asked for; else a fixed period has all its samples

for what in instructions clock; do
	# a thread that loses its CPU between an overflow and its record has the record's time in a later tick: once more
	for ((try = 0; try < 3; try++)); do
		run timeout -k 5 60 "$ANYPERF" run --max-sample-rate 1000 -- "$PROGRAMS/sample_throttle" 1000 "$what"
		grep -q ' 0 too many' out && break
	done
	is "$status $(cat out)" "0 samples some, throttled and let go, 0 too many in a tick, 0 odd" \
		"$what: four samples in a tick at 1000 a second"
done
run timeout -k 5 60 "$ANYPERF" run -- "$PROGRAMS/sample_throttle" 0 instructions
is "$status $(head -n 1 out)" "0 samples some, throttled never, 0 too many in a tick, 0 odd" "nothing is throttled unasked"
is "$(tail -n 1 out)" "count / period: 1" "and there are count / period samples"
run timeout -k 5 60 "$ANYPERF" run --max-sample-rate 1000 -- cat /proc/sys/kernel/perf_event_max_sample_rate
is "$(cat out)" 1000 "the rate is the session's"

done_testing
