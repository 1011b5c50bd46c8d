/* SPDX-License-Identifier: MIT */
/*
 * The events of the emulated `cpu` PMU: one table of descriptions per source of codes, and one
 * function that says what an attr of type HARDWARE, HW_CACHE or RAW counts.
 *
 *   - ap_pmu_generic: the kernel's HARDWARE events, ap_pmu_cache its HW_CACHE ones;
 *   - ap_pmu_own: what the engine counts whatever CPU it runs on, as `anyperf=N` in config1 with no
 *     event selected in config: a register that no CPU has, so that no program uses it by chance;
 *   - ap_pmu_arch.raw: a CPU's own codes.
 *
 * A description without a counter behind it is there to be explained by name; counting it is
 * ENOENT.
 */
#ifndef AP_PMU_EVENTS_H
#define AP_PMU_EVENTS_H

#include "abi/cpuid.h"
#include "abi/perf.h"
#include "abi/raw.h"
#include "base/types.h"

enum ap_pmu_quality {
	AP_PMU_UNCOUNTED, /* known, and nobody counts it */
	AP_PMU_EXACT,
	AP_PMU_MODELLED
};

/* What is counted: kinds of plus, less those of minus (abi/raw.h). */
struct ap_pmu_sum {
	u64 plus, minus;
	u64 of;		/* what the machine must have one of for it; 0: of plus */
	u64 constraint; /* bit n: fits on counter n of a limited PMU; 0 any */
	bool in_slots;	/* times the slots that a cycle of the machine has */
	bool is_locked; /* of plus the instructions that lock: each is counted as a breakpoint would be */
};

struct ap_pmu_desc {
	const char *name;
	const char *alias; /* NULL: none */
	u64 config;
	u64 config1; /* AP_PMU_OWN rows: the event's number */
	struct ap_pmu_sum sum;
	enum ap_pmu_quality quality;
	bool has_ldlat;	  /* of a reference whose latency is known when it is sampled */
	bool adds;	  /* unit masks of this event may be combined: their sum is counted */
	const char *text; /* what it counts, or why nobody does */
};

struct ap_pmu_format {
	const char *name;
	const char *bits; /* "config:0-7,32-35", as sysfs says it */
};

/* Bits of a raw config beyond event and unit mask, that ask for something else than a count. */
#define AP_RAW_EDGE  (1ULL << 18)
#define AP_RAW_ANY   (1ULL << 21)
#define AP_RAW_INV   (1ULL << 23)
#define AP_RAW_CMASK (0xffULL << 24)
#define AP_RAW_IN_TX (1ULL << 32)

struct ap_pmu_arch {
	const char *name;		   /* caps/pmu_name */
	u64 select;			   /* bits of event and unit mask */
	u64 refused;			   /* bits that no counter here can honour: ENOENT */
	u64 generic[AP_PERF_COUNT_HW_MAX]; /* config of each HARDWARE event, 0 none */
	const struct ap_pmu_desc *raw;
	u32 nraw;
	const struct ap_pmu_format *format; /* ends with name NULL */
};

const struct ap_pmu_arch *ap_pmu_arch(enum ap_cpu cpu);

extern const struct ap_pmu_arch ap_pmu_skylake, ap_pmu_icelake, ap_pmu_zen;
extern const struct ap_pmu_desc ap_pmu_generic[AP_PERF_COUNT_HW_MAX];
extern const struct ap_pmu_desc ap_pmu_own[];
extern const u32 ap_pmu_nown;
/* Whether an event of ours is meant by this config1. */
bool ap_pmu_is_own(const struct ap_pmu_desc *own, u64 config1);

/* events_cache.c: the HW_CACHE events that are counted, by the names that perf gives them. */
extern const struct ap_pmu_desc ap_pmu_cache[];
extern const u32 ap_pmu_ncache;
const struct ap_pmu_desc *ap_pmu_cache_find(u64 config); /* NULL: nobody counts it */
/* The row of a raw code, thresholds included; NULL: none. */
const struct ap_pmu_desc *ap_pmu_raw_find(const struct ap_pmu_arch *arch, u64 config);
/* Any way that perf lets one be written; the config of it, counted or not. */
bool ap_pmu_cache_name(const char *name, size_t len, u64 *config);

/*
 * config1 of our own events: the number, and of those for `perf mem` the least latency of what is
 * sampled, in cycles.  They count all the same.
 */
#define AP_PMU_OWN_NUMBER(config1) ((config1)&0xff)
#define AP_PMU_LDLAT(config1)	   ((config1) >> 8 & 0xffff)
#define AP_PMU_LDLAT_FORMAT	   "config1:8-23"

/* Of nothing that a machine without these kinds has: 0 would say that nothing happened there. */
static inline bool ap_pmu_is_absent(const struct ap_pmu_sum *sum, u64 absent)
{
	return !((sum->of ? sum->of : sum->plus) & ~absent);
}

/* 0, or what a program gets: -ENOENT nobody counts it, -EINVAL there is no such thing. */
AP_MUST_CHECK int ap_pmu_resolve(const struct ap_pmu_arch *arch, u32 type, u64 config, u64 config1,
				 struct ap_pmu_sum *out);

#endif
