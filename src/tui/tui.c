/* SPDX-License-Identifier: MIT */
#include "tui/tui.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tui/view.h"

static const char common_help[] =
	"\n"
	"Everywhere\n"
	"\n"
	"  Up, Down, PgUp, PgDn, Space   move\n"
	"  Home, End                     first and last line\n"
	"  [, ]                          scroll to the left, to the right\n"
	"  /                             search in lines, in any case of letters\n"
	"  n, N                          search on, search back\n"
	"  P                             write all lines to a file\n"
	"  h, ?, F1                      this text\n"
	"  Ctrl-C                        quit\n";

void ap_tui_push(struct ap_tui *t, struct ap_view *v)
{
	v->tui = t;
	v->below = t->view;
	if (t->view)
		v->height = t->view->height;
	t->view = v;
	if (v->ops->refresh)
		v->ops->refresh(v);
}

void ap_tui_pop(struct ap_tui *t)
{
	struct ap_view *v = t->view;

	if (!v)
		return;
	t->view = v->below;
	v->ops->free(v);
	if (!t->view)
		t->is_over = true;
}

void ap_tui_fini(struct ap_tui *t)
{
	while (t->view)
		ap_tui_pop(t);
}

void ap_tui_say(struct ap_tui *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->message, sizeof(t->message), fmt, ap);
	va_end(ap);
}

/* --- typing */

void ap_tui_ask(struct ap_tui *t, const char *label, ap_tui_typed *done, void *arg)
{
	t->ask.label = label;
	t->ask.text[0] = 0;
	t->ask.done = done;
	t->ask.arg = arg;
}

static void append(char *text, size_t size, u32 c)
{
	size_t n = strlen(text);

	if (c < 0x80) {
		if (c >= ' ' && c != 0x7f && n + 2 <= size) {
			text[n] = (char)c;
			text[n + 1] = 0;
		}
		return;
	}
	if (n + 5 > size || c > 0x10ffff)
		return;
	if (c < 0x800) {
		text[n++] = (char)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			text[n++] = (char)(0xe0 | c >> 12);
		} else {
			text[n++] = (char)(0xf0 | c >> 18);
			text[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		}
		text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	text[n++] = (char)(0x80 | (c & 0x3f));
	text[n] = 0;
}

static void rub_out(char *text)
{
	size_t n = strlen(text);

	while (n && ((u8)text[--n] & 0xc0) == 0x80)
		;
	text[n] = 0;
}

static void type(struct ap_tui *t, u32 key)
{
	char text[sizeof(t->ask.text)];

	switch (key) {
	case AP_TUI_ESC:
	case AP_TUI_CTRL('c'):
		t->ask.label = NULL;
		return;
	case AP_TUI_BACKSPACE:
		if (t->ask.text[0])
			rub_out(t->ask.text);
		else
			t->ask.label = NULL;
		return;
	case AP_TUI_CTRL('u'):
		t->ask.text[0] = 0;
		return;
	case AP_TUI_ENTER:
		memcpy(text, t->ask.text, sizeof(text));
		t->ask.label = NULL;
		t->ask.done(t->ask.arg, text);
		return;
	default:
		append(t->ask.text, sizeof(t->ask.text), key);
	}
}

/* --- keys that all views have */

static void search(struct ap_tui *t, int step)
{
	if (!t->wanted[0])
		ap_tui_say(t, "Nothing was searched for: / asks what");
	else if (!ap_view_find(t->view, t->wanted, step))
		ap_tui_say(t, "No line has '%s'", t->wanted);
}

static void typed_search(void *arg, const char *text)
{
	struct ap_tui *t = arg;

	/* nothing: what was searched for before */
	if (*text)
		snprintf(t->wanted, sizeof(t->wanted), "%s", text);
	search(t, 1);
}

static void help(struct ap_tui *t)
{
	const char *own = t->view->ops->help ? t->view->ops->help : "";
	size_t size = strlen(own) + sizeof(common_help);
	char *text = ap_profile_calloc(1, size);

	snprintf(text, size, "%s%s", own, *own ? common_help : common_help + 1);
	ap_tui_push(t, ap_text_view("Keys", text));
}

static void common(struct ap_tui *t, u32 key)
{
	switch (key) {
	case '/':
		ap_tui_ask(t, "Search", typed_search, t);
		break;
	case 'n':
		search(t, 1);
		break;
	case 'N':
		search(t, -1);
		break;
	case 'P':
		ap_view_save(t->view);
		break;
	case 'h':
	case '?':
	case AP_TUI_F1:
		help(t);
		break;
	case 'q':
	case AP_TUI_ESC:
	case AP_TUI_LEFT:
		ap_tui_pop(t);
		break;
	case AP_TUI_RESIZE:
	case AP_TUI_CTRL('l'):
		break;
	default:
		ap_tui_say(t, "No such key here: ? lists them");
	}
}

void ap_tui_key(struct ap_tui *t, u32 key)
{
	struct ap_view *v = t->view;

	if (!v)
		return;
	if (v->ops->refresh)
		v->ops->refresh(v);
	if (key != AP_TUI_RESIZE)
		t->message[0] = 0;
	if (t->ask.label && key != AP_TUI_RESIZE)
		type(t, key);
	else if (key == AP_TUI_CTRL('c'))
		t->is_over = true;
	else if (!v->ops->key || !v->ops->key(v, key)) {
		if (!ap_view_move(v, key))
			common(t, key);
	}
}

void ap_tui_draw(struct ap_tui *t, struct ap_screen *s)
{
	if (!t->view)
		return;
	if (t->view->ops->refresh)
		t->view->ops->refresh(t->view);
	ap_view_draw(t->view, s);
}
