#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The table of docs/cachegrind.md: cachegrind and anyperf with the machine that is made like it, on the same programs.
#
#	bench/cachegrind.sh >table.md		# after make tests-build; needs valgrind
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
: "${ANYPERF:=$root/build/anyperf}"
: "${PROGRAMS:=$root/build/release/programs}"
. "$root/tests/e2e/cachegrind.bash"
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
seq 1 20000 | awk '{ print ($1 * 7919) % 20011, "line", $1 }' >"$dir/text"

# row NAME COMMAND...
row()
{
	local name=$1
	shift
	cg_run "$dir" "$@"
	echo "| $name | $us_ir | $cg_ir | $us_dr | $cg_dr | $us_dw | $cg_dw | $((us_dr + us_dw - us_mem)) | $us_d1r $us_d1w | $cg_d1r $cg_d1w | $us_llr $us_llw | $cg_llr $cg_llw |"
}

echo "| program | Ir | cachegrind | Dr | cachegrind | Dw | cachegrind | loads and stores | D1mr D1mw | cachegrind | DLmr DLmw | cachegrind |"
echo "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
row "\`and_loop\`" "$PROGRAMS/and_loop"
row "\`branches\`" "$PROGRAMS/branches"
for kernel in "a matrices, ijk" "b ikj" "c jki" "d strides" "e chase" "f quicksort" "g sieve" "h hash table" "i stencil" "j list" \
	"k histogram" "l queens"; do
	row "kernel ${kernel#* }" "$PROGRAMS/cache_kernels" "${kernel%% *}"
done
row "\`c_static\`" "$PROGRAMS/c_static"
row "\`model_walk\`" "$PROGRAMS/model_walk" walk 16384 5
row "gzip" gzip -9c "$dir/text"
row "sort" sort -n "$dir/text"
row "awk" awk '{ s[$1 % 100] += $3 } END { for (i in s) n++; print n }' "$dir/text"
