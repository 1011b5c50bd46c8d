/* SPDX-License-Identifier: MIT */
#include "tui/marks.h"

#include <stdlib.h>
#include <string.h>

#include "profile/text/intern.h"

static u32 slot_of(const struct ap_marks *m, u64 mark)
{
	u32 i = (u32)(mark ^ mark >> 32) & (m->cap - 1);

	while (m->slot[i] && m->slot[i] != mark)
		i = (i + 1) & (m->cap - 1);
	return i;
}

bool ap_marks_has(const struct ap_marks *m, u64 mark)
{
	return m->cap && m->slot[slot_of(m, mark)];
}

static void grow(struct ap_marks *m)
{
	u64 *old = m->slot;
	u32 n = m->cap;

	m->cap = n ? 2 * n : 64;
	m->slot = ap_profile_calloc(m->cap, sizeof(u64));
	for (u32 i = 0; i < n; i++) {
		if (old[i])
			m->slot[slot_of(m, old[i])] = old[i];
	}
	free(old);
}

void ap_marks_set(struct ap_marks *m, u64 mark, bool on)
{
	u32 i, k;

	if (ap_marks_has(m, mark) == on)
		return;
	if (on) {
		if (2 * (m->n + 1) > m->cap)
			grow(m);
		m->slot[slot_of(m, mark)] = mark;
		m->n++;
		return;
	}
	i = slot_of(m, mark);
	m->slot[i] = 0;
	m->n--;
	/* those behind may have been put there because this one was in the way */
	for (k = (i + 1) & (m->cap - 1); m->slot[k]; k = (k + 1) & (m->cap - 1)) {
		u64 moved = m->slot[k];

		m->slot[k] = 0;
		m->slot[slot_of(m, moved)] = moved;
	}
}

void ap_marks_fini(struct ap_marks *m)
{
	free(m->slot);
	memset(m, 0, sizeof(*m));
}
