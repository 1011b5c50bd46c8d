#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Unwinding tables of JIT compilers: stacks go through code that no file has, also when it was moved.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

# stacks DATA: of each sample in burn its five frames
stacks()
{
	run "$ANYPERF" script -F ip,sym -i "$1"
	awk -v RS= '{ s = $2; for (i = 4; i <= NF && i <= 10; i += 2) s = s " " $i } s ~ /^burn/ { print s }' "$tmp/out"
}

# --- by the clock of the dump: what was at an address when the sample was taken
"$ANYPERF" record -q -k monotonic -e instructions:u -c 10007 --call-graph dwarf,1024 -o data -- "$PROGRAMS/jit_frames" "$tmp" >out ||
	exit 1
is "$(cat out)" 14999850003 "the program has run"
stacks data >timed
is "$(($(wc -l <timed) > 75))" 1 "burn was sampled"
is "$(uniq timed)" "burn jit_inner middle jit_outer main
burn jit_other middle jit_outer main" "each stack goes to main, by jit_inner where it was and is, then by what is there later"
is "$(awk '$2 == "jit_inner" { print $1 }' "$tmp/out" | sort -u | wc -l)" 2 "jit_inner was called at two places"
is "$(awk '$2 == "jit_inner" || $2 == "jit_other" { print $1 }' "$tmp/out" | sort -u | wc -l)" 2 "and jit_other at one of them"
n=$(grep -c jit_inner timed)
run "$ANYPERF" export -q -f collapsed --weight samples -o - -i data
is "$(sed -n 's/.*main;jit_outer;middle;\(jit_.*\)/\1/p' "$tmp/out")" "jit_inner;burn $n
jit_other;burn $(($(wc -l <timed) - n))" "export: the same" || sed 's/^/#   /' "$tmp/out"
run "$ANYPERF" report --stdio --children -g none -n -s sym -i data
is "$(awk '$NF == "jit_inner" { inner += $1 } $NF == "jit_other" { other += $1 } END { print (other > 20 && (inner - 2 * other) ^ 2 < 1) }' "$tmp/out")" 1 \
	"report: the same"

# --- by another clock: what was loaded there last
"$ANYPERF" record -q -e instructions:u -c 10007 --call-graph dwarf,1024 -o data -- "$PROGRAMS/jit_frames" "$tmp" >out ||
	exit 1
is "$(stacks data | sort -u)" "burn jit_inner middle jit_outer main
burn jit_other middle jit_outer main" "without that clock: each stack goes to main"
run "$ANYPERF" annotate --stdio -i data jit_inner
is "$status" 125 "no sample was in jit_inner itself"

# --- tables that are damaged take no more than the frames that need them
dump=$(ls -t jit-*.dump | head -n 1)
cp "$dump" whole
for at in 64 80 88 104 128 140 160 176; do
	cp whole "$dump"
	printf '\377\377\377\377\377\377\377\377' | dd of="$dump" bs=1 seek=$at conv=notrunc 2>/dev/null
	run "$ANYPERF" script -F ip,sym -i data
	is "$status $(awk '$2 == "burn" { print "burn"; exit }' "$tmp/out")" "0 burn" "a jitdump that is damaged at $at"
done
head -c 100 whole >"$dump"
run "$ANYPERF" script -F ip,sym -i data
is "$status" 0 "a jitdump that is cut"
done_testing
