/* SPDX-License-Identifier: MIT */
/*
 * Reading in place: an event that counts the calling thread needs nobody but the thread.  The
 * supervisor publishes the event's base; the thread adds its own raw counters and its CPU time, as the
 * core would.
 *
 * The entry is under a sequence count.  A supervisor that was killed in the middle of one leaves it
 * odd, and the reader asks, and finds it gone.  From then on nothing is read: what children counted
 * would be missing.
 */
#include "abi/perf.h"
#include "abi/raw.h"
#include "abi/service.h"
#include "service/calls.h"
#include "service/hooks.h"
#include "service/request.h"

#define TRIES	   1000U
#define READS_MANY 64 /* in place, of a kind: more will follow */
/* Kinds that are never in shapes. */
#define APART (AP_KIND_BIT(AP_KIND_SYSCALL) | AP_KIND_BIT(AP_KIND_REP_ITER))

static const struct ap_pub *pub;

static const struct ap_pub *get_table(void)
{
	const struct ap_pub *p = __atomic_load_n(&pub, __ATOMIC_ACQUIRE);

	if (p)
		return p;
	/* Two at a time map it twice, and one of them for nothing. */
	p = ap_hook_map_session(AP_PUB_OFF, AP_PUB_MAX * sizeof(*p));
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

static bool is_own(const struct ap_pub *e, const struct ap_hook_place *p)
{
	return e->kinds && !(e->kinds & ~AP_KINDS_ALL) && e->seg == p->seg_index &&
	       e->slot == p->slot_index && e->gen == p->slot->gen;
}

/* Sum of the thread's raw counters of some kinds. */
static u64 own_raw(const struct ap_hook_place *p, u64 kinds)
{
	u64 in_shapes = kinds & ~p->direct & ~APART, sum = 0;

	for (u64 rest = kinds; rest; rest &= rest - 1) {
		u32 k = (u32)__builtin_ctzll(rest);

		sum += (u64)p->slot->extra[k];
		if (p->direct & AP_KIND_BIT(k))
			sum += p->direct_sums[k];
	}
	for (u32 id = 0; in_shapes && id < p->nshapes; id++)
		if (p->counts[id])
			sum += p->counts[id] * ap_shape_of(p->shapes[id], in_shapes);
	return sum;
}

/* Where one add at each exit of code is enough.  A flush costs some hundred readings. */
static void note_read(const struct ap_hook_place *p, u64 kinds)
{
	static u32 reads[AP_RAW_N];
	u64 in_shapes = kinds & ~p->direct & ~APART;

	if (!in_shapes || in_shapes & (in_shapes - 1) ||
	    ++reads[__builtin_ctzll(in_shapes)] < READS_MANY)
		return;
	ap_hook_count_directly(in_shapes);
}

static u32 compute(const struct ap_pub *e, const struct ap_hook_place *p, u64 words[AP_SVC_OWN_MAX])
{
	const u64 times = AP_PERF_FORMAT_TOTAL_TIME_ENABLED | AP_PERF_FORMAT_TOTAL_TIME_RUNNING;
	bool in_group = e->read_format & AP_PERF_FORMAT_GROUP;
	u64 value = e->base, time = 0;
	u32 n = 0;

	if (e->flags & AP_PUB_ACTIVE)
		value += e->carried + own_raw(p, e->kinds);
	if (e->read_format & times && e->flags & (AP_PUB_ENABLED | AP_PUB_ACTIVE)) {
		time = ap_request_cpu_time();
		if (!time)
			return 0;
	}
	words[n++] = in_group ? 1 : value;
	if (e->read_format & AP_PERF_FORMAT_TOTAL_TIME_ENABLED)
		words[n++] = e->enabled_base + (e->flags & AP_PUB_ENABLED ? time : 0);
	if (e->read_format & AP_PERF_FORMAT_TOTAL_TIME_RUNNING)
		words[n++] = e->running_base + (e->flags & AP_PUB_ACTIVE ? time : 0);
	if (in_group)
		words[n++] = value;
	if (e->read_format & AP_PERF_FORMAT_ID)
		words[n++] = e->id;
	return n;
}

u32 ap_svc_own(u64 inode, u64 words[AP_SVC_OWN_MAX])
{
	struct ap_hook_place p;
	const struct ap_pub *at;
	struct ap_pub e;
	u32 n;

	ap_hook_place(&p);
	for (u32 i = 0; i < TRIES; i++) {
		at = find(inode, &e);
		if (!at || ap_request_is_lost() || !is_own(&e, &p) ||
		    e.read_format & AP_PERF_FORMAT_LOST ||
		    (e.read_format & AP_PERF_FORMAT_GROUP && !(e.flags & AP_PUB_ALONE)))
			return 0;
		n = compute(&e, &p, words);
		/* Whoever stops the event meanwhile has counted what is counted here. */
		if (__atomic_load_n(&at->seq, __ATOMIC_ACQUIRE) == e.seq) {
			note_read(&p, e.kinds);
			return n;
		}
	}
	return 0;
}

bool ap_svc_own_pmc(u64 inode, struct ap_service_pmc *pmc)
{
	struct ap_hook_place p;
	const struct ap_pub *at;
	struct ap_pub e;

	ap_hook_place(&p);
	at = find(inode, &e);
	if (!at || !is_own(&e, &p) || !(e.flags & AP_PUB_ACTIVE))
		return false;
	pmc->value =
		e.carried + own_raw(&p, e.kinds) - (e.kinds & AP_KIND_BIT(AP_KIND_INSTR) ? 1 : 0);
	pmc->kinds = e.kinds;
	pmc->seq_at = &at->seq;
	pmc->seq = e.seq;
	return true;
}
