/* SPDX-License-Identifier: MIT */
/*
 * Says in words what refuses ptrace or another call on this machine and what to change.
 */
#ifndef AP_LINUX_REFUSAL_H
#define AP_LINUX_REFUSAL_H

#include <stddef.h>
#include <sys/types.h>

#include "base/types.h"

/* err is what PTRACE_SEIZE of our own child gave. */
void ap_refusal_text(int err, char *text, size_t size);
/* Pid of whoever traces the task, 0 nobody. */
pid_t ap_tracer_of(pid_t pid);
/*
 * False where /proc is missing or has other names for processes than we: nothing can be injected.
 */
bool ap_proc_is_ours(void);
/* The first of the calls that a session cannot do without and that a filter refuses; NULL none. */
const char *ap_refused_call(void);
/* The text from numbers alone: yama -1 means that there is no Yama. */
const char *ap_refusal_reason(int err, int yama, unsigned int seccomp);

#endif
