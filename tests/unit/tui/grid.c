/* SPDX-License-Identifier: MIT */
#include "grid.h"

#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"

static void erase(struct ap_screen *s)
{
	struct grid *g = s->arg;

	for (uint32_t i = 0; i < GRID_MAX; i++) {
		memset(g->cell[i], ' ', GRID_MAX);
		g->cell[i][GRID_MAX] = 0;
		memset(g->tint[i], 0, sizeof(g->tint[i]));
	}
}

/* Texts of tests are ASCII: a byte is a column. */
static void put(struct ap_screen *s, uint32_t row, uint32_t col, enum ap_tint tint,
		const char *text)
{
	struct grid *g = s->arg;

	REQUIRE(row < s->rows);
	REQUIRE(col + strlen(text) <= s->cols);
	for (; *text; text++, col++) {
		REQUIRE(*text >= ' ' && *text < 0x7f);
		g->cell[row][col] = *text;
		g->tint[row][col] = tint;
	}
}

static void cursor(struct ap_screen *s, uint32_t row, uint32_t col)
{
	struct grid *g = s->arg;

	g->typing = row < s->rows ? col : ~0U;
	REQUIRE(row >= s->rows || col < s->cols);
}

static void show(struct ap_screen *s)
{
	(void)s;
}

void grid_init(struct grid *g, uint32_t rows, uint32_t cols)
{
	memset(g, 0, sizeof(*g));
	g->s = (struct ap_screen){ .rows = rows,
				   .cols = cols,
				   .arg = g,
				   .erase = erase,
				   .put = put,
				   .cursor = cursor,
				   .show = show };
}

const char *grid_line(struct grid *g, uint32_t row)
{
	static char line[8][GRID_MAX + 1];
	static unsigned int next;
	char *text = line[next++ % 8];
	size_t n = g->s.cols;

	memcpy(text, g->cell[row], n);
	while (n && text[n - 1] == ' ')
		n--;
	text[n] = 0;
	return text;
}

const char *grid_selected(struct grid *g)
{
	for (uint32_t i = 0; i < g->s.rows; i++) {
		if (g->tint[i][0] == AP_TINT_SELECTED)
			return grid_line(g, i);
	}
	return "";
}

void grid_key(struct grid *g, struct ap_tui *t, uint32_t key)
{
	ap_tui_key(t, key);
	ap_tui_draw(t, &g->s);
}

void grid_type(struct grid *g, struct ap_tui *t, const char *keys)
{
	for (; *keys; keys++)
		ap_tui_key(t, (uint8_t)*keys);
	ap_tui_draw(t, &g->s);
}
