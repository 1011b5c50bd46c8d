/* SPDX-License-Identifier: MIT */
/*
 * Stops: a walked block that is kept ends behind any instruction of it that is wanted, by a jump that is
 * written over what follows there.  So one copy of a block serves samples at all its instructions, and
 * nothing is translated for them.
 *
 * Whoever runs it is in it alone, or with others that are to leave it at the same place: nobody executes what
 * is written.  The jump fits, since before each instruction there are at least the five bytes of the final
 * exit ahead.  It leads to the exit behind the block's others, whose counter the dispatcher makes: of the
 * instructions up to there, as for a signal at this place.  What it has replaced is put back when the
 * block is wanted otherwise.
 */
#include "engine/cache/cache.h"
#include "engine/emit/emit.h"
#include "engine/runtime/engine.h"
#include "engine/sample/lane.h"
#include "engine/translate/sb.h"

#define JMP_SIZE 5

struct ap_stop {
	struct ap_block *b;
	u32 users; /* threads inside; one that was killed there stays */
	u32 n;	   /* instructions up to it; 0: there is none */
	u64 last_pc;
	u8 was[JMP_SIZE];
};

static struct ap_exit *exit_of(const struct ap_block *b)
{
	return &b->exits[b->nexits];
}

struct ap_stop *ap_stop_new(struct ap_block *b)
{
	struct ap_stop *s = ap_heap_alloc(sizeof(*s));

	if (s)
		*s = (struct ap_stop){ .b = b };
	return s;
}

static bool is_insn(u8 cls)
{
	return ap_rec_vec(cls) != 0;
}

/* Behind instruction n, and what belongs to it: the place, and the instruction's pc. */
static u32 find(const struct ap_block *b, u32 n, u64 *last_pc)
{
	struct ap_rec_at i;

	for (i = ap_rec_begin(b); ap_rec_read(&i); ap_rec_next(&i)) {
		if (!n && i.cls != AP_REC_REP_DONE) /* an elided jump would be taken with it */
			return i.size ? i.at : 0;
		if (!is_insn(i.cls))
			continue;
		*last_pc = i.pc;
		n--;
	}
	return 0;
}

static void put_back(struct ap_stop *s)
{
	if (s->n)
		memcpy(s->b->code + exit_of(s->b)->at, s->was, JMP_SIZE);
	s->n = 0;
}

static bool put(struct ap_stop *s, u32 n)
{
	struct ap_exit *x = exit_of(s->b);
	u32 at = find(s->b, n, &s->last_pc);
	struct ap_emit e = { s->b->code + at, s->b->code + at + JMP_SIZE, false };

	if (!at)
		return false;
	memcpy(s->was, e.p, JMP_SIZE);
	ap_patch_rel32(ap_emit_jmp32(&e), x->stub);
	x->at = at;
	s->n = n;
	return true;
}

bool ap_stop_begin(struct ap_thread *t, struct ap_stop *s, u32 n, u64 *last_pc)
{
	if (s->n != n) {
		if (s->users)
			return false;
		put_back(s);
		if (n && !put(s, n))
			return false;
	}
	*last_pc = n ? s->last_pc : s->b->last_pc;
	s->users++;
	t->stop = s;
	return true;
}

void ap_stop_end(struct ap_thread *t)
{
	/* of an epoch that is over there may be nothing left */
	if (t->stop && t->epoch == ap_proc.epoch)
		t->stop->users--;
	t->stop = NULL;
}

bool ap_stop_is(const struct ap_thread *t, const struct ap_exit *x)
{
	return t->stop && exit_of(t->stop->b) == x;
}
