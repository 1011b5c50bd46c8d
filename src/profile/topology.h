/* SPDX-License-Identifier: MIT */
/*
 * Which CPU is in which socket: the section CPU_TOPOLOGY, as it is written of this machine and read of any.
 */
#ifndef AP_PROFILE_TOPOLOGY_H
#define AP_PROFILE_TOPOLOGY_H

#include "profile/buf.h"
#include "profile/data.h"

struct ap_topology {
	s32 *socket; /* of each CPU */
	u32 n;	     /* 0: the file does not tell */
};

void ap_topology_read(struct ap_topology *t, struct ap_data *d);
/* Of this machine. */
void ap_topology_ask(struct ap_topology *t, u32 ncpus);
void ap_topology_fini(struct ap_topology *t);
/* -1: unknown */
s32 ap_topology_socket(const struct ap_topology *t, u32 cpu);

/* The section of this machine; nothing where its sysfs does not tell of all ncpus. */
void ap_topology_put(struct ap_buf *to, u32 ncpus);
/* Its nodes of memory, for the section NUMA_TOPOLOGY: without it perf's c2c does not read a file. */
void ap_topology_put_nodes(struct ap_buf *to);

#endif
