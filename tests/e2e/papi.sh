#!/bin/bash
# SPDX-License-Identifier: MIT
# PAPI's presets on loops whose counts are known, within 1 %, as PAPI's own validation has it.
. "$(dirname "$0")/lib.sh"
need awk gcc papi_avail
cd "$tmp" || exit 1

cat >loops.c <<'END'
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N     1000000L
#define LINES (1L << 20)

static double cell[8] = { 1, 1e-9, 1 };
static char *area;

/* In a round: 2 loads, 1 store, a multiplication and an addition, a jump that is never taken, one that is. */
static void __attribute__((noipa)) known(long n)
{
	__asm__ volatile("1:	movsd	(%1), %%xmm0\n"
			 "	mulsd	8(%1), %%xmm0\n"
			 "	addsd	%%xmm0, %%xmm1\n"
			 "	movsd	%%xmm0, 16(%1)\n"
			 "	test	%1, %1\n"
			 "	jz	2f\n"
			 "	dec	%0\n"
			 "	jnz	1b\n"
			 "2:"
			 : "+r"(n)
			 : "r"(cell)
			 : "xmm0", "xmm1", "memory");
}

/* Each line of 64 MB once, in an order that no prefetcher follows. */
static void __attribute__((noipa)) misses(long n)
{
	unsigned long at = 0;

	for (long i = 0; i < n; i++) {
		(void)*(volatile char *)&area[at * 64];
		at = (at * 1664525 + 1013904223) & (LINES - 1);
	}
}

/* A branch by a coin. */
static void __attribute__((noipa)) coin(long n)
{
	unsigned long x = 1;

	for (long i = 0; i < n; i++) {
		x = x * 6364136223846793005UL + 1442695040888963407UL;
		if (x >> 60 & 1)
			__asm__ volatile("");
		else
			__asm__ volatile("nop");
	}
}

int main(int argc, char **argv)
{
	void (*work)(long) = !strcmp(argv[1], "known") ? known : !strcmp(argv[1], "misses") ? misses : coin;
	long n = work == misses ? LINES : N;

	area = malloc(LINES * 64);
	memset(area, 0, LINES * 64);
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		return 1;
	for (int i = 2; i < argc; i++) {
		int set = PAPI_NULL;
		long long count = -1;

		if (PAPI_create_eventset(&set))
			return 2;
		if (PAPI_add_named_event(set, argv[i])) {
			printf("%s none\n", argv[i]);
			continue;
		}
		if (PAPI_start(set))
			return 3;
		work(n);
		if (PAPI_stop(set, &count))
			return 4;
		printf("%s %.6f\n", argv[i], (double)count / (double)n);
	}
	return 0;
}
END
gcc -O1 -o loops loops.c -lpapi 2>gcc.err || skip_all "PAPI's header or library is missing"

# shellcheck disable=SC2034 # by name, in check
# What one round is, by preset; of those that are not named here nothing is known.
declare -A known=([PAPI_TOT_INS]=8 [PAPI_BR_INS]=2 [PAPI_BR_TKN]=1 [PAPI_BR_CN]=2 [PAPI_BR_NTK]=1 [PAPI_LD_INS]=2 [PAPI_SR_INS]=1
	[PAPI_LST_INS]=3 [PAPI_DP_OPS]=2 [PAPI_FP_OPS]=2 [PAPI_SP_OPS]=0 [PAPI_BR_MSP]=0 [PAPI_L1_DCM]=0 [PAPI_TLB_DM]=0)
# shellcheck disable=SC2034
declare -A misses=([PAPI_L1_DCM]=1 [PAPI_L1_TCM]=1 [PAPI_L1_LDM]=1 [PAPI_L2_DCM]=1 [PAPI_L2_LDM]=1 [PAPI_TLB_DM]=1)
# shellcheck disable=SC2034
declare -A coin=([PAPI_BR_MSP]=0.5)

# check LOOP: each preset that there is
check()
{
	local -n want=$1
	local preset count n=0

	run timeout -k 5 200 "$ANYPERF" run --deterministic --machine zen3 -- ./loops "$1" "${!want[@]}"
	is "$status" 0 "$1: PAPI counts" || note "$(tail -n 3 err)"
	while read -r preset count; do
		if [ "$count" = none ]; then
			note "$1: PAPI has no $preset"
			continue
		fi
		n=$((n + 1))
		is "$(awk -v c="$count" -v w="${want[$preset]}" 'BEGIN { d = c - w; m = w > 1 ? w / 100 : 0.01
			print (d <= m && -d <= m) ? "within" : "is " c }')" within "$1: $preset is ${want[$preset]} a round, within 1 %"
	done <out
	is "$((n >= $2))" 1 "$1: $2 presets at least" || note "$n"
}
# had CPU PRESET...: those that docs/counting.md says are counted, by the tables that PAPI has of it
had()
{
	local cpu=$1 preset count
	shift
	run timeout -k 5 200 "$ANYPERF" run --deterministic --cpu-id "$cpu" -- ./loops known "$@"
	is "$status" 0 "$cpu: PAPI counts" || note "$(tail -n 3 err)"
	while read -r preset count; do
		[ "$count" != none ]
		is "$?" 0 "$cpu: $preset is counted"
	done <out
}

had zen3 PAPI_{TOT_INS,TOT_CYC,BR_INS,BR_TKN,BR_MSP,TLB_DM,TLB_IM,L1_DCA,L1_DCM,L2_DCM,L2_DCR,L2_DCH,L2_ICR,L2_ICA,L2_ICM,L2_ICH,FP_OPS}
had skylake PAPI_{TOT_INS,TOT_CYC,REF_CYC,LD_INS,SR_INS,LST_INS,L1_ICM,L1_DCM,L1_TCM,L1_LDM,L1_STM,L2_DCA,L2_DCR,L2_ICH,L2_ICM,L2_ICR,L2_ICA,L2_LDM,L2_STM} \
	PAPI_{L2_TCA,L2_TCR,L2_DCW,L2_TCW,L3_DCR,L3_DCW,L3_ICA,L3_ICR,L3_LDM,L3_TCW,PRF_DM,CA_CLN,TLB_DM,TLB_IM,RES_STL,BR_CN,BR_TKN,BR_NTK,BR_MSP,BR_INS,DP_OPS,SP_OPS}
had icelakex PAPI_{TOT_INS,TOT_CYC,REF_CYC,LD_INS,SR_INS,LST_INS,L1_ICM,L1_DCM,L1_TCM,L2_DCA,L2_DCR,L2_ICH,L2_ICM,L2_ICR,L2_ICA,L2_LDM,L2_TCA,L2_TCR} \
	PAPI_{L3_DCR,L3_ICA,L3_ICR,L3_LDM,BR_CN,BR_TKN,BR_NTK,BR_MSP,BR_INS,DP_OPS,SP_OPS}
check known 5
check misses 3
check coin 1
done_testing
