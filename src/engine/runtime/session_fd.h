/* SPDX-License-Identifier: MIT */
/*
 * The session's descriptors, in a table that the program has as well: session_fd.c.
 */
#ifndef AP_ENGINE_SESSION_FD_H
#define AP_ENGINE_SESSION_FD_H

#include "base/types.h"

struct ap_thread;

s32 ap_fd(const struct ap_thread *t);
s32 ap_head_fd(const struct ap_thread *t);
bool ap_fd_is_ours(const struct ap_thread *t, u64 fd);
/* The one that is old now has another number. */
void ap_fd_set_number(struct ap_thread *t, s32 old, s32 fd);
/* The party's is another one from now on, and the former one closed. */
void ap_fd_replace(struct ap_thread *t, s32 fd);
void ap_fd_forget(struct ap_thread *t);
/* Another process is about to have these descriptors too; and a child that has been made has its own. */
void ap_fd_share(const struct ap_thread *t);
void ap_fd_unshare(void);
bool ap_fd_is_shared(void);
/* Shared, and not the party's any more, or about to be that no more: nothing is to be mapped of it. */
bool ap_fd_is_lost(const struct ap_thread *t);
/* Whether an exec closes both. */
void ap_fd_set_cloexec(const struct ap_thread *t, bool on);
/* This task's descriptors are its own from now on; those of the same memory keep the old table. */
void ap_fd_unshare_table(struct ap_thread *t);

#endif
