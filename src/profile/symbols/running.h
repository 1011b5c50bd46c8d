/* SPDX-License-Identifier: MIT */
/*
 * Records for what was there before the first event was opened: the kernel tells of a fork, a name
 * or a mapping when it happens, so what runs already is told by us, from /proc, in the same records
 * without a time.  A task that ends while it is looked at is told of as far as it went.
 */
#ifndef AP_PROFILE_RUNNING_H
#define AP_PROFILE_RUNNING_H

#include <sys/types.h>

#include "abi/perf.h"
#include "base/types.h"
#include "profile/data/record_buf.h"

/* Bytes behind other records than samples: zeros in ours (attr.sample_id_all). */
size_t ap_trailer_size(const struct ap_perf_attr *attr);

struct ap_running {
	struct ap_buf *to;
	size_t trailer;
	bool data;     /* mappings that are not code as well */
	bool build_id; /* of each mapping's file in place of its inode */
	bool no_tasks, no_mappings;
};

/* The process with all of its threads. */
void ap_running_process(const struct ap_running *r, pid_t pid);
/* One name: what will exec has nothing else yet that anybody would want to know. */
void ap_running_comm(const struct ap_running *r, pid_t pid, pid_t tid, const char *comm);
/* The kernel's text and modules; nothing where the kernel hides addresses. */
void ap_running_kernel(const struct ap_running *r);

/* Cgroups that there are, where cgroup2 is mounted. */
void ap_running_cgroups(const struct ap_running *r);

/* What readers want to know of ids and places. */
struct ap_id_place {
	u64 id;
	u64 index; /* of the data area */
	s64 cpu, tid;
};

void ap_record_id_index(struct ap_buf *to, const struct ap_id_place *place, size_t n);
struct ap_thread_name {
	pid_t tid;
	char comm[16];
};
void ap_record_thread_map(struct ap_buf *to, const struct ap_thread_name *thread, size_t n);
void ap_record_cpu_map(struct ap_buf *to, const u16 *cpu, size_t n);
void ap_record_event_name(struct ap_buf *to, u64 id, const char *name);
/* Only where the control page can tell. */
void ap_record_time_conv(struct ap_buf *to, const struct ap_perf_page *page);

#endif
