#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Behind a sample a thread goes on inside a block that is there, at the instruction that follows: with periods that
# leave time for it the samples are still those that the oracle names, and so is the next one's place.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/oracle.bash
. "$(dirname "$0")/oracle.bash"
# shellcheck source=tests/e2e/samples.bash
. "$(dirname "$0")/samples.bash"

for name in ${NAMES:-branches nested_calls mid_insn fault_mid signal_mid page_cross redzone \
	flags_live odd_prefixes smc_store wild_jump loads_stores}; do
	samples_like_oracle "$name" instructions "131 149 333" "$PROGRAMS/$name"
done
# shellcheck disable=SC2034 # samples_like_oracle looks at it
for STRESS in evict unlinked; do
	for name in branches signal_mid smc_store; do
		samples_like_oracle "$name" instructions 149 "$PROGRAMS/$name"
	done
done
done_testing
