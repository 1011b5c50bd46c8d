/* SPDX-License-Identifier: MIT */
/*
 * Each thread's log and models.  The log is read when it is full (a store meets the page behind it), at
 * each system call of the thread, and before the descriptions that its records name are freed.
 *
 * While a thread is in code the log is its own; else it is read with the process lock held.  Full logs may be
 * read by a helper (feed_helper.h): what the models have is touched by nobody else before collect().
 */
#include "engine/access/feed.h"
#include "abi/switches.h"

#include "base/mem.h"
#include "engine/access/feed_code.h"
#include "engine/access/feed_own.h"
#include "engine/runtime/engine.h"
#include "model/pages.h"

#define LOG_SIZE   (128UL << 10)
#define RECORD_MAX (8UL * (1 + AP_FEED_WORDS))
_Static_assert(AP_BLOCK_INSNS / 2 * RECORD_MAX <= LOG_SIZE / 2,
	       "ap_feed_make_room(): a block's records");
#define CHUNKS_MAX    4096U
#define CHUNK_STEP    (64U << 10)
#define BRIEF	      256U /* words */
#define FULL_LOGS     4	   /* are worth a helper */
#define MADV_DONTNEED 4
#define MADV_DONTFORK 10
#define MADV_DOFORK   11

static u8 *chunks[CHUNKS_MAX];
static u32 nchunks, chunk_used, chunk_end; /* of the last one: between the two nothing is used */
static struct ap_mem_ends chunk_ready;	   /* of it */
static struct ap_shared *shared;	   /* what the process' threads have in common */
/* Of dead threads: the program's filter may know neither munmap nor mmap. */
static struct ap_thread_feed *spare;

_Static_assert(sizeof(struct ap_machine) <= sizeof(((struct ap_session *)0)->machine), "room");

const struct ap_machine *ap_feed_machine(void)
{
	return (const struct ap_machine *)ap_proc.session->machine;
}

bool ap_feed_calls_are_kept(void)
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

/* Number 0 describes nothing. */
static void begin_chunk(u32 n)
{
	chunk_used = n > 1 ? 0 : (u32)AP_ALIGN_UP(sizeof(struct ap_feed_way), AP_FEED_ALIGN);
	chunk_end = AP_FEED_CHUNK;
	chunk_ready = (struct ap_mem_ends){ 0 };
}

static bool add_chunk(void)
{
	if (nchunks == CHUNKS_MAX || !has_chunk(nchunks))
		return false;
	if (nchunks + 1 < CHUNKS_MAX)
		(void)has_chunk(nchunks + 1); /* while it can be had */
	begin_chunk(++nchunks);
	return true;
}

static bool has_room(u64 size)
{
	if ((!nchunks || chunk_end - chunk_used < size) && !add_chunk())
		return false;
	/* in large parts: where there are huge pages, one call brings it all in */
	ap_mem_populate_ends(&chunk_ready, chunks[nchunks - 1], AP_FEED_CHUNK,
			     AP_ALIGN_UP(chunk_used + (u32)size, CHUNK_STEP),
			     AP_ALIGN_UP(AP_FEED_CHUNK - chunk_end + (u32)size, CHUNK_STEP));
	return true;
}

void *ap_feed_alloc(u64 size, u32 *id)
{
	u8 *at;

	size = AP_ALIGN_UP(size, AP_FEED_ALIGN);
	if (!has_room(size))
		return NULL;
	*id = (nchunks - 1) << AP_FEED_CHUNK_BITS | chunk_used / AP_FEED_ALIGN;
	at = chunks[nchunks - 1] + chunk_used;
	chunk_used += (u32)size;
	return at;
}

void *ap_feed_room(u64 size)
{
	size = AP_ALIGN_UP(size, AP_FEED_ALIGN);
	if (!has_room(size))
		return NULL;
	chunk_end -= (u32)size;
	return chunks[nchunks - 1] + chunk_end;
}

/* --- reading */

/* Only the thread itself can read its fs; who flushes goes by what it was at its last reading. */
static void note_bases(const struct ap_thread *t, u64 base[3])
{
	base[AP_SEG_GS] = t->app_gs_base;
	if (!ap_proc.has_fsgsbase || t == ap_self())
		base[AP_SEG_FS] = ap_thread_fs_base(t);
}

/* The nearer a mark may be, the sooner its end is met, and then each block is looked at. */
void ap_feed_begin_log(struct ap_thread *t, u64 words)
{
	struct ap_thread_feed *tf = t->feed;
	u64 reach = LOG_SIZE / 8;

	tf->from = tf->log;
	if (ap_unlikely(ap_is_stressed(ap_proc.session, AP_STRESS_GAPS)))
		tf->from = tf->guard - LOG_SIZE / 32;
	t->feed_near = false;
	if (ap_unlikely(tf->marks.n)) {
		u64 may = ap_feed_thin_stands_still(&tf->feed)
				  ? reach
				  : ap_feed_marks_reach(&tf->marks, &tf->feed, words);

		t->feed_near = !may;
		if (may && may < reach && !ap_proc.seg->mute)
			reach = may;
		tf->from = tf->guard - 8 * reach;
		__atomic_store_n(&t->feed_hits, tf->marks.nhits, __ATOMIC_RELAXED);
	}
	t->feed_pos = (u64)tf->from;
}

/* All code is gone, and no thread is in any. */
void ap_feed_forget(void)
{
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next) {
		ap_feed_read(t);
		if (!t->feed)
			continue;
		ap_feed_forget_ways(&t->feed->feed);
		t->feed->helper.nwarm = 0;
		/* where that leads no record will tell */
		if (!ap_feed_is_on())
			t->feed->feed.pending = AP_FEED_NOTHING;
		if (!ap_feed_calls_are_kept())
			ap_calls_forget(&t->feed->calls);
	}
	ap_feed_thin_restart();
	ap_feed_code_forget();
	if (nchunks > 1)
		nchunks = 1;
	begin_chunk(nchunks);
}

/* --- with a helper */

struct ap_helper *ap_feed_helper(const struct ap_thread *t)
{
	return t->feed ? &t->feed->helper : NULL;
}

static void read_handed(struct ap_thread *t, const struct ap_helper_log *log)
{
	struct ap_feed *f = &t->feed->feed;

	ap_feed_names_take(t->feed);
	memcpy(f->seg_base, log->seg_base, sizeof(f->seg_base));
	f->has_cycles = log->has_cycles;
	f->has_levels = log->has_levels;
	ap_feed_run_part(f,
			 &(struct ap_feed_part){ log->from, log->to, chunks, NULL, 0, ~0ULL, 0 });
	ap_feed_publish(t, f);
}

/* What it was before is kept, for the case that it is killed; and of what it would have code for the thread is told. */
void ap_feed_read_for(struct ap_thread *t, const struct ap_helper_log *log)
{
	struct ap_feed *f = &t->feed->feed;
	struct ap_helper *h = &t->feed->helper;

	memcpy(&h->kept, f, sizeof(*f));
	__atomic_store_n(&h->kept_for, h->done + 1, __ATOMIC_RELEASE);
	read_handed(t, log);
	if (!f->nwarm || __atomic_load_n(&h->nwarm, __ATOMIC_ACQUIRE))
		return;
	memcpy(h->warm, f->warm, sizeof(f->warm));
	__atomic_store_n(&h->nwarm, f->nwarm, __ATOMIC_RELEASE);
	f->nwarm = 0;
}

/* As new.  The kernel gives no pages back that are locked (mlockall). */
static void clear(u8 *from, u8 *to)
{
	u8 *page = (u8 *)AP_ALIGN_UP((u64)from, AP_PAGE_SIZE);

	memset(from, 0, (u64)(page - from));
	if (ap_sys3(AP_NR_madvise, (u64)page, (u64)(to - page), MADV_DONTNEED))
		memset(page, 0, (u64)(to - page));
}

static void init_mem(struct ap_thread_feed *tf)
{
	tf->feed.mem = ap_mem_init(tf->mem_at, ap_feed_machine(), shared, tf->feed.count, 0);
	if (tf->feed.mem)
		tf->feed.mem->met = tf->met;
	tf->names_seq = 0;
}

/* Tables that are half written are given up, and the counts put back to before the log was begun. */
static void begin_anew(struct ap_thread_feed *tf)
{
	struct ap_feed *f = &tf->feed;
	bool has_mem = f->mem;

	if (has_mem) {
		ap_shared_leave(shared, f->mem->core);
		if (f->mem->common.shared)
			ap_shared_leave(f->mem->common.shared, f->mem->common.core);
	}
	memcpy(f, &tf->helper.kept, sizeof(*f));
	f->pipe.state = 0;
	f->pipe.pending = 0;
	f->pipe.done = f->pipe.now;
	f->pipe.first = f->pipe.end = 0;
	f->pipe.states->used = 1; /* maybe */
	ap_pipe_forget(&f->pipe);
	f->pending = AP_FEED_NOTHING;
	f->nwarm = 0;
	clear((u8 *)tf + tf->bp_at, (u8 *)f->pipe.states); /* predictors, and models of memory */
	clear((u8 *)f->memos, (u8 *)f->memos + AP_FEED_MEMO_BYTES);
	f->bp = ap_bp_init((u8 *)tf + tf->bp_at, ap_feed_machine(), f->count);
	if (has_mem)
		init_mem(tf);
	ap_note2(AP_NOTE_INFO,
		 "a helper of the models was killed: they began anew, with empty caches", "", "");
}

/* Logs that were handed over are read, till there are so many. */
static void collect(struct ap_thread *t, u32 left)
{
	struct ap_helper *h = &t->feed->helper;

	while (ap_unlikely(ap_helper_left(h) > left)) {
		enum ap_helper_turn turn = ap_helper_turn(h);

		if (turn == AP_TURN_READ)
			continue;
		if (turn == AP_TURN_TORN && h->kept_for == h->done + 1)
			begin_anew(t->feed);
		read_handed(t, &h->log[h->done % AP_HELPER_LOGS]);
		ap_helper_did(h);
	}
}

static void write_code(const u32 *ids, u32 n, const struct ap_mem *like)
{
	for (u32 k = 0; k < n; k++) {
		struct ap_feed_way *way = ap_feed_way(chunks, ids[k]);

		/* another thread may have had it before */
		if (!way->code)
			__atomic_store_n(&way->code, ap_feed_code_make(way, ids[k], like),
					 __ATOMIC_RELEASE);
	}
}

static void write_code_for_helper(struct ap_thread_feed *tf)
{
	struct ap_helper *h = &tf->helper;

	write_code(h->warm, __atomic_load_n(&h->nwarm, __ATOMIC_ACQUIRE), tf->feed.mem);
	__atomic_store_n(&h->nwarm, 0, __ATOMIC_RELEASE);
}

/* A full log, of which the last record is not finished; the thread goes on in the other one. */
static bool hand_over(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;
	struct ap_helper_log log = { .from = (const u64 *)tf->from,
				     .to = (const u64 *)t->feed_pos };
	u8 *full = tf->log;

	if (ap_likely(!ap_helper_is_there(&tf->helper)) || tf->marks.n || t->feed_follows ||
	    ap_feed_calls_are_kept())
		return false;
	note_bases(t, log.seg_base);
	log.has_cycles = ap_feed_has_cycles();
	log.has_levels = ap_feed_has_levels();
	ap_helper_hand(&tf->helper, &log);
	collect(t, AP_HELPER_LOGS - 1); /* the other one has been read */
	tf->log = tf->other;
	tf->other = full;
	tf->guard = tf->log + LOG_SIZE;
	ap_feed_begin_log(t, 0);
	return true;
}

/* What wants the lock, if nobody has it: a thread in code has none itself. */
static void mend_log(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;
	struct ap_helper *h = &tf->helper;
	bool is_full = false, is_warm = false;

	if (!ap_helper_is_there(h)) {
		is_warm = tf->feed.nwarm;
		is_full =
			tf->stack && !tf->marks.n && ++h->full >= FULL_LOGS && ap_helper_may_be(t);
	} else {
		is_warm = __atomic_load_n(&h->nwarm, __ATOMIC_ACQUIRE);
	}
	if (ap_likely(!is_warm && !is_full) || !ap_lock_try(&ap_proc.lock))
		return;
	if (ap_helper_is_there(h))
		write_code_for_helper(tf);
	else
		ap_feed_write_code(t);
	if (is_full)
		ap_helper_begin(h, t, tf->stack);
	ap_lock_drop(&ap_proc.lock);
}

/* --- what is left */

static u64 faults_of(const struct ap_thread *t)
{
	return t->feed->met && t->feed->feed.mem ? ap_feed_faults(t) : ~0ULL;
}

/* Near a mark each block is a log: who asks the kernel for faults each time does little else. */
static bool is_brief_log(struct ap_thread *t, u64 words)
{
	struct ap_thread_feed *tf = t->feed;

	if (!t->feed_near || !tf->met || !tf->feed.mem || tf->unasked + words >= BRIEF) {
		tf->unasked = 0;
		return false;
	}
	tf->unasked += words;
	return true;
}

/* Of the last piece. */
static u64 last_pc(const u64 *from, const u64 *to)
{
	u64 pc = 0;

	while (from < to) {
		const struct ap_feed_way *way = ap_feed_way(chunks, (u32)*from);

		pc = way->pc;
		from += 1 + way->nwords;
	}
	return pc;
}

void ap_feed_read_log(struct ap_thread *t, u64 at)
{
	struct ap_thread_feed *tf = t->feed;
	const u64 *from = (const u64 *)tf->from, *to = (const u64 *)t->feed_pos;
	struct ap_feed_part part = { from, to, chunks, NULL, 0, ~0ULL, ap_feed_gap_ran(t) };
	bool is_brief = is_brief_log(t, (u64)(to - from));

	part.faults = is_brief ? tf->met->faults : faults_of(t);
	collect(t, 0);
	ap_feed_names_take(tf);
	note_bases(t, tf->feed.seg_base);
	tf->feed.has_cycles = ap_feed_has_cycles();
	tf->feed.has_levels = ap_feed_has_levels();
	if (ap_unlikely(ap_feed_calls_are_kept()))
		ap_calls_read(&tf->calls, from, to, chunks);
	if (ap_unlikely(tf->marks.n || t->feed_follows)) {
		ap_feed_marks_look(&tf->marks);
		part.look = &tf->marks.look;
		part.at = at;
	}
	if (ap_unlikely(t->feed_follows || ap_feed_calls_are_kept())) {
		ap_feed_run_all(&tf->feed, &part);
		ap_feed_thin_alone(&tf->feed);
	} else {
		ap_feed_run_part(&tf->feed, &part);
		if (!is_brief)
			ap_feed_note_faults(&tf->feed, faults_of(t));
	}
	ap_feed_gap_note(t, (u64)(to - from), part.insns);
	ap_feed_publish(t, &tf->feed);
	if (ap_unlikely(tf->feed.thin.steady) && tf->feed.thin.state != AP_THIN_READ)
		ap_feed_marks_pass(&tf->marks, &tf->feed, last_pc(from, to), false);
	ap_feed_begin_log(t, (u64)(to - from));
}

void ap_feed_read(struct ap_thread *t)
{
	if (ap_unlikely(t->plain && t->feed))
		ap_feed_gap_account(t);
	if (t->feed && (t->feed_pos != (u64)t->feed->from || ap_helper_left(&t->feed->helper)))
		ap_feed_read_log(t, 0);
	if (t->feed && ap_unlikely(t->feed->is_open)) {
		t->feed->is_open = false;
		ap_sys3(AP_NR_mprotect, (u64)t->feed->guard, AP_PAGE_SIZE, 0);
	}
}

void ap_feed_read_last(struct ap_thread *t)
{
	ap_feed_read(t);
	if (!t->feed) {
		ap_feed_gap_end(t);
		return;
	}
	ap_feed_thin_end(&t->feed->feed, ap_feed_gap_all(t));
	ap_feed_publish(t, &t->feed->feed);
}

void ap_feed_write_code(struct ap_thread *t)
{
	struct ap_feed *f = &t->feed->feed;

	write_code(f->warm, f->nwarm, f->mem);
	f->nwarm = 0;
	write_code_for_helper(t->feed);
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

bool ap_feed_is_log(const struct ap_thread *t, u64 at)
{
	const struct ap_thread_feed *tf = t->feed;

	return tf && at >= (u64)tf->log && at + sizeof(u64) <= (u64)tf->guard;
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
	if (!hand_over(t))
		ap_feed_read_log(t, 0);
	memmove(tf->from, (const void *)at, left < RECORD_MAX ? left : RECORD_MAX);
	regs.gpr[(code[0] & 1) << 3 | (code[2] & 7)] =
		(u64)tf->from; /* REX op modrm: feed_emit.c */
	ap_sig_regs_to_uc(mc, &regs);
	mend_log(t);
	return true;
}

/* --- threads */

/* Where its parts are, from its start. */
struct layout {
	u64 bp_at, mem_at, states_at, memos_at, small_at, met_at, log_at, other_at, stack_at, size;
};

/* Of states it has those that it had, till they are forgotten: most of their memory may never have been used. */
static struct ap_thread_feed *take_spare(const struct layout *l)
{
	struct ap_thread_feed *tf = spare;

	if (!tf)
		return NULL;
	spare = tf->next;
	memset(tf, 0, sizeof(*tf));
	memset((u8 *)tf + l->bp_at, 0, l->states_at - l->bp_at);
	memset((u8 *)tf + l->memos_at, 0, AP_FEED_MEMO_BYTES);
	return tf;
}

/* What every program uses is at the beginning, and fits into a huge page; what few use much of, and logs, are small pages. */
static void lay_out(struct layout *l)
{
	l->bp_at = AP_ALIGN_UP(sizeof(struct ap_thread_feed), 64);
	l->mem_at = AP_ALIGN_UP(l->bp_at + ap_bp_bytes(ap_feed_machine()), AP_PAGE_SIZE);
	l->states_at = AP_ALIGN_UP(l->mem_at + ap_mem_bytes(ap_feed_machine()), 64);
	l->memos_at = AP_ALIGN_UP(l->states_at + sizeof(struct ap_pipe_states), 64);
	l->small_at = AP_ALIGN_UP(l->memos_at + AP_FEED_MEMO_BYTES, AP_HUGE_PAGE);
	l->log_at = l->small_at;
	l->other_at = l->stack_at = l->met_at = 0;
	if (ap_proc.session->model_sample > 1) {
		l->met_at = l->small_at;
		l->log_at += AP_ALIGN_UP(sizeof(struct ap_met_pages), AP_PAGE_SIZE);
	}
	l->size = l->log_at + LOG_SIZE + AP_PAGE_SIZE;
	if (!(ap_proc.session->flags & AP_F_MODEL_THREAD))
		return;
	l->other_at = l->size;
	l->stack_at = l->other_at + LOG_SIZE + AP_PAGE_SIZE;
	l->size = l->stack_at + AP_HELPER_STACK;
}

/*
 * Where the models see windows a fork's child is mostly in none.  Then it has nothing of its parent's tables, and the fork nothing
 * to copy.
 */
static bool is_kept; /* from children */

static void advise(void *p, u64 size)
{
	if (p)
		ap_sys3(AP_NR_madvise, (u64)p, AP_ALIGN_UP(size, AP_PAGE_SIZE),
			is_kept ? MADV_DONTFORK : MADV_DOFORK);
}

static struct ap_thread_feed *map_new(const struct layout *l)
{
	struct ap_thread_feed *tf = ap_mem_map(0, l->size);

	if (!tf)
		return NULL;
	if (is_kept)
		advise(tf, l->size);
	ap_sys3(AP_NR_madvise, (u64)tf + l->small_at, l->size - l->small_at, AP_MADV_NOHUGEPAGE);
	ap_sys3(AP_NR_mprotect, (u64)tf + l->log_at + LOG_SIZE, AP_PAGE_SIZE, 0);
	if (l->other_at)
		ap_sys3(AP_NR_mprotect, (u64)tf + l->other_at + LOG_SIZE, AP_PAGE_SIZE, 0);
	tf->size = l->size;
	return tf;
}

static struct ap_thread_feed *map_feed(void)
{
	struct ap_thread_feed *tf;
	struct layout l;
	u8 *at;

	ap_feed_thin_init();
	lay_out(&l);
	tf = take_spare(&l);
	if (!tf)
		tf = map_new(&l);
	if (!tf)
		return NULL;
	at = (u8 *)tf;
	tf->size = l.size;
	tf->log = tf->from = at + l.log_at;
	tf->guard = tf->log + LOG_SIZE;
	tf->mem_at = at + l.mem_at;
	tf->bp_at = l.bp_at;
	if (l.met_at)
		tf->met = (struct ap_met_pages *)(at + l.met_at);
	if (l.other_at) {
		tf->other = at + l.other_at;
		tf->stack = at + l.stack_at;
	}
	tf->feed.machine = ap_feed_machine();
	tf->feed.pending = AP_FEED_NOTHING;
	tf->feed.pipe.states = (struct ap_pipe_states *)(at + l.states_at);
	ap_pipe_forget(&tf->feed.pipe);
	tf->feed.memos = (struct ap_feed_memos *)(at + l.memos_at);
	tf->feed.bp = ap_bp_init(at + l.bp_at, ap_feed_machine(), tf->feed.count);
	return tf;
}

static bool share(void)
{
	if (shared)
		return true;
	shared = ap_mem_map(0, ap_shared_bytes(ap_feed_machine()));
	if (!shared)
		return false;
	if (is_kept)
		advise(shared, ap_shared_bytes(ap_feed_machine()));
	ap_shared_init(shared, ap_feed_machine());
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
		ap_feed_thin_wait(&tf->feed, ap_feed_gap_waited(t));
		t->feed = tf;
		t->sampler_gen--; /* what is sampled can be armed now */
	}
	if (ap_feed_has_data() && !tf->feed.mem) {
		if (!share())
			return false;
		collect(t, 0);
		init_mem(tf);
		ap_feed_names_make();
		note_bases(t, tf->feed.seg_base);
	}
	return true;
}

bool ap_feed_lacks(const struct ap_thread *t)
{
	return !t->feed || (ap_feed_has_data() && !t->feed->feed.mem);
}

static void keep(bool from_children)
{
	struct layout l;

	if (is_kept == from_children)
		return;
	is_kept = from_children;
	lay_out(&l);
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next)
		advise(t->feed, l.size);
	for (struct ap_thread_feed *tf = spare; tf; tf = tf->next)
		advise(tf, l.size);
	advise(shared, ap_shared_bytes(ap_feed_machine()));
}

/* Under a filter it may have no memory of its own for them. */
void ap_feed_before_fork(struct ap_thread *t, u64 random)
{
	bool reads;

	if (ap_proc.session->model_sample <= 1 || (!t->feed && !ap_feed_is_on()))
		return;
	reads = ap_feed_thin_draw(random);
	if (!ap_proc.seg->mute)
		keep(!reads);
}

void ap_feed_reserve(u32 n)
{
	struct ap_thread_feed *tf;
	struct layout l;

	lay_out(&l);
	keep(false);
	if (!nchunks)
		(void)add_chunk();
	for (struct ap_thread *t = ap_proc.threads; t; t = t->next) {
		if (ap_feed_lacks(t) && !ap_feed_begin(t))
			return;
	}
	for (tf = spare; tf && n; tf = tf->next)
		n--;
	while (n--) {
		tf = map_new(&l);
		if (!tf)
			return;
		tf->next = spare;
		spare = tf;
	}
}

void ap_feed_end(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;

	if (!tf)
		return;
	t->feed = NULL;
	t->plain = 0;
	t->feed_near = t->feed_follows = false;
	t->feed_hits = 0;
	ap_helper_end(&tf->helper);
	if (tf->feed.mem)
		ap_mem_fini(tf->feed.mem);
	if (ap_proc.seg->mute) {
		tf->next = spare;
		spare = tf;
	} else {
		ap_mem_unmap(tf, tf->size);
	}
}

/* Of tables that only the parent has. */
static void forget_tables(void)
{
	struct layout l;

	lay_out(&l);
	for (struct ap_thread *o = ap_proc.threads; o; o = o->next) {
		if (o->feed)
			ap_mem_unmap(o->feed, l.size);
		o->feed = NULL;
		o->feed_near = o->feed_follows = false;
		o->feed_hits = 0;
	}
	if (shared)
		ap_mem_unmap(shared, ap_shared_bytes(ap_feed_machine()));
	shared = NULL;
	spare = NULL;
	is_kept = false;
}

/* In a segment that has no counts of it. */
static void count_anew(struct ap_thread *t, struct ap_thread_feed *tf)
{
	ap_feed_names_fork_child(tf);
	tf->from = tf->log;
	t->feed_pos = (u64)tf->log;
	tf->gap = (struct ap_feed_gap){ 0 };
	t->feed_near = t->feed_follows = false;
	t->feed_hits = 0;
	ap_feed_marks_init(&tf->marks);
	tf->feed.pending = AP_FEED_NOTHING;
	memset(tf->feed.count, 0, sizeof(tf->feed.count));
	ap_pipe_restart(&tf->feed.pipe);
	tf->feed.stall_front = 0;
}

/*
 * What it has of its parent's are warm caches; what is in the log is the parent's.  The other threads'
 * caches are gone with them, and the locks that they held.
 */
void ap_feed_fork_child(struct ap_thread *t)
{
	struct ap_thread_feed *tf;

	t->plain = 0;
	t->waits.is_on = false;
	t->waits.since = 0;
	if (is_kept) {
		forget_tables();
		ap_feed_thin_fork_child(NULL);
		return;
	}
	tf = t->feed;
	for (struct ap_thread *o = ap_proc.threads; o; o = o->next)
		if (o->feed)
			ap_helper_forget(&o->feed->helper);
	if (tf)
		ap_helper_forget(&tf->helper);
	for (struct ap_thread *o = ap_proc.threads; o; o = o->next) {
		if (o != t && o->feed && o->feed->feed.mem)
			ap_mem_forget_names(o->feed->feed.mem);
		if (o != t)
			ap_feed_end(o);
	}
	if (!tf) {
		ap_feed_thin_fork_child(NULL);
		return;
	}
	count_anew(t, tf);
	ap_feed_thin_fork_child(&tf->feed);
}

static void renew(struct ap_thread *t)
{
	struct ap_thread_feed *tf = t->feed;

	t->plain = 0;
	t->waits.is_on = false;
	t->waits.since = 0;
	if (!tf)
		return;
	ap_helper_forget(&tf->helper);
	count_anew(t, tf);
	memset(&tf->feed.thin, 0, sizeof(tf->feed.thin));
}

void ap_feed_renew_all(void)
{
	for (struct ap_thread *o = ap_proc.threads; o; o = o->next)
		renew(o);
	ap_feed_thin_fork_child(NULL);
}
