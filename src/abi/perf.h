/* SPDX-License-Identifier: MIT */
/*
 * The perf_event user ABI as today's Linux has it: our own copy of the layouts and numbers of
 * <linux/perf_event.h>, because the core knows no Linux header and the installed one may be older
 * (attr VER8 has 136 bytes).  tests/unit/abi/perf_test.c holds what the installed header has equal
 * to this.  The kernel's names with AP_ before them; perf_event_open(2) says what they mean.
 */
#ifndef AP_ABI_PERF_H
#define AP_ABI_PERF_H

#include "base/types.h"

#define AP_PERF_ATTR_SIZE_VER0 64U
#define AP_PERF_ATTR_SIZE_VER1 72U
#define AP_PERF_ATTR_SIZE_VER2 80U
#define AP_PERF_ATTR_SIZE_VER3 96U
#define AP_PERF_ATTR_SIZE_VER4 104U
#define AP_PERF_ATTR_SIZE_VER5 112U
#define AP_PERF_ATTR_SIZE_VER6 120U
#define AP_PERF_ATTR_SIZE_VER7 128U
#define AP_PERF_ATTR_SIZE_VER8 136U

enum ap_perf_type {
	AP_PERF_TYPE_HARDWARE = 0,
	AP_PERF_TYPE_SOFTWARE = 1,
	AP_PERF_TYPE_TRACEPOINT = 2,
	AP_PERF_TYPE_HW_CACHE = 3,
	AP_PERF_TYPE_RAW = 4,
	AP_PERF_TYPE_BREAKPOINT = 5,
	AP_PERF_TYPE_MAX = 6
};

enum ap_perf_hw_id {
	AP_PERF_COUNT_HW_CPU_CYCLES = 0,
	AP_PERF_COUNT_HW_INSTRUCTIONS = 1,
	AP_PERF_COUNT_HW_CACHE_REFERENCES = 2,
	AP_PERF_COUNT_HW_CACHE_MISSES = 3,
	AP_PERF_COUNT_HW_BRANCH_INSTRUCTIONS = 4,
	AP_PERF_COUNT_HW_BRANCH_MISSES = 5,
	AP_PERF_COUNT_HW_BUS_CYCLES = 6,
	AP_PERF_COUNT_HW_STALLED_CYCLES_FRONTEND = 7,
	AP_PERF_COUNT_HW_STALLED_CYCLES_BACKEND = 8,
	AP_PERF_COUNT_HW_REF_CPU_CYCLES = 9,
	AP_PERF_COUNT_HW_MAX
};

/* config of a cache event: id | op << 8 | result << 16 */
enum ap_perf_hw_cache_id {
	AP_PERF_COUNT_HW_CACHE_L1D = 0,
	AP_PERF_COUNT_HW_CACHE_L1I = 1,
	AP_PERF_COUNT_HW_CACHE_LL = 2,
	AP_PERF_COUNT_HW_CACHE_DTLB = 3,
	AP_PERF_COUNT_HW_CACHE_ITLB = 4,
	AP_PERF_COUNT_HW_CACHE_BPU = 5,
	AP_PERF_COUNT_HW_CACHE_NODE = 6,
	AP_PERF_COUNT_HW_CACHE_MAX
};

enum ap_perf_hw_cache_op_id {
	AP_PERF_COUNT_HW_CACHE_OP_READ = 0,
	AP_PERF_COUNT_HW_CACHE_OP_WRITE = 1,
	AP_PERF_COUNT_HW_CACHE_OP_PREFETCH = 2,
	AP_PERF_COUNT_HW_CACHE_OP_MAX
};

enum ap_perf_hw_cache_op_result_id {
	AP_PERF_COUNT_HW_CACHE_RESULT_ACCESS = 0,
	AP_PERF_COUNT_HW_CACHE_RESULT_MISS = 1,
	AP_PERF_COUNT_HW_CACHE_RESULT_MAX
};

enum ap_perf_sw_id {
	AP_PERF_COUNT_SW_CPU_CLOCK = 0,
	AP_PERF_COUNT_SW_TASK_CLOCK = 1,
	AP_PERF_COUNT_SW_PAGE_FAULTS = 2,
	AP_PERF_COUNT_SW_CONTEXT_SWITCHES = 3,
	AP_PERF_COUNT_SW_CPU_MIGRATIONS = 4,
	AP_PERF_COUNT_SW_PAGE_FAULTS_MIN = 5,
	AP_PERF_COUNT_SW_PAGE_FAULTS_MAJ = 6,
	AP_PERF_COUNT_SW_ALIGNMENT_FAULTS = 7,
	AP_PERF_COUNT_SW_EMULATION_FAULTS = 8,
	AP_PERF_COUNT_SW_DUMMY = 9,
	AP_PERF_COUNT_SW_BPF_OUTPUT = 10,
	AP_PERF_COUNT_SW_CGROUP_SWITCHES = 11,
	AP_PERF_COUNT_SW_MAX
};

/* attr.flags, the word of bit fields */
#define AP_PERF_DISABLED		 (1ULL << 0)
#define AP_PERF_INHERIT			 (1ULL << 1)
#define AP_PERF_PINNED			 (1ULL << 2)
#define AP_PERF_EXCLUSIVE		 (1ULL << 3)
#define AP_PERF_EXCLUDE_USER		 (1ULL << 4)
#define AP_PERF_EXCLUDE_KERNEL		 (1ULL << 5)
#define AP_PERF_EXCLUDE_HV		 (1ULL << 6)
#define AP_PERF_EXCLUDE_IDLE		 (1ULL << 7)
#define AP_PERF_MMAP			 (1ULL << 8)
#define AP_PERF_COMM			 (1ULL << 9)
#define AP_PERF_FREQ			 (1ULL << 10)
#define AP_PERF_INHERIT_STAT		 (1ULL << 11)
#define AP_PERF_ENABLE_ON_EXEC		 (1ULL << 12)
#define AP_PERF_TASK			 (1ULL << 13)
#define AP_PERF_WATERMARK		 (1ULL << 14)
#define AP_PERF_PRECISE_IP_SHIFT	 15
#define AP_PERF_PRECISE_IP		 (3ULL << 15)
#define AP_PERF_MMAP_DATA		 (1ULL << 17)
#define AP_PERF_SAMPLE_ID_ALL		 (1ULL << 18)
#define AP_PERF_EXCLUDE_HOST		 (1ULL << 19)
#define AP_PERF_EXCLUDE_GUEST		 (1ULL << 20)
#define AP_PERF_EXCLUDE_CALLCHAIN_KERNEL (1ULL << 21)
#define AP_PERF_EXCLUDE_CALLCHAIN_USER	 (1ULL << 22)
#define AP_PERF_MMAP2			 (1ULL << 23)
#define AP_PERF_COMM_EXEC		 (1ULL << 24)
#define AP_PERF_USE_CLOCKID		 (1ULL << 25)
#define AP_PERF_CONTEXT_SWITCH		 (1ULL << 26)
#define AP_PERF_WRITE_BACKWARD		 (1ULL << 27)
#define AP_PERF_NAMESPACES		 (1ULL << 28)
#define AP_PERF_KSYMBOL			 (1ULL << 29)
#define AP_PERF_BPF_EVENT		 (1ULL << 30)
#define AP_PERF_AUX_OUTPUT		 (1ULL << 31)
#define AP_PERF_CGROUP			 (1ULL << 32)
#define AP_PERF_TEXT_POKE		 (1ULL << 33)
#define AP_PERF_BUILD_ID		 (1ULL << 34)
#define AP_PERF_INHERIT_THREAD		 (1ULL << 35)
#define AP_PERF_REMOVE_ON_EXEC		 (1ULL << 36)
#define AP_PERF_SIGTRAP			 (1ULL << 37)
#define AP_PERF_FLAGS_ALL		 ((1ULL << 38) - 1)

struct ap_perf_attr {
	u32 type;
	u32 size;
	u64 config;
	u64 sample_period; /* or sample_freq */
	u64 sample_type;
	u64 read_format;
	u64 flags;	   /* AP_PERF_* */
	u32 wakeup_events; /* or wakeup_watermark */
	u32 bp_type;
	u64 config1; /* or bp_addr */
	u64 config2; /* or bp_len */
	u64 branch_sample_type;
	u64 sample_regs_user;
	u32 sample_stack_user;
	s32 clockid;
	u64 sample_regs_intr;
	u32 aux_watermark;
	u16 sample_max_stack;
	u16 reserved_2;
	u32 aux_sample_size;
	u32 reserved_3; /* AP_PERF_AUX_*: aux_action since 6.12 */
	u64 sig_data;
	u64 config3;
};

_Static_assert(sizeof(struct ap_perf_attr) == AP_PERF_ATTR_SIZE_VER8, "attr layout");

#define AP_PERF_AUX_START_PAUSED (1U << 0)
#define AP_PERF_AUX_PAUSE	 (1U << 1)
#define AP_PERF_AUX_RESUME	 (1U << 2)

/* attr.sample_regs_user of x86-64: no segment registers but cs and ss; vector ones above. */
#define AP_PERF_REGS_X86_64 0xffffffff00ff0fffULL

/* attr.clockid */
#define AP_CLOCK_REALTIME      0
#define AP_CLOCK_MONOTONIC     1
#define AP_CLOCK_MONOTONIC_RAW 4
#define AP_CLOCK_BOOTTIME      7
#define AP_CLOCK_TAI	       11

#define AP_PERF_FORMAT_TOTAL_TIME_ENABLED (1ULL << 0)
#define AP_PERF_FORMAT_TOTAL_TIME_RUNNING (1ULL << 1)
#define AP_PERF_FORMAT_ID		  (1ULL << 2)
#define AP_PERF_FORMAT_GROUP		  (1ULL << 3)
#define AP_PERF_FORMAT_LOST		  (1ULL << 4)
#define AP_PERF_FORMAT_MAX		  (1ULL << 5)

#define AP_PERF_SAMPLE_IP	      (1ULL << 0)
#define AP_PERF_SAMPLE_TID	      (1ULL << 1)
#define AP_PERF_SAMPLE_TIME	      (1ULL << 2)
#define AP_PERF_SAMPLE_ADDR	      (1ULL << 3)
#define AP_PERF_SAMPLE_READ	      (1ULL << 4)
#define AP_PERF_SAMPLE_CALLCHAIN      (1ULL << 5)
#define AP_PERF_SAMPLE_ID	      (1ULL << 6)
#define AP_PERF_SAMPLE_CPU	      (1ULL << 7)
#define AP_PERF_SAMPLE_PERIOD	      (1ULL << 8)
#define AP_PERF_SAMPLE_STREAM_ID      (1ULL << 9)
#define AP_PERF_SAMPLE_RAW	      (1ULL << 10)
#define AP_PERF_SAMPLE_BRANCH_STACK   (1ULL << 11)
#define AP_PERF_SAMPLE_REGS_USER      (1ULL << 12)
#define AP_PERF_SAMPLE_STACK_USER     (1ULL << 13)
#define AP_PERF_SAMPLE_WEIGHT	      (1ULL << 14)
#define AP_PERF_SAMPLE_DATA_SRC	      (1ULL << 15)
#define AP_PERF_SAMPLE_IDENTIFIER     (1ULL << 16)
#define AP_PERF_SAMPLE_TRANSACTION    (1ULL << 17)
#define AP_PERF_SAMPLE_REGS_INTR      (1ULL << 18)
#define AP_PERF_SAMPLE_PHYS_ADDR      (1ULL << 19)
#define AP_PERF_SAMPLE_AUX	      (1ULL << 20)
#define AP_PERF_SAMPLE_CGROUP	      (1ULL << 21)
#define AP_PERF_SAMPLE_DATA_PAGE_SIZE (1ULL << 22)
#define AP_PERF_SAMPLE_CODE_PAGE_SIZE (1ULL << 23)
#define AP_PERF_SAMPLE_WEIGHT_STRUCT  (1ULL << 24)
#define AP_PERF_SAMPLE_MAX	      (1ULL << 25)

#define AP_PERF_SAMPLE_BRANCH_USER	 (1ULL << 0)
#define AP_PERF_SAMPLE_BRANCH_KERNEL	 (1ULL << 1)
#define AP_PERF_SAMPLE_BRANCH_HV	 (1ULL << 2)
#define AP_PERF_SAMPLE_BRANCH_PLM_ALL	 7ULL
#define AP_PERF_SAMPLE_BRANCH_CALL_STACK (1ULL << 11)
#define AP_PERF_SAMPLE_BRANCH_HW_INDEX	 (1ULL << 17)
#define AP_PERF_SAMPLE_BRANCH_COUNTERS	 (1ULL << 19)
#define AP_PERF_SAMPLE_BRANCH_MAX	 (1ULL << 20) /* COUNTERS (bit 19) is the newest */

#define AP_PERF_FLAG_FD_NO_GROUP (1ULL << 0)
#define AP_PERF_FLAG_FD_OUTPUT	 (1ULL << 1)
#define AP_PERF_FLAG_PID_CGROUP	 (1ULL << 2)
#define AP_PERF_FLAG_FD_CLOEXEC	 (1ULL << 3)
#define AP_PERF_FLAG_ALL	 15ULL

/*
 * What perf_event_open's group_fd is for, by its flags: its event leads, and its event's buffer
 * takes the records.  With neither it has to be an event's, and no more.  This is the only place
 * that says it.
 */
static inline bool ap_perf_fd_leads(u64 flags)
{
	return !(flags & AP_PERF_FLAG_FD_NO_GROUP);
}

static inline bool ap_perf_fd_takes_records(u64 flags)
{
	return flags & AP_PERF_FLAG_FD_OUTPUT;
}

#define AP_PERF_IOC_ENABLE	      0x2400U
#define AP_PERF_IOC_DISABLE	      0x2401U
#define AP_PERF_IOC_REFRESH	      0x2402U
#define AP_PERF_IOC_RESET	      0x2403U
#define AP_PERF_IOC_PERIOD	      0x40082404U
#define AP_PERF_IOC_SET_OUTPUT	      0x2405U
#define AP_PERF_IOC_SET_FILTER	      0x40082406U
#define AP_PERF_IOC_ID		      0x80082407U
#define AP_PERF_IOC_SET_BPF	      0x40042408U
#define AP_PERF_IOC_PAUSE_OUTPUT      0x40042409U
#define AP_PERF_IOC_QUERY_BPF	      0xc008240aU
#define AP_PERF_IOC_MODIFY_ATTRIBUTES 0x4008240bU
#define AP_PERF_IOC_FLAG_GROUP	      1U
/*
 * Not Linux', which says ENOTTY: in a session the event has AP_PERF_RECORD_MUNMAP records from here
 * on, with its clones.  For the ABI of 2009.
 */
#define AP_PERF_IOC_RECORD_MUNMAP 0x24f0U

#define AP_HW_BREAKPOINT_EMPTY 0U
#define AP_HW_BREAKPOINT_R     1U
#define AP_HW_BREAKPOINT_W     2U
#define AP_HW_BREAKPOINT_RW    3U
#define AP_HW_BREAKPOINT_X     4U

/* The control page: what precedes the data area of a mapping. */
struct ap_perf_page {
	u32 version;
	u32 compat_version;
	u32 lock; /* odd while it is written */
	u32 index;
	s64 offset;
	u64 time_enabled;
	u64 time_running;
	u64 capabilities; /* AP_PERF_CAP_* */
	u16 pmc_width;
	u16 time_shift;
	u32 time_mult;
	u64 time_offset;
	u64 time_zero;
	u32 size;
	u32 reserved_1;
	u64 time_cycles;
	u64 time_mask;
	u8 reserved[116 * 8];
	u64 data_head;
	u64 data_tail;
	u64 data_offset;
	u64 data_size;
	u64 aux_head;
	u64 aux_tail;
	u64 aux_offset;
	u64 aux_size;
};

_Static_assert(offsetof(struct ap_perf_page, data_head) == 1024, "control page layout");

#define AP_PERF_CAP_BIT0_IS_DEPRECATED (1ULL << 1)
#define AP_PERF_CAP_USER_RDPMC	       (1ULL << 2)
#define AP_PERF_CAP_USER_TIME	       (1ULL << 3)
#define AP_PERF_CAP_USER_TIME_ZERO     (1ULL << 4)
#define AP_PERF_CAP_USER_TIME_SHORT    (1ULL << 5)

#endif
