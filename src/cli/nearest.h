/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean": the name that takes the fewest edits to reach from what was typed.
 */
#ifndef AP_CLI_NEAREST_H
#define AP_CLI_NEAREST_H

struct ap_nearest {
	const char *word; /* borrowed: what was typed */
	const char *name; /* the best so far, NULL when nothing is near enough */
	unsigned int edits;
};

void ap_nearest_init(struct ap_nearest *near, const char *word);
void ap_nearest_offer(struct ap_nearest *near, const char *name);
unsigned int ap_edit_distance(const char *a, const char *b);

#endif
