#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The periods of sampling.sh where all code is thrown away at each translation: minutes.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$tmp" || exit 1
run timeout -k 5 120 "$ANYPERF" run -- "$PROGRAMS/sample_self" periods
mv out want
is "$(grep -c 'all 1, in the loop 1, on dec 1' want)" 7 "so many periods"
run timeout -k 5 3000 "$ANYPERF_TEST" run --stress evict -- "$PROGRAMS/sample_self" periods
same out want "each ends where it must" || note "$(head -n 5 err)"
done_testing
