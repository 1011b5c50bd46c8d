/* SPDX-License-Identifier: MIT */
/* proccall.c: what /proc/PID/syscall says of threads of this process. */
#ifndef AP_ENGINE_PROCCALL_H
#define AP_ENGINE_PROCCALL_H

#include "base/types.h"

struct ap_thread;

#define AP_PROCCALL_LINE 256

/* Of whom the file of this name, which ends so, tells t's process; 0: it is another file. */
u32 ap_proccall_tid(const struct ap_thread *t, const char *path);
/* What it says of that thread to the program, where the kernel says line; its length.  Process lock held. */
u64 ap_proccall_line(u32 tid, const char *line, u64 len, char *to, u64 cap);

#endif
