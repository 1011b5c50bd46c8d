/* SPDX-License-Identifier: MIT */
/*
 * Inside the service: the groups of calls that ap_service_before and ap_service_after choose from.
 * Each answers with what the program shall find in rax.
 */
#ifndef AP_SERVICE_CALLS_H
#define AP_SERVICE_CALLS_H

#include "abi/perf.h"
#include "base/types.h"
#include "service/service.h"

/* open.c: perf_event_open */
s64 ap_svc_open(const struct ap_service_call *c);
/* A struct perf_event_attr of the program's: 0, -EFAULT, or -E2BIG with our size written back. */
AP_MUST_CHECK s64 ap_svc_attr(struct ap_perf_attr *attr, u64 from);

/* read.c */
s64 ap_svc_read(u64 inode, u64 buf, u64 size);
s64 ap_svc_readv(u64 inode, u64 iov, u64 n);

/* control.c; true: *ret is the answer, false: it is the kernel's business */
bool ap_svc_ioctl(u64 inode, u64 cmd, u64 arg, s64 *ret);
s64 ap_svc_prctl(bool enable);

#endif
