/* SPDX-License-Identifier: MIT */
/*
 * Which descriptor numbers are perf ones.  A number's meaning changes only by calls that close it:
 * those are announced by ap_fds_change before and ap_fds_changed after.
 */
#ifndef AP_SERVICE_FDS_H
#define AP_SERVICE_FDS_H

#include "base/types.h"

/* The inode of the event behind a number of the calling task; 0: no perf descriptor. */
u64 ap_fds_event(s32 fd);
/* It is perfctr's: its last close is nothing to wait for, and one of its calls answers always alike. */
void ap_fds_mark_perfctr(s32 fd, u64 inode);
bool ap_fds_is_perfctr(s32 fd);
/* The same of the generated tree: what ap_tree_look said, 0 none. */
u64 ap_fds_tree(s32 fd);
/*
 * Numbers first..last are about to lose their meaning; and have lost it, or not.  The first gives the
 * inode of an event that is known to be among them, with AP_FDS_PERFCTR if it is marked so.
 */
#define AP_FDS_PERFCTR (1ULL << 59)
u64 ap_fds_change(u32 first, u32 last);
void ap_fds_changed(u32 first, u32 last);
/* From now on other tasks may change numbers unseen: nothing is remembered. */
void ap_fds_forget(void);

#endif
