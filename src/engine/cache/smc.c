/* SPDX-License-Identifier: MIT */
/*
 * Code that changes.  A page that is writable and executable is write-protected while blocks of
 * it exist; a store into it faults, which drops the blocks and gives the permission back.  The
 * same holds for writable pages that show the memory of an executable one (alias.c).
 *
 * The pages that ever were protected are kept in hash chains whose nodes never move or go, so
 * the master handler may read them without a lock.  Writers hold the process lock.
 */
#include "engine/cache/smc.h"
#include "engine/cache/alias.h"
#include "engine/cache/region.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/filter.h"
#include "sys/nr.h"

#define BUCKETS	   4096
#define NODES_SIZE (64ULL << 10)

/* So many write faults in short order make a page one whose blocks are not kept... */
#define HOT_FAULTS 8
/* ...for so many translations, since code may run again and again once it is complete... */
#define HOT_RUNS 32
/* ...where "short" is counted in translations of writable pages. */
#define RECENT 512

enum page_state {
	UNKNOWN,   /* nothing is known any more: unmapped, or given another protection */
	WRITABLE,  /* was protected; the program may write to it again */
	PROTECTED, /* lacks the permission to write that the program believes in */
};

struct page {
	struct page *next;
	u64 addr;
	u64 last_fault;
	u32 state;
	u16 faults;
	u8 prot;      /* the program's */
	bool shared;  /* blocks may have been made of its memory at other addresses */
	u16 runs;     /* blocks that were made for one run since it became hot */
	u32 refusals; /* faults while WRITABLE, since it was last protected */
};

struct nodes {
	struct nodes *older;
	u64 used;
	struct page page[];
};

#define NODES_MAX ((NODES_SIZE - sizeof(struct nodes)) / sizeof(struct page))

static AP_ROOMY struct page *buckets[BUCKETS];
static struct nodes *nodes;
static u32 nprotected;
static u64 clock;

static struct page **bucket(u64 page)
{
	u64 n = page >> 12;

	return &buckets[(n ^ n >> 12) % BUCKETS];
}

static struct page *find(u64 page)
{
	struct page *p = __atomic_load_n(bucket(page), __ATOMIC_ACQUIRE);

	while (p && p->addr != page)
		p = p->next;
	return p;
}

static struct page *find_or_add(u64 page)
{
	struct page *p = find(page);
	struct nodes *n = nodes;

	if (p)
		return p;
	if (!n || n->used == NODES_MAX) {
		n = ap_mem_map(0, NODES_SIZE);
		if (!n)
			return NULL;
		n->older = nodes;
		nodes = n;
	}
	p = &n->page[n->used++];
	p->addr = page;
	p->next = *bucket(page);
	__atomic_store_n(bucket(page), p, __ATOMIC_RELEASE);
	return p;
}

static void set_state(struct page *p, u32 state)
{
	nprotected += (state == PROTECTED) - (p->state == PROTECTED);
	__atomic_store_n(&p->state, state, __ATOMIC_RELEASE);
}

static bool hot(struct page *p)
{
	if (p->faults < HOT_FAULTS)
		return false;
	if (clock - p->last_fault > RECENT)
		p->faults = 0;
	else if (++p->runs > HOT_RUNS)
		p->faults = HOT_FAULTS - 1; /* the next fault makes it hot again */
	else
		return true;
	p->runs = 0;
	return false;
}

static bool held;

void ap_smc_hold(bool on)
{
	held = on;
}

/* Who stores to it gives it back, behind a fault, and that may be any thread. */
static bool may_protect(u64 page, u32 prot)
{
	const u64 take[6] = { page, AP_PAGE_SIZE, prot & ~AP_PROT_W };
	const u64 give[6] = { page, AP_PAGE_SIZE, prot };
	const u64 return_[6] = { 0 };

	return ap_filter_all_allow(AP_NR_mprotect, take) &&
	       ap_filter_all_allow(AP_NR_mprotect, give) &&
	       ap_filter_all_allow(AP_NR_rt_sigreturn, return_);
}

static bool protect(u64 page, u32 prot, bool shared)
{
	struct page *p = may_protect(page, prot) ? find_or_add(page) : NULL;

	if (!p)
		return false;
	if (p->state == PROTECTED)
		return true;
	if (hot(p))
		return false;
	/* First the state: another thread's store may fault before mprotect has returned. */
	if (p->state == UNKNOWN)
		p->prot = (u8)prot;
	p->shared = shared;
	set_state(p, PROTECTED);
	p->refusals = 0;
	if (!ap_is_err(ap_sys3(AP_NR_mprotect, page, AP_PAGE_SIZE, prot & ~AP_PROT_W)))
		return true;
	set_state(p, WRITABLE);
	return false;
}

static bool protect_view(u64 page, u32 prot)
{
	return protect(page, prot, true);
}

bool ap_smc_protect(u64 page)
{
	const struct ap_range *r;

	page &= AP_PAGE_MASK;
	r = ap_region_find(page);
	if (!r || !(r->flags & (AP_RANGE_W | AP_RANGE_SHARED)))
		return true;
	/* What grows out of a page has its protection. */
	if (held || (r->flags & AP_RANGE_GROWS && page == r->start))
		return false;
	clock++;
	if (r->flags & AP_RANGE_SHARED)
		return ap_alias_protect(page, protect_view);
	return protect(page, AP_PROT_R | AP_PROT_W | AP_PROT_X, false);
}

/* Blocks go first: nothing may be made from the page in between, the lock sees to it. */
static void unprotect(struct page *p)
{
	if (p->shared)
		ap_alias_drop(p->addr, p->addr + AP_PAGE_SIZE);
	else
		ap_cache_invalidate(p->addr, p->addr + AP_PAGE_SIZE);
	ap_sys3(AP_NR_mprotect, p->addr, AP_PAGE_SIZE, p->prot);
	set_state(p, WRITABLE);
}

bool ap_smc_write_fault(u64 addr)
{
	struct page *p = find(addr & AP_PAGE_MASK);

	if (!p || p->state == UNKNOWN)
		return false;
	if (p->state == WRITABLE) {
		/*
		 * Another thread was faster, once for each thread that can be on its way here; else
		 * it faults for a reason of its own (a protection key) and belongs to the program.
		 */
		return p->refusals++ < ap_proc.nthreads + 4;
	}
	unprotect(p);
	if (clock - p->last_fault > RECENT)
		p->faults = 0;
	p->last_fault = clock;
	if (p->faults < HOT_FAULTS)
		p->faults++;
	return true;
}

/*
 * True for pages that were protected until just now as well: whoever faulted on one may read this
 * late.  ap_smc_write_fault decides under the lock.
 */
bool ap_smc_is_protected(u64 addr)
{
	const struct page *p = find(addr & AP_PAGE_MASK);

	return p && __atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != UNKNOWN;
}

bool ap_smc_hides_write(u64 addr)
{
	const struct page *p = find(addr & AP_PAGE_MASK);

	return p && p->state == PROTECTED;
}

u64 ap_smc_table(void)
{
	return (u64)buckets;
}

static bool fetch(u32 pid, u64 at, void *to, u64 size)
{
	const u64 here[2] = { (u64)to, size }, there[2] = { at, size };

	return ap_sys6(AP_NR_process_vm_readv, pid, (u64)here, 1, (u64)there, 1, 0) == (s64)size;
}

bool ap_smc_hides_write_in(u32 pid, u64 table, u64 addr)
{
	u64 page = addr & AP_PAGE_MASK, at;
	struct page p;

	if (!fetch(pid, table + (u64)((char *)bucket(page) - (char *)buckets), &at, sizeof(at)))
		return false;
	/* as it may be changed meanwhile, or be no table at all */
	for (u32 n = 0; at && n < BUCKETS && fetch(pid, at, &p, sizeof(p)); n++) {
		if (p.addr == page)
			return p.state == PROTECTED;
		at = (u64)p.next;
	}
	return false;
}

/* Calls fn for each known page in [start, end): by address or by node, whichever is less work. */
static bool for_each(u64 start, u64 end, bool (*fn)(struct page *p))
{
	bool any = false;
	struct page *p;

	start &= AP_PAGE_MASK;
	if (end - start <= BUCKETS * AP_PAGE_SIZE) {
		for (; start < end; start += AP_PAGE_SIZE) {
			p = find(start);
			if (p)
				any |= fn(p);
		}
		return any;
	}
	for (struct nodes *n = nodes; n; n = n->older) {
		for (u64 i = 0; i < n->used; i++) {
			p = &n->page[i];
			if (p->addr >= start && p->addr < end)
				any |= fn(p);
		}
	}
	return any;
}

static bool give_back(struct page *p)
{
	if (p->state != PROTECTED)
		return false;
	unprotect(p);
	return true;
}

static bool forget(struct page *p)
{
	set_state(p, UNKNOWN);
	p->faults = 0;
	p->runs = 0;
	return true;
}

bool ap_smc_any(void)
{
	return __atomic_load_n(&nprotected, __ATOMIC_RELAXED);
}

bool ap_smc_unprotect(u64 start, u64 end)
{
	return nprotected && for_each(start, end, give_back);
}

bool ap_smc_unprotect_all(void)
{
	return ap_smc_unprotect(0, UINT64_MAX);
}

/* By a call that the filter does not judge yet. */
static bool give_back_kept(struct page *p)
{
	if (p->state != PROTECTED || may_protect(p->addr, p->prot))
		return false;
	if (p->shared)
		ap_alias_drop(p->addr, p->addr + AP_PAGE_SIZE);
	else
		ap_cache_invalidate(p->addr, p->addr + AP_PAGE_SIZE);
	ap_rawsys(AP_NR_mprotect, p->addr, AP_PAGE_SIZE, p->prot, 0, 0, 0);
	set_state(p, WRITABLE);
	return true;
}

void ap_smc_before_filter(void)
{
	if (nprotected)
		for_each(0, UINT64_MAX, give_back_kept);
}

/* Blocks stay: none is entered any more, and the tables that lead to them may be half written. */
void ap_smc_give_back_all(void)
{
	struct page *p;

	for (struct nodes *n = nodes; n; n = n->older) {
		for (u64 i = 0; i < n->used; i++) {
			p = &n->page[i];
			if (p->state != PROTECTED)
				continue;
			ap_sys3(AP_NR_mprotect, p->addr, AP_PAGE_SIZE, p->prot);
			set_state(p, WRITABLE);
		}
	}
}

static bool give_back_unsure(struct page *p)
{
	if (p->state != UNKNOWN)
		unprotect(p);
	return true;
}

void ap_smc_mend(void)
{
	held = false;
	if (!nodes)
		return;
	for_each(0, UINT64_MAX, give_back_unsure);
	nprotected = 0;
}

void ap_smc_forget(u64 start, u64 end)
{
	if (nodes)
		for_each(start, end, forget);
}

static u32 seen; /* ap_board.code_gen, as the cache was last flushed for it; lock */

void ap_smc_serialize(void)
{
	u32 gen = __atomic_load_n(&ap_proc.board->code_gen, __ATOMIC_ACQUIRE);

	if (!ap_alias_any() && gen == seen)
		return;
	ap_lock_take(&ap_proc.lock);
	ap_alias_drop_all();
	if (gen != seen)
		ap_cache_flush();
	seen = gen;
	ap_lock_drop(&ap_proc.lock);
}

static bool is_poked(u64 start, u64 end, bool if_unknown)
{
	struct ap_board *b = ap_proc.board;
	u32 n = __atomic_load_n(&b->npoked, __ATOMIC_ACQUIRE);
	u64 from;

	for (u32 i = 0; i < n && i < AP_POKED_N; i++) {
		from = __atomic_load_n(&b->poked[i].start, __ATOMIC_ACQUIRE);
		if (from ? from <= start && b->poked[i].end >= end : if_unknown)
			return true;
	}
	return if_unknown && n > AP_POKED_N;
}

bool ap_smc_may_be_poked(u64 pc)
{
	return is_poked(pc, pc + 1, true);
}

void ap_smc_poked(u64 start, u64 end)
{
	struct ap_board *b = ap_proc.board;
	u32 i = is_poked(start, end, false) ? AP_POKED_N : b->npoked;

	if (i < AP_POKED_N)
		i = __atomic_fetch_add(&b->npoked, 1, __ATOMIC_ACQ_REL);
	else if (!is_poked(start, end, false))
		b->npoked = AP_POKED_N + 1;
	if (i < AP_POKED_N) {
		b->poked[i].end = end;
		__atomic_store_n(&b->poked[i].start, start, __ATOMIC_RELEASE);
	}
	__atomic_fetch_add(&ap_proc.board->code_gen, 1, __ATOMIC_ACQ_REL);
}

void ap_smc_moved(bool poked)
{
	seen = __atomic_load_n(&ap_proc.board->code_gen, __ATOMIC_ACQUIRE) - 1;
	if (poked)
		ap_smc_poked(0, UINT64_MAX);
}
