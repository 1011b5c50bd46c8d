/* SPDX-License-Identifier: MIT */
/*
 * Loops that always run equally often: a branch that goes one way n - 1 times and then the other.
 * After three equal runs the entry decides.  Sets of four entries.
 */
#include "model/predict.h"

#define SURE	3
#define AGE_MAX 7
#define LONGEST 60000

static struct ap_loop *set_of(struct ap_bp *bp, u64 pc, u16 *tag)
{
	u64 hash = ap_bp_hash(pc);

	*tag = hash >> 48;
	*tag += !*tag;
	return &bp->loop[(hash >> 30 & bp->loop_mask) * 4];
}

static struct ap_loop *find(struct ap_loop *set, u16 tag)
{
	for (unsigned i = 0; i < 4; i++)
		if (set[i].tag == tag)
			return &set[i];
	return NULL;
}

unsigned ap_loop_predict(struct ap_bp *bp, u64 pc)
{
	u16 tag;
	struct ap_loop *set = set_of(bp, pc, &tag), *l = find(set, tag);

	if (!l || l->sure < SURE)
		return 0;
	return 1 + (l->now + 1 == l->trips ? !l->stays : l->stays);
}

/* An entry whose age has run out, else all of the set grow older. */
static void allocate(struct ap_loop *set, u16 tag, bool taken)
{
	for (unsigned i = 0; i < 4; i++) {
		if (set[i].age)
			continue;
		set[i] = (struct ap_loop){ .tag = tag, .age = AGE_MAX, .stays = !taken };
		return;
	}
	for (unsigned i = 0; i < 4; i++)
		set[i].age--;
}

void ap_loop_learn(struct ap_bp *bp, u64 pc, bool taken, bool may_allocate)
{
	u16 tag;
	struct ap_loop *set = set_of(bp, pc, &tag), *l = find(set, tag);

	if (!l) {
		if (may_allocate)
			allocate(set, tag, taken);
		return;
	}
	l->now++;
	if (taken == l->stays) {
		/* longer than it was, or than can be counted: not such a loop, or another one now */
		if ((l->trips && l->now >= l->trips) || l->now == LONGEST) {
			if (l->sure == SURE || l->now == LONGEST)
				*l = (struct ap_loop){ 0 };
			else
				l->trips = 0;
		}
		return;
	}
	if (l->now == l->trips) {
		l->sure += l->sure < SURE;
		l->age = AGE_MAX;
	} else if (l->sure == SURE) {
		*l = (struct ap_loop){ 0 };
		return;
	} else {
		l->trips = l->now;
		l->sure = 0;
	}
	l->now = 0;
}
