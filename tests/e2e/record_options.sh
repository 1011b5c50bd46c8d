#!/bin/bash
# SPDX-License-Identifier: MIT
# Options of `anyperf record` that few use: what each puts into the file, as Debian's perf reads it.
. "$(dirname "$0")/lib.sh"
need perf

cd "$tmp" || exit 1
cp "$PROGRAMS/stat_work" work || exit 1

record()
{
	run timeout -k 5 60 "$ANYPERF" record "$@"
}
# types FILE: how many records of each type, as perf counts them
types()
{
	perf report -i "$1" --stats 2>/dev/null
}
# samples FILE
samples()
{
	perf script -i "$1" -F ip 2>/dev/null | grep -c .
}
exact='-e instructions:u -c 101 --deterministic'

run timeout -k 5 60 "$ANYPERF" stat -x, -e instructions:u -- ./work 20
exit_of=$status

# shellcheck disable=SC2086 # words
record $exact -n -o none -- ./work 20
is "$status" "$exit_of" "no samples"
is "$(samples none)" 0 "none are there"
has <(types none) 'MMAP2 events:' "but mappings"
has <(types none) 'EXIT events: ' "and the end"

# shellcheck disable=SC2086
record $exact -o all -- ./work 20
want=$(samples all)
check "there are samples: $want" test "$want" -gt 2000

# 8 pages of 48 bytes a sample, and the newest of them
# shellcheck disable=SC2086
record $exact --overwrite -m 8 -P -o newest -- ./work 20
is "$status" "$exit_of" "--overwrite"
perf script -i newest -F ip,sym 2>/dev/null | tail -n 600 >got
perf script -i all -F ip,sym 2>/dev/null | tail -n 600 >last
size=$(perf script -D -i newest 2>/dev/null | sed -n 's/.* \[\(0x[0-9a-f]*\)\]: PERF_RECORD_SAMPLE.*/\1/p' | sort -u)
is "$(samples newest)" $((32768 / size)) "a ring full of samples of $((size)) bytes"
same got last "they are the last ones"
has <(types newest) 'MMAP2 events:' "mappings have another ring"
record -e cpu-clock:u -c 100000 --overwrite -m 8 -o clock -- \
	sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
is "$status" 0 "of a clock"
check "which has some" test "$(samples clock)" -gt 20

record -e instructions:u,branches:u -c 10007 --group -o group -- ./work 20
is "$(perf evlist -g -i group 2>/dev/null)" '{instructions:u,branches:u}' "--group"
"$ANYPERF" record -q -e '{instructions,branches}:S' -o group -- true
is "$(perf evlist -g -i group 2>/dev/null)" '{instructions:u,branches:u}' "a group's modifiers are in no name"

# shellcheck disable=SC2086
record $exact -i -o first -- ./work 20
# shellcheck disable=SC2086
record $exact --synth=no --no-buffering --strict-freq --user-callchains -g --affinity=cpu --mmap-flush=4096 \
	--no-bpf-event --num-thread-synthesize=2 --proc-map-timeout 500 --exclude-perf --per-thread -o taken -- ./work 20
is "$status" "$exit_of" "what changes little is taken"
is "$(perf script -i taken -F time,event 2>/dev/null | grep -c .)" "$(samples first)" "with as many samples"
has <(perf evlist -v -i taken 2>/dev/null) 'exclude_callchain_kernel: 1' "chains of user mode only"
has_not <(perf evlist -v -i taken 2>/dev/null) 'inherit: 1' "--per-thread does not follow children"
record -e cpu-clock:u -F 1000000000 --strict-freq -o n -- ./work
is "$status" 125 "--strict-freq"
has err '1000000000 samples per second are more than' "says why"
# shellcheck disable=SC2086
record $exact -r 1 -o fifo -- ./work 20
is "$status" "$exit_of" "-r, allowed or not"

# filters: dd reads and writes 20 bytes, one at a time; and what the kernel makes of the same, where it may
filter()
{
	local want=$1 text=$2
	shift 2
	record "$@" --filter "$text" -q -o filtered -- dd if=/dev/zero of=/dev/null bs=1 count=20 status=none
	is "$status $(samples filtered)" "0 $want" "--filter '$text'"
	if perf record "$@" --filter "$text" -q -o native -- \
		dd if=/dev/zero of=/dev/null bs=1 count=20 status=none >native.out 2>&1; then
		is "$(samples native)" "$want" "as in the kernel"
	else
		lack "as in the kernel" "it does not let perf"
	fi
}
filter 20 'fd == 0 && count == 1' -e syscalls:sys_enter_read
filter 20 'fd != 0 && (count & 3 && count < 0x2 || fd > 0xff)' -e syscalls:sys_enter_write
filter 0 '!(fd==1)' -e syscalls:sys_enter_write
filter 40 'ret == 1' -e syscalls:sys_exit_read,syscalls:sys_exit_write
filter 0 'ret < -4095' -e 'syscalls:sys_exit_*'
filter 40 'fd == 1' -e syscalls:sys_enter_read --filter 'fd == 0' -e syscalls:sys_enter_write --filter 'count > 1' \
	-e syscalls:sys_enter_write --filter 'count == 1'
# perf asks for PERIOD in samples of tracepoints, and Linux makes each a sample then, whatever -c says
record -e syscalls:sys_enter_read --filter 'fd == 0 && count == 1' -c 2 -q -o filtered -- \
	dd if=/dev/zero of=/dev/null bs=1 count=20 status=none
is "$status $(samples filtered)" "0 10" "every second that matches"
wrong()
{
	record "${@:2}" -o n -- true
	is "$status $(wc -l <"$tmp/err") $([ -e n ] && echo n)" "129 1 " "refused in one line: ${*:2}"
	has err "$1" "with the reason"
}
wrong 'no such field of the tracepoint' -e syscalls:sys_enter_read --filter 'bytes > 1'
wrong 'follows the -e of the tracepoints' -e instructions:u --filter 'count > 1'
wrong 'follows the -e of the tracepoints' --filter 'count > 1' -e syscalls:sys_enter_read

# cgroups: those of the machine, and each sample's
unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
path=$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ -n "$unified" ] && [ -d "$unified$path" ] && ! grep -q perf_event /proc/self/cgroup; then
	all_cgroups() { (cd "$unified" && find . -type d -printf '%i %P\n' | sed 's, , /,' | sort); }
	# others come and go
	for ((try = 0; try < 20; try++)); do
		all_cgroups >cgroups.before
		# shellcheck disable=SC2086
		record $exact --all-cgroups -o cgroups -- ./work 20
		all_cgroups >cgroups.after
		cmp -s cgroups.before cgroups.after && break
	done
	is "$status" "$exit_of" "--all-cgroups"
	perf script -D -i cgroups 2>/dev/null >dump
	is "$(sed -n 's/.*PERF_RECORD_CGROUP cgroup: \([0-9]*\) \(.*\)/\1 \2/p' dump | sort)" \
		"$(cat cgroups.before)" "each cgroup has a record"
	is "$(perf report -i cgroups -s cgroup --stdio 2>/dev/null | awk '!/^#/ && NF { print $2 }')" "$path" \
		"samples have theirs"
else
	lack "cgroups" "no cgroup2 with its controllers here"
fi

# --- terms of an event, as Debian's perf has them: the same attrs, but for what it asks of every event
# attrs FILE: what the terms decide, an event a line
attrs()
{
	perf evlist -v -i "$1" | awk '
	function of(name) {
		return match($0, name " [0-9]+") ? substr($0, RSTART, RLENGTH) "," : ""
	}
	{
		match($0, /sample_type: [A-Z_|]*/)
		type = "|" substr($0, RSTART + 13, RLENGTH - 13) "|"
		print of("sample_freq }:"), type ~ /\|TIME\|/ ? "time" : "", type ~ /\|CALLCHAIN\|/ ? "chain" : "",
			type ~ /\|STACK_USER\|/ ? "dwarf" : "", of("inherit:"), of(" freq:"), of("sample_stack_user:"),
			of("sample_max_stack:") }' | tr -s " " | sed "s, *$,,"
}
terms='instructions/period=1009,name=one/u,branches/freq=2000,call-graph=fp/u'
terms+=',cpu/instructions,period=50021,call-graph=dwarf,stack-size=1024/u,branches/max-stack=3,no-inherit/u'
record -o ours -e "$terms" -- ./work 20
is "$status" "$exit_of" "terms of perf's own"
run timeout -k 5 60 "$ANYPERF" run -- perf record -q -o theirs -e "$terms" -- ./work 20
attrs ours >ours.attrs
is "$(cat ours.attrs)" "$(attrs theirs)" "the same samples as perf's" || note "$(perf evlist -v -i ours)"
is "$(cat ours.attrs)" "$(
	cat <<-'END'
		sample_freq }: 1009, time inherit: 1,
		sample_freq }: 2000, time chain inherit: 1, freq: 1,
		sample_freq }: 50021, time chain dwarf inherit: 1, sample_stack_user: 1024,
		sample_freq }: 4000, time chain freq: 1, sample_max_stack: 3,
	END
)" "which is what was asked for"
is "$(perf evlist -i ours | head -1)" one "name="

# --- what is refused
for bad in '-r 0' '--synth=some' '--affinity=here' '--mmap-flush=x'; do
	# shellcheck disable=SC2086
	record $exact $bad -o n -- ./work
	is "$status" 129 "$bad"
done
for bad in '-u root' -S -S8M --snapshot; do
	# shellcheck disable=SC2086
	run "$ANYPERF" record $exact $bad -o n -- ./work
	is "$status $(wc -l <"$tmp/err") $([ -e n ] && echo n)" "129 1 " "$bad: one line"
	has "$tmp/err" ' (is of .*)[;,:].*[a-z]' "$bad: says what it would be of"
done

# 400,006 samples through a page: what is lost is said, also by who says nothing else
run "$ANYPERF" record -q -m 1 -e instructions:u -c 1 -o lost -- "$PROGRAMS/and_loop"
is "$status $(wc -l <"$tmp/err")" "0 1" "-q: one line"
has "$tmp/err" '[0-9]+ samples were lost' "of what was lost"
run "$ANYPERF" report --stdio -i lost
is "$status $(wc -l <"$tmp/err")" "0 1" "report of it: one line, too"
has "$tmp/err" '^anyperf report: lost: [0-9]+ samples were lost when it was recorded' "of as much"

run "$ANYPERF" record -q -e not-taken-branches -o data -- true
is "$status $(cat "$tmp/err")" "125 anyperf record: cannot sample not-taken-branches:u: Operation not supported; it can be counted ('anyperf stat') and has no samples of its own" \
	"a difference has no samples"
done_testing
