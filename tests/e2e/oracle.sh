#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Engine == oracle, event by event, and both == what a program's source says it retires
# (its lines "EXPECT event value").
#
# Both run on one CPU with an environment of the same length: the environment lies on the stack,
# and its size moves what is aligned by it. A step costs some 20 microseconds, so the programs
# named here stay under 2 million steps together; oracle.long.sh has the larger ones.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/oracle.bash
. "$(dirname "$0")/oracle.bash"

for name in and_loop rep_stosb branches nested_calls mid_insn fault_mid signal_mid fork_count \
	vfork_exec threads_count threads_exit stop_cont restarts wild_jump shadow flags_live \
	odd_prefixes page_cross redzone smc_store fs_gs rdtsc_cpuid c_static c_dynamic \
	setjmp_sig ucontext_switch loads_stores fp_ops fp_wide rep_iter; do
	compare_with_oracle "$name" "$PROGRAMS/$name"
done
compare_with_oracle true true
done_testing
