/* SPDX-License-Identifier: MIT */
/*
 * Routing: which system calls concern perf descriptors, and which change what a descriptor number
 * means.  Everything else is the kernel's business, poll, dup, fork and passing of descriptors
 * included: the pipe beneath behaves there as a perf descriptor does.
 */
#include "service/service.h"
#include "abi/perfctr.h"
#include "abi/service.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/request.h"
#include "service/sys.h"
#include "service/tree.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define PR_TASK_PERF_EVENTS_DISABLE 31
#define PR_TASK_PERF_EVENTS_ENABLE  32
#define CLOSE_RANGE_UNSHARE	    2
#define CLOSE_RANGE_CLOEXEC	    4

#define FIOASYNC     0x5452U
#define MREMAP_FIXED 2U

#define NR_STAT		     4
#define NR_LSTAT	     6
#define NR_SCHED_SETAFFINITY 203

enum follow_up {
	AFTER_NOTHING,
	AFTER_CLOSE,
	AFTER_CLOSE_RANGE,
	AFTER_STAND_IN,
	AFTER_FCNTL,
	AFTER_STAT,
	AFTER_READLINK,
	AFTER_OPEN,
	AFTER_ACCESS,
	AFTER_REFUSED,
	AFTER_MMAP,
	AFTER_KERNEL_MMAP,
	AFTER_MUNMAP,
	AFTER_MREMAP,
	AFTER_POLL,
	AFTER_RECEIVE,
	AFTER_SIGNALS,
	AFTER_FIOASYNC,
	AFTER_AFFINITY
};

static bool answer(struct ap_service_call *c, s64 ret)
{
	c->ret = ret;
	return true;
}

/* What no event can do, and the pipe could. */
static bool refuse_moves(struct ap_service_call *c)
{
	u64 other = c->nr == AP_NR_splice ? c->a[2] : c->a[1];

	if (c->nr == AP_NR_vmsplice)
		return ap_fds_event((s32)c->a[0]) && answer(c, -AP_EBADF);
	return (ap_fds_event((s32)c->a[0]) || ap_fds_event((s32)other)) && answer(c, -AP_EINVAL);
}

static bool stands_in(struct ap_service_call *c)
{
	if (ap_fds_event((s32)c->a[0]) && ap_svc_stand_in(c))
		c->after = AFTER_STAND_IN;
	return false;
}

static bool writes(struct ap_service_call *c)
{
	if (c->nr == AP_NR_pwritev2 && c->a[3] != ~0ULL)
		return false;
	return ap_fds_event((s32)c->a[0]) && answer(c, -AP_EINVAL);
}

static bool controls(struct ap_service_call *c)
{
	bool more;

	if (!ap_fds_event((s32)c->a[0]))
		return false;
	if (ap_svc_fcntl(c, &more))
		return true;
	c->after = more ? AFTER_FCNTL : AFTER_NOTHING;
	return false;
}

/* A ring of the kernel's, maybe. */
static bool may_be_kernels(const struct ap_service_call *c)
{
	return ap_svc_kernel_opened && (c->a[3] & AP_MAP_TYPE) == AP_MAP_SHARED &&
	       !(c->a[3] & AP_MAP_ANON) && c->a[2] & AP_PROT_W;
}

static bool maps(struct ap_service_call *c)
{
	c->inode = c->a[3] & AP_MAP_ANON ? 0 : ap_fds_event((s32)c->a[4]);
	if (c->inode || (c->a[3] & AP_MAP_FIXED && ap_svc_has_maps()))
		c->after = AFTER_MMAP;
	else if (may_be_kernels(c))
		c->after = AFTER_KERNEL_MMAP;
	if (c->a[3] & AP_MAP_FIXED && ap_svc_kernel_opened)
		ap_svc_kernel_unmaps(c->a[0], c->a[1]);
	if (c->a[3] & AP_MAP_FIXED && ap_svc_has_maps() &&
	    ap_svc_overlaps(c->a[0], c->a[0] + c->a[1]) == AP_SVC_PART)
		return answer(c, -AP_EINVAL);
	return c->inode && ap_svc_mmap(c);
}

/* Where rings of the kernel's are no more: moved ones are not followed. */
static void remaps_kernels(const struct ap_service_call *c)
{
	if (!ap_svc_kernel_opened)
		return;
	ap_svc_kernel_unmaps(c->a[0], c->a[1]);
	if (c->a[3] & MREMAP_FIXED)
		ap_svc_kernel_unmaps(c->a[4], c->a[2]);
}

/* Calls on files and memory that an event answers in another way than its pipe does. */
static bool on_file(struct ap_service_call *c)
{
	switch (c->nr) {
	case AP_NR_write:
	case AP_NR_writev:
	case AP_NR_pwritev2:
		return writes(c);
	case AP_NR_fcntl:
		return controls(c);
	case AP_NR_splice:
	case AP_NR_tee:
	case AP_NR_sendfile:
	case AP_NR_vmsplice:
		return refuse_moves(c);
	case AP_NR_fstatfs:
	case AP_NR_fchmod:
	case AP_NR_fchown:
	case AP_NR_fallocate:
	case AP_NR_fadvise64:
	case AP_NR_utimensat:
	case AP_NR_futimesat:
		return stands_in(c);
	case AP_NR_mmap:
		return maps(c);
	case AP_NR_mremap:
		remaps_kernels(c);
		if (!ap_svc_has_maps())
			return false;
		c->after = AFTER_MREMAP;
		return ap_svc_pages(c);
	case AP_NR_munmap:
		if (ap_svc_kernel_opened)
			ap_svc_kernel_unmaps(c->a[0], c->a[1]);
		if (!ap_svc_has_maps())
			return false;
		c->after = AFTER_MUNMAP;
		return ap_svc_pages(c);
	case AP_NR_mprotect:
	case AP_NR_pkey_mprotect:
	case AP_NR_madvise:
	case AP_NR_msync:
	case AP_NR_mlock:
	case AP_NR_mlock2:
	case AP_NR_remap_file_pages:
		return ap_svc_has_maps() && ap_svc_pages(c);
	default:
		return false;
	}
}

/* Calls whose answer may show a pipe. */
static enum follow_up after_show(u64 nr)
{
	switch (nr) {
	case NR_STAT:
	case NR_LSTAT:
	case AP_NR_fstat:
	case AP_NR_newfstatat:
	case AP_NR_statx:
		return AFTER_STAT;
	case AP_NR_readlink:
	case AP_NR_readlinkat:
		return AFTER_READLINK;
	case AP_NR_open:
	case AP_NR_openat:
	case AP_NR_openat2:
		return AFTER_OPEN;
	case AP_NR_access:
	case AP_NR_faccessat:
	case AP_NR_faccessat2:
		return AFTER_ACCESS;
	default:
		return AFTER_NOTHING;
	}
}

/*
 * The program has a filter, and we make no call that it could kill for: so none makes a descriptor.
 * The filter sees the call, which the kernel refuses for a flag that there is not.
 */
#define NO_FLAG (1ULL << 63)
static bool opens(struct ap_service_call *c)
{
	if (!ap_svc_is_mute())
		return answer(c, ap_svc_open(c));
	c->a[4] |= NO_FLAG;
	c->after = AFTER_REFUSED;
	return false;
}

/* What the program's filter says of a call that we answer: asked by one that does nothing. */
static bool is_filtered(struct ap_service_call *c)
{
	u64 a[6] = { c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5] };

	if (!ap_svc_is_mute())
		return false;
	if (c->nr == AP_NR_read || c->nr == AP_NR_readv || c->nr == AP_NR_preadv2)
		a[2] = 0;
	c->ret = ap_hook_sys(c->nr, a);
	return c->ret < 0 && c->ret != -AP_ENOTTY;
}

/* Calls on the event behind c->inode. */
static bool on_event(struct ap_service_call *c)
{
	switch (c->nr) {
	case AP_NR_read:
		return answer(c, ap_svc_read(c->inode, c->a[1], c->a[2]));
	case AP_NR_readv:
		return answer(c, ap_svc_readv(c->inode, c->a[1], c->a[2]));
	case AP_NR_preadv2:
		if (c->a[3] != ~0ULL)
			return false;
		if (c->a[5])
			return answer(c, -AP_EOPNOTSUPP);
		return answer(c, ap_svc_readv(c->inode, c->a[1], c->a[2]));
	case AP_NR_ioctl:
		if ((u32)c->a[1] == FIOASYNC && ap_svc_fioasync(c))
			c->after = AFTER_FIOASYNC;
		if ((u32)c->a[1] == AP_PERFCTR_IOC_ABI && ap_fds_is_perfctr((s32)c->a[0]))
			return answer(c, ap_svc_perfctr_abi(c->a[2]));
		return ap_svc_ioctl((s32)c->a[0], c->inode, c->a[1], c->a[2], &c->ret);
	default:
		return false;
	}
}

/* The number fd is about to be closed. */
static bool closes(struct ap_service_call *c, s32 fd)
{
	if (fd < 0)
		return false;
	c->fd = fd;
	c->after = AFTER_CLOSE;
	c->inode = ap_fds_change((u32)fd, (u32)fd);
	return false;
}

static bool closes_range(struct ap_service_call *c)
{
	if (c->a[2] & CLOSE_RANGE_UNSHARE)
		ap_fds_forget();
	if (c->a[2] & CLOSE_RANGE_CLOEXEC || (u32)c->a[0] > (u32)c->a[1])
		return false;
	c->after = AFTER_CLOSE_RANGE;
	c->inode = ap_fds_change((u32)c->a[0], (u32)c->a[1]);
	return false;
}

/* A close that was the last one of an event is seen at once if we say so, else later.  0: of any. */
static void hint(u64 inode)
{
	struct ap_request r;

	if ((inode && ap_svc_own_closed(inode)) || ap_request_begin(&r, AP_SVC_CLOSE))
		return;
	r.svc->arg[0] = inode & ~AP_FDS_PERFCTR;
	ap_request_ask(&r);
	ap_request_end(&r);
}

/* Under a filter a signal may say what is put right on the way to its handler; here the program takes it itself. */
static enum follow_up after_signals(void)
{
	return ap_svc_is_mute() ? AFTER_SIGNALS : AFTER_NOTHING;
}

/* The kernel moves a thread at once that sends itself to another CPU: events on CPUs begin and end with that. */
static enum follow_up after_affinity(const struct ap_service_call *c)
{
	struct ap_hook_place p;

	ap_hook_place(&p);
	if (!(__atomic_load_n(&p.slot->orders, __ATOMIC_ACQUIRE) & AP_ORDER_CPU) ||
	    ((s32)c->a[0] && (u32)c->a[0] != p.slot->tid))
		return AFTER_NOTHING;
	return AFTER_AFFINITY;
}

/* Of an event of the kernel's: to one of ours, or to none. */
static bool sets_kernels_output(struct ap_service_call *c)
{
	u64 inode;
	s64 ret;

	if ((u32)c->a[1] != AP_PERF_IOC_SET_OUTPUT || !ap_svc_is_kernels((s32)c->a[0]))
		return false;
	if (c->a[2] == ~0ULL)
		return ap_svc_move_nowhere((s32)c->a[0], &ret) && answer(c, ret);
	inode = ap_fds_event((s32)c->a[2]);
	return inode && answer(c, ap_svc_move_output((s32)c->a[0], inode));
}

static bool before(struct ap_service_call *c)
{
	switch (c->nr) {
	case AP_SERVICE_NR_OPEN:
		return opens(c);
	case AP_NR_read:
	case AP_NR_readv:
	case AP_NR_preadv2:
	case AP_NR_ioctl:
		c->inode = ap_fds_event((s32)c->a[0]);
		if (!c->inode && c->nr == AP_NR_read)
			c->after = after_signals();
		if (!c->inode && c->nr == AP_NR_ioctl && ap_svc_kernel_opened)
			return sets_kernels_output(c);
		return c->inode && (is_filtered(c) || on_event(c));
	case AP_NR_rt_sigtimedwait:
		c->after = after_signals();
		return false;
	case AP_NR_close:
		return closes(c, (s32)c->a[0]);
	case AP_NR_dup2:
	case AP_NR_dup3:
		return c->a[0] != c->a[1] && closes(c, (s32)c->a[1]);
	case AP_NR_close_range:
		return closes_range(c);
	case AP_NR_prctl:
		if (c->a[0] != PR_TASK_PERF_EVENTS_DISABLE && c->a[0] != PR_TASK_PERF_EVENTS_ENABLE)
			return false;
		return is_filtered(c) ||
		       answer(c, ap_svc_prctl(c->a[0] == PR_TASK_PERF_EVENTS_ENABLE));
	case NR_SCHED_SETAFFINITY:
		c->after = after_affinity(c);
		return false;
	case AP_NR_recvmsg:
		c->after = ap_svc_perfctr_receives(c) ? AFTER_RECEIVE : AFTER_NOTHING;
		return false;
	case AP_NR_unshare:
		if (c->a[0] & AP_CLONE_FILES)
			ap_fds_forget();
		return false;
	default:
		if (!ap_svc_polls(c->nr)) {
			c->after = after_show(c->nr);
			return !c->after && on_file(c);
		}
		ap_svc_poll_begins(c->nr);
		if ((c->nr == AP_NR_select || c->nr == AP_NR_pselect6) && ap_svc_select_errors(c))
			return true;
		c->after = AFTER_POLL;
		return false;
	}
}

static bool is_answered(struct ap_service_call *c, bool used)
{
	if (!(ap_hook_session()->flags & AP_F_SERVE))
		return false; /* the owner's events alone: descriptors and paths are the kernel's */
	if ((ap_service_is_of_paths(c->nr) && ap_svc_perfctr_path(c)) || ap_tree_before(c))
		return true;
	if (!used && c->nr != AP_SERVICE_NR_OPEN)
		return false;
	return ((!c->tree || c->nr == AP_NR_fchdir) && ap_tree_fd_before(c)) || before(c);
}

bool ap_service_before(struct ap_service_call *c)
{
	bool used = ap_service_is_used(ap_hook_session());

	if (ap_svc_kernel_opened)
		ap_svc_move_all();
	c->after = AFTER_NOTHING;
	c->tells = used && ap_svc_tells(c);
	if (is_answered(c, used))
		return true;
	c->goes = used && ap_svc_unmaps(c);
	return false;
}

/* Numbers from first to last are another's now, or nobody's; what: the event that one of them was, 0: several. */
static void after_close(const struct ap_service_call *c, u32 first, u32 last, u64 what)
{
	ap_fds_changed(first, last);
	if (c->inode)
		hint(what);
}

static void after(struct ap_service_call *c)
{
	switch (c->after) {
	case AFTER_CLOSE:
		after_close(c, (u32)c->fd, (u32)c->fd, c->inode);
		break;
	case AFTER_CLOSE_RANGE:
		after_close(c, (u32)c->a[0], (u32)c->a[1], 0);
		break;
	case AFTER_STAND_IN:
		ap_svc_sys(AP_NR_close, (u64)c->fd, 0, 0, 0);
		break;
	case AFTER_FCNTL:
		ap_svc_fcntl_done(c);
		break;
	case AFTER_STAT:
		ap_svc_stat_done(c);
		break;
	case AFTER_READLINK:
		ap_svc_readlink_done(c);
		break;
	case AFTER_OPEN:
		ap_svc_open_done(c);
		break;
	case AFTER_ACCESS:
		ap_svc_access_done(c);
		break;
	case AFTER_REFUSED:
		c->ret = c->ret == -AP_EINVAL ? -AP_EPERM : c->ret;
		break;
	case AFTER_MMAP:
		ap_svc_mmap_done(c);
		break;
	case AFTER_KERNEL_MMAP:
		ap_svc_kernel_mapped(c);
		break;
	case AFTER_MUNMAP:
		ap_svc_munmap_done(c);
		break;
	case AFTER_MREMAP:
		ap_svc_mremap_done(c);
		break;
	case AFTER_POLL:
		if (ap_svc_kernel_opened)
			ap_svc_move_all();
		ap_svc_polled(c);
		break;
	case AFTER_RECEIVE:
		ap_svc_perfctr_received(c);
		break;
	case AFTER_SIGNALS:
		ap_svc_perfctr_took(c);
		break;
	case AFTER_AFFINITY:
		if (!c->ret)
			ap_svc_moved();
		break;
	case AFTER_FIOASYNC:
		ap_svc_async((s32)c->a[0], false);
		break;
	}
}

void ap_service_after(struct ap_service_call *c)
{
	if (c->after)
		after(c);
	if (c->tree)
		ap_tree_after(c);
	if (c->goes)
		ap_svc_unmapped(c);
	if (c->tells)
		ap_svc_told(c);
}

void ap_service_files_shared(void)
{
	ap_fds_forget();
}
