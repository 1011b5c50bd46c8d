#!/bin/bash
# SPDX-License-Identifier: MIT
# perfctr's drivers and models are portable C without a library: another kernel could be built with them.
. "$(dirname "$0")/lib.sh"
need gcc ld nm

headers=$(gcc -print-file-name=include)
for file in "$root"/src/perfctr/*.c "$root"/src/perfctr/model/*.c; do
	object=$tmp/$(basename "$(dirname "$file")")_$(basename "$file" .c).o
	gcc -std=c11 -O2 -fno-pie -ffreestanding -nostdinc -isystem "$headers" -I"$root/src" -c -o "$object" "$file" 2>>"$tmp/err" ||
		echo "$file" >>"$tmp/failed"
done
is "$(cat "$tmp/failed" 2>/dev/null)" "" "they compile with the compiler's own headers" || note "$(head -n 5 "$tmp/err")"
ld -r -o "$tmp/all.o" "$tmp"/*_*.o
nm -u "$tmp/all.o" | awk '{ print $2 }' | grep -vxE 'mem(cpy|set|cmp|move)|strcmp' >"$tmp/wants"
is "$(cat "$tmp/wants")" "" "and want nothing but what compilers want, and strcmp"
nm "$tmp/all.o" | awk '$2 ~ /[BbDdC]/ { print $3 }' >"$tmp/state"
is "$(cat "$tmp/state")" "" "and have no state of their own"
each='init|update_control|suspend|resume|sample|identify_overflow|ireload'
nm "$tmp/all.o" | grep -E " T ap_((x86|ppc)ctr_($each)|ctr_(exit|reserve|release|set_ihandler))\$" >"$tmp/calls"
is "$(wc -l <"$tmp/calls")" 18 "and have all calls, for x86 and PowerPC"
done_testing
