/* SPDX-License-Identifier: MIT */
/*
 * Calls on memory that a perf event is mapped in.  The kernel makes such a mapping of page frames, which
 * cannot be executed, split, copied or dropped; the session file beneath ours would take all of that.
 * What is answered here is what Linux has said since 6.14, where the pages are in place from the start.
 */
#include "service/service.h"

#include "service/calls.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define MS_ASYNC      1
#define MS_INVALIDATE 2
#define MS_SYNC	      4

#define MREMAP_DONTUNMAP 4

#define PROT_GROWS 0x03000000ULL

/* madvise(2) */
enum {
	DONTNEED = 4,
	REMOVE = 9,
	DOFORK = 11,
	DODUMP = 17,
	COLD = 20,
	PAGEOUT,
	POPULATE_READ,
	POPULATE_WRITE,
	DONTNEED_LOCKED
};

/* A range that the kernel takes at all. */
static bool is_plain(u64 start, u64 len)
{
	return !(start & ~AP_PAGE_MASK) && len && len <= AP_TASK_SIZE &&
	       start <= AP_TASK_SIZE - len;
}

static s64 advises(u64 advice)
{
	switch (advice) {
	case REMOVE:
		return -AP_ENODEV; /* a file that cannot have holes */
	case DONTNEED:
	case DOFORK:
	case DODUMP:
	case COLD:
	case PAGEOUT:
	case POPULATE_READ:
	case POPULATE_WRITE:
	case DONTNEED_LOCKED:
		return -AP_EINVAL;
	default:
		return 0;
	}
}

static s64 remaps(const struct ap_service_call *c, enum ap_svc_overlap has)
{
	u64 now = AP_ALIGN_UP(c->a[1], AP_PAGE_SIZE), then = AP_ALIGN_UP(c->a[2], AP_PAGE_SIZE);

	if (then < now || c->a[3] & MREMAP_DONTUNMAP)
		return -AP_EINVAL;
	if (then > now)
		return -AP_EFAULT;
	return has == AP_SVC_PART && c->a[3] ? -AP_EINVAL : 0;
}

/* There is nothing behind it to be written to, and its pages are never locked. */
static bool syncs(struct ap_service_call *c)
{
	u64 flags = c->a[2];

	c->ret = -AP_EINVAL;
	if (flags & ~(u64)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) || flags & MS_SYNC)
		return true;
	c->a[2] = MS_ASYNC;
	return false;
}

static s64 protects(const struct ap_service_call *c, u64 end, enum ap_svc_overlap has)
{
	if (c->a[2] & PROT_GROWS)
		return 0;
	if (c->a[2] & AP_PROT_X)
		return -AP_EACCES;
	if (c->a[2] & AP_PROT_W && ap_svc_overlaps_read_only(c->a[0], end))
		return -AP_EACCES;
	return has == AP_SVC_PART ? -AP_EINVAL : 0;
}

/* Every call begins with an address and a length. */
bool ap_svc_pages(struct ap_service_call *c)
{
	u64 start = c->a[0], len = AP_ALIGN_UP(c->a[1], AP_PAGE_SIZE);
	enum ap_svc_overlap has;

	if (c->nr == AP_NR_mremap && !len)
		len = 1; /* a second view of what is there */
	if (!is_plain(start, len))
		return false;
	has = ap_svc_overlaps(start, start + len);
	if (has == AP_SVC_NONE)
		return false;
	c->ret = 0;
	switch (c->nr) {
	case AP_NR_mprotect:
	case AP_NR_pkey_mprotect:
		c->ret = protects(c, start + len, has);
		break;
	case AP_NR_madvise:
		c->ret = advises(c->a[2]);
		break;
	case AP_NR_mremap:
		c->ret = remaps(c, has);
		break;
	case AP_NR_munmap:
		c->ret = has == AP_SVC_PART ? -AP_EINVAL : 0;
		break;
	case AP_NR_remap_file_pages:
		c->ret = -AP_EINVAL;
		break;
	case AP_NR_mlock:
	case AP_NR_mlock2:
		return has == AP_SVC_ALL && !(c->nr == AP_NR_mlock2 && c->a[2] & ~1ULL);
	case AP_NR_msync:
		return syncs(c);
	default:
		break;
	}
	return c->ret < 0;
}
