/* SPDX-License-Identifier: MIT */
/* proccall.c: what /proc/PID/syscall says of threads of this process. */
#ifndef AP_ENGINE_PROCCALL_H
#define AP_ENGINE_PROCCALL_H

#include "base/types.h"

struct ap_thread;

#define AP_PROCCALL_LINE 256

/* The task that the file of this name, which ends so, is of, as t's process sees it; 0: it is another file. */
u32 ap_proccall_tid(const struct ap_thread *t, const char *path);
/* What it says of that thread to the program, where the kernel says line; its length.  Process lock held. */
u64 ap_proccall_line(u32 tid, const char *line, u64 len, char *to, u64 cap);

#endif
