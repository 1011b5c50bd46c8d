#!/bin/bash
# SPDX-License-Identifier: MIT
# A bug of the engine costs a count, not the program: it is made to fault, with its lock held, at
# the N-th dispatch of a thread.  With a log all that is known of it is there.
. "$(dirname "$0")/lib.sh"
need python3 objdump

cd "$tmp" || exit 1
fault_line='^anyperf: engine fault: signal 11 at blob\+0x[0-9a-f]+, address 0x10, program at 0x[0-9a-f]+'

log=
cat >threads.py <<'END'
import sys, threading
done = []
def work(i):
    done.append(sum(range(i * 1000)))
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(done))
sys.exit(3)
END

# faulted N COMMAND...: runs it with a fault at dispatch N; its output and status must be its own
faulted()
{
	local n=$1
	shift
	"$@" >want.out 2>want.err </dev/null
	want=$?
	run "$ANYPERF_TEST" stat --stress "fault=$n$log" -o table -e instructions -- "$@"
	is "$status" "$want" "$1, fault at $n: status"
	same out want.out "$1, fault at $n: output"
	has table '^not counted from here on: fault in the engine$' "$1, fault at $n: the table says so"
}

for n in 0 20; do
	for program in c_static c_dynamic fault_mid nested_calls; do
		faulted $n "$PROGRAMS/$program"
		is "$(grep -cE "$fault_line\$" err)" 1 "$program, fault at $n: one report"
		is "$(wc -l <err)" 2 "$program, fault at $n: and nothing else but that it goes on"
	done
done
faulted 20 grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status
faulted 100 python3 threads.py
is "$(ls)" "$(printf '%s\n' err out table threads.py want.err want.out)" "no file was asked for"

# logged N COMMAND...: the same, with a log
logged()
{
	log=,log=9
	faulted "$@" 9>report
	log=
}
logged 20 "$PROGRAMS/c_dynamic"
is "$(wc -l <err)" 2 "with a log there is no more on standard error"
same <(head -n 1 report) <(sed -nE '1s/^anyperf: //p' err) "it begins with that line"
program=$PROGRAMS/c_dynamic # the report has room for 63 bytes of its name
has report "^process [0-9]+: ${program:0:63}\$" "the program"
pc=$(sed -nE 's/.*program at (0x[0-9a-f]+)$/\1/p' <(head -n 1 report))
has report "^program at $pc:( [0-9a-f]{2}){32}\$" "the program's bytes"
is "$(grep -cE '^  0x[0-9a-f]+:( [0-9a-f]{2})+$' report)" 16 "the last blocks"
has report '^engine at blob\+0x[0-9a-f]+:( [0-9a-f]{2})+$' "the engine's bytes"
is "$(grep -cE '^  rax [0-9a-f]{16}  rcx ' report)" 2 "registers of both"
has report '^  blob\+0x[0-9a-f]+$' "return addresses of the engine"
has report ' rwxp .*' "the engine's own mappings"

logged 20 "$PROGRAMS/c_static"
pc=$(sed -nE 's/^program at 0x([0-9a-f]+):.*/\1/p' report)
objdump -s --start-address="0x$pc" --stop-address=$((0x$pc + 32)) "$PROGRAMS/c_static" |
	awk '/^ [0-9a-f]+ / { h = ""; for (i = 2; length(h) < 32; i++) h = h $i; printf "%s", h }' >want.code
sed -nE 's/^program at 0x[0-9a-f]+://p' report | tr -d ' \n' >got.code
same got.code want.code "the bytes are the program's"

logged 5 sh -c "$PROGRAMS/nested_calls; exit 9"
is "$(grep -c '^process ' report)" 1 "once native, what it starts is native"
logged 100 python3 threads.py
is "$(grep -c '^process ' report)" 1 "a process with threads has one report"

run "$ANYPERF_TEST" stat --stress fault=20,log=9 -e instructions "$PROGRAMS/c_static" 9</dev/null
has err "$fault_line\$" "where the log takes nothing the line stands alone"
has err '^anyperf:   dispatched ' "and is followed by what there is"

# --- who has set limits of the session's does not go on with the machine's
if [ "$(id -u)" = 0 ]; then
	paranoid=/proc/sys/kernel/perf_event_paranoid
	before=$(cat $paranoid)
	cat >sets <<-END
		read was <$paranoid
		echo \$((was + 1)) >$paranoid
		i=0
		while [ \$i -lt 20000 ]; do cd /; i=\$((i + 1)); done
		echo $((before + 2)) >$paranoid
		echo through
	END
	run "$ANYPERF_TEST" run --stress fault=15000 -- sh sets
	after=$(cat $paranoid)
	[ "$after" = "$before" ] || echo "$before" >$paranoid
	is "$after" "$before" "the machine's limit is as it was"
	is "$status $(cat out)" "137 " "it is ended"
	has err "ended, as it might set the machine's limits: fault in the engine" "and that is said"
	run "$ANYPERF_TEST" run --stress fault=15000 -- sh -c "$(sed 's/^echo.*paranoid$/:/' sets)"
	is "$status $(cat out)" "0 through" "who has set none goes on"
else
	lack "limits of a root program" "only root sets them"
fi
done_testing
