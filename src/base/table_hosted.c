/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/table.h"

#define LEAST 64

int ap_table_add(struct ap_table *t, u64 key, u64 item)
{
	u32 room = t->room ? 2 * t->room : LEAST;
	struct ap_table_slot *more;

	if (ap_table_is_full(t)) {
		more = room ? calloc(room, sizeof(*more)) : NULL;
		if (!more)
			return -ENOMEM;
		free(ap_table_move(t, more, room));
	}
	ap_table_put(t, key, item);
	return 0;
}

void ap_table_fini(struct ap_table *t)
{
	free(t->slot);
	*t = (struct ap_table){ 0 };
}
