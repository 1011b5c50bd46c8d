/* SPDX-License-Identifier: MIT */
/* Lines to choose one from. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tui/view.h"

struct ap_menu {
	struct ap_view v;
	char title[100];
	char **line;
	ap_menu_chosen *chosen;
	void *arg;
	bool stays;
};

static void menu_title(struct ap_view *v, char *buf, size_t size)
{
	snprintf(buf, size, "%s", ((struct ap_menu *)v)->title);
}

static void menu_row(struct ap_view *v, u32 i, struct ap_row *out)
{
	ap_row_add(out, AP_TINT_PLAIN, "  %s", ((struct ap_menu *)v)->line[i]);
}

static bool menu_key(struct ap_view *v, u32 key)
{
	struct ap_menu *m = (struct ap_menu *)v;
	ap_menu_chosen *chosen = m->chosen;
	void *arg = m->arg;
	u32 at = v->at;

	if (key != AP_TUI_ENTER && key != AP_TUI_RIGHT)
		return false;
	if (!m->stays)
		ap_tui_pop(v->tui);
	chosen(arg, at);
	return true;
}

static void menu_free(struct ap_view *v)
{
	struct ap_menu *m = (struct ap_menu *)v;

	for (u32 i = 0; i < v->n; i++)
		free(m->line[i]);
	free(m->line);
	free(m);
}

static const struct ap_view_ops menu_ops = { .title = menu_title,
					     .row = menu_row,
					     .key = menu_key,
					     .free = menu_free,
					     .help = "A choice\n\n"
						     "  Enter, Right                  take it\n"
						     "  q, Esc, Left                  back\n",
					     .hint = "Enter: take it  q: back" };

struct ap_menu *ap_menu_new(const char *title, ap_menu_chosen *chosen, void *arg)
{
	struct ap_menu *m = ap_profile_calloc(1, sizeof(*m));

	m->v.ops = &menu_ops;
	snprintf(m->title, sizeof(m->title), "%s", title);
	m->chosen = chosen;
	m->arg = arg;
	return m;
}

void ap_menu_add(struct ap_menu *m, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m->line = ap_profile_realloc(m->line, m->v.n + 1, sizeof(char *));
	m->line[m->v.n] = ap_profile_calloc(1, strlen(text) + 1);
	memcpy(m->line[m->v.n++], text, strlen(text) + 1);
}

void ap_menu_stays(struct ap_menu *m)
{
	m->stays = true;
}

struct ap_view *ap_menu_view(struct ap_menu *m)
{
	return &m->v;
}
