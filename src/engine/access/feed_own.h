/* SPDX-License-Identifier: MIT */
/*
 * A thread's log and models, as feed.c owns them and feed_sample.c takes samples of them.  For these two alone.
 */
#ifndef AP_ENGINE_FEED_OWN_H
#define AP_ENGINE_FEED_OWN_H

#include "engine/access/feed_helper.h"
#include "engine/access/feed_mark.h"
#include "engine/runtime/huge.h"
#include "model/calls.h"

/*
 * One mapping: this, the models, the log, a page that ends it; where there may be a helper another log with its page,
 * and a stack.
 */
struct ap_feed_gap {
	u64 raw;  /* instructions, when the log was read last */
	u64 from; /* in a gap: those that were accounted for; */
	u64 rest; /* and of a word, in parts of the last burst's instructions */
};

struct ap_thread_feed {
	struct ap_feed feed;
	struct ap_feed_gap gap;
	struct ap_helper helper;
	struct ap_feed_marks marks;
	struct ap_calls calls;
	u64 size;
	u8 *log, *from, *guard; /* from: where what has not been read begins */
	u8 *other, *stack;	/* the log that it is not in; the helper's stack */
	u64 bp_at; /* from its start: what is from there to the pipeline's states is tables */
	struct ap_met_pages *met; /* NULL: all is modelled */
	u64 unasked;		  /* words that were read since the kernel was asked for faults */
	void *mem_at;		  /* for the models of memory, as long as they are not wanted */
	struct ap_thread_feed *next; /* in spare */
	bool is_open;		     /* the guard may be written to */
	u32 names_seq;		     /* its models have the names of then (feed_names.c), */
	struct ap_huge_table huge;   /* and these pages, where they look for them */
};

/* Calls that have not returned, for branch stacks: does somebody want them? */
bool ap_feed_calls_are_kept(void);
/* at: where the thread goes on, if it is between two blocks; else 0. */
void ap_feed_read_log(struct ap_thread *t, u64 at);
/* After so many words. */
void ap_feed_begin_log(struct ap_thread *t, u64 words);

/* feed_count.c: what its models have counted is seen in the thread's slot. */
void ap_feed_publish(struct ap_thread *t, const struct ap_feed *f);
/* The records of a log, [from, to); look: who is shown each thing, or NULL; at: where the thread went on behind them, or 0. */
struct ap_feed_part {
	const u64 *from, *to;
	u8 *const *chunks;
	struct ap_feed_look *look;
	u64 at;
	u64 faults; /* ap_feed_faults() */
	u64 insns;  /* that have run meanwhile; 0: not known */
};
/* Pages that the program has touched for the first time, and others' that came so; ~0: not to be known. */
u64 ap_feed_faults(const struct ap_thread *t);
/* Those till now were the engine's own. */
void ap_feed_note_faults(struct ap_feed *f, u64 faults);
/* So many more were. */
void ap_feed_skip_faults(struct ap_feed *f, u64 n);
/* Reads them; or estimates what they count (model/thin.h). */
void ap_feed_run_all(struct ap_feed *f, const struct ap_feed_part *part);
void ap_feed_run_part(struct ap_feed *f, const struct ap_feed_part *part);
/* A thread begins to have models; what is wanted of them changes; a log was read some other way. */
void ap_feed_thin_init(void);
/* Before a fork: true where the child begins to be read at once. */
bool ap_feed_thin_draw(u64 random);
void ap_feed_thin_fork_child(struct ap_feed *f); /* NULL: it has none any more */
void ap_feed_thin_restart(void);
void ap_feed_thin_alone(struct ap_feed *f);
/*
 * Samples are wanted, or no more: what is read in a burst stands for halves of the gaps beside it, at once, and till the next burst nothing is
 * counted, but for steady kinds, which go on by the last burst's rates; ap_feed_stands_for says for how much a count of one does now, in units of 1 / AP_THIN_ONE.
 */
void ap_feed_thin_ahead(struct ap_feed *f, bool is_on, u64 steady);
bool ap_feed_thin_stands_still(const struct ap_feed *f);
/* Is the process in a gap?  And does this one pass it over, of so many words more?  Then: it has passed over some. */
bool ap_feed_thin_is_gap(void);
bool ap_feed_thin_passes(struct ap_feed *f, u64 *left);
void ap_feed_thin_pass(struct ap_feed *f, u64 words, u64 insns, u64 faults);
/* The thread's last, of so many instructions, or of so many that nobody has seen. */
void ap_feed_thin_end(struct ap_feed *f, u64 insns);
/* No window has seen it yet. */
bool ap_feed_thin_is_unseen(const struct ap_feed *f);
/* A thread without models: it ran so many instructions of a gap; how many are left; it gets some. */
void ap_feed_thin_skip(u64 insns);
u64 ap_feed_thin_left(void);
void ap_feed_thin_wait(struct ap_feed *f, u64 insns);

/* feed_session.c: where a process begins, by its random number; so many words were read, of how many now; a gap, or a window at a beginning. */
void ap_windows_start(struct ap_thin_start *start, u64 random);
u64 ap_windows_read(u64 words);
void ap_windows_gap(void);
/* How threads count that windows have seen, as often as there are others like it; and what so many instructions count so. */
void ap_windows_tell(u64 insns, const u64 counts[AP_WINDOWS_N]);
void ap_windows_guess(u64 insns, u64 counts[AP_WINDOWS_N]);

/* feed_names.c: before a log is read. */
void ap_feed_names_take(struct ap_thread_feed *tf);
/* In the child, whose segment it has: the parent's caches are not its own any more. */
void ap_feed_names_fork_child(struct ap_thread_feed *tf);

/* feed_gap.c: instructions that have run since it was last asked; 0: not known. */
u64 ap_feed_gap_ran(struct ap_thread *t);
/* A log of so many words was read, of so many instructions; the thread may run code without one now. */
void ap_feed_gap_note(struct ap_thread *t, u64 words, u64 ran);
bool ap_feed_gap_may_begin(struct ap_thread *t);
/* Nobody looks at single instructions, branches or data: code without a log would do, where there is a gap. */
bool ap_feed_gap_needs_no_log(struct ap_thread *t);
/* What it has run without a log is accounted for. */
void ap_feed_gap_account(struct ap_thread *t);
/* It gets models: instructions that it ran without. */
u64 ap_feed_gap_waited(struct ap_thread *t);
/* Since then, or since its beginning, or since the last time. */
u64 ap_feed_gap_all(struct ap_thread *t);
/* It ends without. */
void ap_feed_gap_end(struct ap_thread *t);

#endif
