/* SPDX-License-Identifier: MIT */
/*
 * The directory and the boxes.  Order of locks: a stripe of the directory, then a box.  Nothing
 * here waits for another core to act.
 */
#include "model/shared.h"
#include "base/mem.h"
#include "model/cache.h"

/* Longer than a holder is off its CPU, as a rule. */
#define LOCK_TURNS (1U << 23)
/*
 * To take another thread's entries away, one lock after the other: of each a millisecond, as their
 * holder may be stopped.
 */
#define LEAVE_TURNS (1U << 14)

static bool take(u32 *lock, u32 owner)
{
	u32 free = 0;

	return __atomic_compare_exchange_n(lock, &free, owner, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void lock_for(u32 *lock, unsigned core, unsigned most)
{
	u32 owner = AP_LOCK_OF(core);

	for (unsigned turns = 0; turns < most; turns++) {
		if (!__atomic_load_n(lock, __ATOMIC_RELAXED) && take(lock, owner))
			return;
#if defined(__x86_64__) || defined(__i386__)
		__builtin_ia32_pause();
#endif
	}
	/* what this can spoil is one set's state */
	__atomic_store_n(lock, owner, __ATOMIC_RELAXED);
}

void ap_model_lock(u32 *lock, unsigned core)
{
	lock_for(lock, core, LOCK_TURNS);
}

void ap_model_unlock(u32 *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* --- size and cores */

static u32 dir_sets_of(const struct ap_machine *machine)
{
	u64 lines = ((u64)machine->l1i.size + machine->l1d.size + machine->l2.size) / machine->line;
	u32 sets = 1024;

	/*
	 * room for sixteen full cores; more only where they fill their caches with different lines
	 */
	while (sets < 1U << 16 && (u64)sets * AP_DIR_WAYS < 16 * lines)
		sets <<= 1;
	return sets;
}

static size_t dir_offset_of(const struct ap_machine *machine)
{
	return AP_ALIGN_UP(sizeof(struct ap_shared), 64) +
	       ap_cache_init(NULL, NULL, &machine->llc, machine->line, NULL);
}

size_t ap_shared_bytes(const struct ap_machine *machine)
{
	return dir_offset_of(machine) +
	       (size_t)dir_sets_of(machine) * AP_DIR_WAYS * sizeof(struct ap_dir_entry);
}

void ap_shared_init(void *memory, const struct ap_machine *machine)
{
	struct ap_shared *s = memory;

	s->llc_offset = AP_ALIGN_UP(sizeof(*s), 64);
	s->dir_offset = dir_offset_of(machine);
	s->dir_sets = dir_sets_of(machine);
	s->line = machine->line;
}

unsigned ap_shared_join(struct ap_shared *s, u32 owner)
{
	unsigned core = AP_NO_CORE;

	ap_model_lock(&s->joined_lock, AP_NO_CORE);
	if (~s->joined) {
		core = __builtin_ctzll(~s->joined);
		s->joined |= 1ULL << core;
		__atomic_store_n(&s->owner[core], owner, __ATOMIC_RELAXED);
		__atomic_store_n(&s->joined_n, s->joined_n + 1, __ATOMIC_RELAXED);
	}
	ap_model_unlock(&s->joined_lock);
	return core;
}

/* --- boxes */

/* from: the thread that posts */
static void box_post(struct ap_shared *s, unsigned from, unsigned core, u64 what)
{
	struct ap_box *b = &s->box[core];

	ap_model_lock(&b->lock, from);
	if (b->head - b->tail >= AP_BOX_LINES) {
		__atomic_store_n(&b->overflow, 1, __ATOMIC_RELAXED);
	} else {
		b->line[b->head % AP_BOX_LINES] = what;
		__atomic_store_n(&b->head, b->head + 1, __ATOMIC_RELAXED);
	}
	ap_model_unlock(&b->lock);
}

static void post_all(struct ap_shared *s, unsigned from, u64 cores, u64 what)
{
	for (; cores; cores &= cores - 1)
		box_post(s, from, __builtin_ctzll(cores), what);
}

bool ap_box_take(struct ap_shared *s, unsigned core, u64 *line, bool *overflow)
{
	struct ap_box *b = &s->box[core];
	bool some = false;

	ap_model_lock(&b->lock, core);
	*overflow = b->overflow;
	if (b->head - b->tail > AP_BOX_LINES)
		*overflow = true;
	if (*overflow) {
		b->tail = b->head;
		__atomic_store_n(&b->overflow, 0, __ATOMIC_RELAXED);
	} else if (b->tail != b->head) {
		*line = b->line[b->tail % AP_BOX_LINES];
		b->tail++;
		some = true;
	}
	ap_model_unlock(&b->lock);
	return some || *overflow;
}

/* --- the directory */

static struct ap_dir_entry *dir_set(struct ap_shared *s, u64 line, u32 **lock)
{
	u32 set = (ap_cache_mix(line / s->line) >> 20) & (s->dir_sets - 1);

	*lock = &s->dir_lock[set % AP_STRIPES];
	return (struct ap_dir_entry *)((char *)s + s->dir_offset) + (size_t)set * AP_DIR_WAYS;
}

static struct ap_dir_entry *dir_find(struct ap_dir_entry *set, u64 line)
{
	for (unsigned i = 0; i < AP_DIR_WAYS; i++)
		if ((set[i].key & ~(u64)AP_LINE_DIRTY) == (line | AP_LINE_VALID))
			return &set[i];
	return NULL;
}

/* One for a new line: a full set drops its oldest, whose holders lose it, as snoop filters do. */
static struct ap_dir_entry *dir_new(struct ap_shared *s, unsigned core, struct ap_dir_entry *set,
				    u64 line)
{
	struct ap_dir_entry *e = NULL;

	for (unsigned i = 0; i < AP_DIR_WAYS && !e; i++)
		if (!set[i].key)
			e = &set[i];
	if (!e) {
		post_all(s, core, set[0].holders, set[0].key & ~(u64)AP_LINE_FLAGS);
		for (unsigned i = 0; i + 1 < AP_DIR_WAYS; i++)
			set[i] = set[i + 1];
		e = &set[AP_DIR_WAYS - 1];
	}
	e->key = line | AP_LINE_VALID;
	e->holders = 0;
	return e;
}

unsigned ap_dir_request(struct ap_shared *s, unsigned core, u64 line, bool store)
{
	u32 *lock;
	struct ap_dir_entry *set = dir_set(s, line, &lock), *e;
	u64 me = 1ULL << core, others;
	unsigned result = 0;

	ap_model_lock(lock, core);
	e = dir_find(set, line);
	if (!e)
		e = dir_new(s, core, set, line);
	others = e->holders & ~me;
	if (others) {
		result = AP_DIR_OTHER;
		if (e->key & AP_LINE_DIRTY)
			result |= AP_DIR_HITM;
		/* of several holders none owns it: nobody has to be told of one more */
		if (store || !(others & (others - 1)))
			post_all(s, core, others, line | (store ? 0 : AP_LINE_OWN));
	}
	if (store) {
		e->holders = me;
		e->key |= AP_LINE_DIRTY;
	} else {
		if (others) {
			e->key &= ~(u64)AP_LINE_DIRTY;
			result |= AP_DIR_SHARE;
		}
		e->holders |= me;
	}
	ap_model_unlock(lock);
	return result;
}

unsigned ap_dir_publish(struct ap_shared *s, unsigned core, u64 line, bool dirty)
{
	u32 *lock;
	struct ap_dir_entry *set = dir_set(s, line, &lock), *e;
	u64 others;
	bool is_modified;

	ap_model_lock(lock, core);
	e = dir_find(set, line);
	if (!e)
		e = dir_new(s, core, set, line);
	others = e->holders & ~(1ULL << core);
	is_modified = dirty || e->key & AP_LINE_DIRTY;
	if (!others || !is_modified)
		e->holders |= 1ULL << core;
	if (!others && dirty)
		e->key |= AP_LINE_DIRTY;
	if (others && !is_modified && !(others & (others - 1)))
		post_all(s, core, others, line | AP_LINE_OWN);
	ap_model_unlock(lock);
	return !others ? 0 : is_modified ? AP_DIR_OTHER : AP_DIR_SHARE;
}

void ap_dir_modify(struct ap_shared *s, unsigned core, u64 line)
{
	u32 *lock;
	struct ap_dir_entry *set = dir_set(s, line, &lock), *e;

	ap_model_lock(lock, core);
	e = dir_find(set, line);
	if (e && e->holders == 1ULL << core)
		e->key |= AP_LINE_DIRTY;
	ap_model_unlock(lock);
}

void ap_dir_leave(struct ap_shared *s, unsigned core, u64 line, bool held)
{
	u32 *lock;
	struct ap_dir_entry *set = dir_set(s, line, &lock), *e;

	ap_model_lock(lock, core);
	e = dir_find(set, line);
	if (e && e->holders & 1ULL << core) {
		if (e->holders == 1ULL << core)
			e->key &= ~(u64)AP_LINE_DIRTY;
		if (!held)
			e->holders &= ~(1ULL << core);
		if (!e->holders)
			e->key = 0;
	}
	ap_model_unlock(lock);
}

bool ap_dir_purge(struct ap_shared *s, unsigned core, u64 line)
{
	u32 *lock;
	struct ap_dir_entry *set = dir_set(s, line, &lock), *e;
	bool dirty = false;

	ap_model_lock(lock, core);
	e = dir_find(set, line);
	if (e) {
		dirty = e->key & AP_LINE_DIRTY;
		post_all(s, core, e->holders & ~(1ULL << core), line);
		*e = (struct ap_dir_entry){ 0 };
	}
	ap_model_unlock(lock);
	return dirty;
}

u64 ap_dir_state(struct ap_shared *s, unsigned core, u64 line)
{
	u32 *lock;
	struct ap_dir_entry *set = dir_set(s, line, &lock), *e;
	u64 state = 0;

	ap_model_lock(lock, core);
	e = dir_find(set, line);
	if (e && e->holders & 1ULL << core) {
		state = AP_LINE_VALID;
		if (e->holders == 1ULL << core)
			state |= AP_LINE_OWN | (e->key & AP_LINE_DIRTY);
	}
	ap_model_unlock(lock);
	return state;
}

static void free_lock(u32 *lock, unsigned core)
{
	u32 owner = AP_LOCK_OF(core);

	__atomic_compare_exchange_n(lock, &owner, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Those that it died with. */
static void free_locks(struct ap_shared *s, unsigned core)
{
	for (unsigned i = 0; i < AP_STRIPES; i++) {
		free_lock(&s->llc_lock[i], core);
		free_lock(&s->dir_lock[i], core);
	}
	for (unsigned i = 0; i < AP_CORES; i++)
		free_lock(&s->box[i].lock, core);
}

/* Without its own help: each entry is looked at. */
void ap_shared_leave(struct ap_shared *s, unsigned core)
{
	struct ap_dir_entry *e = (struct ap_dir_entry *)((char *)s + s->dir_offset);
	struct ap_box *b = &s->box[core];
	u64 me = 1ULL << core;
	u32 *lock;

	if (core >= AP_CORES || !(s->joined & me))
		return;
	free_locks(s, core);
	for (size_t n = (size_t)s->dir_sets * AP_DIR_WAYS; n--; e++) {
		if (!(e->holders & me))
			continue;
		lock = &s->dir_lock[((size_t)s->dir_sets - 1 - n / AP_DIR_WAYS) % AP_STRIPES];
		lock_for(lock, AP_NO_CORE, LEAVE_TURNS);
		e->holders &= ~me;
		e->key &= e->holders ? ~(u64)AP_LINE_DIRTY : 0;
		ap_model_unlock(lock);
	}
	lock_for(&b->lock, AP_NO_CORE, LEAVE_TURNS);
	b->tail = b->head;
	__atomic_store_n(&b->overflow, 0, __ATOMIC_RELAXED);
	ap_model_unlock(&b->lock);
	ap_model_lock(&s->joined_lock, AP_NO_CORE);
	s->joined &= ~me;
	__atomic_store_n(&s->joined_n, s->joined_n - 1, __ATOMIC_RELAXED);
	ap_model_unlock(&s->joined_lock);
}

void ap_shared_bury(struct ap_shared *s, u32 owner)
{
	for (unsigned core = 0; core < AP_CORES; core++)
		if (__atomic_load_n(&s->joined, __ATOMIC_RELAXED) >> core & 1 &&
		    __atomic_load_n(&s->owner[core], __ATOMIC_RELAXED) == owner)
			ap_shared_leave(s, core);
}
