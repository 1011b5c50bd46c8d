/* SPDX-License-Identifier: MIT */
/*
 * Where the blob goes in an address space, and what the engine wants to know of the others there.
 */
#ifndef AP_LINUX_PTRACE_HOLE_H
#define AP_LINUX_PTRACE_HOLE_H

#include "abi/boot.h"
#include "base/types.h"
#include "inject/proc.h"

#define AP_HOLE_DISTANCE (1280ULL << 20)
#define AP_HOLE_STEP	 (256ULL << 20)
#define AP_HOLE_TRIES	 32

struct ap_layout {
	u64 anchor; /* an address inside the cluster of the interpreter and of later mappings */
	u64 lowest; /* start of its lowest mapping */
	u64 stack;  /* start of the first thread's stack */
	struct ap_boot *boot; /* takes the executable ranges */
};

/* Walks the task's mappings.  anchor is set by the caller and may be 0: nothing is known yet. */
AP_MUST_CHECK int ap_layout_read(pid_t pid, struct ap_layout *lay);
void ap_layout_add(struct ap_layout *lay, const struct ap_proc_map *map);

/* So much goes to a multiple of that, where the kernel may have one page for it. */
#define AP_HOLE_HUGE (2ULL << 20)

/* The try'th place for size bytes below the cluster, 0 when there is none left. */
u64 ap_hole_candidate(const struct ap_layout *lay, u64 size, unsigned int try);

#endif
