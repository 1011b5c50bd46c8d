/* SPDX-License-Identifier: MIT */
/* profile.c: what exact profiles have counted (abi/profile.h), when nobody counts there any more. */
#ifndef AP_LINUX_PROFILE_H
#define AP_LINUX_PROFILE_H

#include "base/types.h"

struct ap_session_file;

/* An instruction of a block, and how often it was executed; the same may come more than once.  count may be below 0, to be added. */
struct ap_profile_count {
	u32 pid;
	u64 time; /* the mappings of its block are older; 0: any */
	u64 pc;
	s64 count;
};

/* What is missing: blocks and instructions that there was no room for, tables that could not be read. */
struct ap_profile_lost {
	u64 blocks, insns, tables;
};

typedef void (*ap_profile_fn)(void *arg, const struct ap_profile_count *c);

/* -errno: out of memory, or the file could not be read. */
AP_MUST_CHECK int ap_session_profile(const struct ap_session_file *s, ap_profile_fn fn, void *arg,
				     struct ap_profile_lost *lost);
/* A segment is about to be folded: whose process it was stays known. */
void ap_session_profile_name(const struct ap_session_file *s, u32 seg, u32 pid);

#endif
