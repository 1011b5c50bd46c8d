#!/bin/bash
# SPDX-License-Identifier: MIT
# Whose samples they are, in whatever pid namespace; build ids of what is mapped; and what becomes of a process
# that is left while it is sampled.
. "$(dirname "$0")/lib.sh"
need perf perl

cd "$tmp" || exit 1
busy='my $s = 0; for my $i (1 .. 300000) { $s += $i * $i }'

# ids FILE: pids and tids of perl's samples
ids()
{
	perf script -i "$1" -F comm,pid,tid 2>/dev/null | awk '$1 == "perl" { print $2 }' | sort -u
}

# --- names

cat >inner.sh <<'END'
perl -e 'print "$$/$$\n"; '"$busy" >inner.pid
perf record -q -o inside -e instructions:u -c 100003 -- perl -e 'open(my $f, ">", "ns.pid"); print $f "$$/$$\n"; close $f; '"$busy"
END
run timeout -k 5 60 "$ANYPERF" run -- unshare -pf --mount-proc sh inner.sh
if [ "$status" = 1 ] && grep -q 'unshare:' err; then
	lack "names in a pid namespace" "no namespaces here"
else
	is "$status" 0 "perf records in a pid namespace" || note "$(head -n 5 err)"
	is "$(ids inside)" "$(cat ns.pid)" "samples have the names that the namespace gives"
	run timeout -k 5 60 "$ANYPERF" run -- perf record -q -o outside -e instructions:u -c 100003 -- \
		unshare -pf --mount-proc perl -e "$busy"
	is "$status" 0 "perf records a pid namespace from outside" || note "$(head -n 5 err)"
	is "$(ids outside | wc -l)" 1 "samples of one process"
	is "$(ids outside | awk -F/ '$1 == $2 && $1 > 1' | wc -l)" 1 "with the name that it has outside"
	perf script -i outside --show-task-events 2>/dev/null | sed -n 's/.*PERF_RECORD_FORK(\([0-9]*\):\([0-9]*\)).*/\1\/\2/p' >forks
	is "$(grep -cxF "$(ids outside)" forks)" 1 "which its birth has, too"
fi

# --- build ids: those of the files, as natively

# mapped FILE: build id and path of what has one
mapped()
{
	perf script -i "$1" --show-mmap-events 2>/dev/null |
		sed -n 's/.*PERF_RECORD_MMAP2.*<\([0-9a-f]*\)>\]: r-xp \(\/.*\)/\1 \2/p' | sort -u
}
run timeout -k 5 60 "$ANYPERF" run -- perf record -q --buildid-mmap -o ids -e instructions:u -c 100003 -- perl -e "$busy"
is "$status" 0 "perf record --buildid-mmap" || note "$(head -n 5 err)"
mapped ids >got
: >want
while read -r _ path; do
	id=$(readelf -n "$path" 2>/dev/null | sed -n 's/.*Build ID: //p')
	echo "$id $path" >>want
done <got
has got 'perl' "the program's mapping has one"
has got 'libc' "and its library's"
same got want "they are those of the files"
run perf record -q --buildid-mmap -o native -e cpu-clock:u -c 1000000 -- perl -e "$busy"
if [ "$status" = 0 ]; then
	mapped native >want
	same got want "and the same as the kernel's"
else
	lack "and the same as the kernel's" "perf_event_open is refused"
fi

# --- left while it is sampled

if is_filtered; then
	lack "attached, sampled and left" "a seccomp filter around us: nobody can be attached to"
	done_testing
	exit 0
fi
cat >target.pl <<'END'
$| = 1;
my ($n, @mem) = (0);
until (-e 'stop') {
	$mem[$_ % 1000] = 'x' x 9000 for 1 .. 2000;
	@mem = ();
	print "ready\n" if !$n++;
}
print "sum ", $n > 0, "\n";
exit 7;
END
for event in instructions:u cpu-clock:u page-faults:u; do
	rm -f stop samples
	perl target.pl >target.out 2>target.err &
	pid=$!
	wait_for 20 test -s target.out
	run timeout -k 5 60 "$ANYPERF" run --attach "$pid" -- sh -c '
		perf record -q -o samples -e "$1" -c 10007 -p "$2" >/dev/null 2>&1 &
		n=0
		until [ -s samples ] || [ $n = 300 ]; do n=$((n + 1)); sleep 0.05; done
		echo $! >perf.pid' sh "$event" "$pid"
	is "$status" 0 "$event: attached, sampled and left" || note "$(head -n 5 err)"
	touch stop
	wait "$pid"
	is "$? $(cat target.out target.err | tr '\n' ' ')" "7 ready sum 1 " "$event: the process goes on as if nothing had been"
	kill "$(cat perf.pid)" 2>/dev/null
done

done_testing
