/* SPDX-License-Identifier: MIT */
/*
 * Mappings of perf descriptors: pages of the session file that the supervisor hands out, mapped where
 * the program wants them.  The table remembers them, because the supervisor is told when an event's
 * last one is gone, a child does not have them, and /proc/self/maps shows them by another name.
 *
 * The table has no lock.  Who maps and unmaps one address in
 * two threads at the same time gets what it asked for from the kernel, and a late note to the
 * supervisor at worst.
 */
#include "abi/cpuid.h"
#include "abi/service.h"
#include "abi/switches.h"
#include "base/mem.h"
#include "base/str.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/memo.h"
#include "service/request.h"
#include "service/sample.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define ENTRIES	      16384U
#define HELD_TRIES    16U /* of a counter; each waits for the supervisor */
#define MADV_DONTFORK 10
#define MAP_SYNC      0x80000ULL
/* Flags that MAP_SHARED_VALIDATE knows: LEGACY_MAP_MASK. */
#define FLAGS_KNOWN 0xfc07fdf3ULL

struct map_entry {
	u32 state, pad;
	u64 start, end;
	u64 inode; /* with AP_FDS_PERFCTR: of a state, and to be read only */
	u64 off;   /* in the session file */
};

static struct ap_memo table;

/* Where the table is full the mapping is forgotten, and the supervisor waits for the process' end. */
static void remember(u64 start, u64 end, u64 inode, u64 off)
{
	struct map_entry *e = ap_memo_claim(&table, ENTRIES, sizeof(struct map_entry));

	if (!e)
		return;
	e->start = start;
	e->end = end;
	e->inode = inode;
	e->off = off;
	ap_memo_publish(&table, e);
}

bool ap_service_may_move(void)
{
	u32 n = ap_memo_used(&table);

	for (u32 i = 0; i < n; i++)
		if (ap_memo_at(&table, i))
			return false;
	return true;
}

void ap_service_each_shared(void (*fn)(void *at, u64 size))
{
	u32 n = ap_memo_used(&table);

	ap_svc_rings_each(fn);
	for (u32 i = 0; i < n; i++) {
		const struct map_entry *e = ap_memo_at(&table, i);

		if (e)
			fn((void *)e->start, e->end - e->start);
	}
}

static bool is_mapped(u64 inode)
{
	u32 n = ap_memo_used(&table);

	for (u32 i = 0; i < n; i++) {
		const struct map_entry *e = ap_memo_at(&table, i);

		if (e && e->inode == inode)
			return true;
	}
	return false;
}

bool ap_svc_mapped_at(u64 inode, u64 *off, u64 *pages)
{
	u32 n = ap_memo_used(&table);

	for (u32 i = 0; i < n; i++) {
		const struct map_entry *e = ap_memo_at(&table, i);

		if (!e || e->inode != inode)
			continue;
		if (off)
			*off = e->off;
		if (pages)
			*pages = (e->end - e->start) / AP_PAGE_SIZE;
		return true;
	}
	return false;
}

static void tell_unmapped(u64 inode)
{
	struct ap_request r;

	if (is_mapped(inode))
		return;
	ap_svc_moves_end(inode);
	if (ap_request_begin(&r, AP_SVC_MUNMAP))
		return;
	r.svc->arg[0] = inode & ~AP_FDS_PERFCTR;
	ap_request_ask(&r);
	ap_request_end(&r);
}

/* The entry that overlaps [start, end), from the i-th on. */
static struct map_entry *overlap(u64 start, u64 end, u32 *i)
{
	u32 n = ap_memo_used(&table);

	while (*i < n) {
		struct map_entry *e = ap_memo_at(&table, (*i)++);

		if (e && e->start < end && e->end > start)
			return e;
	}
	return NULL;
}

enum ap_svc_overlap ap_svc_overlaps(u64 start, u64 end)
{
	enum ap_svc_overlap has = AP_SVC_NONE;
	const struct map_entry *e;

	for (u32 i = 0; has != AP_SVC_PART && (e = overlap(start, end, &i));)
		has = start <= e->start && end >= e->end ? AP_SVC_ALL : AP_SVC_PART;
	return has;
}

bool ap_svc_overlaps_read_only(u64 start, u64 end)
{
	const struct map_entry *e;

	for (u32 i = 0; (e = overlap(start, end, &i));)
		if (e->inode & AP_FDS_PERFCTR)
			return true;
	return false;
}

/*
 * [start, end) is something else now, or nothing; of an event that has come there nobody is told.  A
 * hole in the middle changes nothing.
 */
static void forget(u64 start, u64 end, u64 now)
{
	struct map_entry *e;

	for (u32 i = 0; (e = overlap(start, end, &i));) {
		u64 inode = e->inode;

		ap_hook_pmc_changed();
		if (start <= e->start && end >= e->end) {
			if (ap_memo_free(e) && inode != now)
				tell_unmapped(inode);
		} else if (start <= e->start) {
			e->start = end;
		} else if (end >= e->end) {
			e->end = start;
		}
	}
}

/* CPUID has told the program of so many. */
static bool is_counter(u32 counter)
{
	u32 n = ap_hook_session()->counters;

	return counter < (n && n < AP_CPUID_PMC_MAX ? n : AP_CPUID_PMC_MAX);
}

static u64 page_end(u64 addr, u64 len)
{
	return addr + AP_ALIGN_UP(len, AP_PAGE_SIZE);
}

/* As mmap(2) sees it before the file is asked, in its order. */
static s64 check(const struct ap_service_call *c)
{
	u64 type = c->a[3] & AP_MAP_TYPE, len = AP_ALIGN_UP(c->a[1], AP_PAGE_SIZE);

	if (c->a[5] & ~AP_PAGE_MASK || !c->a[1])
		return -AP_EINVAL;
	if (!len || len > AP_TASK_SIZE)
		return -AP_ENOMEM;
	if (c->a[5] / AP_PAGE_SIZE > (UINT64_MAX - len) / AP_PAGE_SIZE)
		return -AP_EOVERFLOW;
	if (type == AP_MAP_SHARED_VALIDATE && c->a[3] & ~FLAGS_KNOWN)
		return -AP_EOPNOTSUPP;
	if (type != AP_MAP_SHARED && type != AP_MAP_PRIVATE && type != AP_MAP_SHARED_VALIDATE)
		return -AP_EINVAL;
	if (c->a[2] & AP_PROT_X)
		return -AP_EPERM;
	if (type == AP_MAP_PRIVATE && !ap_fds_is_perfctr((s32)c->a[4]))
		return -AP_EINVAL;
	return len / AP_PAGE_SIZE > INT32_MAX ? -AP_ENOMEM : 0;
}

/* A private mapping may be written to: a holder that takes none such is asked so. */
static u64 prot_of(const struct ap_service_call *c)
{
	return c->a[2] | ((c->a[3] & AP_MAP_TYPE) == AP_MAP_PRIVATE ? AP_PROT_W : 0);
}

bool ap_svc_mmap(struct ap_service_call *c)
{
	u64 got[2] = { 0, 0 }; /* where it is; it is to be read only */
	struct ap_request r;

	c->ret = check(c);
	if (!c->ret)
		c->ret = ap_request_begin(&r, AP_SVC_MMAP);
	if (c->ret)
		return true;
	r.svc->arg[0] = c->inode;
	r.svc->arg[1] = AP_ALIGN_UP(c->a[1], AP_PAGE_SIZE);
	r.svc->arg[2] = prot_of(c);
	r.svc->arg[3] = c->a[5];
	r.svc->out_size = 0;
	c->ret = ap_request_ask(&r);
	memcpy(got, r.svc->data, r.svc->out_size == sizeof(got) ? sizeof(got) : sizeof(got[0]));
	ap_request_end(&r);
	if (c->ret)
		return true;
	if (got[1])
		c->inode |= AP_FDS_PERFCTR;
	c->a[3] = (c->a[3] & ~(u64)AP_MAP_TYPE) | AP_MAP_SHARED;
	c->a[4] = (u64)ap_hook_session_fd();
	c->a[5] = got[0];
	return false;
}

void ap_svc_mmap_done(const struct ap_service_call *c)
{
	u64 start = (u64)c->ret, end = page_end(start, c->a[1]);

	if (ap_is_err(c->ret)) {
		if (c->inode)
			tell_unmapped(c->inode);
		return;
	}
	forget(start, end, c->inode);
	if (!c->inode)
		return;
	ap_svc_sys(AP_NR_madvise, start, end - start, MADV_DONTFORK, 0);
	remember(start, end, c->inode, c->a[5]);
}

void ap_svc_munmap_done(const struct ap_service_call *c)
{
	if (!c->ret)
		forget(c->a[0], page_end(c->a[0], c->a[1]), 0);
}

void ap_svc_mremap_done(const struct ap_service_call *c)
{
	u64 start = (u64)c->ret, end = page_end(start, c->a[2]);
	struct map_entry *e;
	u32 i = 0;

	if (ap_is_err(c->ret))
		return;
	if (start != c->a[0])
		forget(start, end, 0);
	e = overlap(c->a[0], c->a[0] + 1, &i);
	if (e) {
		ap_hook_pmc_changed();
		e->start = start;
		e->end = end;
	}
}

static u64 ask_pmc(u64 inode, u32 counter)
{
	struct ap_request r;
	u64 value = 0;

	ap_request_begin_held(&r, AP_SVC_PMC);
	r.svc->arg[0] = inode;
	r.svc->arg[1] = counter;
	if (!ap_request_ask(&r) && r.svc->out_size == sizeof(value))
		memcpy(&value, r.svc->data, sizeof(value));
	return value;
}

/* As a CPU whose counters have fewer bits gives it, where a test wants one. */
static void narrow(struct ap_service_pmc *pmc)
{
	if (ap_is_stressed(ap_hook_session(), AP_STRESS_NARROW))
		pmc->value = (pmc->value + AP_NARROW_BIAS) & ((1ULL << AP_NARROW_BITS) - 1);
}

/* What the mapped control pages say about a counter. */
struct by_pages {
	u64 other;	 /* an event that somebody else counts, or 0 */
	u64 held;	 /* one of the thread's own, with which the supervisor has to do */
	bool is_allowed; /* the process may read counters */
};

/* True: pmc is what the thread's own event has counted. */
static bool read_named(u32 counter, struct by_pages *is, struct ap_service_pmc *pmc)
{
	const u64 caps_at = offsetof(struct ap_perf_page, capabilities);
	u32 n = ap_memo_used(&table), index;
	u64 caps;

	*is = (struct by_pages){ 0 };
	for (u32 i = 0; i < n; i++) {
		const struct map_entry *e = ap_memo_at(&table, i);

		if (!e || e->inode & AP_FDS_PERFCTR ||
		    ap_hook_get(&index, e->start + offsetof(struct ap_perf_page, index),
				sizeof(index)) ||
		    ap_hook_get(&caps, e->start + caps_at, sizeof(caps)))
			continue;
		is->is_allowed |= (caps & AP_PERF_CAP_USER_RDPMC) != 0;
		if (!index || index - 1 != counter)
			continue;
		switch (ap_svc_own_pmc(e->inode, pmc)) {
		case AP_SVC_PMC_READ:
			return true;
		case AP_SVC_PMC_HELD:
			is->held = e->inode;
			break;
		case AP_SVC_PMC_OTHERS:
			is->other = e->inode;
			break;
		}
	}
	return false;
}

/*
 * The control pages say which event has the counter: the first that is the thread's own, else one of a CPU or of another
 * task.  Whose page said so a moment ago has changed it by now, and reads once more.  Natively any page lets the
 * process read all counters that there are; what nothing counts with is 0.
 *
 * While the supervisor takes the counter from the event its page is older than what it has counted: more than that must not
 * be seen, or the count would go back when the page says so.  The answer to any question comes behind the change.
 */
bool ap_service_pmc(u32 counter, struct ap_service_pmc *pmc)
{
	struct by_pages is;
	u64 value = 0;

	if (ap_svc_perfctr_pmc(counter, pmc))
		return true;
	for (u32 i = 0; i < HELD_TRIES; i++) {
		if (read_named(counter, &is, pmc)) {
			narrow(pmc);
			return true;
		}
		if (!is.held)
			break;
		value = ask_pmc(is.held, counter);
	}
	if (is.other)
		value = ask_pmc(is.other, counter);
	else if (!is.held && !(is.is_allowed && is_counter(counter)))
		return false;
	*pmc = (struct ap_service_pmc){ .value = value };
	if (is.other || is.held)
		narrow(pmc);
	return true;
}

bool ap_svc_has_maps(void)
{
	return ap_memo_used(&table);
}

void ap_service_in_child(void)
{
	ap_memo_clear(&table);
	ap_svc_moves_in_child();
}

bool ap_service_names_map(u64 start, u64 name_at, char *tail, u64 cap)
{
	struct ap_kstat st;
	struct ap_str s;
	u32 i = 0;
	s64 fd;

	if (!overlap(start, start + 1, &i))
		return false;
	fd = ap_svc_stand_in_fd();
	if (fd < 0)
		return false;
	ap_svc_sys(AP_NR_fstat, (u64)fd, (u64)&st, 0, 0);
	ap_svc_sys(AP_NR_close, (u64)fd, 0, 0, 0);
	ap_str_init(&s, tail, cap);
	ap_str_hex(&s, st.dev >> 8 & 0xfff, 2);
	ap_str_char(&s, ':');
	ap_str_hex(&s, (st.dev & 0xff) | (st.dev >> 12 & 0xfff00), 2);
	ap_str_char(&s, ' ');
	ap_str_u64(&s, st.ino);
	do {
		ap_str_char(&s, ' ');
	} while (s.len < name_at);
	ap_str_add(&s, "anon_inode:[perf_event]\n");
	return !s.cut;
}
