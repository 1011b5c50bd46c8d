/* SPDX-License-Identifier: MIT */
/*
 * Which slots are looked at for requests: tasks set bits, of their slot in their segment's words
 * and of their segment on the board, and what is set is served once.  host_serve.c serves a slot.
 */
#include <string.h>

#include "linux/host/host_internal.h"

static bool serve_seg(struct ap_host *host, u32 index)
{
	struct ap_host_seg *seg = ap_host_seg(host, index);
	bool any = false;

	if (!seg)
		return false;
	for (u32 w = 0; w < AP_ARRAY_SIZE(seg->head->asking); w++) {
		u64 *word = &seg->head->asking[w], bits;

		if (!__atomic_load_n(word, __ATOMIC_RELAXED))
			continue;
		/* pairs with the task's store of state, before it sets its bit */
		bits = __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL);
		for (; bits; bits &= bits - 1) {
			u32 slot = w * 64 + (u32)__builtin_ctzll(bits);

			if (slot < AP_SLOT_MAX)
				any |= ap_host_serve_slot(host, seg, slot);
		}
	}
	return any;
}

/* The board's bits of a party that were set, and those of them that some segment had. */
struct asked_bits {
	u64 bits[AP_ASKING_N], found[AP_ASKING_N];
	bool any;
};

static void serve_if_asked(struct ap_host *host, u32 seg, struct asked_bits *a)
{
	u32 w = seg / 64 % AP_ASKING_N;
	u64 bit = 1ULL << seg % 64;

	if (!(a->bits[w] & bit))
		return;
	a->found[w] |= bit;
	a->any |= serve_seg(host, seg);
}

static bool take_bits(const struct ap_session_file *f, struct asked_bits *a)
{
	bool any = false;

	memset(a, 0, sizeof(*a));
	for (u32 w = 0; w < AP_ASKING_N; w++) {
		u64 *word = &ap_board_of(f->head)->asking[w];

		if (__atomic_load_n(word, __ATOMIC_RELAXED))
			a->bits[w] = __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL);
		any |= a->bits[w] != 0;
	}
	return any;
}

/*
 * Once over all that a bit may mean, however many there are: those that are known, and those that
 * are new.
 */
static void serve_known(struct ap_host *host, const struct ap_session_file *f, u32 first,
			struct asked_bits *a)
{
	const struct ap_supervisor *sv = host->sv;

	for (u32 i = first; i < sv->ntracks; i++)
		if (AP_PARTY_OF(sv->tracks[i]->seg) == f->party)
			serve_if_asked(host, sv->tracks[i]->seg, a);
}

static bool serve_party(struct ap_host *host, const struct ap_session_file *f)
{
	struct ap_supervisor *sv = host->sv;
	u32 seg, end, ntracks, left = 0;
	struct asked_bits a;

	if (f->is_given_up || !take_bits(f, &a))
		return false;
	/* not before: the bit may be that of a segment that has just been made */
	end = ap_session_said_segs(f);
	serve_known(host, f, 0, &a);
	for (seg = f->party << AP_PARTY_SHIFT | sv->scanned[f->party]; seg < end; seg++)
		serve_if_asked(host, seg, &a);
	for (u32 w = 0; w < AP_ASKING_N; w++) {
		a.bits[w] &= ~a.found[w];
		left += a.bits[w] != 0;
	}
	if (!left)
		return a.any;
	/* the board may have been scribbled over */
	ntracks = sv->ntracks;
	ap_tracks_learn(sv);
	serve_known(host, f, ntracks, &a);
	return a.any;
}

bool ap_host_serve(struct ap_host *host, bool *in_time)
{
	const struct ap_session_file *f;
	bool any = false;

	host->in_time = true;
	for (u32 p = 0; (f = ap_session_next_party(host->ses, &p));)
		any |= serve_party(host, f);
	host->is_changed |= any;
	ap_host_wakes_look(host);
	*in_time = host->in_time;
	return any;
}
