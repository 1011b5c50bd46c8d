#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Unwinding tables of JIT compilers: stacks go through code that no file has, also when it was moved.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1

"$ANYPERF" record -q -e instructions:u -c 10007 --call-graph dwarf,1024 -o data -- "$PROGRAMS/jit_frames" "$tmp" >out ||
	exit 1
is "$(cat out)" 9999900002 "the program has run"

# one line for each sample in burn: its frames
run "$ANYPERF" script -F ip,sym -i data
awk -v RS= '{ s = $2; for (i = 4; i <= NF; i += 2) s = s " " $i } s ~ /^burn/ { print s }' "$tmp/out" >stacks
is "$(($(wc -l <stacks) > 50))" 1 "burn was sampled"
is "$(cut -d' ' -f 1-5 stacks | sort -u)" "burn jit_inner middle jit_outer main" "each stack goes through both functions to main"
is "$(awk '$2 == "jit_inner" { print $1 }' "$tmp/out" | sort -u | wc -l)" 2 "jit_inner was called at two places"
run "$ANYPERF" export -q -f collapsed -o - -i data
is "$(grep -c 'main;jit_outer;middle;jit_inner;burn [0-9]*$' "$tmp/out")" 1 "export: one stack"
run "$ANYPERF" report --stdio --children -g none -s sym -i data
is "$(awk '$NF == "jit_inner" { inner += $1 } $NF == "jit_outer" { outer += $1 } END { print ((inner - outer) ^ 2 < 0.01 && inner > 80) }' "$tmp/out")" 1 \
	"report: all of both functions' time was below them"
run "$ANYPERF" annotate --stdio -i data jit_inner
is "$status" 125 "no sample was in jit_inner itself"

# --- tables that are damaged take no more than the frames that need them
dump=$(echo jit-*.dump)
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
