/* SPDX-License-Identifier: MIT */
/* taken.c: code that the kernel takes away, other than by unmapping it.  Process lock held, where nothing else is said. */
#ifndef AP_ENGINE_TAKEN_H
#define AP_ENGINE_TAKEN_H

#include "base/types.h"
#include "engine/runtime/proc.h"

/* A fork's child does not have [start, end), or has zeros there. */
#define AP_TAKEN_FORK 1
#define AP_TAKEN_WIPE 2
/* What a child does not have of what is mapped at addr, as bits. */
u32 ap_taken_at(u64 addr);
void ap_taken_set(u64 start, u64 end, u32 how);
/* Something else is mapped there now, or nothing. */
void ap_taken_unmap(u64 start, u64 end);
/* In a fork's child, before it runs any code. */
void ap_taken_in_child(void);

/* Is it one that takes something away, now or in a fork?  Takes no lock. */
bool ap_taken_is_advice(u64 advice);
/* madvise has said so of [start, end). */
void ap_taken_advised(u64 start, u64 end, u64 advice);

/* The file behind a descriptor has been mapped to be executed; takes no lock. */
void ap_taken_executes(s32 fd);
/* Something may be executed of which no descriptor told. */
void ap_taken_executes_more(void);
/* A part of a file is gone, or holds something else at once; these take the lock. */
void ap_taken_from(u64 ino);
void ap_taken_from_fd(s32 fd);
/* An open with these flags gave this descriptor; takes the lock. */
void ap_taken_opened(s32 fd, u64 flags);
/* What others have taken. */
extern u32 ap_taken_seen;
void ap_taken_look(void);
static inline bool ap_taken_is_due(void)
{
	return __atomic_load_n(&ap_proc.board->ntaken, __ATOMIC_RELAXED) != ap_taken_seen;
}

#endif
