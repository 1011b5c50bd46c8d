/* SPDX-License-Identifier: MIT */
/*
 * Each thread's log and models.  The log is read when it is full (a store meets the page behind it), at
 * each system call of the thread, and before the descriptions that its records name are freed.
 *
 * While a thread is in code the log is its own; else it is read with the process lock held.
 */
#include "engine/feed.h"

#include "base/mem.h"
#include "engine/engine.h"
#include "engine/feed_code.h"
#include "engine/feed_mark.h"
#include "engine/lane.h"

#define LOG_SIZE   (128UL << 10)
#define RECORD_MAX (8UL * (1 + AP_FEED_WORDS))
_Static_assert(AP_BLOCK_INSNS / 2 * RECORD_MAX <= LOG_SIZE / 2,
	       "ap_feed_make_room(): a block's records");
#define CHUNKS_MAX 4096U

/* One mapping: this, the models, the log, a page that ends it. */
struct ap_thread_feed {
	struct ap_feed feed;
	struct ap_feed_marks marks;
	struct ap_calls calls;
	u64 size;
	u8 *log, *from, *guard;	     /* from: where what has not been read begins */
	void *mem_at;		     /* for the models of memory, as long as they are not wanted */
	struct ap_thread_feed *next; /* in spare */
	bool is_open;		     /* the guard may be written to */
};

static u8 *chunks[CHUNKS_MAX];
static u32 nchunks, chunk_used;
static struct ap_shared *shared; /* what the process' threads have in common */
/* Of dead threads: the program's filter may know neither munmap nor mmap. */
static struct ap_thread_feed *spare;

_Static_assert(sizeof(struct ap_machine) <= sizeof(((struct ap_session *)0)->machine), "room");

static const struct ap_machine *machine(void)
{
	return (const struct ap_machine *)ap_proc.session->machine;
}

const struct ap_machine *ap_feed_machine(void)
{
	return machine();
}

/* Those that have not returned, for branch stacks. */
static bool calls_are_kept(void)
{
	return __atomic_load_n(&ap_proc.session->branches, __ATOMIC_RELAXED) & AP_BRANCHES_CALLS &&
	       ap_feed_has_branches();
}

/* --- descriptions */

/* Not under a filter of the program's, which may not know how memory is had. */
static bool has_chunk(u32 i)
{
	if (!chunks[i] && !ap_proc.seg->mute)
		chunks[i] = ap_mem_map(0, AP_FEED_CHUNK);
	return chunks[i];
}

static bool add_chunk(void)
{
	if (nchunks == CHUNKS_MAX || !has_chunk(nchunks))
		return false;
	if (nchunks + 1 < CHUNKS_MAX)
		(void)has_chunk(nchunks + 1); /* while it can be had */
	/* number 0 describes nothing */
	chunk_used = nchunks ? 0 : (u32)AP_ALIGN_UP(sizeof(struct ap_feed_way), AP_FEED_ALIGN);
	nchunks++;
	return true;
}

void *ap_feed_alloc(u64 size, u32 *id)
{
	u8 *at;

	size = AP_ALIGN_UP(size, AP_FEED_ALIGN);
	if ((!nchunks || chunk_used + size > AP_FEED_CHUNK) && !add_chunk())
		return NULL;
	*id = (nchunks - 1) << AP_FEED_CHUNK_BITS | chunk_used / AP_FEED_ALIGN;
	at = chunks[nchunks - 1] + chunk_used;
	chunk_used += (u32)size;
	return at;
}

/* All code is gone, and no thread is in any. */
void ap_feed_forget(void)
{
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next) {
		ap_feed_read(t);
		if (!t->feed)
			continue;
		ap_feed_forget_ways(&t->feed->feed);
		/* where that leads no record will tell */
		if (!ap_feed_is_on())
			t->feed->feed.pending = AP_FEED_NOTHING;
		if (!calls_are_kept())
			ap_calls_forget(&t->feed->calls);
	}
	ap_feed_code_forget();
	if (nchunks > 1)
		nchunks = 1;
	if (nchunks)
		chunk_used = (u32)AP_ALIGN_UP(sizeof(struct ap_feed_way), AP_FEED_ALIGN);
}

/* --- reading */

/* Which count of the models is which kind's. */
static const u8 model_of[AP_KIND_N] = {
	[AP_KIND_L1D_LOAD_MISS] = AP_MODEL_L1D_LOAD_MISS,
	[AP_KIND_L1D_STORE_MISS] = AP_MODEL_L1D_STORE_MISS,
	[AP_KIND_L1D_PREFETCH] = AP_MODEL_L1D_PREFETCH,
	[AP_KIND_L1D_PREFETCH_MISS] = AP_MODEL_L1D_PREFETCH_MISS,
	[AP_KIND_L1I_LOAD] = AP_MODEL_L1I_LOAD,
	[AP_KIND_L1I_LOAD_MISS] = AP_MODEL_L1I_LOAD_MISS,
	[AP_KIND_L2_LOAD] = AP_MODEL_L2_LOAD,
	[AP_KIND_L2_STORE] = AP_MODEL_L2_STORE,
	[AP_KIND_L2_CODE] = AP_MODEL_L2_CODE,
	[AP_KIND_L2_PREFETCH] = AP_MODEL_L2_PREFETCH,
	[AP_KIND_L2_LOAD_MISS] = AP_MODEL_L2_LOAD_MISS,
	[AP_KIND_L2_STORE_MISS] = AP_MODEL_L2_STORE_MISS,
	[AP_KIND_L2_CODE_MISS] = AP_MODEL_L2_CODE_MISS,
	[AP_KIND_L2_PREFETCH_MISS] = AP_MODEL_L2_PREFETCH_MISS,
	[AP_KIND_LLC_LOAD] = AP_MODEL_LLC_LOAD,
	[AP_KIND_LLC_STORE] = AP_MODEL_LLC_STORE,
	[AP_KIND_LLC_CODE] = AP_MODEL_LLC_CODE,
	[AP_KIND_LLC_PREFETCH] = AP_MODEL_LLC_PREFETCH,
	[AP_KIND_LLC_LOAD_MISS] = AP_MODEL_LLC_LOAD_MISS,
	[AP_KIND_LLC_STORE_MISS] = AP_MODEL_LLC_STORE_MISS,
	[AP_KIND_LLC_CODE_MISS] = AP_MODEL_LLC_CODE_MISS,
	[AP_KIND_LLC_PREFETCH_MISS] = AP_MODEL_LLC_PREFETCH_MISS,
	[AP_KIND_DTLB_LOAD_MISS] = AP_MODEL_DTLB_LOAD_MISS,
	[AP_KIND_DTLB_STORE_MISS] = AP_MODEL_DTLB_STORE_MISS,
	[AP_KIND_ITLB_MISS] = AP_MODEL_ITLB_MISS,
	[AP_KIND_DTLB_LOAD_WALK] = AP_MODEL_DTLB_LOAD_WALK,
	[AP_KIND_DTLB_STORE_WALK] = AP_MODEL_DTLB_STORE_WALK,
	[AP_KIND_ITLB_WALK] = AP_MODEL_ITLB_WALK,
	[AP_KIND_COND_MISS] = AP_MODEL_COND_MISS,
	[AP_KIND_INDIRECT_MISS] = AP_MODEL_INDIRECT_MISS,
	[AP_KIND_RETURN_MISS] = AP_MODEL_RETURN_MISS,
	[AP_KIND_BTB_MISS] = AP_MODEL_BTB_MISS,
	[AP_KIND_SPLIT_LOAD] = AP_MODEL_SPLIT_LOAD,
	[AP_KIND_SPLIT_STORE] = AP_MODEL_SPLIT_STORE,
	[AP_KIND_HITM_LOAD] = AP_MODEL_HITM_LOAD,
	[AP_KIND_LOAD_L2_HIT] = AP_MODEL_LOAD_L2_HIT,
	[AP_KIND_LOAD_LLC_HIT] = AP_MODEL_LOAD_LLC_HIT,
	[AP_KIND_LOAD_LLC_MISS] = AP_MODEL_LOAD_LLC_MISS,
};

static u64 at_clock(u64 cycles, u32 mhz)
{
	return machine()->mhz ? cycles * mhz / machine()->mhz : cycles;
}

static u64 value_of(const struct ap_feed *f, u32 kind)
{
	u64 cycles = f->pipe.now >> 8;

	switch (kind) {
	case AP_KIND_CYCLES:
		return cycles;
	case AP_KIND_STALL_FRONT:
		return f->stall_front >> 8;
	case AP_KIND_STALL_BACK:
		return f->pipe.stalled >> 8;
	case AP_KIND_REF_CYCLES:
		return at_clock(cycles, machine()->ref_mhz);
	case AP_KIND_BUS_CYCLES:
		return at_clock(cycles, machine()->bus_mhz);
	default:
		return f->count[model_of[kind]];
	}
}

u64 ap_feed_sum(const struct ap_feed *f, u64 kinds)
{
	u64 sum = 0;

	for (kinds &= AP_KINDS_MODEL; kinds; kinds &= kinds - 1)
		sum += value_of(f, (u32)__builtin_ctzll(kinds));
	return sum;
}

static void publish(struct ap_thread *t, const struct ap_feed *f)
{
	s64 *extra = ap_thread_slot(t)->extra;

	for (u32 k = AP_KIND_CYCLES; k < AP_KIND_N; k++)
		__atomic_store_n(&extra[k], (s64)value_of(f, k), __ATOMIC_RELAXED);
}

/* Only the thread itself can tell its fs; who flushes goes by what it was at its last reading. */
static void note_bases(const struct ap_thread *t, struct ap_thread_feed *tf)
{
	tf->feed.seg_base[AP_SEG_GS] = t->app_gs_base;
	if (ap_proc.has_fs_base && t == ap_self())
		(void)!ap_safe_fs_base(&tf->feed.seg_base[AP_SEG_FS]);
}

/* After so many words.  The nearer a mark may be, the sooner its end is met, and then each block is looked at. */
static void begin_log(struct ap_thread *t, u64 words)
{
	struct ap_thread_feed *tf = t->feed;
	u64 reach = LOG_SIZE / 8;

	tf->from = tf->log;
	t->feed_near = false;
	if (ap_unlikely(tf->marks.n)) {
		u64 may = ap_feed_marks_reach(&tf->marks, &tf->feed, words);

		t->feed_near = !may;
		if (may && may < reach && !ap_proc.seg->mute)
			reach = may;
		tf->from = tf->guard - 8 * reach;
		__atomic_store_n(&t->feed_hits, tf->marks.nhits, __ATOMIC_RELAXED);
	}
	t->feed_pos = (u64)tf->from;
}

/* at: where the thread goes on, if it is between two blocks; else 0. */
static void read_log(struct ap_thread *t, u64 at)
{
	struct ap_thread_feed *tf = t->feed;
	const u64 *from = (const u64 *)tf->from, *to = (const u64 *)t->feed_pos;

	note_bases(t, tf);
	tf->feed.has_cycles = ap_feed_has_cycles();
	if (ap_unlikely(calls_are_kept()))
		ap_calls_read(&tf->calls, from, to, chunks);
	if (ap_unlikely(tf->marks.n || t->feed_follows)) {
		ap_feed_marks_look(&tf->marks);
		ap_feed_run_slowly(&tf->feed, from, to, chunks, &tf->marks.look);
		if (at)
			ap_feed_arrive_slowly(&tf->feed, at, &tf->marks.look);
	} else {
		ap_feed_run(&tf->feed, from, to, chunks);
	}
	publish(t, &tf->feed);
	begin_log(t, (u64)(to - from));
}

void ap_feed_read(struct ap_thread *t)
{
	if (t->feed && t->feed_pos != (u64)t->feed->from)
		read_log(t, 0);
	if (t->feed && ap_unlikely(t->feed->is_open)) {
		t->feed->is_open = false;
		ap_sys3(AP_NR_mprotect, (u64)t->feed->guard, AP_PAGE_SIZE, 0);
	}
}

void ap_feed_write_code(struct ap_thread *t)
{
	struct ap_feed *f = &t->feed->feed;

	for (u32 k = 0; k < f->nwarm; k++) {
		struct ap_feed_way *way = ap_feed_way(chunks, f->warm[k]);

		/* another thread may have had it before */
		if (!way->code)
			__atomic_store_n(&way->code, ap_feed_code_make(way, f->warm[k], f->mem),
					 __ATOMIC_RELEASE);
	}
	f->nwarm = 0;
}

void ap_feed_make_room(struct ap_thread *t)
{
	if ((u64)t->feed->guard - t->feed_pos < LOG_SIZE / 2)
		ap_feed_read(t);
}

/* The record in the making shall fit, whatever it is. */
void ap_feed_open(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;

	if (!tf || (u64)tf->guard - t->feed_pos >= 2 * RECORD_MAX || ap_proc.seg->mute)
		return;
	tf->is_open = true;
	ap_sys3(AP_NR_mprotect, (u64)tf->guard, AP_PAGE_SIZE, AP_PROT_R | AP_PROT_W);
}

/*
 * A store of the log met the page behind it.  What of its record is there already moves to the log's
 * beginning, and the store happens again, there.
 */
bool ap_feed_fault(struct ap_thread *t, u64 addr, struct ap_sigcontext *mc)
{
	struct ap_thread_feed *tf = t->feed;
	struct ap_regs regs;
	const u8 *code;
	u64 left, at;

	if (ap_likely(!tf) || addr - (u64)tf->guard >= AP_PAGE_SIZE)
		return false;
	ap_sig_uc_to_regs(&regs, mc);
	code = (const u8 *)regs.rip;
	at = t->feed_pos;
	left = (u64)tf->guard - at;
	read_log(t, 0);
	memmove(tf->from, (const void *)at, left < RECORD_MAX ? left : RECORD_MAX);
	regs.gpr[(code[0] & 1) << 3 | (code[2] & 7)] =
		(u64)tf->from; /* REX op modrm: feed_emit.c */
	ap_sig_regs_to_uc(mc, &regs);
	if (tf->feed.nwarm && ap_lock_try(&ap_proc.lock)) {
		ap_feed_write_code(t);
		ap_lock_drop(&ap_proc.lock);
	}
	return true;
}

/* --- threads */

/* Where its parts are, from its start. */
struct layout {
	u64 states_at, memos_at, bp_at, mem_at, log_at, size;
};

/* Of states it has those that it had, till they are forgotten: most of their memory may never have been used. */
static struct ap_thread_feed *take_spare(const struct layout *l)
{
	struct ap_thread_feed *tf = spare;
	u64 size;

	if (!tf)
		return NULL;
	size = tf->size;
	spare = tf->next;
	memset(tf, 0, sizeof(*tf));
	memset((u8 *)tf + l->memos_at, 0, size - AP_PAGE_SIZE - l->memos_at);
	return tf;
}

static void lay_out(struct layout *l)
{
	l->states_at = AP_ALIGN_UP(sizeof(struct ap_thread_feed), 64);
	l->memos_at = AP_ALIGN_UP(l->states_at + sizeof(struct ap_pipe_states), 64);
	l->bp_at = l->memos_at + AP_FEED_MEMO_BYTES;
	l->mem_at = AP_ALIGN_UP(l->bp_at + ap_bp_bytes(machine()), AP_PAGE_SIZE);
	l->log_at = AP_ALIGN_UP(l->mem_at + ap_mem_bytes(machine()), AP_PAGE_SIZE);
	l->size = l->log_at + LOG_SIZE + AP_PAGE_SIZE;
}

static struct ap_thread_feed *map_new(u64 size)
{
	struct ap_thread_feed *tf = ap_mem_map(0, size);

	if (!tf)
		return NULL;
	ap_sys3(AP_NR_mprotect, (u64)tf + size - AP_PAGE_SIZE, AP_PAGE_SIZE, 0);
	tf->size = size;
	return tf;
}

void ap_feed_reserve(u32 n)
{
	struct ap_thread_feed *tf;
	struct layout l;

	lay_out(&l);
	for (tf = spare; tf && n; tf = tf->next)
		n--;
	while (n--) {
		tf = map_new(l.size);
		if (!tf)
			return;
		tf->next = spare;
		spare = tf;
	}
}

static struct ap_thread_feed *map_feed(void)
{
	struct ap_thread_feed *tf;
	struct layout l;
	u8 *at;

	lay_out(&l);
	tf = take_spare(&l);
	if (!tf)
		tf = map_new(l.size);
	if (!tf)
		return NULL;
	at = (u8 *)tf;
	tf->size = l.size;
	tf->log = tf->from = at + l.log_at;
	tf->guard = tf->log + LOG_SIZE;
	tf->mem_at = at + l.mem_at;
	tf->feed.machine = machine();
	tf->feed.pending = AP_FEED_NOTHING;
	tf->feed.pipe.states = (struct ap_pipe_states *)(at + l.states_at);
	ap_pipe_forget(&tf->feed.pipe);
	tf->feed.memos = (struct ap_feed_memos *)(at + l.memos_at);
	tf->feed.bp = ap_bp_init(at + l.bp_at, machine(), tf->feed.count);
	return tf;
}

static bool share(void)
{
	u64 fs;

	if (shared)
		return true;
	ap_proc.has_fs_base = ap_safe_fs_base(&fs) == 0;
	shared = ap_mem_map(0, ap_shared_bytes(machine()));
	if (!shared)
		return false;
	ap_shared_init(shared, machine());
	return true;
}

bool ap_feed_begin(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;

	if (!tf) {
		tf = map_feed();
		if (!tf)
			return false;
		t->feed_pos = (u64)tf->log;
		t->feed = tf;
		t->sampler_gen--; /* what is sampled can be armed now */
	}
	if (ap_feed_has_data() && !tf->feed.mem) {
		if (!share())
			return false;
		tf->feed.mem = ap_mem_init(tf->mem_at, machine(), shared, tf->feed.count, 0);
		note_bases(t, tf);
	}
	return true;
}

bool ap_feed_lacks(const struct ap_thread *t)
{
	return !t->feed || (ap_feed_has_data() && !t->feed->feed.mem);
}

void ap_feed_end(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;

	if (!tf)
		return;
	t->feed = NULL;
	t->feed_near = t->feed_follows = false;
	t->feed_hits = 0;
	if (tf->feed.mem)
		ap_mem_fini(tf->feed.mem);
	if (ap_proc.seg->mute) {
		tf->next = spare;
		spare = tf;
	} else {
		ap_mem_unmap(tf, tf->size);
	}
}

/*
 * What it has of its parent's are warm caches; what is in the log is the parent's.  The other threads'
 * caches are gone with them, and the locks that they held.
 */
void ap_feed_fork_child(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;

	for (struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (o != t)
			ap_feed_end(o);
	if (!tf)
		return;
	tf->from = tf->log;
	t->feed_pos = (u64)tf->log;
	t->feed_near = t->feed_follows = false;
	t->feed_hits = 0;
	ap_feed_marks_init(&tf->marks);
	tf->feed.pending = AP_FEED_NOTHING;
	memset(tf->feed.count, 0, sizeof(tf->feed.count));
	ap_pipe_restart(&tf->feed.pipe);
	tf->feed.stall_front = 0;
}

/* --- branch stacks: what the predictors said of the branches of a walk */

void ap_feed_follow(struct ap_thread *t)
{
	if (t->feed_follows || !t->feed || !ap_feed_has_branches())
		return;
	ap_feed_read(t);
	t->feed_follows = true;
	t->feed->marks.followed_from = t->feed->marks.noutcomes;
}

static void read_here(struct ap_thread *t)
{
	if (t->feed_pos != (u64)t->feed->from || t->feed->feed.pending != AP_FEED_NOTHING)
		read_log(t, t->regs.rip);
}

void ap_feed_look_here(struct ap_thread *t)
{
	if (!t->feed)
		return;
	ap_lock_take(&ap_proc.lock);
	read_here(t);
	ap_feed_read(t);
	ap_feed_write_code(t);
	ap_lock_drop(&ap_proc.lock);
}

/*
 * Both are the same branches, as far as they go back.  What only was noted is left as it is: its record is missing.
 * Behind a mark of the models that is sampled there may be others, which are left out.
 */
u32 ap_feed_tell(struct ap_thread *t, struct ap_hook_branch *b, u32 n)
{
	const struct ap_feed_marks *m = &t->feed->marks;
	u64 at, oldest = m->followed_from, until = ap_thread_lanes(t)->branches_until;
	u32 to = 0;

	read_here(t);
	at = m->noutcomes;
	if (at - oldest > AP_FEED_OUTCOMES)
		oldest = at - AP_FEED_OUTCOMES;
	for (u32 k = 0; k < n; k++) {
		const struct ap_feed_outcome *o = &m->outcome[(at - 1) % AP_FEED_OUTCOMES];
		bool is_told = at > oldest && o->pc == b[k].from;

		if (is_told)
			b[k].said = o->wrong ? AP_HOOK_BR_WRONG : AP_HOOK_BR_RIGHT;
		if (!until || at < until)
			b[to++] = b[k];
		at -= is_told;
	}
	return to;
}

u32 ap_feed_calls(struct ap_thread *t, struct ap_open_call *to, u32 max)
{
	if (!t->feed || !calls_are_kept())
		return 0;
	read_here(t);
	ap_calls_arrive(&t->feed->calls, t->regs.rip);
	return ap_calls_get(&t->feed->calls, to, max);
}

void ap_feed_begin_calls(struct ap_thread *t, u64 pc)
{
	if (ap_likely(!t->feed) || !calls_are_kept())
		return;
	ap_lock_take(&ap_proc.lock);
	ap_feed_read(t);
	ap_calls_arrive(&t->feed->calls, pc);
	ap_lock_drop(&ap_proc.lock);
}

void ap_feed_enter_handler(struct ap_thread *t)
{
	if (ap_likely(!t->feed) || !calls_are_kept())
		return;
	ap_lock_take(&ap_proc.lock);
	read_here(t);
	ap_calls_arrive(&t->feed->calls, t->regs.rip);
	ap_calls_signal(&t->feed->calls);
	ap_lock_drop(&ap_proc.lock);
}

/* --- samples: what the service wants, and gets */

bool ap_feed_wants_out(struct ap_thread *t)
{
	return t->feed_near || t->feed_hits ||
	       __atomic_load_n(&ap_thread_slot(t)->sampler_gen, __ATOMIC_RELAXED) != t->sampler_gen;
}

void ap_feed_enter_alone(struct ap_thread *t, bool alone)
{
	t->feed->marks.alone = alone;
}

u64 ap_hook_model_count(u64 kinds)
{
	struct ap_thread *t = ap_self();
	const struct ap_service_point *p = &ap_thread_lanes(t)->point;

	if (!t->feed)
		return AP_HOOK_NEVER;
	if (p->known && p->source == AP_SAMPLE_MODEL && p->kinds == kinds)
		return p->value;
	return ap_feed_sum(&t->feed->feed, kinds);
}

void ap_hook_models_begin(void)
{
	struct ap_thread *t = ap_self();

	if (!t->feed)
		return;
	ap_lock_take(&ap_proc.lock);
	ap_feed_read(t); /* by the marks that it was written under */
	t->feed->marks.n = 0;
	ap_lock_drop(&ap_proc.lock);
}

void ap_hook_model_arm(u64 kinds, u64 counts, u64 period)
{
	struct ap_thread *t = ap_self();
	struct ap_feed_marks *m = t->feed ? &t->feed->marks : NULL;
	struct ap_feed_mark *mark;
	u64 now;

	if (!m || m->n == AP_FEED_MARKS)
		return;
	now = ap_feed_sum(&t->feed->feed, kinds);
	mark = &m->mark[m->n++];
	/* mostly the one that was there before: how fast it counts is known */
	*mark = (struct ap_feed_mark){ .kinds = kinds,
				       .next = now + (counts ? counts : 1),
				       .period = period,
				       .was = now,
				       .rate = mark->kinds == kinds ? mark->rate : 0 };
}

void ap_hook_models_end(void)
{
	struct ap_thread *t = ap_self();

	if (!t->feed)
		return;
	ap_lock_take(&ap_proc.lock);
	begin_log(t, 0);
	t->feed_near = t->feed->marks.n != 0; /* until it is known how fast they count */
	ap_lock_drop(&ap_proc.lock);
}

static bool take_hit(struct ap_thread *t, struct ap_feed_hit *h)
{
	struct ap_feed_marks *m = &t->feed->marks;
	struct ap_service_point *p = &ap_thread_lanes(t)->point;
	bool any;

	ap_lock_take(&ap_proc.lock);
	any = m->nhits != 0;
	if (any) {
		*h = m->hit[m->first_hit];
		m->first_hit = (m->first_hit + 1) % AP_FEED_HITS;
		m->nhits--;
		p->pc = ap_feed_resolve(&h->at);
	}
	ap_lock_drop(&ap_proc.lock);
	return any;
}

void ap_feed_take_hits(struct ap_thread *t)
{
	struct ap_service_point *p = &ap_thread_lanes(t)->point;
	struct ap_feed_hit h;

	while (take_hit(t, &h)) {
		bool is_data = h.what == AP_FEED_SAW_LOAD || h.what == AP_FEED_SAW_STORE;

		p->known = true;
		p->kinds = h.kinds;
		p->value = h.value;
		p->has_mem = p->has_result = is_data;
		p->data_src = ap_feed_data_src(h.result, h.is_locked);
		p->latency = AP_MEM_CYCLES(h.result);
		p->has_no_regs = !h.alone;
		p->last_pc = t->feed_last_pc;
		p->nmem = is_data;
		p->len = 0;
		p->mem[0].addr = h.address;
		p->mem[0].size = h.size;
		p->mem[0].read = h.what == AP_FEED_SAW_LOAD;
		p->mem[0].write = h.what == AP_FEED_SAW_STORE;
		ap_thread_lanes(t)->branches_until = 1 + h.outcomes;
		ap_lane_call(t, AP_SAMPLE_MODEL, 0);
		ap_thread_lanes(t)->branches_until = 0;
		p->known = p->has_mem = p->has_result = p->has_no_regs = false;
		p->last_pc = 0;
	}
	t->feed_hits = 0;
	ap_lanes_arm(t);
}
