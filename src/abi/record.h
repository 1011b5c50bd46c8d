/* SPDX-License-Identifier: MIT */
/*
 * Records of the data area, and of perf.data files, as today's Linux lays them out: for code that
 * writes them (src/sampling) and code that parses them.  perf_event_open(2) says what they mean;
 * the kernel's names with AP_ before them.  Every record is a multiple of 8 bytes long; strings are
 * NUL terminated and padded with zeros.  After the parts given here comes, where the event has
 * sample_id_all, the trailer: TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER, those that sample_type
 * has.
 */
#ifndef AP_ABI_RECORD_H
#define AP_ABI_RECORD_H

#include "base/types.h"

enum ap_perf_record_type {
	AP_PERF_RECORD_MMAP = 1,
	AP_PERF_RECORD_LOST = 2,
	AP_PERF_RECORD_COMM = 3,
	AP_PERF_RECORD_EXIT = 4,
	AP_PERF_RECORD_THROTTLE = 5,
	AP_PERF_RECORD_UNTHROTTLE = 6,
	AP_PERF_RECORD_FORK = 7,
	AP_PERF_RECORD_READ = 8,
	AP_PERF_RECORD_SAMPLE = 9,
	AP_PERF_RECORD_MMAP2 = 10,
	AP_PERF_RECORD_AUX = 11,
	AP_PERF_RECORD_ITRACE_START = 12,
	AP_PERF_RECORD_LOST_SAMPLES = 13,
	AP_PERF_RECORD_SWITCH = 14,
	AP_PERF_RECORD_SWITCH_CPU_WIDE = 15,
	AP_PERF_RECORD_NAMESPACES = 16,
	AP_PERF_RECORD_KSYMBOL = 17,
	AP_PERF_RECORD_BPF_EVENT = 18,
	AP_PERF_RECORD_CGROUP = 19,
	AP_PERF_RECORD_TEXT_POKE = 20,
	AP_PERF_RECORD_AUX_OUTPUT_HW_ID = 21,
	AP_PERF_RECORD_MAX,
	/* Not Linux', of events that asked for it (AP_PERF_IOC_RECORD_MUNMAP): laid out as MMAP */
	AP_PERF_RECORD_MUNMAP = 0x2009
};

/* header.misc */
#define AP_PERF_RECORD_MISC_CPUMODE_MASK       7U
#define AP_PERF_RECORD_MISC_CPUMODE_UNKNOWN    0U
#define AP_PERF_RECORD_MISC_KERNEL	       1U
#define AP_PERF_RECORD_MISC_USER	       2U
#define AP_PERF_RECORD_MISC_HYPERVISOR	       3U
#define AP_PERF_RECORD_MISC_GUEST_KERNEL       4U
#define AP_PERF_RECORD_MISC_GUEST_USER	       5U
#define AP_PERF_RECORD_MISC_PROC_MAP_TIMEOUT   (1U << 12)
#define AP_PERF_RECORD_MISC_MMAP_DATA	       (1U << 13)
#define AP_PERF_RECORD_MISC_COMM_EXEC	       (1U << 13)
#define AP_PERF_RECORD_MISC_FORK_EXEC	       (1U << 13)
#define AP_PERF_RECORD_MISC_SWITCH_OUT	       (1U << 13)
#define AP_PERF_RECORD_MISC_EXACT_IP	       (1U << 14)
#define AP_PERF_RECORD_MISC_SWITCH_OUT_PREEMPT (1U << 14)
#define AP_PERF_RECORD_MISC_MMAP_BUILD_ID      (1U << 14)
#define AP_PERF_RECORD_MISC_EXT_RESERVED       (1U << 15)

#define AP_PERF_RECORD_SIZE_MAX (65536U - 8) /* size has 16 bits */

/* In callchains. */
#define AP_PERF_CONTEXT_HV	     ((u64)-32)
#define AP_PERF_CONTEXT_KERNEL	     ((u64)-128)
#define AP_PERF_CONTEXT_USER	     ((u64)-512)
#define AP_PERF_CONTEXT_GUEST	     ((u64)-2048)
#define AP_PERF_CONTEXT_GUEST_KERNEL ((u64)-2176)
#define AP_PERF_CONTEXT_GUEST_USER   ((u64)-2560)
#define AP_PERF_CONTEXT_MAX	     ((u64)-4095)

/* abi words of REGS_USER and REGS_INTR */
#define AP_PERF_SAMPLE_REGS_ABI_NONE 0U /* no registers follow */
#define AP_PERF_SAMPLE_REGS_ABI_32   1U
#define AP_PERF_SAMPLE_REGS_ABI_64   2U

struct ap_perf_event_header {
	u32 type;
	u16 misc;
	u16 size;
};

/* What follows the header; names of [] length follow it. */
struct ap_perf_record_mmap {
	u32 pid, tid;
	u64 addr, len, pgoff;
};

struct ap_perf_record_mmap2 {
	u32 pid, tid;
	u64 addr, len, pgoff;
	union {
		struct {
			u32 maj, min;
			u64 ino, ino_generation;
		};
		struct { /* AP_PERF_RECORD_MISC_MMAP_BUILD_ID */
			u8 build_id_size;
			u8 reserved_1;
			u16 reserved_2;
			u8 build_id[20];
		};
	};
	u32 prot, flags;
};

struct ap_perf_record_comm {
	u32 pid, tid;
};

struct ap_perf_record_task { /* EXIT and FORK */
	u32 pid, ppid;
	u32 tid, ptid;
	u64 time;
};

struct ap_perf_record_lost {
	u64 id, lost;
};

struct ap_perf_record_lost_samples {
	u64 lost;
};

struct ap_perf_record_throttle { /* and UNTHROTTLE */
	u64 time, id, stream_id;
};

struct ap_perf_record_read { /* read_format's words follow */
	u32 pid, tid;
};

struct ap_perf_record_switch_cpu_wide {
	u32 next_prev_pid, next_prev_tid;
};

struct ap_perf_ns_link {
	u64 dev, ino;
};

#define AP_PERF_NS_MAX 7 /* net, uts, ipc, pid, user, mnt, cgroup */

struct ap_perf_record_namespaces { /* struct ap_perf_ns_link[nr] follows */
	u32 pid, tid;
	u64 nr;
};

struct ap_perf_record_ksymbol { /* name[] */
	u64 addr;
	u32 len;
	u16 ksym_type, flags;
};

struct ap_perf_record_bpf_event {
	u16 type, flags;
	u32 id;
	u8 tag[8];
};

struct ap_perf_record_cgroup { /* path[] */
	u64 id;
};

struct ap_perf_record_text_poke { /* u8 bytes[old_len + new_len], padded */
	u64 addr;
	u16 old_len, new_len;
};

/* An entry of a branch stack.  flags: mispred 0, predicted 1, in_tx 2, abort 3, cycles 4..19,
 * type 20..23, spec 24..25, new_type 26..29, priv 30..32. */
struct ap_perf_branch_entry {
	u64 from, to, flags;
};

_Static_assert(sizeof(struct ap_perf_event_header) == 8, "record layout");
_Static_assert(sizeof(struct ap_perf_record_mmap2) == 64, "record layout");
_Static_assert(sizeof(struct ap_perf_record_task) == 24, "record layout");

#endif
