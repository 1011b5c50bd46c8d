#!/bin/bash
# SPDX-License-Identifier: MIT
# anyperf report by fields of tracepoints: lines that are known beforehand, and perf's of the same file.
. "$(dirname "$0")/lib.sh"
need gcc

cd "$tmp" || exit 1

# --- writes of 1 to 4 bytes to one descriptor, of 2 to another one
cat >writes.c <<'END'
#include <unistd.h>

int main(void)
{
	for (unsigned n = 1; n <= 4; n++) {
		if (write(1, "1234", n) != n || write(7, "12", 2) != 2)
			return 1;
	}
	return 0;
}
END
gcc -o writes writes.c || exit 1
run timeout -k 5 60 "$ANYPERF" record -q -c 1 -e syscalls:sys_enter_write -e syscalls:sys_enter_exit_group -o data -- \
	./writes 7>/dev/null
is "$status" 0 "recording" || note "$(cat err)"

# lines KEYS...: percent and keys of each line, the tables of several events one below the other
lines()
{
	run timeout -k 5 60 "$ANYPERF" report --stdio -i data -t ';' "$@"
	grep -v '^#' out | sed 's/ *\(;\|$\)/\1/g; s/^ *//; s/; */;/g; s/0x0000000//g' | grep .
}
# one of the counts is of both descriptors
is "$(lines -s fd,count)" "50.00%;7;2
12.50%;1;4
12.50%;1;3
12.50%;1;2
12.50%;1;1
100.00%" "two fields: largest first where weights are the same; no column where the tracepoint has no such field"
is "$(lines -s comm,syscalls:sys_enter_write.count | head -n 1)" "62.50%;writes;2" "a field of one tracepoint, beside a key"
is "$(lines -s sys_enter_exit_group.error_code/raw)" "100.00%
100.00%;0" "without the system, and raw"
run timeout -k 5 60 "$ANYPERF" report --stdio -i data -s trace_fields
for field in fd buf count; do
	has out "^# Overhead .* $field\b" "trace_fields has $field"
done
is "$(lines -F sample,count | head -n 2)" "5;2
1;4" "-F"

run timeout -k 5 60 "$ANYPERF" report --stdio -i data -s nobody.fd
is "$status" 129 "a field that nobody has" || note "$(cat out)"
has err "unknown key 'nobody.fd'" "it is named"
is "$(wc -l <err)" 1 "in a line"
run timeout -k 5 60 "$ANYPERF" report --stdio -i data -s fd,count,buf,common_pid,common_type,common_flags,__syscall_nr,error_code,common_preempt_count
is "$status" 129 "more fields than can be keys"

# --- words of the text, and perf's
if command -v perf >/dev/null; then
	run timeout -k 5 60 "$ANYPERF" record -q -c 1 -e sched:sched_process_fork -e sched:sched_process_exit -o data -- \
		bash -c '(exit 1); (exit 2); exec -a other true'
	for keys in child_comm sched_process_exit.comm,prio parent_comm,comm; do
		run perf report --stdio -i data -t ';' -s "$keys"
		grep -v '^#' out | sed 's/ *\(;\|$\)/\1/g; s/^ *//; s/; */;/g' | grep . | sort >perf.lines
		is "$(lines -s "$keys" | sort)" "$(cat perf.lines)" "$keys as perf has it"
	done
fi
done_testing
