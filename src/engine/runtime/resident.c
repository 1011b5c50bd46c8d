/* SPDX-License-Identifier: MIT */
/*
 * Some memory comes from the program itself: another thread answers a userfaultfd, or reads of a FUSE file.  Who touches such a page
 * with the process lock held waits for a thread that may need the lock to run.  So what is read under the lock are
 * pages that are there, as far as mincore can tell.  The page that a thread wants to execute is brought in by the thread
 * itself, without any lock, when the translator has found that it is not there (AP_SPECIAL_FETCH); what it would only have
 * looked at, such as code behind a branch, is left alone, as the CPU would leave it.
 *
 * Where the process has a userfaultfd, mincore says too much (a page of a shared file that is in the page cache, but not
 * mapped yet): there only pages count that were executed.
 */
#include "engine/runtime/resident.h"

#include "engine/runtime/engine.h"
#include "sys/nr.h"

#define PLACES 2048
#define ASKED  16 /* pages in one call */

static u64 there[PLACES]; /* pages, by their numbers */
static bool is_served;

/* Not the same for two neighbours: an instruction that lies in both needs them at once. */
static u64 *place(u64 page)
{
	u64 n = page / AP_PAGE_SIZE;

	return &there[(n + n / PLACES) % PLACES];
}

/* Memory that is not mapped, and a filter that does not let us ask: reading tells, and does not wait. */
static bool is_there(u64 page)
{
	u64 from = AP_ALIGN_DOWN(page, ASKED * AP_PAGE_SIZE);
	u8 in_core[ASKED] = { 0 };
	u32 n = ASKED;

	if (*place(page) == page)
		return true;
	if (is_served)
		return false;
	/* its neighbours are likely to be next; not all of them may be mapped */
	if (ap_sys3(AP_NR_mincore, from, n * AP_PAGE_SIZE, (u64)in_core)) {
		from = page;
		n = 1;
		if (ap_sys3(AP_NR_mincore, page, AP_PAGE_SIZE, (u64)in_core))
			return true;
	}
	for (u32 k = 0; k < n; k++)
		if (in_core[k] & 1)
			*place(from + k * AP_PAGE_SIZE) = from + k * AP_PAGE_SIZE;
	return in_core[(page - from) / AP_PAGE_SIZE] & 1;
}

int ap_resident_copy(void *dst, u64 src, u64 n)
{
	u64 last = (src + n - 1) & AP_PAGE_MASK;

	for (u64 page = src & AP_PAGE_MASK; page <= last; page += AP_PAGE_SIZE)
		if (ap_unlikely(!is_there(page)))
			return -AP_EFAULT;
	return ap_safe_copy(dst, (const void *)src, n);
}

void ap_resident_touched(u64 addr)
{
	addr &= AP_PAGE_MASK;
	*place(addr) = addr;
}

void ap_resident_forget(u64 start, u64 end)
{
	start &= AP_PAGE_MASK;
	if (end - start > PLACES * AP_PAGE_SIZE) {
		for (u32 k = 0; k < PLACES; k++)
			if (there[k] >= start && there[k] < end)
				there[k] = 0;
		return;
	}
	for (; start < end; start += AP_PAGE_SIZE)
		if (*place(start) == start)
			*place(start) = 0;
}

void ap_resident_has_uffd(void)
{
	__atomic_store_n(&is_served, true, __ATOMIC_SEQ_CST);
	/* of some that was no more than a neighbour's answer */
	for (u32 k = 0; k < PLACES; k++)
		__atomic_store_n(&there[k], 0, __ATOMIC_RELAXED);
}

bool ap_resident_is_served(void)
{
	return __atomic_load_n(&is_served, __ATOMIC_RELAXED);
}
