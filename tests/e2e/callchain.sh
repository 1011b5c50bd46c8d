#!/bin/bash
# SPDX-License-Identifier: MIT
# Callchains against gdb: each sample's instruction is known from the single-stepper, so gdb can stop the program
# natively at the very same execution of it, and tell who called.  By frame pointers and by stacks that are
# unwound.
. "$(dirname "$0")/lib.sh"
need gdb awk

cd "$tmp" || exit 1
gdb -batch -ex 'python print(gdb.VERSION)' >version 2>/dev/null && [ -s version ] || skip_all "gdb without python"

period=997

# A string of the environment that crosses a page takes strlen some instructions more: the oracle and anyperf give the
# program the same ones, without the shell's "_", which has the length of the tool's name.
alike() { env -u _ "$limited" -k 5 100 "$@"; }

# How often each has run before.  What libc does before main depends on the environment, and is not looked at.
alike "$ORACLE" --trace trace -- "$PROGRAMS/chain" >/dev/null 2>&1
awk -v n=$period '{ if (NR % n == 0) print $2, seen[$2] + 0; seen[$2]++ }' trace >points

# Frames up to main as symbol+offset: at the instruction, and when it has run, but for where it leaves its frame.  Callers that were unwound stand
# on their calls' last byte.
cat >bt.py <<'END'
import gdb, re
def at(pc, is_call):
    pc -= is_call
    m = re.match(r'(\S+)(?: \+ (\d+))? in section', gdb.execute('info symbol %#x' % pc, to_string=True))
    return '%s+%#x' % (m.group(1), int(m.group(2) or 0)) if m else '?'
def chain(less):
    out, f, first = [], gdb.newest_frame(), True
    while f:
        out.append(at(f.pc(), 0 if first else less))
        if f.name() == 'main':
            break
        f, first = f.older(), False
    return ' '.join(out)
gdb.execute('set pagination off')
gdb.execute('set confirm off')
for line in open('points'):
    pc, seen = line.split()
    gdb.execute('delete')
    b = gdb.Breakpoint('*0x' + pc)
    b.ignore_count = int(seen)
    gdb.execute('run', to_string=True)
    if not gdb.selected_inferior().pid or ' main+' not in ' ' + chain(0):
        print('- | -')
        continue
    f = gdb.newest_frame()
    cfa = int(re.search(r'frame at (0x[0-9a-f]+)', gdb.execute('info frame', to_string=True)).group(1), 16)
    rbp = int(f.read_register('rbp'))
    has_frame = rbp + 16 == cfa
    before = chain(0)
    gdb.execute('stepi', to_string=True)
    # leave: rbp is the caller's by now, and where it was saved is below the stack that a sample has
    if has_frame and int(gdb.newest_frame().read_register('rbp')) != rbp:
        print('- | -')
        continue
    print(before if has_frame else '-', chain(1), sep=' | ')
END
run timeout -k 5 200 gdb -q -batch -ex 'source bt.py' "$PROGRAMS/chain"
is "$status $(grep -c '|' out)" "0 $(wc -l <points)" "gdb stops at each of them" || note "$(tail -n 5 err)"
grep '|' out >want

# chains PROGRAM FILE: a line for each sample, up to main
chains()
{
	"$1" script -i "$2" -F ip,sym,symoff 2>/dev/null | awk '
		NF { if (!ends) at = at (at ? " " : "") $2; ends = ends || $2 ~ /^main\+/ }
		!NF && at { print at; at = ""; ends = 0 }
		END { if (at) print at }'
}

# compare COLUMN FILE NAME: where gdb's chain leads to main
compare()
{
	rm -f w g
	touch w g
	awk -F' [|] ' -v c="$1" 'NR == FNR { want[FNR] = $c; next }
		want[FNR] ~ /(^| )main\+/ { print want[FNR] > "w"; print > "g" }' want "$2"
	is "$(($(wc -l <w) > 8))" 1 "$3: some to compare" || note "$(cat w)"
	same g w "$3: $(wc -l <w) callchains are gdb's"
}

# At the addresses of the oracle.  What frame pointers say when the instruction has run, and its own address before it.
# Where it leaves the frame, or has none yet, no frame pointer tells of the caller, natively neither.
run alike "$ANYPERF" record --deterministic -q -o fp -e instructions:u -c $period --call-graph fp -- "$PROGRAMS/chain"
chains "$ANYPERF" fp >fp.out
compare 1 fp.out "frame pointers"
run alike "$ANYPERF" record --deterministic -q -o dwarf -e instructions:u -c $period --call-graph dwarf,8192 -- "$PROGRAMS/chain"
chains "$ANYPERF" dwarf >dwarf.out
compare 2 dwarf.out "unwound stacks"
if type perf >perf.path 2>&1; then
	chains perf fp >fp.perf
	compare 1 fp.perf "frame pointers, in perf"
else
	skip "the same in perf" "no perf"
fi

done_testing
