/* SPDX-License-Identifier: MIT */
/*
 * Which slots are looked at for requests: tasks set bits, of their slot in their segment's words and of their segment on the
 * board, and what is set is served once.  host_serve.c serves a slot.
 */
#include "linux/host_internal.h"

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

static bool is_unfolded(const struct ap_host *host, u32 seg)
{
	const struct ap_supervisor *sv = host->sv;

	if (AP_SEG_LOCAL(seg) >= sv->scanned[AP_PARTY_OF(seg)])
		return true;
	for (u32 i = 0; i < sv->ntracks; i++)
		if (sv->tracks[i]->seg == seg)
			return true;
	return false;
}

/* All that a bit may mean.  False: there is none. */
static bool serve_segs(struct ap_host *host, u32 bit, u32 nsegs, bool *any)
{
	bool is_there = false;

	for (u32 seg = nsegs - AP_SEG_LOCAL(nsegs) + bit; seg < nsegs; seg += AP_ASKING_N * 64) {
		if (!is_unfolded(host, seg))
			continue;
		is_there = true;
		*any |= serve_seg(host, seg);
	}
	return is_there;
}

static bool serve_party(struct ap_host *host, const struct ap_session_file *f)
{
	bool any = false;

	for (u32 w = 0; w < AP_ASKING_N; w++) {
		u64 *word = &ap_board_of(f->head)->asking[w], bits;
		u32 nsegs;

		if (!__atomic_load_n(word, __ATOMIC_RELAXED))
			continue;
		bits = __atomic_exchange_n(word, 0, __ATOMIC_ACQ_REL);
		/* not before: the bit may be that of a segment that has just been made */
		nsegs = ap_session_said_segs(f);
		for (; bits; bits &= bits - 1) {
			u32 bit = w * 64 + (u32)__builtin_ctzll(bits);

			if (serve_segs(host, bit, nsegs, &any))
				continue;
			/* the board may have been scribbled over */
			nsegs = ap_session_nsegs(f);
			(void)serve_segs(host, bit, nsegs, &any);
		}
	}
	return any;
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
