/* SPDX-License-Identifier: MIT */
/* See plain_branch.h. */
#include <stdlib.h>
#include <string.h>

#include "plain_branch.h"

static uint64_t hash_of(uint64_t pc)
{
	return pc * 0x9e3779b97f4a7c15;
}

void plain_bp_init(struct plain_bp *b, const struct ap_machine *machine, const uint16_t *lengths,
		   const uint16_t *target_lengths)
{
	const struct ap_bp_spec *s = &machine->bp;

	memset(b, 0, sizeof(*b));
	b->spec = *s;
	b->slots = 1 << (s->bias_bits ? s->bias_bits : s->base_bits);
	b->slot = calloc(b->slots, sizeof(*b->slot));
	for (int i = 0; i < b->slots; i++)
		b->slot[i].counter = 1;
	b->base = calloc(1 << s->base_bits, sizeof(int));
	for (int i = 0; i < 1 << s->base_bits; i++)
		b->base[i] = 1;
	for (int i = 0; i < 8; i++) {
		b->lengths[i] = lengths[i];
		b->target_lengths[i] = target_lengths[i];
		b->table[i] = calloc(1 << s->table_bits, sizeof(*b->table[i]));
		for (int n = 0; n < 1 << s->table_bits; n++)
			b->table[i][n].counter = 3;
		b->target[i] = calloc(1 << s->target_table_bits, sizeof(*b->target[i]));
	}
	b->loop = calloc(s->loops + 1, sizeof(*b->loop));
	b->last_target = calloc(1 << s->target_bits, sizeof(uint64_t));
	b->btb = calloc(s->btb_entries + 1, sizeof(uint64_t));
	b->btb_filled = calloc(s->btb_entries + 1, sizeof(uint64_t));
	b->target_tables = calloc(1 << s->target_bits, sizeof(*b->target_tables));
}

void plain_bp_fini(struct plain_bp *b)
{
	free(b->outcomes.bit);
	free(b->path.bit);
	free(b->slot);
	free(b->base);
	for (int i = 0; i < 8; i++) {
		free(b->table[i]);
		free(b->target[i]);
	}
	free(b->loop);
	free(b->last_target);
	free(b->btb);
	free(b->btb_filled);
	free(b->target_tables);
}

static void push(struct plain_history *h, bool bit)
{
	if (h->n == h->room) {
		h->room = h->room ? 2 * h->room : 1 << 16;
		h->bit = realloc(h->bit, h->room);
	}
	h->bit[h->n++] = bit;
}

/* The last ones, of which the one of age a is bit a. */
static uint64_t last_of(const struct plain_history *h, int length)
{
	uint64_t recent = 0;

	for (int age = 0; age < length && age < (int)h->n; age++)
		recent |= (uint64_t)h->bit[h->n - 1 - age] << age;
	return recent;
}

/* Of who asks and the history. */
static uint64_t history_hash(const struct plain_history *h, int length, int who)
{
	return (uint64_t)(who + 1) * 0x9e3779b97f4a7c15 + last_of(h, length) * 0xc2b2ae3d27d4eb4f;
}

static int never_zero(uint64_t tag)
{
	return tag ? (int)tag : 1;
}

static int clamp(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

static bool two_bits(int *counter, bool taken)
{
	bool guess = *counter >= 2;

	*counter = clamp(*counter + (taken ? 1 : -1), 0, 3);
	return guess;
}

/* --- TAGE */

static struct plain_tagged *tage_entry(struct plain_bp *b, int i, int who, int *tag)
{
	uint64_t hash = history_hash(&b->outcomes, b->lengths[i], who);

	*tag = (int)(hash >> (64 - b->spec.tag_bits));
	return &b->table[i][(hash >> (b->spec.tables <= 4 ? 34 : 35)) % (1 << b->spec.table_bits)];
}

static void tage_allocate(struct plain_bp *b, int who, int first, bool taken)
{
	int tables = b->spec.tables, tag, i = first;

	while (i < tables && tage_entry(b, i, who, &tag)->useful)
		i++;
	if (i < tables) {
		struct plain_tagged *e = tage_entry(b, i, who, &tag);

		*e = (struct plain_tagged){ .tag = tag, .counter = taken ? 4 : 3 };
	}
	for (int k = first; i == tables && k < tables; k++)
		tage_entry(b, k, who, &tag)->useful--;
	if (++b->allocations % (1 << 13) == 0)
		for (int t = 0; t < tables; t++)
			for (int n = 0; n < 1 << b->spec.table_bits; n++)
				b->table[t][n].useful /= 2;
}

static bool tage(struct plain_bp *b, int who, bool taken)
{
	struct plain_slot *slot = &b->slot[who];
	struct plain_tagged *longest = NULL, *second = NULL;
	bool other, guess, fresh = false, answer, sure;
	int at = -1, tag;

	for (int i = 0; i < (int)b->spec.tables; i++) {
		struct plain_tagged *e = tage_entry(b, i, who, &tag);

		if (e->tag == tag) {
			second = longest;
			longest = e;
			at = i;
		}
	}
	other = second ? second->counter >= 4 : slot->counter >= 2;
	answer = guess = other;
	if (!longest)
		two_bits(&slot->counter, taken);
	if (longest) {
		guess = longest->counter >= 4;
		fresh = longest->useful == 0 && (longest->counter == 3 || longest->counter == 4);
		answer = fresh && b->prefer_other >= 0 ? other : guess;
		if (guess != other && fresh)
			b->prefer_other = clamp(b->prefer_other + (other == taken ? 1 : -1), -8, 7);
		sure = longest->counter == (taken ? 7 : 0);
		if (guess != other && !sure)
			longest->useful = clamp(longest->useful + (guess == taken ? 1 : -1), 0, 3);
		longest->counter = clamp(longest->counter + (taken ? 1 : -1), 0, 7);
	}
	if (answer != taken && !(fresh && guess == taken))
		tage_allocate(b, who, at + 1, taken);
	return answer;
}

/* --- loops */

static struct plain_loop *loop_of(struct plain_bp *b, int who)
{
	for (int i = 0; i < (int)b->spec.loops; i++)
		if (b->loop[i].owner == who + 1)
			return &b->loop[i];
	return NULL;
}

static void loop_free(struct plain_bp *b, int who)
{
	struct plain_loop *l = loop_of(b, who);
	const struct plain_loop none = { 0 };

	if (l)
		*l = none;
}

static void loop_allocate(struct plain_bp *b, int who, bool taken)
{
	struct plain_loop *set = &b->loop[who % (b->spec.loops / 4) * 4];

	for (int i = 0; i < 4; i++)
		if (set[i].age == 0) {
			set[i] = (struct plain_loop){ .owner = who + 1, .age = 7, .stays = !taken };
			return;
		}
	for (int i = 0; i < 4; i++)
		set[i].age--;
}

static void loop_doubt(struct plain_bp *b, int who)
{
	struct plain_loop *l = loop_of(b, who);

	l->sure = 0;
	if (l->age > 1) {
		l->age--;
		return;
	}
	loop_free(b, who);
	b->slot[who].patience = 63;
}

static void loop_learn(struct plain_bp *b, int who, bool taken, bool wrong)
{
	struct plain_loop *l = loop_of(b, who);
	int before;

	if (!l && wrong && b->slot[who].patience)
		b->slot[who].patience--;
	else if (!l && wrong)
		loop_allocate(b, who, taken);
	if (!l)
		return;
	l->now++;
	before = l->trips;
	if (taken == l->stays && l->now == 60000) {
		loop_free(b, who);
	} else if (taken == l->stays && before && l->now >= before) {
		l->trips = 0;
		if (l->sure == 3)
			loop_free(b, who);
		else
			loop_doubt(b, who);
	} else if (taken != l->stays && !wrong && l->sure < 3 && l->age <= 1) {
		loop_free(b, who); /* others can do it */
	} else if (taken != l->stays && l->now == before) {
		l->age -= !wrong && l->sure < 3;
		l->sure = clamp(l->sure + 1, 0, 3);
		l->now = 0;
		if (wrong || l->sure == 3)
			l->age = 7;
	} else if (taken != l->stays && l->sure == 3) {
		loop_free(b, who);
	} else if (taken != l->stays) {
		l->trips = l->now;
		l->now = 0;
		l->age -= !wrong && l->age > 0;
		if (before)
			loop_doubt(b, who);
	}
}

/* --- all together */

static bool dynamic(struct plain_bp *b, int who, bool taken)
{
	struct plain_loop *l = loop_of(b, who);
	bool knows = l && l->sure == 3, loop_says = false, says;
	uint64_t recent = 0;

	if (knows)
		loop_says = l->now + 1 == l->trips ? !l->stays : l->stays;
	if (b->spec.kind == AP_BP_GSHARE)
		recent = last_of(&b->outcomes, (int)b->spec.history);
	if (knows) /* nobody else is asked */
		says = loop_says;
	else if (b->spec.kind == AP_BP_TAGE)
		says = tage(b, who, taken);
	else
		says = two_bits(&b->base[(who ^ recent) % (1 << b->spec.base_bits)], taken);
	if (b->spec.loops)
		loop_learn(b, who, taken, says != taken);
	push(&b->outcomes, taken);
	return says != taken;
}

bool plain_jump(struct plain_bp *b, uint64_t pc)
{
	int ways = b->spec.btb_ways, sets, oldest = -1;

	if (!b->spec.btb_entries)
		return false;
	b->count[AP_MODEL_BTB_LOOKUP]++;
	sets = b->spec.btb_entries / ways;
	for (int i = 0; i < (int)b->spec.btb_entries; i++) {
		if (i / ways != (int)((pc ^ pc >> 11) % sets))
			continue;
		if (b->btb[i] == pc)
			return false;
		if (oldest < 0 || b->btb_filled[i] < b->btb_filled[oldest])
			oldest = i;
	}
	b->btb[oldest] = pc;
	b->btb_filled[oldest] = ++b->time;
	b->count[AP_MODEL_BTB_MISS]++;
	return true;
}

/* A branch's place is one of four, the first that is free when it is first taken; -1: it has none. */
static int place_of(const struct plain_bp *b, uint64_t pc, bool make)
{
	int first = (hash_of(pc) >> 32) % b->slots, tag = hash_of(pc) >> 50;

	for (int k = 0; k < 4; k++) {
		const struct plain_slot *s = &b->slot[(first ^ k) % b->slots];

		if (make ? s->state == 0 : s->state != 0 && s->tag == tag)
			return (first ^ k) % b->slots;
	}
	return make ? first : -1;
}

bool plain_cond(struct plain_bp *b, uint64_t pc, bool taken)
{
	int who = place_of(b, pc, false), tag = hash_of(pc) >> 50, state;
	struct plain_slot *slot;
	bool wrong;

	if (!b->spec.bias_bits)
		who = (hash_of(pc) >> 32) % b->slots;
	state = who < 0 ? 0 : b->slot[who].state;
	if (who < 0)
		who = place_of(b, pc, true);
	slot = &b->slot[who];
	if (!b->spec.bias_bits)
		state = 2;
	if (state == 0 && !taken)
		return false;
	if (state == 0) {
		wrong = true;
		loop_free(b, who);
		*slot = (struct plain_slot){ .tag = tag, .state = 1, .counter = 1 };
	} else if (state == 1) {
		wrong = !taken;
		if (wrong) {
			slot->state = 2;
			slot->counter = 2;
		}
	} else {
		wrong = dynamic(b, who, taken);
	}
	if (taken)
		plain_jump(b, pc);
	b->count[AP_MODEL_COND_MISS] += wrong;
	return wrong;
}

bool plain_indirect(struct plain_bp *b, uint64_t pc, uint64_t target)
{
	int who = (hash_of(pc) >> 32) % (1 << b->spec.target_bits);
	int tables = b->spec.target_tables, size = 1 << b->spec.target_table_bits, at = -1;
	struct plain_target *e[8], *longest = NULL, *second = NULL;
	uint64_t last = b->last_target[who], guess = last, other;
	bool *has = b->target_tables[who], any = false;
	int tag[8];

	for (int i = 0; i < tables; i++) {
		uint64_t hash = history_hash(&b->path, b->target_lengths[i], who);

		e[i] = &b->target[i][(hash >> 30) % size];
		tag[i] = never_zero(hash >> 48);
		if (has[i] && e[i]->tag == tag[i]) {
			second = longest;
			longest = e[i];
			at = i;
		}
	}
	other = second ? second->target : last;
	if (longest) {
		guess = longest->sure ? longest->target : other;
		if (longest->target == target) {
			longest->sure = clamp(longest->sure + 1, 0, 3);
			longest->useful |= other != target;
		} else if (longest->sure) {
			longest->sure--;
		} else {
			longest->target = target;
			longest->useful = 0;
		}
	}
	b->last_target[who] = target;
	if (guess != target && last) { /* not the first time */
		int i = at + 1;

		while (i < tables && e[i]->useful)
			i++;
		if (i < tables) {
			*e[i] = (struct plain_target){ .tag = tag[i], .target = target };
			has[i] = true;
		}
		for (int k = at + 1; i == tables && k < tables; k++)
			e[k]->useful = 0;
	}
	for (int i = 0; i < tables; i++)
		any |= has[i];
	for (int bit = 1; any && bit <= 2; bit++) {
		push(&b->outcomes, hash_of(target) >> (64 - bit) & 1);
		push(&b->path, hash_of(target) >> (64 - bit) & 1);
	}
	b->count[AP_MODEL_INDIRECT_MISS] += guess != target;
	return guess != target;
}
