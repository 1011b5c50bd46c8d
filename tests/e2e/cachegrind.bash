# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# One command under valgrind's cachegrind and under anyperf with the machine that is made like it: for cachegrind.sh, which
# holds them together, and bench/cachegrind.sh, which makes the table of docs/cachegrind.md.  Both simulate the same caches.

cg_events=instructions,loads,stores,mem-ops,L1-icache-load-misses,L1-dcache-load-misses,L1-dcache-store-misses,LLC-load-misses,LLC-store-misses
cg_options=(--cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=8388608,16,64)

# Both choose libc's functions by the same CPU: the oldest there is.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2_Usable,-AVX2,-AVX512F_Usable,-AVX512F,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-SSE4_2,-SSSE3

# cg_run DIR COMMAND...: fills cg_* (cachegrind) and us_* (anyperf): ir dr dw i1 d1r d1w llr llw, and us_mem
cg_run()
{
	local dir=$1
	shift
	timeout -k 5 300 valgrind --tool=cachegrind "${cg_options[@]}" --cachegrind-out-file="$dir/cg.out" "$@" \
		>"$dir/cg.log" 2>&1 </dev/null
	timeout -k 5 300 "$ANYPERF" stat --deterministic --machine cachegrind -x, -o "$dir/us.csv" -e $cg_events -- "$@" \
		>"$dir/us.log" 2>&1 </dev/null
	# Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
	read -r cg_ir cg_i1 _ cg_dr cg_d1r cg_llr cg_dw cg_d1w cg_llw <<<"$(sed -n 's/^summary: *//p' "$dir/cg.out")"
	read -r us_ir us_dr us_dw us_mem us_i1 us_d1r us_d1w us_llr us_llw <<<"$(awk -F, '$3 { printf "%s ", $1 }' "$dir/us.csv")"
	: "$cg_ir$cg_i1$cg_dr$cg_d1r$cg_llr$cg_dw$cg_d1w$cg_llw$us_ir$us_dr$us_dw$us_mem$us_i1$us_d1r$us_d1w$us_llr$us_llw"
}
