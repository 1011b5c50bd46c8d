/* SPDX-License-Identifier: MIT */
/*
 * The first ABI of Linux' performance counters, as design.txt of tools/perf described it in 2009: an
 * attr of 56 bytes with the type packed into config, records with MUNMAP and overflows without a type,
 * a ring buffer without a tail.  The calls translate to perf_event_open(2); link libanyperf.a.
 *
 * With ANYPERF_LEGACY_NAMES defined before the first include, the names of 2009 stand for these and a source
 * of that time compiles as it is; include this instead of <linux/perf_event.h> then.
 */
#ifndef ANYPERF_LEGACY_H
#define ANYPERF_LEGACY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* config: one bit, 7 bits, 56 bits */
#define ANYPERF_LEGACY_RAW_MASK	  0x8000000000000000ULL
#define ANYPERF_LEGACY_TYPE_MASK  0x7f00000000000000ULL
#define ANYPERF_LEGACY_EVENT_MASK 0x00ffffffffffffffULL
#define ANYPERF_LEGACY_TYPE_SHIFT 56

#define ANYPERF_LEGACY_CONFIG(type, event_id)                                                      \
	((uint64_t)(type) << ANYPERF_LEGACY_TYPE_SHIFT |                                           \
	 ((uint64_t)(event_id)&ANYPERF_LEGACY_EVENT_MASK))
#define ANYPERF_LEGACY_CONFIG_RAW(event) (ANYPERF_LEGACY_RAW_MASK | (uint64_t)(event))

enum anyperf_legacy_type {
	ANYPERF_LEGACY_TYPE_HARDWARE = 0,
	ANYPERF_LEGACY_TYPE_SOFTWARE = 1,
	ANYPERF_LEGACY_TYPE_TRACEPOINT = 2
};

enum anyperf_legacy_hw {
	ANYPERF_LEGACY_HW_CPU_CYCLES = 0,
	ANYPERF_LEGACY_HW_INSTRUCTIONS = 1,
	ANYPERF_LEGACY_HW_CACHE_REFERENCES = 2,
	ANYPERF_LEGACY_HW_CACHE_MISSES = 3,
	ANYPERF_LEGACY_HW_BRANCH_INSTRUCTIONS = 4,
	ANYPERF_LEGACY_HW_BRANCH_MISSES = 5,
	ANYPERF_LEGACY_HW_BUS_CYCLES = 6
};

enum anyperf_legacy_sw {
	ANYPERF_LEGACY_SW_CPU_CLOCK = 0,
	ANYPERF_LEGACY_SW_TASK_CLOCK = 1,
	ANYPERF_LEGACY_SW_PAGE_FAULTS = 2,
	ANYPERF_LEGACY_SW_CONTEXT_SWITCHES = 3,
	ANYPERF_LEGACY_SW_CPU_MIGRATIONS = 4,
	ANYPERF_LEGACY_SW_PAGE_FAULTS_MIN = 5,
	ANYPERF_LEGACY_SW_PAGE_FAULTS_MAJ = 6,
	ANYPERF_LEGACY_SW_ALIGNMENT_FAULTS = 7,
	ANYPERF_LEGACY_SW_EMULATION_FAULTS = 8
};

/* read_format: what read(2) gives behind the value, in this order, 8 bytes each */
enum anyperf_legacy_read_format {
	ANYPERF_LEGACY_FORMAT_TOTAL_TIME_ENABLED = 1,
	ANYPERF_LEGACY_FORMAT_TOTAL_TIME_RUNNING = 2
};

/* record_type: what an overflow record has, in this order */
enum anyperf_legacy_record_format {
	ANYPERF_LEGACY_RECORD_IP = 1U << 0,
	ANYPERF_LEGACY_RECORD_TID = 1U << 1,
	ANYPERF_LEGACY_RECORD_TIME = 1U << 2,
	ANYPERF_LEGACY_RECORD_ADDR = 1U << 3,
	ANYPERF_LEGACY_RECORD_GROUP = 1U << 4,
	ANYPERF_LEGACY_RECORD_CALLCHAIN = 1U << 5
};

struct anyperf_legacy_attr {
	uint64_t config;
	uint64_t irq_period; /* 0: only counts; n: interrupts every n events */
	uint32_t record_type;
	uint32_t read_format;

	/* clang-format off */
	uint64_t disabled	: 1,
		 inherit	: 1,
		 pinned		: 1,
		 exclusive	: 1,
		 exclude_user	: 1,
		 exclude_kernel	: 1,
		 exclude_hv	: 1,
		 exclude_idle	: 1,
		 mmap		: 1,
		 munmap		: 1,
		 comm		: 1,
		 __reserved_1	: 52; /* and one more bit that has no name: 0, too */
	/* clang-format on */

	uint32_t extra_config_len; /* 0 */
	uint32_t wakeup_events;	   /* 0: for each page that is filled */
	uint64_t __reserved_2;
	uint64_t __reserved_3;
};

struct anyperf_legacy_page {
	uint32_t version;
	uint32_t compat_version;
	uint32_t lock;
	uint32_t index; /* counter + 1; 0: read the descriptor */
	int64_t offset;
	uint32_t head[1]; /* data_head; only of mappings that have data */
	uint32_t reserved;
};

enum anyperf_legacy_misc {
	ANYPERF_LEGACY_MISC_KERNEL = 1 << 0,
	ANYPERF_LEGACY_MISC_USER = 1 << 1,
	ANYPERF_LEGACY_MISC_OVERFLOW = 1 << 2 /* type is record_type */
};

struct anyperf_legacy_header {
	uint32_t type;
	uint16_t misc;
	uint16_t size;
};

enum anyperf_legacy_record {
	ANYPERF_LEGACY_MMAP = 1,   /* u32 pid, tid; u64 addr, len, pgoff; char filename[] */
	ANYPERF_LEGACY_MUNMAP = 2, /* the same; only under anyperf run */
	ANYPERF_LEGACY_COMM = 3	   /* u32 pid, tid; char comm[] */
};

/* In an overflow: { u64 nr; { u64 event, val; }[nr]; }, and this before u64 ips[nr]. */
struct anyperf_legacy_callchain {
	uint16_t nr, hv, kernel, user;
};

#define ANYPERF_LEGACY_IOC_ENABLE     0x2400
#define ANYPERF_LEGACY_IOC_DISABLE    0x2401
#define ANYPERF_LEGACY_IOC_REFRESH    0x2402
#define ANYPERF_LEGACY_IOC_FLAG_GROUP 1

/*
 * As sys_perf_event_open of 2009: a descriptor, or -1 and errno.  flags must be 0; any negative pid means all
 * tasks; an event that cannot be counted is EINVAL.
 */
int anyperf_legacy_open(const struct anyperf_legacy_attr *attr, int pid, int cpu, int group_fd,
			unsigned long flags);

/* read(2), mmap(2) and munmap(2), for any descriptor and address. */
long anyperf_legacy_read(int fd, void *buf, size_t size);
void *anyperf_legacy_mmap(void *addr, size_t size, int prot, int flags, int fd, long offset);
int anyperf_legacy_munmap(void *addr, size_t size);

/* Brings all mapped buffers of this process up to date; 0. */
size_t anyperf_legacy_sync(void);
/* Of a mapping with data: its data_head, brought up to date. */
uint32_t anyperf_legacy_data_head(const struct anyperf_legacy_page *page);
/* How many records the buffer had no room for, because nobody took out what was in it. */
uint64_t anyperf_legacy_lost(const struct anyperf_legacy_page *page);

#if defined(__x86_64__) || defined(__i386__)
/* The counter that a page's index - 1 names. */
static inline uint64_t anyperf_legacy_pmc_read(uint32_t counter)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
	return (uint64_t)high << 32 | low;
}
#endif

#ifdef __cplusplus
}
#endif

#ifdef ANYPERF_LEGACY_NAMES
#include <anyperf/legacy_names.h>
#endif

#endif
