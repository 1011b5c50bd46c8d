/* SPDX-License-Identifier: MIT */
/* A text to be read: help, what a file says of itself. */
#include <stdlib.h>
#include <string.h>

#include "tui/view.h"

struct text_view {
	struct ap_view v;
	char title[100];
	char *text;
	char **line;
};

static void text_title(struct ap_view *v, char *buf, size_t size)
{
	snprintf(buf, size, "%s", ((struct text_view *)v)->title);
}

static void text_row(struct ap_view *v, u32 i, struct ap_row *out)
{
	ap_row_add(out, AP_TINT_PLAIN, "%s", ((struct text_view *)v)->line[i]);
}

static void text_free(struct ap_view *v)
{
	struct text_view *t = (struct text_view *)v;

	free(t->line);
	free(t->text);
	free(t);
}

static const struct ap_view_ops text_ops = {
	.title = text_title, .row = text_row, .free = text_free, .hint = "q: back"
};

struct ap_view *ap_text_view(const char *title, char *text)
{
	struct text_view *t = ap_profile_calloc(1, sizeof(*t));
	char *p, *end;

	t->v.ops = &text_ops;
	t->text = text;
	snprintf(t->title, sizeof(t->title), "%s", title);
	for (p = text; *p; p = end) {
		if (!(t->v.n & (t->v.n - 1)))
			t->line = ap_profile_realloc(t->line, t->v.n ? 2 * t->v.n : 1,
						     sizeof(char *));
		t->line[t->v.n++] = p;
		end = strchr(p, '\n');
		if (!end)
			break;
		*end++ = 0;
	}
	return &t->v;
}
