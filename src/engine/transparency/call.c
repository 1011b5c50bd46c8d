/* SPDX-License-Identifier: MIT */
/*
 * How a call of the program's is made in its place.  What is protected of its memory is not to be seen: a page with translated code
 * looks as if it could not be written to.
 */
#include "engine/transparency/call.h"

#include "base/mem.h"
#include "engine/cache/smc.h"
#include "engine/thread/still.h"

#define ARG_SPAN_MAX (1ULL << 20) /* a larger number is no length of a buffer in code */

/* A call fails on pages that are only protected because there is translated code of them. */
static bool give_pages_back(void)
{
	bool any;

	ap_lock_take(&ap_proc.lock);
	any = ap_smc_unprotect_all();
	ap_lock_drop(&ap_proc.lock);
	return any;
}

/*
 * A call that the kernel gives up half way cannot always be made again: the child has been reaped,
 * the counter has been read.  So what an argument points to, with the next one for its length if it
 * looks like one, is given back before the call; what is reached indirectly fails and is tried again.
 */
void ap_call_give_back(const struct ap_call *c)
{
	if (ap_likely(!ap_smc_any()))
		return;
	for (u32 i = 0; i < 6; i++) {
		u64 len = i < 5 && c->a[i + 1] < ARG_SPAN_MAX ? c->a[i + 1] : 0;
		u64 end = c->a[i] + (len ? len : 1);

		if (end < c->a[i] || (!ap_smc_hides_write(c->a[i]) && !ap_smc_hides_write(end - 1)))
			continue;
		ap_lock_take(&ap_proc.lock);
		ap_smc_unprotect(c->a[i] & AP_PAGE_MASK, AP_ALIGN_UP(end, AP_PAGE_SIZE));
		ap_lock_drop(&ap_proc.lock);
	}
}

s64 ap_call_pass(struct ap_thread *t, struct ap_call *c)
{
	s64 ret;

	ap_call_give_back(c);
	ret = ap_still_call(t, c->nr, c->a);

	if (ap_unlikely(ret == -AP_EFAULT) && give_pages_back())
		ret = ap_still_call(t, c->nr, c->a);
	return ret;
}

bool ap_call_block(struct ap_thread *t, u64 *mask)
{
	*mask = ap_sig_block_all();
	if (!t->pending)
		return true;
	ap_sig_set_mask(*mask); /* all blocked still, as the master handler left it */
	return false;
}

s64 ap_call_str(char *dst, u64 src, u64 cap)
{
	u64 n = 0;

	while (n < cap) {
		u64 chunk = AP_PAGE_SIZE - ((src + n) & (AP_PAGE_SIZE - 1));
		const char *nul;

		if (chunk > cap - n)
			chunk = cap - n;
		if (ap_safe_copy(dst + n, (const void *)(src + n), chunk))
			return -AP_EFAULT;
		nul = memchr(dst + n, 0, chunk);
		if (nul)
			return nul - dst;
		n += chunk;
	}
	return -AP_ENAMETOOLONG;
}
