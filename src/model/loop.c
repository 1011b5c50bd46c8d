/* SPDX-License-Identifier: MIT */
/*
 * Loops that always run equally often: a branch that goes one way n - 1 times and then the other.
 * After three equal runs the entry decides.  Sets of four entries; a branch's slot knows its entry,
 * and one that runs differently often too many times has none for a while, so that only loops cost
 * anything.
 */
#include "base/mem.h"
#include "model/predict.h"

#define WAIT 63 /* mispredictions */

unsigned ap_loop_predict(const struct ap_bp *bp, u32 slot)
{
	u32 number = bp->slot[slot].loop;
	const struct ap_loop *l = &bp->loop[number - 1];

	if (!number || l->sure < AP_LOOP_SURE)
		return 0;
	return 1 + (l->now + 1 == l->trips ? !l->stays : l->stays);
}

void ap_loop_forget(struct ap_bp *bp, u32 slot)
{
	u32 number = bp->slot[slot].loop;

	if (!number)
		return;
	memset(&bp->loop[number - 1], 0, sizeof(bp->loop[0]));
	bp->slot[slot].loop = 0;
}

/* An entry whose age has run out, else all of the set grow older. */
static void allocate(struct ap_bp *bp, u32 slot, bool taken)
{
	u32 first = (slot & bp->loop_mask) * 4;
	struct ap_loop *set = &bp->loop[first];

	for (u32 i = 0; i < 4; i++) {
		if (set[i].age)
			continue;
		if (set[i].owner)
			bp->slot[set[i].owner - 1].loop = 0;
		set[i] = (struct ap_loop){ .owner = slot + 1, .age = AP_LOOP_AGE, .stays = !taken };
		bp->slot[slot].loop = (u16)(first + i + 1);
		return;
	}
	for (u32 i = 0; i < 4; i++)
		set[i].age--;
}

/* Another number of trips than the last time. */
static void doubt(struct ap_bp *bp, struct ap_loop *l)
{
	u32 slot = l->owner - 1;

	l->sure = 0;
	if (l->age > 1) {
		l->age--;
		return;
	}
	ap_loop_forget(bp, slot);
	bp->slot[slot].patience = WAIT;
}

/* Whose ends others tell as well has no need to be here. */
static void ended(struct ap_bp *bp, struct ap_loop *l, bool wrong)
{
	u16 trips = l->trips;

	l->trips = l->now;
	l->now = 0;
	if (!wrong && l->sure < AP_LOOP_SURE && !(l->age -= l->age > 0)) {
		ap_loop_forget(bp, l->owner - 1);
	} else if (l->trips == trips) {
		l->sure += l->sure < AP_LOOP_SURE;
		l->age = wrong || l->sure == AP_LOOP_SURE ? AP_LOOP_AGE : l->age;
	} else if (l->sure == AP_LOOP_SURE) {
		ap_loop_forget(bp, l->owner - 1);
	} else if (trips) {
		doubt(bp, l);
	}
}

void ap_loop_learn(struct ap_bp *bp, u32 slot, bool taken, bool wrong)
{
	struct ap_bp_entry *s = &bp->slot[slot];
	struct ap_loop *l = &bp->loop[s->loop - 1];

	if (!s->loop) {
		if (wrong && !s->patience)
			allocate(bp, slot, taken);
		s->patience -= wrong && s->patience;
		return;
	}
	l->now++;
	if (taken != l->stays) {
		ended(bp, l, wrong);
	} else if (l->now == AP_LOOP_LONGEST ||
		   (l->trips && l->now >= l->trips && l->sure == AP_LOOP_SURE)) {
		ap_loop_forget(bp, slot);
	} else if (l->trips && l->now >= l->trips) { /* longer than it was */
		l->trips = 0;
		doubt(bp, l);
	}
}
