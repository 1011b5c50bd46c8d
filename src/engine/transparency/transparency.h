/* SPDX-License-Identifier: MIT */
/*
 * What the program would see of the engine, and does not: its descriptors, its memory, its limits, its files in /proc.
 */
#ifndef AP_ENGINE_TRANSPARENCY_H
#define AP_ENGINE_TRANSPARENCY_H

#include "engine/runtime/session_fd.h"
#include "engine/transparency/call.h"

/* ours.c: as on a hole, where it is on memory of ours. */
bool ap_call_is_on_ours(u64 start, u64 len);
s64 ap_call_on_hole(const struct ap_call *c);
s64 ap_call_range(struct ap_thread *t, struct ap_call *c);
s64 ap_call_advise_parts(struct ap_thread *t, struct ap_call *c);
s64 ap_call_uffd(struct ap_thread *t, struct ap_call *c);
/*
 * The first part of [pos, end) that is none of the engine's: false when there is none.
 * Start with pos and go on with *hi.
 */
AP_MUST_CHECK bool ap_gap_next(u64 pos, u64 end, u64 *lo, u64 *hi);

s64 ap_call_mlock(struct ap_thread *t, struct ap_call *c);
/* mlock.c: MCL_* of what the program maps from now on, 0 not locked; and a call of sys_mem.c's that makes what is locked then. */
extern u32 ap_mlock_future;
s64 ap_mlock_memory(struct ap_thread *t, struct ap_call *c, ap_call_fn make);

/* fdguard.c: the session's descriptors, which the program must neither meet nor lose */
/* Moves a descriptor to where ours are, if it can; its number. */
s64 ap_fd_beside(const struct ap_thread *t, s32 fd);
/* True where the call's outcome is EBADF because it names our descriptor. */
bool ap_fd_is_hidden(const struct ap_thread *t, const struct ap_call *c);
s64 ap_call_fd(struct ap_thread *t, struct ap_call *c);
s64 ap_call_getdents(struct ap_thread *t, struct ap_call *c);
/* RLIMIT_NOFILE is about to become cur: the descriptor goes above it if it can. */
void ap_fd_limit(struct ap_thread *t, u64 cur);

/* limits.c */
s64 ap_call_rlimit(struct ap_thread *t, struct ap_call *c);
/* For the next image: ap_slot.exec_limits, exec_nofile. */
u32 ap_limits_shares(struct ap_thread *t);
u32 ap_limits_nofile(struct ap_thread *t);
/* The program's soft limits of AS and DATA, UINT64_MAX none; false: it has set none of them. */
bool ap_limits_memory(struct ap_thread *t, u64 *as, u64 *data);
/* vm_limit.c: would what the call maps be more than those let it have? */
bool ap_vm_limit_refuses(struct ap_thread *t, const struct ap_call *c);
/* Around making a file of so many bytes for the program; false: it cannot be. */
AP_MUST_CHECK bool ap_limits_file_begin(u64 size, u64 old[2]);
void ap_limits_file_end(const u64 old[2]);
/* What was a vfork child's own is that of the process which it has forked. */
void ap_limits_fork_child(struct ap_thread *t);
/* The kernel's are the program's again; is_gone: the engine's memory is about to go, too. */
void ap_limits_give_back(struct ap_thread *t, bool is_gone);

/* procfs.c */
s64 ap_call_open(struct ap_thread *t, struct ap_call *c);
s64 ap_call_read(struct ap_thread *t, struct ap_call *c);
/* Makes a copy of our maps anew, which the call may be about to read without reading. */
void ap_procfs_before_copy(const struct ap_thread *t, struct ap_call *c);
void ap_procfs_closes(void); /* before and after a call that closes a descriptor */
void ap_procfs_files_shared(void);
/* Was /proc/PID/mem ever opened?  Is it behind this descriptor? */
bool ap_procfs_any_mem(void);
bool ap_procfs_is_mem(s32 fd);

/* random.c: the same random bytes in each run, where the session wants that */
s64 ap_call_getrandom(struct ap_thread *t, struct ap_call *c);
void ap_random_opened(const char *path);
void ap_random_read(const struct ap_call *c, s64 ret); /* after a read that gave so many bytes */
u64 ap_random_next(void); /* of the process' numbers; also where those of a child begin */
/*
 * Where an image's begin: the same however often a signal has the exec made again.  A vfork child's is drawn, for its
 * parent's numbers go on behind it, to others.
 */
u64 ap_random_of_image(struct ap_thread *t);

#endif
