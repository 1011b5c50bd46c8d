#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What perfctr's calls cost under `anyperf run --cpu k8`, and reading its counters from the mapped page.
# The fastest of some runs each.
#
#	bench/perfctr_calls.sh [runs]

# shellcheck source=bench/lib.sh
. "$(dirname "$0")/lib.sh"
runs=${1:-5}

mkdir -p "$work/bin" "$work/out"
# shellcheck disable=SC2034 # build uses it
libs=("$(dirname "$(readlink -f "$ANYPERF")")/libanyperf.a")
build "$work/bin/perfctr_calls" "$bench/perfctr_calls.c" gcc -O2 -Wall -I"$root/include"
: >"$work/out/perfctr"
for ((n = 0; n < runs; n++)); do
	"$ANYPERF" run --cpu k8 -- "$work/bin/perfctr_calls" >>"$work/out/perfctr" ||
		die "anyperf run fails"
done
awk '
	{ cycles = $NF; $NF = "" }
	!($0 in least) { order[++n] = $0; least[$0] = cycles }
	cycles < least[$0] { least[$0] = cycles }
	END {
		printf "| call | cycles |\n|---|--:|\n"
		for (i = 1; i <= n; i++)
			printf "| %s| %.0f |\n", order[i], least[order[i]]
	}' "$work/out/perfctr"
