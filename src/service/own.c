/* SPDX-License-Identifier: MIT */
/*
 * What needs nobody but the thread: its own events.  The supervisor publishes an event's base; the
 * thread adds its own raw counters and its CPU time, as the core would.  What it changes it writes into
 * its log (abi/service.h), which the supervisor reads before it does anything else with its events;
 * until then the thread adds that itself as well.
 *
 * All in here is done between two looks at the log's state: where the supervisor has to do with the
 * thread's events meanwhile, it is done again, or asked for.  Nothing is waited for.
 *
 * A record is under a sequence count, too: a reader of the wrong one must not read half of it.  A
 * supervisor that was killed in the middle of one leaves it odd, and the reader asks, and finds it gone.
 * From then on nothing is read: what children counted would be missing.
 */
#include "abi/perf.h"
#include "abi/raw.h"
#include "abi/service.h"
#include "abi/switches.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/request.h"
#include "service/service.h"

#define TRIES	   1000U
#define TRIES_HELD 3U
#define READS_MANY 64 /* in place, of a kind: more will follow */

static const struct ap_pub *pub;

static const struct ap_pub *get_table(void)
{
	const struct ap_pub *p = __atomic_load_n(&pub, __ATOMIC_ACQUIRE);

	if (p)
		return p;
	/* Two at a time map it twice, and one of them for nothing. */
	p = ap_hook_map_head(AP_PUB_OFF, AP_PUB_MAX * sizeof(*p));
	__atomic_store_n(&pub, p, __ATOMIC_RELEASE);
	return p;
}

static bool copy_entry(const struct ap_pub *from, struct ap_pub *to)
{
	for (u32 i = 0; i < TRIES; i++) {
		u32 seq = __atomic_load_n(&from->seq, __ATOMIC_ACQUIRE);

		if (seq & 1) {
			__builtin_ia32_pause();
			continue;
		}
		*to = *(const volatile struct ap_pub *)from;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&from->seq, __ATOMIC_RELAXED) == seq)
			return true;
	}
	return false;
}

static const struct ap_pub *find(u64 inode, struct ap_pub *out)
{
	const struct ap_pub *table = get_table();
	u32 home = ap_pub_home(inode);

	if (!table)
		return NULL;
	for (u32 i = 0; i < AP_PUB_WAYS; i++) {
		const struct ap_pub *e = &table[(home + i) & (AP_PUB_MAX - 1)];

		if (__atomic_load_n(&e->inode, __ATOMIC_RELAXED) == inode)
			return copy_entry(e, out) && out->inode == inode ? e : NULL;
	}
	return NULL;
}

bool ap_svc_own_is_error(u64 inode)
{
	struct ap_pub e;

	return find(inode, &e) && e.flags & AP_PUB_ERROR;
}

struct overflow_moment {
	struct ap_hook_place place;
	struct ap_log *log;
	struct ap_log_entry *entries;
	u64 state, done;
};

/* False: somebody has to do with the thread's events. */
static bool look_at_log(struct overflow_moment *m)
{
	ap_hook_place(&m->place);
	m->log = (struct ap_log *)((char *)m->place.slot + AP_LOG_OFF);
	m->entries = (void *)((char *)m->place.slot + AP_SLOT_LOG_OFF);
	m->state = __atomic_load_n(&m->log->state, __ATOMIC_ACQUIRE);
	/* moves only while the log is held, which changes its state */
	m->done = __atomic_load_n(&m->log->done, __ATOMIC_ACQUIRE);
	return !(m->state & AP_LOG_HOLD);
}

/* False also where nothing is to be done here at all. */
static bool begin(struct overflow_moment *m)
{
	return look_at_log(m) && !ap_request_is_lost() &&
	       !ap_is_stressed(ap_hook_session(), AP_STRESS_REQUESTS);
}

/* Nobody had: what was computed since is of this moment. */
static bool holds(const struct overflow_moment *m)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&m->log->state, __ATOMIC_RELAXED) == m->state;
}

static bool is_own(const struct ap_pub *e, const struct ap_hook_place *p)
{
	return e->kinds && e->seg == p->seg_index && e->slot == p->slot_index &&
	       e->gen == p->slot->gen;
}

u64 ap_svc_own_raw(const struct ap_hook_place *p, u64 kinds)
{
	u64 sum = ap_slot_sum_of(&p->counts, kinds, ~p->direct);

	for (u64 rest = kinds & p->direct; rest; rest &= rest - 1)
		sum += p->direct_sums[__builtin_ctzll(rest)];
	return sum;
}

/* Where one add at each exit of code is enough.  A flush costs some hundred readings. */
static void note_read(const struct ap_hook_place *p, u64 kinds)
{
	static u32 reads[AP_RAW_N];
	u64 in_shapes = kinds & ~p->direct & ~AP_KINDS_APART;

	if (!in_shapes || in_shapes & (in_shapes - 1) ||
	    ++reads[__builtin_ctzll(in_shapes)] < READS_MANY)
		return;
	ap_hook_count_directly(in_shapes);
}

void ap_service_readings(const u64 *kinds, u32 n, u64 *counts)
{
	struct ap_hook_place p;

	ap_hook_place(&p);
	for (u32 i = 0; i < n; i++) {
		note_read(&p, kinds[i]);
		counts[i] = ap_svc_own_raw(&p, kinds[i]);
	}
}

/* --- the log */

static void apply(struct ap_pub *e, const struct ap_log_entry *entry)
{
	switch (entry->op) {
	case AP_LOG_ENABLE:
		e->flags |= AP_PUB_ENABLED | AP_PUB_ACTIVE;
		e->base -= entry->raw;
		e->enabled_base -= entry->time;
		e->running_base -= entry->time;
		break;
	case AP_LOG_DISABLE:
		e->flags &= ~(AP_PUB_ENABLED | AP_PUB_ACTIVE);
		e->base += entry->raw;
		e->enabled_base += entry->time;
		e->running_base += entry->time;
		break;
	case AP_LOG_RESET:
		e->base = e->flags & AP_PUB_ACTIVE ? -entry->raw : 0;
		break;
	default:
		break;
	}
}

/* What the supervisor has not seen yet of what this thread did. */
static void apply_all(const struct overflow_moment *m, struct ap_pub *e)
{
	u64 head = m->state & AP_LOG_HEAD, n = (head - e->applied) & AP_LOG_HEAD;
	u64 left = (head - m->done) & AP_LOG_HEAD;

	/* an event that the supervisor's entries were not of still says what it did when it was published */
	if (n > left)
		n = left;
	if (n > AP_LOG_MAX)
		n = AP_LOG_MAX; /* no older ones are of this event */
	for (; n; n--) {
		const struct ap_log_entry *entry =
			&m->entries[((head - n) & AP_LOG_HEAD) % AP_LOG_MAX];

		if (entry->inode == e->inode)
			apply(e, entry);
	}
}

/* The calling thread's own event as it is now. */
static bool get(const struct overflow_moment *m, u64 inode, struct ap_pub *e)
{
	if (!find(inode, e) || !is_own(e, &m->place))
		return false;
	apply_all(m, e);
	return true;
}

/* Committed only if the log's state is the moment's. */
static bool append(const struct overflow_moment *m, const struct ap_log_entry *entry)
{
	u64 head = m->state & AP_LOG_HEAD, was = m->state;
	u64 now = (was & ~AP_LOG_HEAD) | ((head + 1) & AP_LOG_HEAD);

	m->entries[head % AP_LOG_MAX] = *entry;
	return __atomic_compare_exchange_n(&m->log->state, &was, now, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

static bool has_room(const struct overflow_moment *m)
{
	u64 done = __atomic_load_n(&m->log->done, __ATOMIC_ACQUIRE);

	return (((m->state & AP_LOG_HEAD) - done) & AP_LOG_HEAD) < AP_LOG_MAX;
}

/* --- changing */

static bool is_on(const struct ap_pub *e)
{
	return e->flags & AP_PUB_ENABLED;
}

/* An entry to append, or op 0: nothing changes. */
static bool prepare(struct overflow_moment *m, const struct ap_pub *e, enum ap_log_op op,
		    struct ap_log_entry *entry)
{
	*entry = (struct ap_log_entry){ .inode = e->inode, .op = op };
	if ((op == AP_LOG_ENABLE && is_on(e)) || (op == AP_LOG_DISABLE && !is_on(e))) {
		entry->op = 0;
		return true;
	}
	entry->raw = e->carried + ap_svc_own_raw(&m->place, e->kinds);
	if (op != AP_LOG_RESET)
		entry->time = ap_request_cpu_time();
	return entry->time || op == AP_LOG_RESET;
}

bool ap_svc_own_change(u64 inode, enum ap_log_op op)
{
	struct ap_log_entry entry;
	struct overflow_moment m;
	struct ap_pub e;

	for (u32 i = 0; i < TRIES_HELD && begin(&m); i++) {
		if (!has_room(&m) || !get(&m, inode, &e) || !(e.flags & AP_PUB_SIMPLE))
			return false;
		if (!prepare(&m, &e, op, &entry))
			return false;
		if (entry.op ? append(&m, &entry) : holds(&m)) {
			note_read(&m.place, e.kinds);
			return true;
		}
	}
	return false;
}

bool ap_svc_own_closed(u64 inode)
{
	const struct ap_log_entry entry = { .inode = inode & ~AP_FDS_PERFCTR, .op = AP_LOG_CLOSE };
	struct overflow_moment m;
	struct ap_pub e;

	for (u32 i = 0; i < TRIES_HELD && begin(&m); i++) {
		/* the end of others concerns events that are left in its group, or wait for a counter */
		if (!has_room(&m) || (!(inode & AP_FDS_PERFCTR) &&
				      (!get(&m, inode, &e) || !(e.flags & AP_PUB_SIMPLE))))
			return false;
		if (append(&m, &entry)) {
			ap_request_point_out_log();
			return true;
		}
	}
	return false;
}

/* --- reading */

static u64 value_of(struct overflow_moment *m, const struct ap_pub *e)
{
	return e->base +
	       (e->flags & AP_PUB_ACTIVE ? e->carried + ap_svc_own_raw(&m->place, e->kinds) : 0);
}

/* False: the time cannot be had. */
static bool put_times(const struct ap_pub *e, u64 format, u64 *words, u32 *n)
{
	const u64 times = AP_PERF_FORMAT_TOTAL_TIME_ENABLED | AP_PERF_FORMAT_TOTAL_TIME_RUNNING;
	u64 time = 0;

	if (format & times && e->flags & (AP_PUB_ENABLED | AP_PUB_ACTIVE)) {
		time = ap_request_cpu_time();
		if (!time)
			return false;
	}
	if (format & AP_PERF_FORMAT_TOTAL_TIME_ENABLED)
		words[(*n)++] = e->enabled_base + (e->flags & AP_PUB_ENABLED ? time : 0);
	if (format & AP_PERF_FORMAT_TOTAL_TIME_RUNNING)
		words[(*n)++] = e->running_base + (e->flags & AP_PUB_ACTIVE ? time : 0);
	return true;
}

static void put_tail(const struct ap_pub *e, u64 format, u64 *words, u32 *n)
{
	if (format & AP_PERF_FORMAT_ID)
		words[(*n)++] = e->id;
	if (format & AP_PERF_FORMAT_LOST)
		words[(*n)++] = 0; /* what may lose records is not read in place */
}

static u32 read_one(struct overflow_moment *m, const struct ap_pub *e, u64 *words)
{
	u32 n = 0;

	words[n++] = value_of(m, e);
	if (!put_times(e, e->read_format, words, &n))
		return 0;
	put_tail(e, e->read_format, words, &n);
	return n;
}

/* The member that a record names by its place in the array. */
static bool get_named(const struct overflow_moment *m, u32 name, struct ap_pub *e)
{
	const struct ap_pub *table = get_table();

	if (!name || name > AP_PUB_MAX || !table || !copy_entry(&table[name - 1], e) ||
	    !is_own(e, &m->place))
		return false;
	apply_all(m, e);
	return true;
}

/* Of any member, in its format and with its leader's times. */
static u32 read_group(struct overflow_moment *m, const struct ap_pub *asked, u64 *words)
{
	u64 format = asked->read_format;
	u32 left = asked->members, n = 0;
	struct ap_pub e;

	if (!left || left > AP_SVC_OWN_MEMBERS || !get_named(m, asked->leader, &e))
		return 0;
	words[n++] = left;
	if (!put_times(&e, format, words, &n))
		return 0;
	for (;;) {
		words[n++] = value_of(m, &e);
		put_tail(&e, format, words, &n);
		if (!--left)
			return e.next ? 0 : n;
		if (!get_named(m, e.next, &e))
			return 0;
	}
}

u32 ap_svc_own(u64 inode, u64 words[AP_SVC_OWN_MAX])
{
	struct overflow_moment m;
	struct ap_pub e;
	u32 n;

	for (u32 i = 0; i < TRIES_HELD && begin(&m); i++) {
		if (!get(&m, inode, &e))
			return 0;
		n = e.read_format & AP_PERF_FORMAT_GROUP ? read_group(&m, &e, words)
							 : read_one(&m, &e, words);
		if (holds(&m)) {
			note_read(&m.place, e.kinds);
			return n;
		}
	}
	return 0;
}

/* Where it may have to wait for a counter, translated code must not read it: that does not look at the log. */
static bool read_pmc(const struct overflow_moment *m, u64 inode, struct ap_service_pmc *pmc)
{
	const struct ap_pub *at;
	struct ap_pub e;

	at = find(inode, &e);
	if (!at || !is_own(&e, &m->place) || !(e.flags & AP_PUB_ACTIVE))
		return false;
	pmc->value = e.carried + ap_svc_own_raw(&m->place, e.kinds) -
		     (e.kinds & AP_KIND_BIT(AP_KIND_INSTR) ? 1 : 0);
	pmc->kinds = e.flags & AP_PUB_WAITS ? 0 : e.kinds;
	pmc->seq_at = &at->seq;
	pmc->seq = e.seq;
	return true;
}

enum ap_svc_pmc ap_svc_own_pmc(u64 inode, struct ap_service_pmc *pmc)
{
	struct overflow_moment m;

	for (u32 i = 0; i < TRIES_HELD; i++) {
		bool is_free = look_at_log(&m) || ap_request_is_lost();

		if (is_free && !read_pmc(&m, inode, pmc))
			return AP_SVC_PMC_OTHERS;
		if (is_free && (holds(&m) || ap_request_is_lost()))
			return AP_SVC_PMC_READ;
	}
	return AP_SVC_PMC_HELD;
}
