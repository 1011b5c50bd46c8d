/* SPDX-License-Identifier: MIT */
/* See plain_branch.h. */
#include <stdlib.h>
#include <string.h>

#include "plain_branch.h"

static uint64_t hash_of(uint64_t pc)
{
	return pc * 0x9e3779b97f4a7c15;
}

void plain_bp_init(struct plain_bp *b, const struct ap_machine *machine, const uint16_t *lengths)
{
	const struct ap_bp_spec *s = &machine->bp;

	memset(b, 0, sizeof(*b));
	b->spec = *s;
	b->room = 1 << 16;
	b->history = calloc(b->room, 1);
	b->bias = calloc(1 << s->bias_bits, sizeof(*b->bias));
	b->base = calloc(1 << s->base_bits, sizeof(int));
	for (int i = 0; i < 1 << s->base_bits; i++)
		b->base[i] = 1;
	for (int i = 0; i < 8; i++) {
		b->lengths[i] = lengths[i];
		b->table[i] = calloc(1 << s->table_bits, sizeof(*b->table[i]));
		b->target[i] = calloc(1 << s->target_table_bits, sizeof(*b->target[i]));
	}
	b->loop = calloc(s->loops + 1, sizeof(*b->loop));
	b->last_target = calloc(1 << s->target_bits, sizeof(uint64_t));
	b->btb = calloc(s->btb_entries + 1, sizeof(uint64_t));
	b->btb_used = calloc(s->btb_entries + 1, sizeof(uint64_t));
}

void plain_bp_fini(struct plain_bp *b)
{
	free(b->history);
	free(b->bias);
	free(b->base);
	for (int i = 0; i < 8; i++) {
		free(b->table[i]);
		free(b->target[i]);
	}
	free(b->loop);
	free(b->last_target);
	free(b->btb);
	free(b->btb_used);
}

static void push(struct plain_bp *b, bool outcome)
{
	if (b->n == b->room) {
		b->room *= 2;
		b->history = realloc(b->history, b->room);
	}
	b->history[b->n++] = outcome;
}

/* Table i's hash of pc and the last outcomes, of which the one of age a is bit a mod 64. */
static uint64_t history_hash(const struct plain_bp *b, int i, uint64_t pc)
{
	uint64_t fold = 0;

	for (int age = 0; age < b->lengths[i] && age < (int)b->n; age++)
		fold ^= (uint64_t)b->history[b->n - 1 - age] << age % 64;
	return hash_of(pc) + fold * 0xc2b2ae3d27d4eb4f;
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

static void tage_allocate(struct plain_bp *b, uint64_t pc, int first, bool taken)
{
	int tables = b->spec.tables, tags = 1 << b->spec.tag_bits, size = 1 << b->spec.table_bits;

	for (int i = first; i < tables; i++) {
		uint64_t hash = history_hash(b, i, pc);
		struct plain_tagged *e = &b->table[i][(hash >> 30) % size];

		if (e->useful)
			continue;
		*e = (struct plain_tagged){ never_zero((hash >> 52) % tags), taken ? 4 : 3, 0 };
		return;
	}
	for (int i = first; i < tables; i++)
		b->table[i][(history_hash(b, i, pc) >> 30) % size].useful--;
}

static bool tage(struct plain_bp *b, uint64_t pc, bool taken)
{
	int tables = b->spec.tables, tags = 1 << b->spec.tag_bits, size = 1 << b->spec.table_bits;
	int *base = &b->base[(hash_of(pc) >> 32) % (1 << b->spec.base_bits)];
	struct plain_tagged *longest = NULL, *second = NULL;
	bool other, guess, fresh = false, answer;
	int at = -1;

	for (int i = 0; i < tables; i++) {
		uint64_t hash = history_hash(b, i, pc);
		struct plain_tagged *e = &b->table[i][(hash >> 30) % size];

		if (e->tag == never_zero((hash >> 52) % tags)) {
			second = longest;
			longest = e;
			at = i;
		}
	}
	other = second ? second->counter >= 4 : *base >= 2;
	answer = guess = other;
	if (!longest)
		two_bits(base, taken);
	if (longest) {
		guess = longest->counter >= 4;
		fresh = longest->useful == 0 && (longest->counter == 3 || longest->counter == 4);
		answer = fresh && b->prefer_other >= 0 ? other : guess;
		if (guess != other && fresh)
			b->prefer_other = clamp(b->prefer_other + (other == taken ? 1 : -1), -8, 7);
		if (guess != other)
			longest->useful = clamp(longest->useful + (guess == taken ? 1 : -1), 0, 3);
		longest->counter = clamp(longest->counter + (taken ? 1 : -1), 0, 7);
	}
	if (answer != taken && !(fresh && guess == taken))
		tage_allocate(b, pc, at + 1, taken);
	if (++b->branches % (1 << 18) == 0)
		for (int i = 0; i < tables; i++)
			for (int n = 0; n < size; n++)
				b->table[i][n].useful /= 2;
	return answer;
}

/* --- loops */

static struct plain_loop *loop_set(struct plain_bp *b, uint64_t pc)
{
	return &b->loop[(hash_of(pc) >> 30) % (b->spec.loops / 4) * 4];
}

static struct plain_loop *loop_find(struct plain_bp *b, uint64_t pc)
{
	struct plain_loop *set = loop_set(b, pc);

	for (int i = 0; i < 4; i++)
		if (set[i].tag == never_zero(hash_of(pc) >> 48))
			return &set[i];
	return NULL;
}

static void loop_allocate(struct plain_bp *b, uint64_t pc, bool taken)
{
	struct plain_loop *set = loop_set(b, pc);

	for (int i = 0; i < 4; i++)
		if (set[i].age == 0) {
			set[i] = (struct plain_loop){ .tag = never_zero(hash_of(pc) >> 48),
						      .age = 7,
						      .stays = !taken };
			return;
		}
	for (int i = 0; i < 4; i++)
		set[i].age--;
}

static void loop_learn(struct plain_bp *b, uint64_t pc, bool taken, bool wrong)
{
	struct plain_loop *l = loop_find(b, pc);
	const struct plain_loop none = { 0 };

	if (!l && wrong)
		loop_allocate(b, pc, taken);
	if (!l)
		return;
	l->now++;
	if (taken == l->stays && l->now == 60000) {
		*l = none;
	} else if (taken == l->stays && l->trips && l->now >= l->trips) {
		if (l->sure == 3)
			*l = none;
		else
			l->trips = 0;
	} else if (taken != l->stays && l->now == l->trips) {
		l->sure = clamp(l->sure + 1, 0, 3);
		l->age = 7;
		l->now = 0;
	} else if (taken != l->stays && l->sure == 3) {
		*l = none;
	} else if (taken != l->stays) {
		l->trips = l->now;
		l->sure = 0;
		l->now = 0;
	}
}

/* --- all together */

static bool dynamic(struct plain_bp *b, uint64_t pc, bool taken)
{
	struct plain_loop *l = b->spec.loops ? loop_find(b, pc) : NULL;
	bool knows = l && l->sure == 3, loop_says = false, says;
	uint64_t recent = 0;

	if (knows)
		loop_says = l->now + 1 == l->trips ? !l->stays : l->stays;
	for (int age = 0; age < (int)b->spec.history && age < (int)b->n; age++)
		recent |= (uint64_t)b->history[b->n - 1 - age] << age;
	if (b->spec.kind != AP_BP_GSHARE)
		recent = 0;
	if (b->spec.kind == AP_BP_TAGE)
		says = tage(b, pc, taken);
	else
		says = two_bits(&b->base[((hash_of(pc) >> 32) ^ recent) % (1 << b->spec.base_bits)],
				taken);
	if (b->spec.loops)
		loop_learn(b, pc, taken, says != taken);
	return (knows ? loop_says : says) != taken;
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
		if (b->btb[i] == pc) {
			b->btb_used[i] = ++b->time;
			return false;
		}
		if (oldest < 0 || b->btb_used[i] < b->btb_used[oldest])
			oldest = i;
	}
	b->btb[oldest] = pc;
	b->btb_used[oldest] = ++b->time;
	b->count[AP_MODEL_BTB_MISS]++;
	return true;
}

bool plain_cond(struct plain_bp *b, uint64_t pc, bool taken)
{
	int i = (hash_of(pc) >> 32) % (1 << b->spec.bias_bits), tag = hash_of(pc) >> 50;
	int state = b->bias[i].tag == tag ? b->bias[i].state : 0;
	bool wrong;

	if (!b->spec.bias_bits)
		state = 2;
	if (state == 0 && !taken)
		return false;
	if (state == 0) {
		wrong = true;
		b->bias[i].tag = tag;
		b->bias[i].state = 1;
	} else if (state == 1) {
		wrong = !taken;
		if (wrong)
			b->bias[i].state = 2;
	} else {
		wrong = dynamic(b, pc, taken);
	}
	push(b, taken);
	if (taken)
		plain_jump(b, pc);
	b->count[AP_MODEL_COND_MISS] += wrong;
	return wrong;
}

bool plain_indirect(struct plain_bp *b, uint64_t pc, uint64_t target)
{
	uint64_t *last = &b->last_target[(hash_of(pc) >> 32) % (1 << b->spec.target_bits)];
	int tables = b->spec.target_tables, size = 1 << b->spec.target_table_bits, at = -1;
	struct plain_target *e[8], *longest = NULL, *second = NULL;
	uint64_t guess = *last, other;
	int tag[8];

	for (int i = 0; i < tables; i++) {
		uint64_t hash = history_hash(b, i, pc);

		e[i] = &b->target[i][(hash >> 30) % size];
		tag[i] = never_zero(hash >> 48);
		if (e[i]->tag == tag[i]) {
			second = longest;
			longest = e[i];
			at = i;
		}
	}
	other = second ? second->target : *last;
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
	*last = target;
	if (guess != target) {
		int i = at + 1;

		while (i < tables && e[i]->useful)
			i++;
		if (i < tables)
			*e[i] = (struct plain_target){ .tag = tag[i], .target = target };
		for (int k = at + 1; i == tables && k < tables; k++)
			e[k]->useful = 0;
	}
	push(b, hash_of(target) >> 63);
	push(b, hash_of(target) >> 62 & 1);
	b->count[AP_MODEL_INDIRECT_MISS] += guess != target;
	return guess != target;
}
