/* SPDX-License-Identifier: MIT */
/* A set of hashes. */
#ifndef AP_TUI_MARKS_H
#define AP_TUI_MARKS_H

#include "base/table.h"

struct ap_marks {
	struct ap_table table;
};

bool ap_marks_has(const struct ap_marks *m, u64 mark);
/* Puts it in or takes it out; mark is not 0. */
void ap_marks_set(struct ap_marks *m, u64 mark, bool on);
void ap_marks_fini(struct ap_marks *m);

#endif
