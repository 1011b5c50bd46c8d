/* SPDX-License-Identifier: MIT */
/*
 * Which CPU is in which part of the machine: the sections CPU_TOPOLOGY and NUMA_TOPOLOGY, as they are written of this machine and
 * read of any.
 */
#ifndef AP_PROFILE_TOPOLOGY_H
#define AP_PROFILE_TOPOLOGY_H

#include "profile/data/data.h"
#include "profile/data/record_buf.h"

/* -1: unknown */
struct ap_topology_cpu {
	s32 socket, die, core, node;
};

struct ap_topology {
	struct ap_topology_cpu *cpu;
	u32 n; /* 0: the file does not tell */
};

void ap_topology_read(struct ap_topology *t, struct ap_data *d);
/* The sockets of this machine. */
void ap_topology_ask(struct ap_topology *t, u32 ncpus);
void ap_topology_fini(struct ap_topology *t);
s32 ap_topology_socket(const struct ap_topology *t, u32 cpu);
/* All unknown of a CPU that it does not tell of. */
struct ap_topology_cpu ap_topology_of(const struct ap_topology *t, u32 cpu);

/* The section of this machine; nothing where its sysfs does not tell of all ncpus. */
void ap_topology_put(struct ap_buf *to, u32 ncpus);
/* Its nodes of memory, for the section NUMA_TOPOLOGY: without it perf's c2c does not read a file. */
void ap_topology_put_nodes(struct ap_buf *to);

#endif
