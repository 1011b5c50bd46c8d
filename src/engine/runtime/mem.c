/* SPDX-License-Identifier: MIT */
/*
 * Memory of the engine.  Every mapping is probed for with MAP_FIXED_NOREPLACE, so none ever
 * replaces or displaces one of the program's, and is kept in one table, which hides it from the
 * program.  The table has a lock of its own: callers may or may not hold the process lock.
 *
 * A holder of that lock may be killed (lock.h).  So the table exists twice: a change is made to the
 * copy that is not in use, and one store makes it the one that is.
 */
#include "base/mem.h"
#include "abi/switches.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/filter.h"
#include "engine/runtime/ranges.h"
#include "sys/nr.h"

#define MAX_MAPPINGS  4096
#define MAX_ARENAS    64
#define STEP	      (1ULL << 20)
#define LOW_END	      0x7f000000ULL /* a displacement's reach, less what Windows programs have there */
#define LOW_4G	      0x100000000ULL
#define MAX_AVOIDED   12
#define LOW_ROOM      0x10000000ULL /* enough for a program and what the engine has there */
#define LOWEST	      0x10000ULL    /* mmap_min_addr as distributions set it */
#define HIGHEST	      0x7fffffffe000ULL
#define EXEC_DISTANCE 0x50000000ULL  /* 1.25 GiB: what a program maps next to its code fits in */
#define CHUNK_EARLY   (448ULL << 10) /* if the blob's image has room for it */
#define CHUNK_FIRST   (64ULL << 10)
#define CHUNK	      (256ULL << 10)
#define STRIDE_MIN    (8ULL << 10) /* so much is brought in by one call */
#define STRIDE_MAX    (64ULL << 10)

/* A run of adjacent executable chunks: below its code it grows down, above it grows up. */
struct arena {
	u64 lo, hi;
	bool up;
};

/* At the start of each heap chunk. */
struct heap_chunk {
	struct heap_chunk *next; /* older */
	u64 size, used;
	u64 ready; /* so much of it is there */
};

static AP_ROOMY struct ap_range mappings_v[2][MAX_MAPPINGS];
static struct ap_ranges mappings[2];
static u32 in_use;
static struct arena arenas[MAX_ARENAS];
static u32 narenas;
static u64 total;
static struct ap_lock mem_lock;
static struct ap_range avoided[MAX_AVOIDED];
static u32 navoided;
static u64 below; /* the last mapping that might be anywhere; 0: begin anew */
static u64 early_at, early_end;
static struct heap_chunk *heap;
static struct heap_chunk
	*spare; /* where a filter of the program's may keep us from having another */

/* Has the program asked for a part of it, or is it low and the program asks for too much of that? */
static bool is_avoided(u64 start, u64 end)
{
	if (start < LOW_4G &&
	    (navoided == MAX_AVOIDED || ap_is_stressed(ap_proc.session, AP_STRESS_FAR)))
		return true;
	for (u32 i = 0; i < navoided; i++)
		if (start < avoided[i].end && end > avoided[i].start)
			return true;
	return false;
}

/* Maps exactly [addr, addr + size) if nothing is there; lock held. */
static bool map_at(u64 addr, u64 size, u32 prot)
{
	s64 p;

	if (addr < LOWEST || addr > HIGHEST || size > HIGHEST - addr ||
	    is_avoided(addr, addr + size))
		return false;
	p = ap_sys6(AP_NR_mmap, addr, size, prot,
		    AP_MAP_PRIVATE | AP_MAP_ANON | AP_MAP_NORESERVE | AP_MAP_FIXED_NOREPLACE,
		    (u64)-1, 0);
	if (p == (s64)addr)
		return true;
	if (!ap_is_err(p)) /* a kernel before 4.17 took the address for a hint */
		ap_sys2(AP_NR_munmap, p, size);
	return false;
}

static const struct ap_ranges *table(void)
{
	return &mappings[in_use];
}

/* The copy to be changed. */
static struct ap_ranges *begin_change(void)
{
	struct ap_ranges *to = &mappings[!in_use];

	to->v = mappings_v[!in_use];
	to->cap = MAX_MAPPINGS;
	to->n = table()->n;
	memcpy(to->v, mappings_v[in_use], to->n * sizeof(*to->v));
	return to;
}

static void end_change(void)
{
	__atomic_store_n(&in_use, !in_use, __ATOMIC_RELEASE);
}

static void added(u64 addr, u64 size)
{
	ap_ranges_set(begin_change(), addr, addr + size, 0);
	end_change();
	total += size;
}

static bool table_full(void)
{
	return table()->n + 2 > MAX_MAPPINGS;
}

/* What is not in the table; arenas are only where the next chunk is looked for first. */
static void mend(void)
{
	u64 sum = 0;

	for (u32 i = 0; i < table()->n; i++)
		sum += table()->v[i].end - table()->v[i].start;
	total = sum;
	narenas = 0;
}

void ap_mem_lock_init(void)
{
	ap_lock_add(&mem_lock, AP_RANK_MEMORY, "memory", mend);
}

/*
 * Probes [addr, addr + size) and onwards in one direction while it stays within [lo, hi).  A few
 * steps of its own size fill small holes, then strides grow so that terabytes are passed quickly.
 * Returns the address or 0.
 */
static u64 probe(u64 addr, u64 size, u32 prot, u64 lo, u64 hi, bool up)
{
	u64 step = size < AP_HUGE_PAGE ? size : AP_ALIGN_UP(size, AP_HUGE_PAGE);

	for (u32 i = 0; addr >= lo && addr < hi && hi - addr >= size; i++) {
		if (map_at(addr, size, prot))
			return addr;
		if (i == 16 && step < STEP)
			step = STEP;
		if (i >= 4096)
			step *= 2;
		if (up ? step > hi - addr : step > addr - lo)
			break;
		addr = up ? addr + step : addr - step;
	}
	return 0;
}

void *ap_mem_map_at(u64 addr, u64 size)
{
	bool ok;

	ap_lock_take(&mem_lock);
	ok = !table_full() && map_at(addr, size, AP_PROT_R | AP_PROT_W);
	if (ok)
		added(addr, size);
	ap_lock_drop(&mem_lock);
	return ok ? (void *)addr : NULL;
}

/* What is large is used as a whole, by tables of the models: huge pages for it are some faults in place of thousands. */
static void ask_for_huge(u64 p, u64 size)
{
	if (p && size >= AP_HUGE_PAGE)
		ap_sys3(AP_NR_madvise, p, AP_ALIGN_DOWN(size, AP_HUGE_PAGE), AP_MADV_HUGEPAGE);
}

/* Where it is all the same: behind what was mapped so before, so that nothing is tried twice. */
static u64 map_next(u64 size)
{
	u64 p = 0;

	if (below > size && size < AP_HUGE_PAGE)
		p = probe(below - size, size, AP_PROT_R | AP_PROT_W, LOWEST, HIGHEST, false);
	return p;
}

void *ap_mem_map(u64 near, u64 size)
{
	bool anywhere = !near;
	u64 at, p = 0;

	size = AP_ALIGN_UP(size, AP_PAGE_SIZE);
	if (!near)
		near = ap_proc.blob_lo;
	at = near & AP_PAGE_MASK;
	if (size >= AP_HUGE_PAGE && at > size) /* so that it begins at a multiple */
		at = AP_ALIGN_DOWN(at - size, AP_HUGE_PAGE) + size;
	ap_lock_take(&mem_lock);
	if (size && !table_full() && ap_filter_allows_map(false)) {
		if (anywhere)
			p = map_next(size);
		if (!p && at > size)
			p = probe(at - size, size, AP_PROT_R | AP_PROT_W, LOWEST, HIGHEST, false);
		if (!p && near > LOW_END)
			p = probe(at, size, AP_PROT_R | AP_PROT_W, LOWEST, HIGHEST, true);
		if (p)
			added(p, size);
		if (p && anywhere && size < AP_HUGE_PAGE)
			below = p;
	}
	ap_lock_drop(&mem_lock);
	ask_for_huge(p, size);
	return (void *)p;
}

u64 ap_mem_faults(void)
{
	enum { RUSAGE_THREAD = 1, MINFLT = 8, MAJFLT = 9 };
	u64 usage[18]; /* struct rusage */

	if (ap_sys2(AP_NR_getrusage, RUSAGE_THREAD, (u64)usage))
		return ~0ULL;
	return usage[MINFLT] + usage[MAJFLT];
}

/*
 * What the engine touches for the first time is brought in by ap_mem_populate(), so the kernel is asked there, and not
 * around all that may touch something: a block that is made seldom does.
 */
static struct {
	bool are_noted;
	u64 n;
} own;

void ap_mem_note_own(bool is_on)
{
	own.are_noted = is_on;
}

u64 ap_mem_own_faults(void)
{
	return own.n;
}

void ap_mem_populate(void *p, u64 size)
{
	bool is_noted = ap_unlikely(own.are_noted);
	u64 before = is_noted ? ap_mem_faults() : 0, behind;

	ap_sys3(AP_NR_madvise, (u64)p, AP_ALIGN_UP(size, AP_PAGE_SIZE), AP_MADV_POPULATE_WRITE);
	if (!is_noted)
		return;
	behind = ap_mem_faults();
	if (before != ~0ULL && behind != ~0ULL)
		own.n += behind - before;
}

/*
 * What a page costs is mostly to be cleared: three of those that are brought in together and used save as much as one that is not used
 * costs.  So it is little as long as little is used.
 */
u64 ap_mem_stride(u64 used)
{
	u64 n = AP_ALIGN_DOWN(used / 8, AP_PAGE_SIZE);

	return n < STRIDE_MIN ? STRIDE_MIN : n < STRIDE_MAX ? n : STRIDE_MAX;
}

u64 ap_mem_populate_to(void *start, u64 ready, u64 want, u64 size)
{
	u64 to = AP_ALIGN_UP(want + ap_mem_stride(want), AP_PAGE_SIZE);

	if (to > size)
		to = size;
	ap_mem_populate((char *)start + ready, to - ready);
	return to;
}

void ap_mem_populate_ends(struct ap_mem_ends *ready, void *start, u32 size, u32 low, u32 high)
{
	u32 free = size - ready->high, to;

	if (low > ready->low && ready->low < free)
		ready->low = (u32)ap_mem_populate_to(start, ready->low, low, free);
	free = size - ready->low;
	if (high <= ready->high || ready->high >= free)
		return;
	to = (u32)AP_ALIGN_UP(high + ap_mem_stride(high), AP_PAGE_SIZE);
	to = to < free ? to : free;
	ap_mem_populate((char *)start + size - to, to - ready->high);
	ready->high = to;
}

void ap_mem_early_init(u64 start, u64 end)
{
	early_at = start;
	early_end = end;
}

void *ap_mem_early(u64 size)
{
	void *p = (void *)early_at;

	size = AP_ALIGN_UP(size, AP_PAGE_SIZE);
	if (early_end - early_at < size)
		return NULL;
	early_at += size;
	return p;
}

/* Bounds of what is within reach of near, as far as it can be mapped. */
static void reach_of(u64 near, u64 reach, u64 *lo, u64 *hi)
{
	*lo = near > reach + LOWEST ? near - reach : LOWEST;
	*hi = near < HIGHEST - reach ? near + reach : HIGHEST;
	if (near < LOW_END)
		*hi = *hi < LOW_END ? *hi : LOW_END;
	*lo = AP_ALIGN_UP(*lo, AP_PAGE_SIZE);
	*hi &= AP_PAGE_MASK;
}

/* Continues an arena that lies within [lo, hi). */
static u64 extend_arena(u64 size, u64 lo, u64 hi)
{
	for (u32 i = 0; i < narenas; i++) {
		struct arena *a = &arenas[i];
		u64 at = a->up ? a->hi : a->lo - size;

		if (at < lo || at >= hi || size > hi - at)
			continue;
		if (!map_at(at, size, AP_PROT_R | AP_PROT_W | AP_PROT_X))
			continue;
		if (a->up)
			a->hi += size;
		else
			a->lo = at;
		return at;
	}
	return 0;
}

/*
 * Below 2 GiB a program's heap grows up, from a random start, and so does what the kernel maps there
 * on request: out of their way for longest is right below a heap that starts high, else the far end.
 */
u64 ap_mem_low_top(u64 end)
{
	u64 heap_start = ap_proc.boot ? ap_proc.boot->brk_start & AP_PAGE_MASK : 0;

	return heap_start >= LOW_ROOM && heap_start < end ? heap_start : end;
}

static u64 new_arena(u64 near, u64 size, u64 lo, u64 hi)
{
	const u32 rwx = AP_PROT_R | AP_PROT_W | AP_PROT_X;
	u64 base = near & AP_PAGE_MASK, p = 0;
	bool up = false;

	if (near < LOW_END) {
		p = probe(ap_mem_low_top(hi) - size, size, rwx, lo, hi, false);
		if (!p)
			p = probe(hi - size, size, rwx, lo, hi, false);
	} else if (base > EXEC_DISTANCE + size) {
		p = probe(base - EXEC_DISTANCE - size, size, rwx, lo, hi, false);
	}
	if (!p) { /* nearer than wanted */
		up = near >= LOW_END;
		p = probe(base, size, rwx, lo, hi, true);
	}
	if (p && narenas < MAX_ARENAS)
		arenas[narenas++] = (struct arena){ .lo = p, .hi = p + size, .up = up };
	return p;
}

void *ap_mem_map_exec(u64 near, u64 size, u64 reach)
{
	u64 lo, hi, p = 0;

	size = AP_ALIGN_UP(size, AP_PAGE_SIZE);
	reach_of(near, reach, &lo, &hi);
	ap_lock_take(&mem_lock);
	if (size && hi - lo >= size && !table_full() && ap_filter_allows_map(true)) {
		p = extend_arena(size, lo, hi);
		if (!p)
			p = new_arena(near, size, lo, hi);
		if (p)
			added(p, size);
	}
	ap_lock_drop(&mem_lock);
	return (void *)p;
}

/* An arena forgets the end that was given back, so that it can grow there again. */
static void shrink_arenas(u64 start, u64 end)
{
	for (u32 i = 0; i < narenas; i++) {
		struct arena *a = &arenas[i];

		if (start <= a->lo && end > a->lo)
			a->lo = end < a->hi ? end : a->hi;
		else if (start < a->hi && end >= a->hi)
			a->hi = start;
		if (a->lo == a->hi)
			arenas[i--] = arenas[--narenas];
	}
}

/* What may not be given back stays ours, and hidden. */
void ap_mem_unmap(void *p, u64 size)
{
	u64 start = (u64)p;

	size = AP_ALIGN_UP(size, AP_PAGE_SIZE);
	if (!ap_filter_allows(AP_NR_munmap, (const u64[6]){ start, size }))
		return;
	ap_lock_take(&mem_lock);
	/* Off the table first: in between the program may not be told that a gap is ours. */
	if (!table_full()) {
		ap_ranges_clear(begin_change(), start, start + size);
		end_change();
		shrink_arenas(start, start + size);
		below = 0;
		total -= size;
		ap_sys2(AP_NR_munmap, start, size);
	}
	ap_lock_drop(&mem_lock);
}

bool ap_mem_is_ours(u64 start, u64 end)
{
	bool ours = start < ap_proc.blob_hi && end > ap_proc.blob_lo;
	u32 i;

	if (ours || start >= end)
		return ours;
	ap_lock_take(&mem_lock);
	i = ap_ranges_at(table(), start);
	ours = i < table()->n && table()->v[i].start < end;
	ap_lock_drop(&mem_lock);
	return ours;
}

void ap_mem_avoid(u64 start, u64 end)
{
	ap_lock_take(&mem_lock);
	if (navoided < MAX_AVOIDED) {
		avoided[navoided] = (struct ap_range){ .start = start, .end = end };
		__atomic_store_n(&navoided, navoided + 1, __ATOMIC_RELEASE);
	} else if (end > LOW_4G) { /* the last one will do */
		avoided[MAX_AVOIDED - 1] = (struct ap_range){ .start = start, .end = end };
	}
	ap_lock_drop(&mem_lock);
}

bool ap_mem_avoids(u64 start, u64 end)
{
	bool yes;

	ap_lock_take(&mem_lock);
	yes = is_avoided(start, end);
	ap_lock_drop(&mem_lock);
	return yes;
}

u64 ap_mem_total(void)
{
	return __atomic_load_n(&total, __ATOMIC_RELAXED) + ap_proc.blob_hi - ap_proc.blob_lo;
}

/* Not under the table's lock while fn runs: it may map. */
void ap_mem_for_each(void (*fn)(u64 start, u64 end, void *arg), void *arg)
{
	struct ap_range r = { 0 };
	u32 i;

	fn(ap_proc.blob_lo, ap_proc.blob_hi, arg);
	for (;;) {
		ap_lock_take(&mem_lock);
		i = ap_ranges_at(table(), r.end);
		if (i == table()->n)
			break;
		r = table()->v[i];
		ap_lock_drop(&mem_lock);
		fn(r.start, r.end, arg);
	}
	ap_lock_drop(&mem_lock);
}

const struct ap_range *ap_mem_table(u32 *n)
{
	*n = table()->n;
	return table()->v;
}

void ap_mem_fork_begin(void)
{
	ap_lock_take(&mem_lock);
}

void ap_mem_fork_lend(const u32 *done)
{
	ap_lock_lend(&mem_lock, done);
}

void ap_mem_fork_end(void)
{
	if (ap_lock_end_loan(&mem_lock))
		ap_lock_drop(&mem_lock);
}

void ap_mem_fork_child(void)
{
	if (ap_lock_reset(&mem_lock))
		mend();
}

static struct heap_chunk *take_spare(u64 size)
{
	struct heap_chunk **p = &spare, *c;

	while (*p && (*p)->size < size)
		p = &(*p)->next;
	c = *p;
	if (c)
		*p = c->next;
	return c;
}

static struct heap_chunk *new_chunk(u64 size)
{
	struct heap_chunk *c = ap_mem_map(0, size);

	if (c)
		c->size = size;
	return c;
}

void ap_heap_reserve(u64 size)
{
	struct heap_chunk *c;
	u64 have = 0;

	for (c = spare; c; c = c->next)
		have += c->size;
	for (; have < size; have += CHUNK) {
		c = new_chunk(CHUNK);
		if (!c)
			return;
		c->next = spare;
		spare = c;
	}
}

/* Of what the image has left, so that it stays within the image's pages as that grows.  The oldest is never unmapped. */
static struct heap_chunk *early_chunk(u64 need)
{
	u64 left = AP_ALIGN_DOWN(early_end - early_at, AP_PAGE_SIZE);
	u64 size = left < CHUNK_EARLY ? left : CHUNK_EARLY;
	struct heap_chunk *c = need <= size ? ap_mem_early(size) : NULL;

	if (c)
		c->size = size;
	return c;
}

static bool heap_grow(u64 need)
{
	u64 size = heap ? CHUNK : CHUNK_FIRST;
	struct heap_chunk *c;

	need += sizeof(*c) + 16;
	if (size < need)
		size = AP_ALIGN_UP(need, CHUNK_FIRST);
	c = heap ? NULL : early_chunk(need);
	if (!c)
		c = take_spare(size);
	if (!c)
		c = new_chunk(size);
	if (!c)
		return false;
	c->next = heap;
	c->used = AP_ALIGN_UP(sizeof(*c), 16);
	c->ready = 0;
	heap = c;
	return true;
}

void *ap_heap_alloc(u64 size)
{
	void *p;

	size = AP_ALIGN_UP(size, 16);
	if ((!heap || heap->size - heap->used < size) && !heap_grow(size))
		return NULL;
	p = (char *)heap + heap->used;
	heap->used += size;
	if (heap->used > heap->ready)
		heap->ready = ap_mem_populate_to(heap, heap->ready, heap->used, heap->size);
	return memset(p, 0, size);
}

void *ap_heap_mark(void)
{
	return heap ? (char *)heap + heap->used : NULL;
}

void ap_heap_rewind(void *mark)
{
	u64 used = (u64)((char *)mark - (char *)heap);

	if (heap && (char *)mark > (char *)heap && used <= heap->used)
		heap->used = used;
}

void ap_heap_reset(void)
{
	struct heap_chunk *c;
	u64 head = AP_ALIGN_UP(sizeof(*heap), 16);

	if (!heap)
		return;
	while (heap->next) {
		c = heap;
		heap = c->next; /* first: a thread that is killed in between may leave no pointer to nothing */
		if (ap_filter_allows_map(false)) {
			ap_mem_unmap(c, c->size);
		} else {
			c->next = spare;
			spare = c;
		}
	}
	heap->used = head;
}
