#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Each fuzzer for a number of inputs, always the same: it finds nothing, and where a fault is planted for it, deep in
# what it feeds (src/base/plant.h), it finds that.  LONG=1: for forty times as many.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
: "${FUZZ:?folder of the fuzzers}"
export LSAN_OPTIONS=suppressions=$root/tests/fuzz/leaks.supp
cd "$tmp" || exit 1
times=1
[ "${LONG:-0}" != 1 ] || times=40

# fuzz NAME RUNS PLANT: with what it finds in a folder of its own
fuzz()
{
	local dict=()
	[ ! -e "$root/tests/fuzz/dict/$1" ] || dict=(-dict="$root/tests/fuzz/dict/$1")
	rm -rf "$1.found"
	mkdir "$1.found"
	AP_FUZZ_PLANT=$3 "$FUZZ/$1" -seed=1 -runs="$2" -max_len=8192 -len_control=0 -use_value_profile=1 -timeout=120 \
		-rss_limit_mb=4096 "${dict[@]}" -artifact_prefix="$tmp/$1." "$tmp/$1.found" \
		"$root/tests/fuzz/corpus/$1" >"$1.log" 2>&1 </dev/null
}

# both NAME RUNS MOST: so many inputs without its fault, and at most so many with it
both()
{
	fuzz "$1" $(($2 * times)) ""
	echo $? >"$1.status"
	mv "$1.log" "$1.plain"
	fuzz "$1" "$3" "$1"
}

names=()
while read -r name runs most; do
	while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
		wait -n
	done
	names+=("$name")
	both "$name" "$runs" "$most" &
done <<'END'
perf_data 1000 40000
elf 4000 200000
events 200 40000
jitdump 5000 200000
perf_map 20000 1000000
packed 1500 40000
build_id 2000 40000
gate 10000 400000
filter 10000 200000
trace_filter 20000 1000000
metrics 40000 2000000
machine 40000 1000000
legacy 40000 200000
END
wait
for name in "${names[@]}"; do
	is "$(cat "$name.status")" 0 "$name: finds nothing" || note "$(tail -n 30 "$name.plain")"
	has "$name.log" "^planted: $name$" "$name: finds the fault that is planted" || note "$(tail -n 3 "$name.log")"
done
is "${#names[@]}" "$(find "$root/tests/fuzz/corpus" -mindepth 1 -maxdepth 1 -type d | wc -l)" "each corpus has its fuzzer"
done_testing
