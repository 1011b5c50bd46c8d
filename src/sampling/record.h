/* SPDX-License-Identifier: MIT */
/*
 * Records as the kernel writes them, straight into a ring: samples from what was gathered, and
 * side-band records from what the host tells.  The order of fields is that of perf_event_open(2).
 */
#ifndef AP_SAMPLING_RECORD_H
#define AP_SAMPLING_RECORD_H

#include "abi/sampler.h"
#include "sampling/ring.h"

#define AP_RECORD_TRAILER_MAX 48U

/* What of an event says how its records look. */
struct ap_record_format {
	u64 sample_type, read_format, flags, branch_sample_type, regs_user, regs_intr;
	u32 stack_user;
	u32 wakeup_events; /* 0 where the event has a watermark */
	u64 id, stream_id; /* a clone has its parent's id */
};

void ap_record_format_of(const struct ap_sampler *s, struct ap_record_format *out);

/* Where and when: pids as the event's owner sees them. */
struct ap_record_origin {
	u32 pid, tid;
	u64 time;
	u32 cpu;
	/* The time is what this says when all else of the record is written; NULL: it is known. */
	u64 (*now)(const void *arg);
	const void *now_arg;
};

/* What a sample may carry.  Only what sample_type asks for is looked at. */
struct ap_sample_data {
	u16 misc; /* AP_PERF_RECORD_MISC_* */
	struct ap_record_origin origin;
	u64 ip, addr, period;
	const u64 *read; /* words as read(2) gives them */
	u32 nr_read;
	u32 nr_chain;
	const u64 *chain; /* with its context markers */
	const void *raw;  /* NULL: the event has none, which is 4 bytes of 0 */
	u32 raw_size;
	u32 nr_branches;
	const struct ap_perf_branch_entry *branches; /* NULL: none were recorded */
	u64 branch_hw_index;
	u64 regs_user_abi, regs_intr_abi; /* AP_PERF_SAMPLE_REGS_ABI_* */
	const u64 *regs_user, *regs_intr; /* by number: AP_PERF_REG_X86_* */
	u64 user_sp;			  /* of the user stack's dump */
	ap_guarded_copy *copy;		  /* for it; NULL: no stack can be had */
	void *copy_arg;
	u64 weight; /* or struct perf_sample_weight */
	u64 data_src, transaction, phys_addr, cgroup, data_page_size, code_page_size;
};

/*
 * 0 and *wakes (waiters are to be woken), or as ap_ring_begin.  A record longer than
 * a size can say loses the end of its user stack, then of its callchain.
 */
AP_MUST_CHECK int ap_sample_write(const struct ap_ring_map *map,
				  const struct ap_ring_writer *writer,
				  const struct ap_record_format *f, const struct ap_sample_data *d,
				  bool *wakes);

/* sample_id_all's fields, in out; their size in bytes (0 without the flag). */
u32 ap_record_trailer(const struct ap_record_format *f, const struct ap_record_origin *origin,
		      u64 out[AP_RECORD_TRAILER_MAX / 8]);

/* The owner of a record, with the trailer that its LOST record has. */
void ap_record_owner_of(const struct ap_record_format *f, const struct ap_record_origin *origin,
			u64 trailer[AP_RECORD_TRAILER_MAX / 8], struct ap_ring_owner *out);

/* A record with its place: what all the following have in common. */
struct ap_record_to {
	const struct ap_ring_map *map;
	const struct ap_ring_writer *writer;
	const struct ap_record_format *format;
	const struct ap_record_origin *origin; /* of the trailer, THROTTLE's time, and pids */
	bool *wakes;			       /* set where a wakeup is due, else left alone */
};

/*
 * Any side-band record: the fixed part behind the header, then `more` bytes, padded with zeros to
 * a multiple of 8, then the trailer.
 */
AP_MUST_CHECK int ap_record_write(const struct ap_record_to *to, u32 type, u16 misc,
				  const void *fixed, u32 fixed_size, const void *more,
				  u32 more_size);

/* A mapping: of the origin's address space. */
struct ap_record_mapping {
	u64 addr, len, pgoff;
	u32 maj, min;
	u64 ino, ino_generation;
	u32 prot, flags; /* PROT_*, MAP_* */
	u8 build_id[20];
	u8 build_id_size;     /* 0: not known */
	const char *filename; /* "//anon" and so on where there is none */
};

/* MMAP2 for events with that flag, MMAP for others. */
AP_MUST_CHECK int ap_record_mapping(const struct ap_record_to *to,
				    const struct ap_record_mapping *m);
/* The same of one that has gone: AP_PERF_RECORD_MUNMAP. */
AP_MUST_CHECK int ap_record_unmapping(const struct ap_record_to *to,
				      const struct ap_record_mapping *m);
/* Of the task itself, or of another one of its process that it has named: by its pid and tid. */
AP_MUST_CHECK int ap_record_comm(const struct ap_record_to *to, const char *comm, bool is_exec);
AP_MUST_CHECK int ap_record_comm_of(const struct ap_record_to *to, u32 pid, u32 tid,
				    const char *comm);
/* type: AP_PERF_RECORD_FORK, with the child's ids, or AP_PERF_RECORD_EXIT. */
AP_MUST_CHECK int ap_record_task(const struct ap_record_to *to, u32 type, u32 pid, u32 tid,
				 u32 ppid, u32 ptid);
AP_MUST_CHECK int ap_record_throttle(const struct ap_record_to *to, bool is_throttled);
AP_MUST_CHECK int ap_record_read(const struct ap_record_to *to, const u64 *words, u32 nr);
AP_MUST_CHECK int ap_record_switch(const struct ap_record_to *to, bool is_out, bool is_preempted);
AP_MUST_CHECK int ap_record_switch_cpu_wide(const struct ap_record_to *to, bool is_out,
					    bool is_preempted, u32 pid, u32 tid);
AP_MUST_CHECK int ap_record_namespaces(const struct ap_record_to *to, u32 pid, u32 tid,
				       const struct ap_perf_ns_link *links, u32 nr);
AP_MUST_CHECK int ap_record_ksymbol(const struct ap_record_to *to,
				    const struct ap_perf_record_ksymbol *symbol, const char *name);
AP_MUST_CHECK int ap_record_bpf_event(const struct ap_record_to *to,
				      const struct ap_perf_record_bpf_event *event);
AP_MUST_CHECK int ap_record_cgroup(const struct ap_record_to *to, u64 id, const char *path);
AP_MUST_CHECK int ap_record_text_poke(const struct ap_record_to *to, u64 addr, const void *old,
				      u16 old_len, const void *new, u16 new_len);
AP_MUST_CHECK int ap_record_lost_samples(const struct ap_record_to *to, u64 lost);

#endif
