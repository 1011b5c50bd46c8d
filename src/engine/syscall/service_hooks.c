/* SPDX-License-Identifier: MIT */
/*
 * Where the engine and the service meet: the functions that the service calls (service/hooks.h),
 * and the way of the program's calls through it.
 */
#include "abi/slot_sum.h"
#include "base/mem.h"
#include "engine/cache/alias.h"
#include "engine/cache/smc.h"
#include "engine/signal/signal.h"
#include "engine/task/task.h"
#include "service/hooks.h"
#include "service/service.h"

#define AWAIT_SPINS 100000U /* some milliseconds */

_Static_assert(AP_HOOK_AGAIN == AP_SYSCALL_UNTOUCHED, "one meaning, one number");

const struct ap_session *ap_hook_session(void)
{
	return ap_proc.session;
}

void ap_hook_place(struct ap_hook_place *place)
{
	struct ap_thread *t = ap_self();

	place->seg = ap_slot_place(t, &place->seg_index, &place->slot_index);
	place->slot = ap_thread_slot(t);
	place->counts = ap_thread_view(t);
	place->direct = ap_direct_kinds(t);
	place->direct_sums = t->direct_sums;
}

void ap_hook_count_directly(u64 kinds)
{
	ap_direct_want(kinds);
}

void ap_hook_pmc_changed(void)
{
	ap_pmc_forget();
}

s64 ap_hook_sys(u64 nr, const u64 a[6])
{
	return ap_rawsys(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

bool ap_hook_file_begin(u64 size, u64 limit[2])
{
	return ap_limits_file_begin(size, limit);
}

void ap_hook_file_end(const u64 limit[2])
{
	ap_limits_file_end(limit);
}

s64 ap_hook_break(void)
{
	return ap_sys1(AP_NR_brk, 0);
}

int ap_hook_get(void *dst, u64 src, u64 n)
{
	return ap_safe_copy(dst, (const void *)src, n);
}

/* What holds translated code may be protected for the engine's sake. */
int ap_hook_put(u64 dst, const void *src, u64 n)
{
	int ret = ap_safe_copy((void *)dst, src, n);

	if (!ret || !ap_smc_any())
		return ret;
	ap_lock_take(&ap_proc.lock);
	ap_smc_unprotect(dst & AP_PAGE_MASK, AP_ALIGN_UP(dst + n, AP_PAGE_SIZE));
	ap_lock_drop(&ap_proc.lock);
	return ap_safe_copy((void *)dst, src, n);
}

bool ap_hook_hold(u64 *mask)
{
	return ap_call_block(ap_self(), mask);
}

void ap_hook_release(u64 mask)
{
	ap_sig_set_mask(mask);
}

void *ap_hook_map(u64 size)
{
	return ap_mem_map(0, size);
}

void ap_hook_unmap(void *p, u64 size)
{
	ap_mem_unmap(p, AP_ALIGN_UP(size, AP_PAGE_SIZE));
}

static bool map_at(char *p, s32 fd, u64 off, u64 size, u64 prot)
{
	if (ap_is_err(ap_sys6(AP_NR_mmap, (u64)p, size, prot, AP_MAP_SHARED | AP_MAP_FIXED, (u64)fd,
			      off)))
		return false;
	return !(prot & AP_PROT_W) || !ap_fd_is_lost(ap_self());
}

static void *map_file(s32 fd, u64 off, u64 size, u64 prot)
{
	void *p = ap_mem_map(0, size);

	if (p && !map_at(p, fd, off, size, prot)) {
		ap_mem_unmap(p, size);
		return NULL;
	}
	return p;
}

const void *ap_hook_map_head(u64 off, u64 size)
{
	return map_file(ap_head_fd(ap_self()), off, size, AP_PROT_R);
}

void *ap_hook_map_shared(u64 off, u64 size)
{
	return map_file(ap_fd(ap_self()), off, size, AP_PROT_R | AP_PROT_W);
}

void *ap_hook_map_samplers(void)
{
	u64 at = AP_SAMPLINGS_AT(ap_hook_party());
	char *p = ap_mem_map(0, at + AP_SAMPLINGS_SIZE);

	if (!p)
		return NULL;
	if (!map_at(p, ap_head_fd(ap_self()), AP_SAMPLER_OFF, AP_SAMPLERS_READ, AP_PROT_R) ||
	    !map_at(p + at, ap_fd(ap_self()), AP_SAMPLING_OFF, AP_SAMPLINGS_SIZE,
		    AP_PROT_R | AP_PROT_W)) {
		ap_mem_unmap(p, at + AP_SAMPLINGS_SIZE);
		return NULL;
	}
	if (at > AP_SAMPLERS_READ)
		ap_mem_unmap(p + AP_SAMPLERS_READ, at - AP_SAMPLERS_READ);
	return p;
}

bool ap_hook_next_part(u64 pos, u64 end, u64 *lo, u64 *hi)
{
	bool is_found;

	ap_lock_take(&ap_proc.lock);
	is_found = ap_gap_next(pos, end, lo, hi);
	if (is_found)
		ap_smc_unprotect(*lo, *hi);
	ap_lock_drop(&ap_proc.lock);
	return is_found;
}

void ap_hook_shared_as_is(u64 start)
{
	u64 lo, hi;

	ap_lock_take(&ap_proc.lock);
	for (u64 pos = start; ap_alias_next(pos, UINT64_MAX, &lo, &hi); pos = hi)
		ap_smc_unprotect(lo, hi);
	ap_lock_drop(&ap_proc.lock);
}

bool ap_hook_shares_files(void)
{
	return !ap_self()->own_fd;
}

s32 ap_hook_session_fd(void)
{
	return ap_fd(ap_self());
}

u32 ap_hook_party(void)
{
	return AP_PARTY_OF(ap_proc.seg_index);
}

/* It is on its way to this CPU when it has been sent, which takes less than a microsecond. */
void ap_hook_await_signal(u32 sig)
{
	struct ap_thread *t = ap_self();

	if (!ap_sig_is_heard(t, sig))
		return;
	for (u32 n = 0; n < AWAIT_SPINS && !__atomic_load_n(&t->pending, __ATOMIC_ACQUIRE); n++)
		__builtin_ia32_pause();
}

bool ap_hook_supervisor_lives(u32 waits)
{
	return ap_supervisor_lives(waits);
}

s64 ap_call_serve(struct ap_thread *t, struct ap_call *c,
		  s64 (*route)(struct ap_thread *t, struct ap_call *c))
{
	struct ap_service_call s = { .nr = c->nr };

	memcpy(s.a, c->a, sizeof(s.a));
	if (ap_service_before(&s))
		return s.ret;
	memcpy(c->a, s.a, sizeof(c->a));
	s.ret = route(t, c);
	if (s.after || s.tree || s.tells || s.goes)
		ap_service_after(&s);
	return s.ret;
}
