#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Engine == oracle, event by event, and both == what a program's source says it retires
# (its lines "EXPECT event value").
#
# Both run on one CPU with an environment of the same length: the environment lies on the stack,
# and its size moves what is aligned by it. A step costs some 20 microseconds, so the programs
# named here stay under a million steps together; oracle.long.sh has the larger ones.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/oracle.bash
. "$(dirname "$0")/oracle.bash"

for name in and_few rep_stosb branches nested_calls plt_entries mid_insn fault_mid signal_mid fork_count fork_heirs \
	vfork_exec threads_count threads_exit stop_cont restarts wild_jump shadow flags_live \
	odd_prefixes page_cross redzone smc_store self_unpack fs_gs rdtsc_cpuid c_static c_dynamic \
	setjmp_sig ucontext_switch undefined locked loads_stores fp_ops fp_wide rep_iter; do
	compare_with_oracle "$name" "$PROGRAMS/$name"
done
compare_with_oracle true true

# where only a system call sets %gs, as on older CPUs and in some virtual machines
for name in threads_count fork_count vfork_exec fs_gs signal_mid; do
	for stress in requests no-fsgsbase; do
		in_same_place "$ANYPERF_TEST" stat --deterministic --stress $stress -x, -e "${base_events// /,}" \
			-o "$tmp/table.$stress" -- "$PROGRAMS/$name" >"$tmp/out.$stress" 2>&1 </dev/null
		base_values "$tmp/table.$stress" >"$tmp/values.$stress"
	done
	same "$tmp/out.no-fsgsbase" "$tmp/out.requests" "$name without FSGSBASE: output"
	same "$tmp/values.no-fsgsbase" "$tmp/values.requests" "$name without FSGSBASE: counts"
done
done_testing
