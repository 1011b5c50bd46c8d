/* SPDX-License-Identifier: MIT */
/*
 * Reads a thread's log and has the models see what happened.
 */
#include "model/feed.h"

/*
 * Cycles of string operations: to begin, of an element that is looked at; of one delay at most, in
 * parts of 256.
 */
#define STRING_BEGIN   20
#define STRING_ELEMENT 2
#define STRING_MOST    (1U << 30)

#define ALWAYS inline __attribute__((always_inline))

/* In how many levels, from L1D on, it was not: of those that pipe.h tells apart. */
static u32 levels_of(unsigned result)
{
	unsigned level = AP_MEM_LEVEL(result);

	return level >= AP_MEM_NODE ? 3 : level >= AP_MEM_LLC ? 2 : level == AP_MEM_L2;
}

/* What a load takes that the first cache does not have; the pipeline hides what it can. */
static void pay(struct ap_feed *f, unsigned result, const struct ap_feed_op *op)
{
	unsigned cycles = AP_MEM_CYCLES(result), hit = f->machine->l1d.latency;

	if (cycles <= hit || !f->has_cycles)
		return;
	/* where nothing overlaps a hit has been paid for with the piece */
	if (f->machine->pipe.rob <= 1)
		cycles -= hit;
	ap_pipe_delay_load(&f->pipe, &f->machine->pipe, cycles, op->waits, op->late,
			   f->has_levels ? levels_of(result) : 0);
}

/* Who looks, at what: compiled twice, so that what nobody looks at costs nothing. */
struct view {
	struct ap_feed_look *look; /* NULL: nobody */
	const struct ap_feed_way *way;
};

static ALWAYS void show(const struct view *v, struct ap_feed *f, struct ap_feed_seen s)
{
	s.way = v->way;
	if (v->look)
		v->look->seen(v->look, f, &s);
}

/* goes_on: of an instruction that has missed before.  Whether this was a load that missed. */
static ALWAYS bool data(struct ap_feed *f, const struct ap_feed_op *op, u64 address, unsigned flags,
			u64 pc, const struct view *v, bool goes_on)
{
	unsigned result = ap_mem_data(f->mem, address, op->size, flags, pc);
	bool missed = AP_MEM_LEVEL(result) != AP_MEM_L1 && !(flags & AP_MEM_WRITE);

	if (ap_unlikely(missed)) {
		if (goes_on)
			ap_mem_count_no_answer(f->mem, result);
		pay(f, result, op);
	}
	show(v, f,
	     (struct ap_feed_seen){ .what = flags & AP_MEM_WRITE ? AP_FEED_SAW_STORE
								 : AP_FEED_SAW_LOAD,
				    .result = result,
				    .pc = pc,
				    .address = address,
				    .size = op->size,
				    .is_locked = op->flags & AP_FEED_ATOMIC });
	return missed;
}

/* A register that a record has, as it was when the way was left. */
static inline u64 word_of(const struct ap_feed_way *way, const u64 *log, u32 word)
{
	return log[1 + word] + (u64)(s64)way->delta[word];
}

static u64 address_of(const struct ap_feed *f, const struct ap_feed_way *way,
		      const struct ap_feed_op *op, const u64 *log)
{
	u64 address = (u64)op->disp;

	if (op->base != AP_FEED_NO_WORD)
		address += word_of(way, log, op->base);
	if (op->index != AP_FEED_NO_WORD)
		address += word_of(way, log, op->index) << op->scale;
	if (ap_unlikely(op->flags)) {
		if (op->flags & AP_FEED_ADDR32)
			address = (u32)address;
		address += f->seg_base[op->flags & (AP_FEED_FS | AP_FEED_GS)];
	}
	return address;
}

/* Microcode gives nothing else meanwhile. */
static void pass_string(struct ap_feed *f, const struct ap_feed_op *op, u64 n)
{
	const struct ap_pipe_spec *spec = &f->machine->pipe;
	u64 cycles = 0;

	if (!f->has_cycles || !n || op->scale == AP_FEED_FREE)
		return;
	if (op->scale == AP_FEED_ELEMENTS)
		cycles = n * STRING_ELEMENT << 8;
	else if (spec->string)
		cycles = (STRING_BEGIN << 8) + (n * op->size << 8) / spec->string;
	for (; cycles > STRING_MOST; cycles -= STRING_MOST)
		ap_pipe_delay_fetch(&f->pipe, spec, STRING_MOST);
	ap_pipe_delay_fetch(&f->pipe, spec, (u32)cycles);
}

/* A string operation: by its lines. */
static ALWAYS void strings(struct ap_feed *f, const struct ap_feed_op *op, const u64 *log, u64 pc,
			   const struct view *v)
{
	unsigned flags = op->what == AP_FEED_STORES ? AP_MEM_WRITE : 0;
	u64 at = word_of(v->way, log, op->base) + (u64)op->disp;
	u64 n = word_of(v->way, log, op->index) - word_of(v->way, log, op->dst);
	bool missed = false;

	if (ap_unlikely(op->flags & AP_FEED_ADDR32)) { /* ecx counts, and all of rcx is written */
		at = (u32)at;
		n = (u32)n;
	}
	for (u64 k = 0; k < n; k++, at += op->size)
		missed |= data(f, op, at, flags, pc, v, missed);
	pass_string(f, op, n);
}

static ALWAYS void run_op(struct ap_feed *f, const struct ap_feed_op *op, const u64 *log,
			  const struct view *v)
{
	u64 at = v->way->pc + (u64)op->at, address;
	unsigned flags = op->flags & AP_FEED_ATOMIC ? AP_MEM_ATOMIC : 0;

	switch (op->what) {
	case AP_FEED_LOAD:
		(void)data(f, op, address_of(f, v->way, op, log), 0, at, v, false);
		return;
	case AP_FEED_STORE:
		(void)data(f, op, address_of(f, v->way, op, log), AP_MEM_WRITE, at, v, false);
		return;
	case AP_FEED_UPDATE:
		address = address_of(f, v->way, op, log);
		(void)data(f, op, address, flags, at, v, false);
		(void)data(f, op, address, flags | AP_MEM_WRITE, at, v, false);
		return;
	case AP_FEED_PREFETCH:
		(void)ap_mem_data(f->mem, address_of(f, v->way, op, log), 1, AP_MEM_PREFETCH, at);
		show(v, f, (struct ap_feed_seen){ .what = AP_FEED_SAW_PREFETCH, .pc = at });
		return;
	case AP_FEED_FLUSH:
	case AP_FEED_CLEAN:
		ap_mem_flush(f->mem, address_of(f, v->way, op, log), op->what == AP_FEED_CLEAN);
		return;
	default:
		strings(f, op, log, at, v);
		return;
	}
}

/* --- fetches */

static void fetch_slow(struct ap_feed *f, u64 line)
{
	unsigned result = ap_mem_fetch_slow(f->mem, line, 1);

	if (ap_unlikely(AP_MEM_LEVEL(result) != AP_MEM_L1)) {
		u32 late = (u32)AP_MEM_CYCLES(result) << 7;

		if (!f->has_cycles)
			return;
		ap_pipe_delay_fetch(&f->pipe, &f->machine->pipe, late);
		f->stall_front += late;
	}
}

static inline void run_fetches(struct ap_feed *f, const struct ap_feed_way *way)
{
	struct ap_mem *m = f->mem;
	u64 mask = m->line_mask, *stamp = m->code_stamp, *page_stamp = m->code_page_stamp;
	struct ap_quick *table = m->code_quick;
	u32 shift = m->shift;

	for (const u64 *line = way->fetches, *end = line + way->nfetches; line < end; line++) {
		const struct ap_quick *q = ap_quick_of(table, AP_QUICK_CODE, *line, shift);

		if (ap_unlikely(ap_access_other(q, 0, *line, *line) & mask)) {
			fetch_slow(f, *line);
			f->count[AP_MODEL_L1I_LOAD]--; /* counted below */
			continue;
		}
		ap_access_use(stamp, page_stamp, q, 0, ++m->clock);
	}
	f->count[AP_MODEL_L1I_LOAD] += way->nfetches;
}

static void fetches_slowly(struct ap_feed *f, const struct view *v)
{
	for (u32 k = 0; k < v->way->nfetches; k++) {
		fetch_slow(f, v->way->fetches[k]);
		show(v, f,
		     (struct ap_feed_seen){ .what = AP_FEED_SAW_FETCH,
					    .pc = v->way->pc,
					    .address = v->way->fetches[k] });
	}
}

/*
 * --- ways whose lines are all quick: of them nobody has to see anything, as all they have are hits
 * in L1
 */

static inline u64 cluster_address(const struct ap_feed *f, const struct ap_feed_cluster *g,
				  const u64 *log)
{
	u64 address = log[g->base] + g->disp;

	if (g->is_more) {
		address += f->seg_base[g->seg];
		if (g->index)
			address += log[g->index] << g->scale;
	}
	return address;
}

/* The same where stores have a TLB of their own. */
static bool run_quick_both(struct ap_feed *f, const struct ap_feed_way *way, const u64 *log)
{
	const struct ap_quick *quick[AP_FEED_CLUSTERS];
	struct ap_mem *m = f->mem;
	u64 other = 0, now;

	for (u32 k = 0; k < way->nclusters; k++) {
		const struct ap_feed_cluster *g = &way->clusters[k];
		u64 address = cluster_address(f, g, log), last = address + g->span;
		const struct ap_quick *q = quick[k] = ap_mem_quick(m, address);

		if (g->loads)
			other |= ap_access_other(q, 0, address, last);
		if (g->stores)
			other |= ap_access_other(q, 1, address, last);
	}
	if (other & m->line_mask)
		return false;
	for (u32 k = 0; k < way->nclusters; k++) {
		now = ++m->clock;
		if (way->clusters[k].loads)
			ap_access_use(m->stamp, m->page_stamp[0], quick[k], 0, now);
		if (way->clusters[k].stores)
			ap_access_use(m->stamp, m->page_stamp[1], quick[k], 1, now);
	}
	return true;
}

static inline void use_all(struct ap_mem *m, const struct ap_quick **from,
			   const struct ap_quick **to)
{
	u64 clock = m->clock, *stamp = m->stamp, *page_stamp = m->page_stamp[0];

	m->clock = clock + (u64)(to - from);
	for (; from < to; from++)
		ap_access_use(stamp, page_stamp, *from, 0, ++clock);
}

/*
 * Looks first, and uses only if all are: the order of uses among operations that are not quick
 * matters.
 */
static inline bool run_quick(struct ap_feed *f, const struct ap_feed_way *way, const u64 *log)
{
	const struct ap_feed_cluster *g = way->clusters, *end = g + way->nclusters;
	const struct ap_quick *quick[AP_FEED_CLUSTERS], **to = quick;
	struct ap_mem *m = f->mem;
	struct ap_quick *table = m->quick;
	u32 shift = m->shift;
	u64 other = 0;

	if (ap_unlikely(m->own_store_tlb))
		return run_quick_both(f, way, log);
	for (; g < end; g++) {
		u64 address = cluster_address(f, g, log);
		const struct ap_quick *q = ap_quick_of(table, AP_QUICK, address, shift);

		*to++ = q;
		other |= ap_access_other(q, g->stores, address, address + g->span);
	}
	if (ap_unlikely(other & m->line_mask))
		return false;
	use_all(m, quick, to);
	return true;
}

/* --- ways */

/* Clusters are worth a look where they are fewer than operations. */
static ALWAYS void run_data(struct ap_feed *f, const struct ap_feed_way *way, const u64 *log,
			    const struct view *v)
{
	bool may_skip = !v->look || !v->look->each;

	if (may_skip && ap_feed_in_clusters(way) && ap_likely(run_quick(f, way, log))) {
		f->count[AP_MODEL_L1D_LOAD] += way->nloads;
		f->count[AP_MODEL_L1D_STORE] += way->nstores;
		return;
	}
	for (u32 k = 0; k < way->nops; k++)
		run_op(f, &way->ops[k], log, v);
}

/* --- loads that stores hold up */

/*
 * A load that is so much later than the store has it written by then: what is in flight is the
 * reorder buffer's, and goes by at the rate of issue at best.
 */
static bool is_over(const struct ap_pipe_spec *spec, const struct ap_fwd_store *by, u64 now)
{
	return now - by->when > ((u64)spec->rob << 8) / (spec->issue ? spec->issue : 1);
}

static void block(struct ap_feed *f, const struct ap_feed_op *op, const struct ap_fwd_store *as)
{
	const struct ap_pipe_spec *spec = &f->machine->pipe;
	const struct ap_fwd_store *by;

	if (ap_fwd_load(&f->fwd, spec->store_buffer, as->address, as->size, &by) !=
		    AP_FWD_BLOCKED ||
	    is_over(spec, by, as->when))
		return;
	ap_fwd_watch(&f->fwd, by->way);
	ap_fwd_watch(&f->fwd, as->way);
	ap_pipe_delay_blocked(&f->pipe, spec, f->machine->l1d.latency + spec->forward_block,
			      op->waits, op->late);
}

/*
 * A way whose data have passed; now: when it came.  String operations are left out: they store by
 * lines.
 */
static __attribute__((noinline)) void forward(struct ap_feed *f, const struct ap_feed_way *way,
					      const u64 *log, u64 now)
{
	u64 stores = f->count[AP_MODEL_L1D_STORE];

	if (!f->machine->pipe.forward_block || f->machine->pipe.rob <= 1)
		return;
	for (u32 k = 0; k < way->nops; k++)
		stores -= way->ops[k].what == AP_FEED_STORE || way->ops[k].what == AP_FEED_UPDATE;
	ap_fwd_catch_up(&f->fwd, stores);
	for (u32 k = 0; k < way->nops; k++) {
		const struct ap_feed_op *op = &way->ops[k];
		struct ap_fwd_store as = { .when = now, .size = op->size, .way = (u32)*log };

		if (op->what > AP_FEED_UPDATE || !op->size)
			continue;
		as.address = address_of(f, way, op, log);
		if (op->what != AP_FEED_STORE)
			block(f, op, &as);
		if (op->what != AP_FEED_LOAD)
			ap_fwd_store(&f->fwd, &as);
	}
}

/* --- what code for ways calls */

void ap_feed_slow_fetch(struct ap_feed *f, const struct ap_feed_way *way, const u64 *log, u32 nth)
{
	(void)log;
	fetch_slow(f, way->fetches[nth]);
	f->count[AP_MODEL_L1I_LOAD]--; /* it counts all of them */
}

void ap_feed_slow_op(struct ap_feed *f, const struct ap_feed_way *way, const u64 *log, u32 nth)
{
	const struct view nobody = { .way = way };
	const struct ap_feed_op *op = &way->ops[nth];

	run_op(f, op, log, &nobody);
	if (!ap_feed_may_be_quick(op, f->machine->line))
		return;
	f->count[AP_MODEL_L1D_LOAD] -= op->what != AP_FEED_STORE; /* likewise */
	f->count[AP_MODEL_L1D_STORE] -= op->what != AP_FEED_LOAD;
}

/* What code for the way does, as it is defined. */
static __attribute__((noinline)) void run_plainly(struct ap_feed *f, const struct ap_feed_way *way,
						  const u64 *log)
{
	const struct view nobody = { .way = way };

	run_fetches(f, way);
	run_data(f, way, log, &nobody);
}

/* All but the branches. */
static ALWAYS void run_way(struct ap_feed *f, const struct ap_feed_way *way, const u64 *log,
			   const struct view *v)
{
	u64 now = f->pipe.now;

	if (f->has_cycles)
		ap_pipe_come(&f->pipe, &f->machine->pipe, way->room, (u32)*log);
	show(v, f, (struct ap_feed_seen){ .what = AP_FEED_SAW_ENTER, .pc = way->pc });
	if (v->look) {
		fetches_slowly(f, v);
		run_data(f, way, log, v);
	} else if (ap_likely(way->code)) {
		way->code(f, f->mem, log);
	} else {
		run_plainly(f, way, log);
	}
	if (f->has_cycles) {
		if (ap_unlikely(ap_fwd_looks(&f->fwd, (u32)*log)))
			forward(f, way, log, now);
		ap_pipe_pass(&f->pipe, &f->machine->pipe, &way->flow, (u32)*log);
	}
	show(v, f, (struct ap_feed_seen){ .what = AP_FEED_SAW_LEAVE, .pc = way->pc });
}

static __attribute__((noinline)) void warm(struct ap_feed *f, struct ap_feed_way *way, u32 id)
{
	if (f->nwarm < AP_FEED_WARM)
		f->warm[f->nwarm++] = id;
	else
		way->runs = 0;
}

/* What the next record is about: these tables are larger than the host's caches. */
static ALWAYS void look_ahead(const struct ap_feed *f, const u64 *next, u8 *const *chunks)
{
	const u8 *way = (const u8 *)ap_feed_way(chunks, (u32)*next);

	__builtin_prefetch(way);
	__builtin_prefetch(way + 64);
	__builtin_prefetch(ap_feed_memo(f, (u32)*next));
}

static inline struct ap_pipe_states *leave_states(struct ap_feed *f)
{
	struct ap_pipe_states *states = f->pipe.states;

	ap_pipe_unfold(&f->pipe);
	f->pipe.states = NULL; /* so that pieces enter when they come */
	return states;
}

void ap_feed_run(struct ap_feed *f, const u64 *from, const u64 *to, u8 *const *chunks)
{
	struct ap_pipe_states *states = f->pipe.states;

	ap_feed_renew(f);
	if (!f->mem) {
		ap_feed_run_branches(f, from, to, chunks);
		return;
	}
	if (ap_unlikely(f->has_levels))
		(void)leave_states(f);
	ap_mem_poll(f->mem);
	while (from < to) {
		struct ap_feed_way *way = ap_feed_way(chunks, (u32)*from);
		const struct view nobody = { .way = way };
		const u64 *next = from + 1 + way->nwords;

		if (next < to)
			look_ahead(f, next, chunks);
		if (ap_unlikely(!way->code) && ap_unlikely(++way->runs == AP_FEED_RUNS))
			warm(f, way, (u32)*from);
		if (f->pending != AP_FEED_NOTHING)
			ap_feed_arrive(f, way->pc);
		run_way(f, way, from, &nobody);
		if (way->nbranches)
			ap_feed_branches(f, way, (u32)*from);
		from = next;
	}
	f->pipe.states = states;
}

/* --- looked at */

void ap_feed_arrive_slowly(struct ap_feed *f, u64 target, struct ap_feed_look *look)
{
	u64 wrong = f->count[AP_MODEL_INDIRECT_MISS] + f->count[AP_MODEL_RETURN_MISS];
	struct ap_feed_seen s = { .what = AP_FEED_SAW_BRANCH,
				  .pc = f->pending_at,
				  .is_taken = true };

	if (f->pending == AP_FEED_NOTHING)
		return;
	ap_feed_arrive(f, target);
	s.result = f->count[AP_MODEL_INDIRECT_MISS] + f->count[AP_MODEL_RETURN_MISS] != wrong;
	look->seen(look, f, &s);
}

static void branches_slowly(struct ap_feed *f, const struct view *v)
{
	for (u32 k = 0; k < v->way->nbranches; k++) {
		const struct ap_feed_branch *b = &v->way->branches[k];
		struct ap_feed_seen s = { .what = AP_FEED_SAW_BRANCH,
					  .pc = b->pc,
					  .is_taken = b->what != AP_FEED_NOT_TAKEN };

		s.result = ap_feed_branch(f, b);
		if (f->pending == AP_FEED_NOTHING) /* else it is seen when it has arrived */
			show(v, f, s);
	}
}

void ap_feed_run_slowly(struct ap_feed *f, const u64 *from, const u64 *to, u8 *const *chunks,
			struct ap_feed_look *look)
{
	struct ap_pipe_states *states = leave_states(f);

	if (f->mem)
		ap_mem_poll(f->mem);
	while (from < to) {
		const struct ap_feed_way *way = ap_feed_way(chunks, (u32)*from);
		const struct view v = { .look = look, .way = way };

		ap_feed_arrive_slowly(f, way->pc, look);
		if (f->mem)
			run_way(f, way, from, &v);
		branches_slowly(f, &v);
		from += 1 + way->nwords;
	}
	f->pipe.states = states;
}
