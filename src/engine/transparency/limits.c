/* SPDX-License-Identifier: MIT */
/*
 * Resource limits as the program set them.  What the engine maps counts for the kernel, so a
 * limit on memory that is set inside the session is enlarged by a fixed share, and read back
 * without it.  A bit per limit says which ones carry the share; it goes from image to image.
 *
 * The descriptor's limit carries no share once the program has set it: ours moves above it.
 */
#include "engine/transparency/transparency.h"

#define SHARE	 AP_LIMIT_SHARE
#define INFINITY UINT64_MAX

struct limit {
	u64 cur, max;
};

/*
 * Of the process; a vfork child, whose limits are its own in the kernel, has a copy from the first
 * time that it asks.
 */
static u32 shares; /* two bits per resource: cur, max */
static bool shares_read;

static u32 bit(u64 resource, bool max)
{
	switch (resource) {
	case AP_RLIMIT_AS:
		return 1u << max;
	case AP_RLIMIT_DATA:
		return 4u << max;
	default:
		return 0;
	}
}

static u32 *own_shares(struct ap_thread *t)
{
	if (!shares_read)
		shares = ap_proc.boot->limit_shares;
	shares_read = true;
	if (!t->is_vfork_child)
		return &shares;
	if (!t->own_limits) {
		t->limit_shares = shares;
		t->nofile_share = ap_proc.boot->nofile_share;
		t->own_limits = 1;
	}
	return &t->limit_shares;
}

void ap_limits_fork_child(struct ap_thread *t)
{
	if (!t->own_limits)
		return;
	shares = t->limit_shares;
	shares_read = true;
	ap_proc.boot->nofile_share = t->nofile_share;
	t->own_limits = 0;
}

u32 ap_limits_shares(struct ap_thread *t)
{
	return *own_shares(t);
}

static u32 *own_nofile(struct ap_thread *t)
{
	(void)own_shares(t);
	return t->is_vfork_child ? &t->nofile_share : &ap_proc.boot->nofile_share;
}

u32 ap_limits_nofile(struct ap_thread *t)
{
	return *own_nofile(t);
}

/* From the kernel's to the program's. */
static void subtract(struct ap_thread *t, u64 resource, struct limit *lim)
{
	u64 nofile = ap_limits_nofile(t);
	u32 own = ap_limits_shares(t);

	if (own & bit(resource, false) && lim->cur != INFINITY)
		lim->cur -= SHARE;
	if (own & bit(resource, true) && lim->max != INFINITY)
		lim->max -= SHARE;
	if (resource == AP_RLIMIT_NOFILE && lim->cur != INFINITY && lim->cur > nofile)
		lim->cur -= nofile;
}

/*
 * From the program's to the kernel's, as far as the hard limit allows.  Where that carries the share
 * already, or is to be raised, the share is added whatever comes of it: whether a limit may be
 * raised is for the kernel to say.  Returns the shares.
 */
static u32 add(u64 resource, struct limit *lim, const struct limit *old, u32 own)
{
	bool must = own & bit(resource, true) || lim->max > old->max;
	u32 got = 0;

	if (lim->max < INFINITY - SHARE && (must || lim->max + SHARE <= old->max)) {
		lim->max += SHARE;
		got |= bit(resource, true);
	}
	if (lim->cur < INFINITY - SHARE && lim->cur + SHARE <= lim->max) {
		lim->cur += SHARE;
		got |= bit(resource, false);
	}
	return got;
}

/* The program's own call: a filter of its may know no other. */
static s64 do_get(const struct ap_call *c, u64 resource, struct limit *old)
{
	if (c->nr == AP_NR_getrlimit)
		return ap_rawsys(c->nr, resource, (u64)old, 0, 0, 0, 0);
	return ap_rawsys(AP_NR_prlimit64, c->a[0], resource, 0, (u64)old, 0, 0);
}

static s64 do_set(const struct ap_call *c, u64 resource, const struct limit *want)
{
	if (c->nr == AP_NR_setrlimit)
		return ap_rawsys(c->nr, resource, (u64)want, 0, 0, 0, 0);
	return ap_rawsys(AP_NR_prlimit64, c->a[0], resource, (u64)want, 0, 0, 0);
}

static s64 set(struct ap_thread *t, const struct ap_call *c, u64 resource, const struct limit *want)
{
	u32 bits = bit(resource, false) | bit(resource, true), got;
	struct limit lim = *want, old;
	u32 *own = own_shares(t);
	s64 ret;

	if (resource == AP_RLIMIT_NOFILE)
		ap_fd_limit(t, want->cur);
	if (bits && want->cur <= want->max &&
	    !ap_sys4(AP_NR_prlimit64, 0, resource, 0, (u64)&old)) {
		got = add(resource, &lim, &old, *own);
		ret = do_set(c, resource, &lim);
		if (!ret)
			*own = (*own & ~bits) | got;
		return ret;
	}
	ret = do_set(c, resource, &lim);
	if (!ret && resource == AP_RLIMIT_NOFILE)
		*own_nofile(t) = 0;
	return ret;
}

static s64 get(struct ap_thread *t, const struct ap_call *c, u64 resource, u64 to)
{
	struct limit lim;
	s64 ret = do_get(c, resource, &lim);

	if (ret)
		return ret;
	subtract(t, resource, &lim);
	return ap_safe_copy((void *)to, &lim, sizeof(lim));
}

static u64 soft(struct ap_thread *t, u64 resource)
{
	struct limit lim;

	if (!(ap_limits_shares(t) & bit(resource, false)) ||
	    ap_sys4(AP_NR_prlimit64, 0, resource, 0, (u64)&lim))
		return INFINITY;
	subtract(t, resource, &lim);
	return lim.cur;
}

bool ap_limits_memory(struct ap_thread *t, u64 *as, u64 *data)
{
	*as = soft(t, AP_RLIMIT_AS);
	*data = soft(t, AP_RLIMIT_DATA);
	return *as != INFINITY || *data != INFINITY;
}

/*
 * A copy of a file is a file, whose size has a limit: beyond it the kernel sends SIGXFSZ.  Nobody sees it lifted but
 * a thread that asks at that moment.
 */
bool ap_limits_file_begin(u64 size, u64 old[2])
{
	struct limit lim = { INFINITY, INFINITY };

	if (ap_sys4(AP_NR_prlimit64, 0, AP_RLIMIT_FSIZE, 0, (u64)old) || size <= old[0]) {
		old[0] = INFINITY; /* nothing to put back */
		return true;
	}
	if (size <= old[1])
		lim = (struct limit){ old[1], old[1] };
	return !ap_sys4(AP_NR_prlimit64, 0, AP_RLIMIT_FSIZE, (u64)&lim, 0);
}

void ap_limits_file_end(const u64 old[2])
{
	if (old[0] != INFINITY)
		ap_sys4(AP_NR_prlimit64, 0, AP_RLIMIT_FSIZE, (u64)old, 0);
}

static void give_back(struct ap_thread *t, u64 resource)
{
	struct limit lim;

	if (ap_sys4(AP_NR_prlimit64, 0, resource, 0, (u64)&lim))
		return;
	subtract(t, resource, &lim);
	ap_sys4(AP_NR_prlimit64, 0, resource, (u64)&lim, 0);
}

void ap_limits_give_back(struct ap_thread *t, bool is_gone)
{
	static const u8 memory[] = { AP_RLIMIT_AS, AP_RLIMIT_DATA };
	u32 own = ap_limits_shares(t);

	if (ap_limits_nofile(t))
		give_back(t, AP_RLIMIT_NOFILE);
	for (u32 i = 0; is_gone && i < sizeof(memory); i++)
		if (own & (bit(memory[i], false) | bit(memory[i], true)))
			give_back(t, memory[i]);
}

static bool is_corrected(u64 resource)
{
	return resource == AP_RLIMIT_NOFILE || bit(resource, false);
}

/* prlimit64 reads the new limit first and writes the old one last. */
static s64 prlimit(struct ap_thread *t, struct ap_call *c)
{
	struct limit want, old = { 0 };
	s64 ret;

	if (c->a[2] && ap_safe_copy(&want, (const void *)c->a[2], sizeof(want)))
		return -AP_EFAULT;
	ret = c->a[3] || !c->a[2] ? do_get(c, c->a[1], &old) : 0;
	if (!ret)
		subtract(t, c->a[1], &old);
	if (!ret && c->a[2])
		ret = set(t, c, c->a[1], &want);
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
		return get(t, c, resource, c->a[1]);
	if (ap_safe_copy(&want, (const void *)c->a[1], sizeof(want)))
		return -AP_EFAULT;
	return set(t, c, resource, &want);
}
