/* SPDX-License-Identifier: MIT */
/*
 * Requests to the supervisor (abi/service.h).  ap_request_begin gives the thread's request to fill
 * with signals held off, ap_request_ask sends it and waits, ap_request_end lets signals in.
 */
#ifndef AP_SERVICE_REQUEST_H
#define AP_SERVICE_REQUEST_H

#include "abi/service.h"
#include "base/types.h"

struct ap_request {
	struct ap_svc *svc;
	u64 mask;
	bool is_held; /* signals are */
};

/* 0, or AP_HOOK_AGAIN: nothing is held. */
AP_MUST_CHECK s64 ap_request_begin(struct ap_request *r, u32 op);
/* Where signals are held off already; needs no end. */
void ap_request_begin_held(struct ap_request *r, u32 op);
/* The answer, or -ENODEV where nobody gives one.  May be asked again, with another op. */
s64 ap_request_ask(struct ap_request *r);
/*
 * The same, taken back with -EAGAIN when nobody answers for long: the process that has stopped the supervisor may be
 * the one to wake it.
 */
s64 ap_request_ask_briefly(struct ap_request *r);
void ap_request_end(struct ap_request *r);
/* The supervisor shall look at the thread's log when it has time; nobody waits. */
void ap_request_point_out_log(void);

/* A perf descriptor is going to be there: from the return on all tasks of the session look at descriptors. */
void ap_request_use(void);

/* Only the doorbell: what the supervisor is to see is there. */
void ap_request_ring(void);

/* Has somebody waited in vain already?  Then nothing that needs a supervisor is to be trusted. */
bool ap_request_is_lost(void);

/* The inode of the event behind a descriptor, 0 of another file, -errno: nothing is there.  A request of its own: not while one is made. */
s64 ap_request_what(s32 fd);

/* CPU time of the calling thread in ns; 0 where the clock cannot be asked. */
u64 ap_request_cpu_time(void);

#endif
