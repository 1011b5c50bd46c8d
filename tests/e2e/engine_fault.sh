#!/bin/bash
# SPDX-License-Identifier: MIT
# A bug of the engine costs a count, not the program: it is made to fault, with its lock held, at
# the N-th dispatch of a thread.  ANYPERF_DEBUG has a file with what is known of it.
. "$(dirname "$0")/lib.sh"
need python3 objdump

cd "$tmp" || exit 1
mkdir reports
dir=$tmp/reports
fault_line='^anyperf: engine fault: signal 11 at blob\+0x[0-9a-f]+, address 0x10, program at 0x[0-9a-f]+'

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
	run "$ANYPERF" stat --stress "fault=$n" -o table -e instructions -- "$@"
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
is "$(ls)" "$(printf '%s\n' err out reports table threads.py want.err want.out)" "no file was asked for"

export ANYPERF_DEBUG=$dir
faulted 20 "$PROGRAMS/c_dynamic"
file=$(sed -nE "s|$fault_line; report in (.*)\$|\\1|p" err)
is "$(find "$dir" -type f)" "$file" "one whole file, the one that is named"
is "${file##*/}" "anyperf-debug.$(sed -nE 's/^process ([0-9]+): .*/\1/p' "$file").txt" "named by its process"
is "$(wc -l <err)" 2 "and no more on standard error"
same <(head -n 1 "$file") <(sed -nE '1s/^anyperf: (.*); report in .*/\1/p' err) "it begins with that line"
program=$PROGRAMS/c_dynamic # the file has room for 63 bytes of its name
has "$file" "^process [0-9]+: ${program:0:63}\$" "the program"
pc=$(sed -nE 's/.*program at (0x[0-9a-f]+)$/\1/p' <(head -n 1 "$file"))
has "$file" "^program at $pc:( [0-9a-f]{2}){32}\$" "the program's bytes"
is "$(grep -cE '^  0x[0-9a-f]+:( [0-9a-f]{2})+$' "$file")" 16 "the last blocks"
has "$file" '^engine at blob\+0x[0-9a-f]+:( [0-9a-f]{2})+$' "the engine's bytes"
is "$(grep -cE '^  rax [0-9a-f]{16}  rcx ' "$file")" 2 "registers of both"
has "$file" '^  blob\+0x[0-9a-f]+$' "return addresses of the engine"
has "$file" ' rwxp .*' "the engine's own mappings"

rm -f "$dir"/*
faulted 20 "$PROGRAMS/c_static"
pc=$(sed -nE 's/^program at 0x([0-9a-f]+):.*/\1/p' "$dir"/*)
objdump -s --start-address="0x$pc" --stop-address=$((0x$pc + 32)) "$PROGRAMS/c_static" |
	awk '/^ [0-9a-f]+ / { h = ""; for (i = 2; length(h) < 32; i++) h = h $i; printf "%s", h }' >want.code
sed -nE 's/^program at 0x[0-9a-f]+://p' "$dir"/* | tr -d ' \n' >got.code
same got.code want.code "the bytes are the program's"

rm -f "$dir"/*
faulted 5 sh -c "$PROGRAMS/nested_calls; exit 9"
is "$(find "$dir" -type f | wc -l)" 1 "once native, what it starts is native"
rm -f "$dir"/*
faulted 100 python3 threads.py
is "$(find "$dir" -name 'anyperf-debug.*.txt' -size +1k | wc -l)" 1 "a process with threads has one report"
ANYPERF_DEBUG=1 faulted 0 "$PROGRAMS/c_static"
check "1 is the present folder" test -s "$(echo anyperf-debug.*.txt)"

if [ "$(id -u)" = 0 ]; then
	ANYPERF_DEBUG=/proc faulted 20 "$PROGRAMS/c_static"
	has err "$fault_line\$" "where no file can be made the line stands alone"
	has err '^anyperf:   dispatched ' "and is followed by what there is"
else
	lack "a folder that takes no file" "only root may write to /proc"
fi
for bad in "$tmp/none" "$tmp/out"; do
	ANYPERF_DEBUG=$bad run "$ANYPERF" stat -e instructions sh -c 'echo ran'
	is "$status $(cat out)" "125 " "ANYPERF_DEBUG=${bad##*/}: nothing is run"
	has err "^anyperf: ANYPERF_DEBUG: $bad: (No such file|Not a directory)" "and the line says why"
done
ANYPERF_DEBUG='' run "$ANYPERF" stat -e instructions true
is "$status" 0 "an empty ANYPERF_DEBUG is none"
done_testing
