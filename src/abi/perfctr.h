/* SPDX-License-Identifier: MIT */
/*
 * perfctr 2.6's device as programs see it: numbers of its ioctls, and how structures travel.  A
 * buffer is two words, how many words are to be read and how many may be written, and then the
 * words.  Only fields that are not 0 are there, each behind a word that names it (perfctr/codec.h).
 *
 * Also what the supervisor tells threads about counters that they read by rdpmc.
 */
#ifndef AP_ABI_PERFCTR_H
#define AP_ABI_PERFCTR_H

#include "base/types.h"

#define AP_PERFCTR_PATH "/dev/perfctr"
#define AP_PERFCTR_RDEV 0xab6ULL /* character device 10:182 */
#define AP_PERFCTR_ABI	0x05020501U

#define AP_PERFCTR_IOC_MAGIC	 0xd0U /* bits 8 to 15 */
#define AP_PERFCTR_IOC_ABI	 0x8004d000U
#define AP_PERFCTR_IOC_INFO	 0x800cd001U
#define AP_PERFCTR_IOC_CPUS	 0xc008d002U
#define AP_PERFCTR_IOC_FORBIDDEN 0xc008d003U
#define AP_VPERFCTR_CREAT	 0x0000d006U
#define AP_VPERFCTR_OPEN	 0x0000d007U
#define AP_VPERFCTR_READ_SUM	 0x800cd008U
#define AP_VPERFCTR_UNLINK	 0x0000d009U
#define AP_VPERFCTR_CONTROL	 0x400cd00aU
#define AP_VPERFCTR_IRESUME	 0x0000d00bU
#define AP_VPERFCTR_READ_CONTROL 0x800cd00cU
#define AP_GPERFCTR_CONTROL	 0xc00cd010U
#define AP_GPERFCTR_READ	 0xc00cd011U
#define AP_GPERFCTR_STOP	 0x0000d012U
#define AP_GPERFCTR_START	 0x0000d013U

/*
 * What rdpmc gives of a thread's counters, in its slot: number i reads base + the slot's raw
 * counters of kinds.  Written while the thread stands still; seq is odd meanwhile.
 */
#define AP_PMCS_MAX	  18U
#define AP_PMC_FIXED_FROM 0x40000000U
struct ap_pmcs {
	u32 seq;
	u32 n;	    /* counters; 0: the thread has no state, or its CPU no rdpmc */
	u32 flags;  /* bits of ecx that are no number */
	u32 bits;   /* of a counter */
	u32 nfixed; /* the last of them, numbered from AP_PMC_FIXED_FROM */
	u32 pad;
	struct {
		u64 base, kinds;
	} of[AP_PMCS_MAX];
};

#endif
