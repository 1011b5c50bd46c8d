#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the models cost: nanoseconds of CPU time per reference and per branch, each in a stream
# that meets one case.  Needs no anyperf: the sources are compiled as the blob's are.
#
#	bench/model.sh [machine...]

set -eu -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${BUILD:=$root/build}"
work=$BUILD/bench
mkdir -p "$work/bin"

sources=()
for file in "$root"/src/model/*.c; do
	[[ $file == *_hosted.c ]] || sources+=("$file")
done
objects=()
for file in "${sources[@]}"; do
	object=$work/bin/model-$(basename "$file" .c).o
	gcc -std=c11 -D_GNU_SOURCE -O2 -fno-strict-aliasing -mgeneral-regs-only -I"$root/src" \
		-c -o "$object" "$file"
	objects+=("$object")
done
gcc -std=c11 -D_GNU_SOURCE -O2 -Wall -I"$root/src" -o "$work/bin/model" "$root/bench/model.c" \
	"${objects[@]}"
[ $# -gt 0 ] || set -- zen4 skylake cachegrind
for machine; do
	"$work/bin/model" "$machine"
	echo
done
