#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Where the engine stops for samples: at each Nth instruction, branch, ... of each thread, and at no
# other, with the last taken branches where they are wanted.  The oracle says which those are.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/oracle.bash
. "$(dirname "$0")/oracle.bash"
# shellcheck source=tests/e2e/samples.bash
. "$(dirname "$0")/samples.bash"

others="branches nested_calls plt_entries signal_mid fork_count shadow page_cross"

# sample_points.long.sh asks for more periods
instruction_periods="1 33 1000" other_periods="1 17" branch_periods="1 64" stress_periods="7"
if [ -n "${MORE:-}" ]; then
	instruction_periods="1 2 7 33 64 1000" other_periods="1 3 17 64" branch_periods="1 7 64 333" stress_periods="1 7 1000"
fi

for name in ${NAMES:-$sampled}; do
	samples_like_oracle "$name" instructions "$instruction_periods" "$PROGRAMS/$name"
done
for event in taken-branches branches returns mem-ops syscalls; do
	for name in ${NAMES:-$others}; do
		samples_like_oracle "$name" "$event" "$other_periods" "$PROGRAMS/$name"
	done
done
# an instruction may count 32 of them
for name in ${NAMES:-fp_ops fp_wide}; do
	samples_like_oracle "$name" flops "$instruction_periods" "$PROGRAMS/$name"
done
for name in ${NAMES:-and_few branches nested_calls plt_entries page_cross shadow fork_count smc_store}; do
	BRANCHES=yes samples_like_oracle "$name" instructions "$branch_periods" "$PROGRAMS/$name"
done
# shellcheck disable=SC2034 # samples_like_oracle looks at it
for STRESS in evict unlinked shapes; do
	for name in ${NAMES:-$others smc_store flags_live}; do
		samples_like_oracle "$name" instructions "$stress_periods" "$PROGRAMS/$name"
	done
done
done_testing
