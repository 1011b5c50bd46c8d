#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A core of a counted program: debuggers find the frames of every thread that waits in a system call, as in a
# native one.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need gdb

cd "$tmp" || exit 1
case $(cat /proc/sys/kernel/core_pattern) in
'|'* | */*) lack_all "core_pattern takes the files elsewhere" ;;
esac
ulimit -S -c unlimited 2>/dev/null || lack_all "ulimit -c is limited"

# threads COMMAND...: runs it, and prints the frames in its core, a line for each thread
threads()
{
	rm -f core*
	run "$@"
	gdb -batch -nx -ex 'thread apply all -q bt' "$PROGRAMS/core_threads" core* 2>/dev/null |
		sed -nE 's/0x[0-9a-f]+/ADDRESS/g; s/=[0-9]+/=N/g; /^#/p' |
		awk '/^#0/ && line { print line; line = "" } { line = line $0 } END { print line }' | sort
}

for how in abort fault; do
	threads "$PROGRAMS/core_threads" $how >native
	for f in in_pause in_poll in_read in_nanosleep in_semaphore; do
		has native " $f \\(" "$how: gdb finds $f in the native core"
	done
	threads "$ANYPERF" stat -e instructions -- "$PROGRAMS/core_threads" $how >counted
	same counted native "$how: each thread's frames as natively"
done
done_testing
