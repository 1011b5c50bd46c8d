#!/bin/bash
# SPDX-License-Identifier: MIT
# Processes, threads, execs and descriptors behave under the engine as they do natively, and
# whatever they turn into is counted.
. "$(dirname "$0")/lib.sh"

export TMPDIR=$tmp
exec 3>&- 4>&- 5>&- 6>&-

counted()
{
	"$ANYPERF" stat -e instructions,syscalls -o "$tmp/table" --wait-all -- "$@"
}

# both NAME COMMAND...: the same output and status natively and counted, nothing left uncounted
both()
{
	local name=$1 native
	shift
	run "$@"
	native=$status
	mv "$tmp/out" "$tmp/native"
	run counted "$@"
	is "$status" "$native" "$name: status"
	same "$tmp/out" "$tmp/native" "$name: output" || note "$(head -n 20 "$tmp/err")"
	has_not "$tmp/table" 'not counted|engine fault' "$name: all of it is counted"
}

has_value()
{
	awk -v min="$2" '$2 == "syscalls" && $1 >= min { found = 1 } END { exit !found }' "$1"
}

for t in fork heirs threads exec fds maps mem; do
	both "$t" "$PROGRAMS/task_$t"
done
# what one child had translated, its parent has for the next ones
run "$ANYPERF" stat --exact -x, -o "$tmp/table" -e instructions -- "$PROGRAMS/fork_faults"
is "$status $(awk '{ print ($2 * 2 < $1) }' "$tmp/out")" "0 1" "heirs: the last child has less than half of the first one's page faults" ||
	note "$(cat "$tmp/out")"
both "reads of maps" "$PROGRAMS/maps_reads"
both "pokes" "$PROGRAMS/code_poked"
both "killed in new code" timeout -k 2 100 "$PROGRAMS/vfork_kill"
both "low limits" bash -c "ulimit -n 12; ulimit -s 256; $PROGRAMS/task_exec; ulimit -n; ulimit -s"
both "ulimit -v" bash -c 'ulimit -v 600000; python3 -c "print(sum(range(1000)))"; ulimit -v'
both "pipeline" bash -c 'seq 1000 | (sort -n | tail -n 1) && (exit 3)'

# a daemon outlives the command: what it does still goes on, and its name is not in the way
daemon()
{
	mkfifo "$tmp/fifo.$1" && exec "$limited" 60 cat "$tmp/fifo.$1" >"$tmp/daemon.$1" &
	local reader=$!
	wait_for 5 test -p "$tmp/fifo.$1"
	shift
	run "$@"
	wait "$reader"
}
daemon 1 "$PROGRAMS/task_daemon" "$tmp/fifo.1"
mv "$tmp/out" "$tmp/native"
daemon 2 counted "$PROGRAMS/task_daemon" "$tmp/fifo.2"
same "$tmp/out" "$tmp/native" "daemon: output"
same "$tmp/daemon.2" "$tmp/daemon.1" "daemon: does its work"
has_not "$tmp/table" 'not counted|engine fault' "daemon: all of it is counted"
# closing 70000 descriptors happens after both forks
check "daemon: is counted after the command's end" has_value "$tmp/table" 70000

if [ "$(id -u)" = 0 ]; then
	both "setuid" "$PROGRAMS/task_setuid"
else
	lack "setuid" "not root"
fi

# a vfork child's slot becomes a thread's
run "$ANYPERF" stat -x, -o "$tmp/csv" -e instructions,branches,taken-branches,syscalls -- \
	"$PROGRAMS/spawn_reuse"
is "$status" 0 "reuse of a slot: status"
for want in instructions=200000068 branches=100000009 taken-branches=100000002 syscalls=11; do
	is "$(stat_value "$tmp/csv" "${want%=*}")" "${want#*=}" "reuse of a slot: ${want%=*}"
done

done_testing
