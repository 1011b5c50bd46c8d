#!/bin/bash
# SPDX-License-Identifier: MIT
# Debian's perf samples in a session: every period ends on the instruction that the single-stepping oracle
# names, and nothing is lost.
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1
type perf >perf.path 2>&1 || skip_all "no perf"

# perf opens an event for each CPU, and each has a period of its own: where periods are compared with the
# oracle's, the program stays on one.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
one_cpu=(taskset -c "$cpu")

record()
{
	run "${one_cpu[@]}" timeout -k 5 120 "$ANYPERF" run -- perf record -q -o data "$@"
}

script()
{
	perf script -i data "$@" 2>/dev/null
}

# Static programs lie where they lie.
for program in and_few branches fp_ops loads_stores; do
	"$ORACLE" --trace trace -- "$PROGRAMS/$program" >/dev/null 2>&1
	total=$(wc -l <trace)
	for period in 7 1000; do
		# more than fits the buffer would be lost where perf has to wait for a CPU
		[ $((total / period)) -lt 5000 ] || continue
		record -e instructions:u -c "$period" -- "$PROGRAMS/$program"
		script -F ip | awk '{ print $1 }' >got
		awk -v n="$period" 'NR % n == 0 { print $2 }' trace | sed 's/^0x//' >want
		is "$(wc -l <got)" "$((total / period))" "$program, each $period: as many as periods" ||
			note "$(head -n 5 err)"
		same got want "$program, each $period: on the instructions of the oracle"
	done
done

# Whatever precision is asked for, each is exact, and says so where some was asked for, as the kernel does.
"$ORACLE" --trace trace -- "$PROGRAMS/fp_ops" >/dev/null 2>&1
awk 'NR % 1000 == 0 { print $2 }' trace | sed 's/^0x//' >want
for precise in u pu ppu pppu; do
	record -e "instructions:$precise" -c 1000 -- "$PROGRAMS/fp_ops"
	script -F ip | awk '{ print $1 }' >got
	same got want "instructions:$precise: the same samples"
	misc=0x4002
	[ "$precise" = u ] && misc=0x2
	is "$(perf report -D -i data 2>/dev/null </dev/null | grep -ao 'PERF_RECORD_SAMPLE(IP, 0x[0-9a-f]*)' | sort | uniq -c | awk '{ print $1, $3 }')" \
		"$(wc -l <want) $misc)" "instructions:$precise: of user mode, with the exact address where that is asked for"
done

# Children go on in images of their own, and what an image leaves of a period the next one has.
"$ORACLE" --trace trace -- "$PROGRAMS/vfork_exec" >/dev/null 2>&1
for period in 7 10 100; do
	record -e instructions:u -c "$period" -- "${one_cpu[@]}" "$PROGRAMS/vfork_exec"
	# the first task was another program before
	script -F pid | awk 'NR == 1 { first = $1 } $1 != first { print $1 }' | sort | uniq -c | awk '{ print $1 }' | sort -n >got
	awk 'NR == 1 { first = $1 } $1 != first { print $1 }' trace | sort | uniq -c |
		awk -v n="$period" '$1 >= n { print int($1 / n) }' | sort -n >want
	same got want "over execs, each $period: as many of each task as periods"
done

# --- options

one_cpu=()
program=(perl -e 'my $s = 0; for my $i (1 .. 200000) { $s += $i * $i } print "$s\n"')
total=$("$ANYPERF" stat -x, -e instructions:u -- "${program[@]}" 2>&1 >/dev/null |
	sed -n 's/,.*instructions.*//p')

record -e instructions:u -c 100003 -g -- "${program[@]}"
is "$status" 0 "perf record -g" || note "$(head -n 5 err)"
run perf report -i data --stdio
is "$status" 0 "perf report of it"
has out 'Total Lost Samples: 0' "nothing is lost"
record -e instructions:u -c 100003 -- "${program[@]}"
n=$(script -F ip | wc -l)
within=$((total / 100003 - n))
is "$((within >= -2 && within <= 2))" 1 "as many samples as periods, but for what differs from run to run" ||
	note "$n samples of $total instructions"

record -e instructions:u -c 1000003 --call-graph dwarf,4096 -- "${program[@]}"
is "$status" 0 "perf record --call-graph dwarf" || note "$(head -n 5 err)"
script -F ip,sym >out
has out '_start' "stacks are unwound to the first function"

now=(perl "-MTime::HiRes=clock_gettime,CLOCK_MONOTONIC" -e 'printf "%.6f", clock_gettime(CLOCK_MONOTONIC)')
before=$("${now[@]}")
record -e instructions:u -c 100003 -k CLOCK_MONOTONIC -- "${program[@]}"
after=$("${now[@]}")
# perf cuts microseconds, and perl rounds them
is "$(script -F time | awk -v a="$before" -v b="$after" '{ t = $1 + 0 } NR == 1 { in_order = t >= a - 2e-6 }
	{ in_order = in_order && t >= last; last = t } END { print in_order && t <= b + 2e-6 }')" 1 \
	"perf record -k CLOCK_MONOTONIC: times of that clock" || note "$before $after $(script -F time | sed -n '1p;$p' | xargs)"

record -e instructions:u -F 5000 -- "${program[@]}"
is "$status" 0 "perf record -F" || note "$(head -n 5 err)"
is "$(($(script -F ip | wc -l) > 20))" 1 "a frequency adapts"

record -e instructions:u -c 100003 -d -- "${program[@]}"
is "$status" 0 "perf record -d" || note "$(head -n 5 err)"
is "$(($(script -F addr | awk '$1 != "0"' | wc -l) > 20))" 1 "addresses of data"

record -e instructions:u -c 100003 -s -- sh -c 'true; true'
is "$status" 0 "perf record -s" || note "$(head -n 5 err)"

record -e cpu-clock:u -F 500 -- "${program[@]}"
is "$status" 0 "perf record of a clock" || note "$(head -n 5 err)"

record -e branches:u -c 50021 --no-inherit -- "${program[@]}"
is "$status" 0 "perf record of branches" || note "$(head -n 5 err)"

record -e '{instructions:u,branches:u}:S' -c 100003 -- "${program[@]}"
is "$status" 0 "perf record of a group" || note "$(head -n 5 err)"
is "$(($(script -F event | grep -c branches) > 10))" 1 "both events have samples"

record -e syscalls:sys_enter_write -- sh -c 'echo one; echo three'
is "$status" 0 "perf record of a tracepoint" || note "$(head -n 5 err)"
script -F event,trace | grep -oE 'fd: .*count: .*' | sed 's/buf: [^,]*, //' >got
cat >want <<'END'
fd: 0x00000001, count: 0x00000004
fd: 0x00000001, count: 0x00000006
END
same got want "perf script decodes its fields"

# --- what is mapped, forked, named

cat >tree.sh <<'END'
perl -e '$0 = "renamed"; $x += $_ for 1 .. 50000'
(perl -e '$x += $_ for 1 .. 50000') &
wait
exec "$PROGRAMS/vfork_exec"
END
record -e instructions:u -c 20011 -- sh tree.sh
perf script -i data -F comm >comms 2>/dev/null
has_not comms '^ *:' "each sample has a name"
perf script -i data --show-task-events --show-mmap-events 2>/dev/null >out
has out 'PERF_RECORD_COMM exec: perl' "execs are recorded"
has out 'PERF_RECORD_MMAP.*r-xp.*perl' "mappings are"
has out 'PERF_RECORD_MMAP.*r-xp.*libc' "of libraries too"
has out 'PERF_RECORD_FORK' "forks are"
has_not out 'PERF_RECORD_(FORK|EXIT)\(0' "with the names of who was made"
has out 'PERF_RECORD_EXIT' "ends are"
# but the folder that the program is in may be called so
is "$(sed "s,$(realpath "$PROGRAMS")/,,g" out | grep -c 'anyperf')" 0 "nothing of the engine is"
is "$(script -F ip,dso | grep -c 'unknown')" 0 "each sample is in something that was mapped"

# --- others' processes, and all

cat >attach.sh <<'END'
perl -e '1 while 1' &
pid=$!
perf record -q -e instructions:u -c 1000003 -p $pid -o one -- bash "$1" $pid 30
perf record -q -e instructions:u -c 1000003 -a -o all -- sh -c 'perl -e "\$x += \$_ for 1 .. 300000"'
kill $pid
END
run timeout -k 5 60 "$ANYPERF" run -- sh attach.sh "$until_ran"
is "$(perf report -i one --stdio 2>/dev/null | grep -c 'perl')" \
	"$(perf report -i one --stdio 2>/dev/null | grep -c ' perl')" "perf record -p"
is "$(($(perf script -i one -F comm 2>/dev/null | grep -c perl) > 5))" 1 "samples a process that runs already"
is "$(($(perf script -i all -F comm 2>/dev/null | grep -c perl) > 5))" 1 "perf record -a samples all of the session"

cat >top.sh <<'END'
perl -e '1 while 1' &
pid=$!
perf top --stdio -e instructions:u -c 1000003 -p $pid -d 1 >top.out 2>&1 </dev/null &
top=$!
n=0
until grep -q perl top.out || [ $n = 600 ]; do
	n=$((n + 1))
	read -t 0.1 -r _ <>fifo
done
kill $top $pid
wait
END
mkfifo fifo
run timeout -k 5 120 "$ANYPERF" run -- bash top.sh
has top.out 'perl' "perf top shows what runs" || note "$(head -c 500 top.out)"

done_testing
