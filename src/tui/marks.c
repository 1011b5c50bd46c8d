/* SPDX-License-Identifier: MIT */
#include "tui/marks.h"

#include "profile/text/intern.h"

bool ap_marks_has(const struct ap_marks *m, u64 mark)
{
	return ap_table_get(&m->table, mark);
}

void ap_marks_set(struct ap_marks *m, u64 mark, bool on)
{
	if (ap_marks_has(m, mark) == on)
		return;
	if (!on)
		ap_table_remove(&m->table, ap_table_find(&m->table, mark));
	else if (ap_table_add(&m->table, mark, 1))
		ap_profile_no_memory();
}

void ap_marks_fini(struct ap_marks *m)
{
	ap_table_fini(&m->table);
}
