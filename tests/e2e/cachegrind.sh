#!/bin/bash
# SPDX-License-Identifier: MIT
#
# --machine cachegrind against valgrind's cachegrind, on programs whose references are the same under both: misses of D1 and of
# the last level are equal, loads are, and what differs in stores and instructions is what docs/cachegrind.md says of it.
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/cachegrind.bash
. "$(dirname "$0")/cachegrind.bash"
command -v valgrind >/dev/null || skip_all "no valgrind"
need awk

for kernel in a b c d e f g h i j k l; do
	cg_run "$tmp" "$PROGRAMS/cache_kernels" $kernel
	is "$us_d1r $us_d1w" "$cg_d1r $cg_d1w" "$kernel: misses of D1, by loads and stores"
	is "$us_llr $us_llw" "$cg_llr $cg_llw" "$kernel: misses of LL"
	is "$us_dr" "$cg_dr" "$kernel: loads"
	# what reads and writes the same place is a read there, and a load and a store here
	is "$((us_dw - cg_dw))" "$((us_dr + us_dw - us_mem))" "$kernel: stores, but for instructions that load as well"
	is "$((us_ir <= cg_ir))" 1 "$kernel: no more instructions than cachegrind finds" || note "$us_ir $cg_ir"
done

# single-stepping says who is right about instructions
for kernel in g l; do
	[ $kernel = g ] && [ "${LONG:-0}" != 1 ] && continue
	cg_run "$tmp" "$PROGRAMS/cache_kernels" $kernel
	"$ORACLE" -o "$tmp/oracle" -- "$PROGRAMS/cache_kernels" $kernel >/dev/null 2>&1
	is "$(awk '$1 == "instructions" { print $2 }' "$tmp/oracle")" "$us_ir" \
		"$kernel: instructions, one by one"
done
done_testing
