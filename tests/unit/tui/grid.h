/* SPDX-License-Identifier: MIT */
/*
 * A screen in memory.  What is drawn outside of it, or is not printable, ends the test.
 */
#ifndef AP_TESTS_TUI_GRID_H
#define AP_TESTS_TUI_GRID_H

#include "tui/tui.h"

#define GRID_MAX 200

struct grid {
	struct ap_screen s;
	char cell[GRID_MAX][GRID_MAX + 1];
	enum ap_tint tint[GRID_MAX][GRID_MAX];
	uint32_t typing; /* the column of the cursor; ~0: there is none */
};

void grid_init(struct grid *g, uint32_t rows, uint32_t cols);
/* A line without the blanks behind it. */
const char *grid_line(struct grid *g, uint32_t row);
/* The line with the cursor's tint; "" where there is none. */
const char *grid_selected(struct grid *g);
/* Sends characters as keys, "\n" is Enter, then draws. */
void grid_type(struct grid *g, struct ap_tui *t, const char *keys);
void grid_key(struct grid *g, struct ap_tui *t, uint32_t key);

#endif
