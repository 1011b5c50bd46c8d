/* SPDX-License-Identifier: MIT */
/*
 * Resource limits as the program set them.  What the engine maps counts for the kernel, so a
 * limit on memory that is set inside the session is enlarged by a fixed share, and read back
 * without it.  A bit per limit says which ones carry the share; it goes from image to image.
 *
 * The descriptor's limit carries no share once the program has set it: ours moves above it.
 */
#include "engine/task.h"

/* Code, tables and thread areas at their most; only address space, so generous costs nothing. */
#define SHARE	 (256ULL << 20)
#define INFINITY UINT64_MAX

struct limit {
	u64 cur, max;
};

static u32 shares; /* two bits per resource: cur, max */
static bool shares_read;

static u32 bit(u64 resource, bool max)
{
	switch (resource) {
	case AP_RLIMIT_AS:
		return 1u << max;
	case AP_RLIMIT_DATA:
		return 4u << max;
	case AP_RLIMIT_MEMLOCK:
		return 16u << max;
	default:
		return 0;
	}
}

u32 ap_limits_shares(void)
{
	if (!shares_read)
		shares = ap_proc.boot->limit_shares;
	shares_read = true;
	return shares;
}

/* From the kernel's to the program's. */
static void subtract(u64 resource, struct limit *lim)
{
	u64 nofile = ap_proc.boot->nofile_share;

	if (ap_limits_shares() & bit(resource, false) && lim->cur != INFINITY)
		lim->cur -= SHARE;
	if (ap_limits_shares() & bit(resource, true) && lim->max != INFINITY)
		lim->max -= SHARE;
	if (resource == AP_RLIMIT_NOFILE && lim->cur != INFINITY && lim->cur > nofile)
		lim->cur -= nofile;
}

/* From the program's to the kernel's, as far as the hard limit allows.  Returns the shares. */
static u32 add(u64 resource, struct limit *lim, const struct limit *old)
{
	u32 got = 0;

	if (lim->max < INFINITY - SHARE && lim->max + SHARE <= old->max) {
		lim->max += SHARE;
		got |= bit(resource, true);
	}
	if (lim->cur < INFINITY - SHARE && lim->cur + SHARE <= lim->max) {
		lim->cur += SHARE;
		got |= bit(resource, false);
	}
	return got;
}

static s64 set(struct ap_thread *t, u64 resource, const struct limit *want)
{
	u32 bits = bit(resource, false) | bit(resource, true), got;
	struct limit lim = *want, old;
	s64 ret;

	if (resource == AP_RLIMIT_NOFILE)
		ap_fd_limit(t, want->cur);
	if (bits && want->cur <= want->max &&
	    !ap_sys4(AP_NR_prlimit64, 0, resource, 0, (u64)&old)) {
		got = add(resource, &lim, &old);
		ret = ap_sys4(AP_NR_prlimit64, 0, resource, (u64)&lim, 0);
		if (!ret)
			shares = (ap_limits_shares() & ~bits) | got;
		return ret;
	}
	ret = ap_sys4(AP_NR_prlimit64, 0, resource, (u64)&lim, 0);
	if (!ret && resource == AP_RLIMIT_NOFILE)
		ap_proc.boot->nofile_share = 0;
	return ret;
}

static s64 get(u64 resource, u64 to)
{
	struct limit lim;
	s64 ret = ap_sys4(AP_NR_prlimit64, 0, resource, 0, (u64)&lim);

	if (ret)
		return ret;
	subtract(resource, &lim);
	return ap_safe_copy((void *)to, &lim, sizeof(lim));
}

static bool is_corrected(u64 resource)
{
	return resource == AP_RLIMIT_NOFILE || bit(resource, false);
}

/* prlimit64 reads the new limit first and writes the old one last. */
static s64 prlimit(struct ap_thread *t, struct ap_call *c)
{
	struct limit want, old;
	s64 ret;

	if (c->a[2] && ap_safe_copy(&want, (const void *)c->a[2], sizeof(want)))
		return -AP_EFAULT;
	ret = ap_sys4(AP_NR_prlimit64, 0, c->a[1], 0, (u64)&old);
	if (!ret)
		subtract(c->a[1], &old);
	if (!ret && c->a[2])
		ret = set(t, c->a[1], &want);
	if (!ret && c->a[3])
		ret = ap_safe_copy((void *)c->a[3], &old, sizeof(old));
	return ret;
}

s64 ap_call_rlimit(struct ap_thread *t, struct ap_call *c)
{
	bool self = c->nr != AP_NR_prlimit64 || !c->a[0] || c->a[0] == t->pid;
	u64 resource = c->nr == AP_NR_prlimit64 ? c->a[1] : c->a[0];
	struct limit want;

	if (!self || !is_corrected(resource))
		return ap_call_pass(t, c);
	if (c->nr == AP_NR_prlimit64)
		return prlimit(t, c);
	if (c->nr == AP_NR_getrlimit)
		return get(resource, c->a[1]);
	if (ap_safe_copy(&want, (const void *)c->a[1], sizeof(want)))
		return -AP_EFAULT;
	return set(t, resource, &want);
}
