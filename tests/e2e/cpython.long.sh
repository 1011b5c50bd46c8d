#!/bin/bash
# SPDX-License-Identifier: MIT
#
# CPython's own tests of what an engine could break: threads, signals, processes, mappings.  They pass
# counted where they pass natively.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=$tmp PYTHONDONTWRITEBYTECODE=1
ulimit -c 0

python3 -c 'import test.test_mmap' 2>/dev/null || skip_all "no test suite of python3"
cd "$tmp" || exit 1
for t in test_mmap test_threading test_threading_local test_signal test_subprocess test_posix test_faulthandler \
	test_multiprocessing_main_handling test_ctypes test_select test_selectors test_eintr; do
	if ! timeout -k 5 600 python3 -m test -q "$t" >"$tmp/native" 2>&1 </dev/null; then
		note "$t does not pass natively: $(tail -n 3 "$tmp/native")"
		continue
	fi
	run timeout -k 5 1800 "$ANYPERF" stat -x, -e instructions:u -o "$tmp/table" -- python3 -m test -q "$t"
	is "$status" 0 "$t" || note "$(tail -n 30 "$tmp/out" "$tmp/err")"
done
done_testing
