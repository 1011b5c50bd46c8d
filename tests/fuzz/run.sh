#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh FOLDER: each fuzzer of the folder for $FUZZ_TIME seconds, with the inputs that earlier runs found there.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
export LSAN_OPTIONS=suppressions=$here/leaks.supp
for fuzzer in *; do
	[ -f "$fuzzer" ] && [ -x "$fuzzer" ] || continue
	echo "=== $fuzzer"
	mkdir -p "$fuzzer.found"
	dict=()
	[ ! -e "$here/dict/$fuzzer" ] || dict=(-dict="$here/dict/$fuzzer")
	"./$fuzzer" -max_total_time="${FUZZ_TIME:-60}" -max_len=16384 -use_value_profile=1 -timeout=10 -rss_limit_mb=4096 \
		"${dict[@]}" -artifact_prefix="$PWD/$fuzzer." "$PWD/$fuzzer.found" "$here/corpus/$fuzzer"
done
