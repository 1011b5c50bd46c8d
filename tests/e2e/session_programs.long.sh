#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The real programs of docs/programs.md in a session, under the system's own perf, which counts them and all that
# they start: what they do is what they do natively.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need perf

for t in programs languages servers; do
	AP_TWICE=session run timeout -k 5 3000 bash "$(dirname "$0")/$t.sh"
	is "$status $(grep -c '^not ok' "$tmp/out")" "0 0" "$t, in a session" || note "$(grep -v '^ok' "$tmp/out")"
	is "$(($(grep -c '^ok' "$tmp/out") > 0))" 1 "and they ran"
done
done_testing
