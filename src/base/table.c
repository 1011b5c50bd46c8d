/* SPDX-License-Identifier: MIT */
#include "base/table.h"

void ap_table_put(struct ap_table *t, u64 key, u64 item)
{
	u32 i = ap_table_home(t, key);

	while (t->slot[i].item)
		i = (i + 1) & (t->room - 1);
	t->slot[i] = (struct ap_table_slot){ key, item };
	t->n++;
}

struct ap_table_slot *ap_table_move(struct ap_table *t, struct ap_table_slot *slot, u32 room)
{
	struct ap_table_slot *old = t->slot;
	u32 n = t->room;

	*t = (struct ap_table){ slot, room, 0 };
	for (u32 i = 0; i < n; i++)
		if (old[i].item)
			ap_table_put(t, old[i].key, old[i].item);
	return old;
}

void ap_table_remove(struct ap_table *t, struct ap_table_slot *s)
{
	const u32 mask = t->room - 1;
	u32 hole = (u32)(s - t->slot);

	/* what stands behind the hole moves up, unless its home is behind the hole as well */
	for (u32 i = (hole + 1) & mask; t->slot[i].item; i = (i + 1) & mask) {
		u32 home = ap_table_home(t, t->slot[i].key);

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		t->slot[hole] = t->slot[i];
		hole = i;
	}
	t->slot[hole].item = 0;
	t->n--;
}
