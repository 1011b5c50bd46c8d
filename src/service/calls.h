/* SPDX-License-Identifier: MIT */
/*
 * Inside the service: the groups of calls that ap_service_before and ap_service_after choose from.
 * Each answers with what the program shall find in rax.
 */
#ifndef AP_SERVICE_CALLS_H
#define AP_SERVICE_CALLS_H

#include "abi/perf.h"
#include "abi/service.h"
#include "base/types.h"
#include "service/service.h"

/* open.c: perf_event_open */
s64 ap_svc_open(const struct ap_service_call *c);
/* map.c: where a ring or page of the event is mapped; what is NULL is not asked. */
AP_MUST_CHECK bool ap_svc_mapped_at(u64 inode, u64 *off, u64 *pages);
/*
 * moved.c: the program has mapped, or is about to unmap, what may be a kernel's ring.  SET_OUTPUT of a kernel's event to
 * ours, and of ours to a kernel's: then *to is the event of ours to which it is to be set, 0: it is done.
 */
void ap_svc_kernel_mapped(const struct ap_service_call *c);
void ap_svc_kernel_unmaps(u64 start, u64 size);
s64 ap_svc_move_output(s32 fd, u64 inode);
/*
 * SET_OUTPUT(-1): what has a ring that the program does not see has none any more, unless others write there, too (EINVAL).
 * False: it has no such ring, and the kernel is asked.
 */
AP_MUST_CHECK bool ap_svc_move_nowhere(s32 fd, s64 *ret);
s64 ap_svc_take_ring(s32 fd, u64 inode, s32 output, u64 *to);
/* What has come to the kernel's rings is in ours. */
void ap_svc_move_all(void);
void ap_svc_moves_in_child(void);
void ap_svc_moves_before_fork(void);
/* The program has our event's ring mapped no longer, which ends what was redirected there. */
void ap_svc_moves_end(u64 inode);
/* rehome.c: SET_OUTPUT of our event at fd to a kernel's at output. */
s64 ap_svc_rehome(s32 fd, u64 inode, s32 output);
/* The call's arguments, but for the first; the attr, as the kernel is to have it. */
s64 ap_svc_open_in_kernel(struct ap_perf_attr *attr, const u64 args[5]);
/* This process has opened some of the kernel's. */
extern bool ap_svc_kernel_opened;
/* Is a descriptor one of the kernel's events? */
AP_MUST_CHECK bool ap_svc_is_kernels(s32 fd);
/* A struct perf_event_attr of the program's: 0, -EFAULT, or -E2BIG with our size written back. */
AP_MUST_CHECK s64 ap_svc_attr(struct ap_perf_attr *attr, u64 from);

/* A marked descriptor in *fd and its inode: 0 or -errno.  And it goes again. */
AP_MUST_CHECK s64 ap_svc_make_fd(bool cloexec, s32 *fd, u64 *inode);
void ap_svc_drop_fd(s32 fd);

/* linux/stat.h, struct statx */
struct ap_kstatx {
	u32 mask, blksize;
	u64 attributes;
	u32 nlink, uid, gid;
	u16 mode, pad;
	u64 ino, size, blocks, attributes_mask;
	struct {
		s64 sec;
		u32 nsec, pad;
	} time[4];	     /* access, birth, change, modification */
	u32 rdev[2], dev[2]; /* major, minor */
	u64 more[14];
};
_Static_assert(sizeof(struct ap_kstatx) == 256, "statx's layout");

/* perfctr.c: true where c->ret is the answer; ioctls by their magic number; as ap_service_pmc. */
AP_MUST_CHECK bool ap_svc_perfctr_path(struct ap_service_call *c);
bool ap_svc_is_perfctr(u64 cmd);
s64 ap_svc_perfctr_abi(u64 to);
s64 ap_svc_perfctr_ioctl(u64 inode, u32 cmd, u64 arg);
AP_MUST_CHECK bool ap_svc_perfctr_pmc(u32 counter, struct ap_service_pmc *pmc);
/* recvmsg: does it want what perfex does; the kernel has answered. */
AP_MUST_CHECK bool ap_svc_perfctr_receives(const struct ap_service_call *c);
void ap_svc_perfctr_received(const struct ap_service_call *c);
void ap_svc_perfctr_signal(const struct ap_svc_overflow *o);
/* Is it one that the supervisor has sent?  Then it says what the thread itself would have said. */
bool ap_svc_perfctr_siginfo(void *info);
/* The same of signals that the program has taken by rt_sigtimedwait or a read. */
void ap_svc_perfctr_took(const struct ap_service_call *c);

/* read.c */
s64 ap_svc_read(u64 inode, u64 buf, u64 size);
s64 ap_svc_readv(u64 inode, u64 iov, u64 n);

/*
 * own.c: what read(2) gives of an event, or a group, that only the calling thread can count; 0: ask.
 */
#define AP_SVC_OWN_MEMBERS 32U
#define AP_SVC_OWN_MAX	   (3 + 3 * AP_SVC_OWN_MEMBERS)
u32 ap_svc_own(u64 inode, u64 words[AP_SVC_OWN_MAX]);
/* Sum of the calling thread's raw counters of some kinds, its own image's. */
struct ap_hook_place;
u64 ap_svc_own_raw(const struct ap_hook_place *p, u64 kinds);
/* The event, of whoever it is, is in the error state as far as that is published. */
AP_MUST_CHECK bool ap_svc_own_is_error(u64 inode);
/*
 * Of an event that is active in the calling thread: as of before the last instruction.  HELD: the supervisor
 * has read its counters, and its page does not say so yet; whoever asks it anything waits for that.
 */
enum ap_svc_pmc { AP_SVC_PMC_READ, AP_SVC_PMC_HELD, AP_SVC_PMC_OTHERS };
enum ap_svc_pmc ap_svc_own_pmc(u64 inode, struct ap_service_pmc *pmc);

/* Does it in place; false: ask. */
AP_MUST_CHECK bool ap_svc_own_change(u64 inode, enum ap_log_op op);
/* A descriptor of an own event was closed: the supervisor looks before it serves this thread again. */
AP_MUST_CHECK bool ap_svc_own_closed(u64 inode);

/* control.c; true: *ret is the answer, false: it is the kernel's business */
bool ap_svc_ioctl(s32 fd, u64 inode, u64 cmd, u64 arg, s64 *ret);
s64 ap_svc_prctl(bool enable);

/*
 * files.c: calls that would show the pipe.  The _done ones look at the kernel's answer.  stand_in: the
 * call goes to c->fd, which is to be closed after it; false where none can be had.
 */
s64 ap_svc_stand_in_fd(void);
AP_MUST_CHECK bool ap_svc_stand_in(struct ap_service_call *c);
/* True: answered; more: fcntl_done is wanted. */
bool ap_svc_fcntl(struct ap_service_call *c, bool *more);
void ap_svc_fcntl_done(struct ap_service_call *c);
/* O_ASYNC is about to be set, or was cleared. */
void ap_svc_async(s32 fd, bool on);
/* True: it will be cleared, which is to be told when it is. */
bool ap_svc_fioasync(const struct ap_service_call *c);
void ap_svc_stat_done(const struct ap_service_call *c);
void ap_svc_readlink_done(struct ap_service_call *c);
void ap_svc_open_done(struct ap_service_call *c);
void ap_svc_access_done(struct ap_service_call *c);

/* poll.c: calls that wait for descriptors; the kernel has answered. */
bool ap_svc_polls(u64 nr);
/* sampler.c: the thread is on the CPU that it is on now. */
void ap_svc_moved(void);
void ap_svc_poll_begins(u64 nr);
/* True: c->ret is select's answer, where an event in the error state can be written to. */
AP_MUST_CHECK bool ap_svc_select_errors(struct ap_service_call *c);
void ap_svc_polled(const struct ap_service_call *c);

/* sideband.c: is it to be told of? It was done. */
bool ap_svc_tells(const struct ap_service_call *c);
void ap_svc_told(const struct ap_service_call *c);

/* unmaps.c: does it take away code, and somebody records that? It was done, or refused. */
bool ap_svc_unmaps(const struct ap_service_call *c);
void ap_svc_unmapped(const struct ap_service_call *c);

/* map.c: true where c->ret is the answer. */
bool ap_svc_mmap(struct ap_service_call *c);
void ap_svc_mmap_done(const struct ap_service_call *c); /* of any fixed mapping, c->inode 0 */
void ap_svc_munmap_done(const struct ap_service_call *c);
void ap_svc_mremap_done(const struct ap_service_call *c);
bool ap_svc_has_maps(void);
enum ap_svc_overlap {
	AP_SVC_NONE,
	AP_SVC_PART, /* of a mapping, which would have to be split */
	AP_SVC_ALL   /* of each that it meets */
};
/* What [start, end) has of the mappings. */
enum ap_svc_overlap ap_svc_overlaps(u64 start, u64 end);
bool ap_svc_overlaps_read_only(u64 start, u64 end); /* one that nobody may write to */

/* pages.c: true where c->ret is the answer. */
bool ap_svc_pages(struct ap_service_call *c);

#endif
