/* SPDX-License-Identifier: MIT */
/*
 * perfctr for programs: per-thread performance counters, as the system calls of its documentation of
 * 2004, over the device of perfctr 2.6.  Under `anyperf run` the device is there on every machine, with
 * the CPU that --cpu chooses, and counts exactly.
 *
 * All functions give -1 and errno where they fail: ENOENT without the device, EPROTO where it speaks
 * another version.  Link with -lanyperf.
 */
#ifndef ANYPERF_PERFCTR_H
#define ANYPERF_PERFCTR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERFCTR_MAX_PMCS 18

/* perfctr_info.cpu_features */
#define PERFCTR_FEATURE_RDPMC 0x01 /* counters may be read by rdpmc */
#define PERFCTR_FEATURE_RDTSC 0x02
#define PERFCTR_FEATURE_PCINT 0x04 /* counters interrupt when they overflow */

/* perfctr_info.cpu_type */
#define PERFCTR_X86_GENERIC    0
#define PERFCTR_X86_P5	       1
#define PERFCTR_X86_P5MMX      2
#define PERFCTR_X86_P6	       3
#define PERFCTR_X86_PII	       4
#define PERFCTR_X86_PIII       5
#define PERFCTR_X86_CYRIX_MII  6
#define PERFCTR_X86_WINCHIP_C6 7
#define PERFCTR_X86_WINCHIP_2  8
#define PERFCTR_X86_K7	       9
#define PERFCTR_X86_C3	       10
#define PERFCTR_X86_P4	       11
#define PERFCTR_X86_P4M2       12
#define PERFCTR_X86_K8	       13
#define PERFCTR_X86_PENTM      14
#define PERFCTR_X86_K8C	       15
#define PERFCTR_X86_P4M3       16
#define PERFCTR_X86_CORE2      18
#define PERFCTR_X86_NEHALEM    21
#define PERFCTR_X86_WESTMERE   22

struct perfctr_info {
	uint32_t abi_version;
	char driver_version[32];
	uint32_t cpu_type;
	uint32_t cpu_features;
	uint32_t cpu_khz; /* of the time stamp counter */
	uint32_t tsc_to_cpu_mult;
	uint32_t _reserved[3];
};

/* Of nrwords words, the least significant first; mask[] may be longer than declared. */
struct perfctr_cpu_mask {
	uint32_t nrwords;
	uint32_t mask[1];
};

/* Accumulating counters are the first nractrs, interrupting ones the nrictrs behind them. */
struct perfctr_cpu_control {
	uint32_t tsc_on;
	uint32_t nractrs;
	uint32_t nrictrs;
	uint32_t pmc_map[PERFCTR_MAX_PMCS]; /* the counter, as rdpmc numbers it */
	uint32_t evntsel[PERFCTR_MAX_PMCS]; /* its control register; on a P4 its CCCR */
	struct {
		uint32_t escr[PERFCTR_MAX_PMCS];
		uint32_t pebs_enable;
		uint32_t pebs_matrix_vert;
	} p4;
	int32_t ireset[PERFCTR_MAX_PMCS]; /* of interrupting ones, below 0 */
	uint32_t _reserved[4];
};

struct perfctr_sum_ctrs {
	uint64_t tsc;
	uint64_t pmc[PERFCTR_MAX_PMCS];
};

#define VPERFCTR_CONTROL_CLOEXEC   1 /* an exec ends the state */
#define VPERFCTR_CONTROL_FROM_EXEC 2 /* sums begin anew at the next exec; anyperf's own */

struct vperfctr_control {
	int32_t si_signo; /* to the thread when a counter has overflowed */
	struct perfctr_cpu_control cpu_control;
	uint32_t preserve; /* bit i: counter i goes on from its sum */
	uint32_t flags;
	uint32_t _reserved[3];
};

struct perfctr_cpu_state {
	uint32_t cstatus; /* 0: off */
	struct {
		uint32_t id;
		int32_t isuspend_cpu;
	} k1;
	uint32_t tsc_start;
	uint64_t tsc_sum;
	struct {
		uint32_t map;
		uint32_t start;
		uint64_t sum;
	} pmc[PERFCTR_MAX_PMCS];
};

/* What mmap(2) of a state's descriptor shows: one page, PROT_READ, MAP_SHARED, offset 0. */
struct vperfctr_state {
	struct perfctr_cpu_state cpu_state;
};

/* perfctr_cpu_state.cstatus: tsc_on, nractrs and nrictrs of the control in one word. */
static inline unsigned int perfctr_mk_cstatus(unsigned int tsc_on, unsigned int nractrs,
					      unsigned int nrictrs)
{
	return (unsigned int)(tsc_on != 0) << 31 | nrictrs << 16 | (nractrs + nrictrs) << 8 |
	       nractrs;
}

/* Any of the three is not 0. */
static inline unsigned int perfctr_cstatus_enabled(unsigned int cstatus)
{
	return cstatus;
}

static inline int perfctr_cstatus_has_tsc(unsigned int cstatus)
{
	return cstatus >> 31 != 0;
}

static inline unsigned int perfctr_cstatus_nractrs(unsigned int cstatus)
{
	return cstatus & 0x7f;
}

/* Of both kinds. */
static inline unsigned int perfctr_cstatus_nrctrs(unsigned int cstatus)
{
	return cstatus >> 8 & 0x7f;
}

static inline unsigned int perfctr_cstatus_has_ictrs(unsigned int cstatus)
{
	return cstatus >> 16 & 0x7f;
}

/* The signal's si_code, and the bits of the counters that have overflowed: as a field of siginfo_t, or by its address. */
#define SI_PMC_OVF		 'P'
#define si_pmc_ovf_mask		 _sifields._pad[0]
#define si_pmc_ovf_mask_of(info) (*(const uint32_t *)((const char *)(info) + 16))

/*
 * What the CPU and its driver can; which CPUs there are; on which counters must not be used.  Each may
 * be NULL.  EOVERFLOW: nrwords was too small, and is what is needed now.
 */
int sys_perfctr_info(struct perfctr_info *info, struct perfctr_cpu_mask *cpus,
		     struct perfctr_cpu_mask *forbidden);

/*
 * A descriptor of a thread's state; tid 0 is the caller, another must be stopped and traced by it.  creat:
 * makes it, EEXIST if there is one.
 */
int sys_vperfctr_open(int tid, int creat);
int sys_vperfctr_control(int fd, const struct vperfctr_control *control);
int sys_vperfctr_unlink(int fd);
/* Either may be NULL. */
int sys_vperfctr_read(int fd, struct perfctr_sum_ctrs *sum, struct vperfctr_control *control);
/* After an overflow's signal: all counters go on. */
int sys_vperfctr_iresume(int fd);

/* Global counters: those of CPUs, whoever of the session runs there. */
struct gperfctr_cpu_control {
	uint32_t cpu;
	struct perfctr_cpu_control cpu_control; /* without interrupting counters */
	uint32_t _reserved[4];
};

struct gperfctr_cpu_state {
	uint32_t cpu;
	struct perfctr_cpu_control cpu_control;
	struct perfctr_sum_ctrs sum;
	uint32_t _reserved[4];
};

struct gperfctr;		      /* of perfctr 2.6's library */
struct gperfctr *gperfctr_open(void); /* NULL and errno */
void gperfctr_close(struct gperfctr *gperfctr);
/* What a CPU is to count from the next start on: how many have something.  EBUSY while they count. */
int gperfctr_control(const struct gperfctr *gperfctr, struct gperfctr_cpu_control *control);
/* All begin; their number.  interval_usec: 0, or from 10000 on; sums are as of when they are read. */
int gperfctr_start(const struct gperfctr *gperfctr, unsigned int interval_usec);
/* Of state->cpu. */
int gperfctr_read(const struct gperfctr *gperfctr, struct gperfctr_cpu_state *state);
/* All end, and their controls; sums stay. */
int gperfctr_stop(const struct gperfctr *gperfctr);
int gperfctr_info(const struct gperfctr *gperfctr, struct perfctr_info *info);

#ifdef __cplusplus
}
#endif

#endif
