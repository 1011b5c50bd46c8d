/* SPDX-License-Identifier: MIT */
#include "tui/view.h"

#include <stdarg.h>
#include <string.h>

#define SIDEWAYS 8U

void ap_row_add(struct ap_row *r, enum ap_tint tint, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(r->text + r->len, sizeof(r->text) - r->len, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	r->len += (u32)n;
	if (r->len >= sizeof(r->text))
		r->len = sizeof(r->text) - 1;
	if (r->nspans == AP_ARRAY_SIZE(r->span))
		r->nspans--;
	r->span[r->nspans].end = r->len;
	r->span[r->nspans++].tint = tint;
}

/* --- movement */

void ap_view_settle(struct ap_view *v)
{
	u32 height = v->height ? v->height : 1;

	if (v->at >= v->n)
		v->at = v->n ? v->n - 1 : 0;
	if (v->top > v->at)
		v->top = v->at;
	if (v->at - v->top >= height)
		v->top = v->at - height + 1;
	/* no blank lines below while there are lines above */
	if (v->n <= height)
		v->top = 0;
	else if (v->top > v->n - height)
		v->top = v->n - height;
}

void ap_view_go(struct ap_view *v, u32 line)
{
	v->at = line;
	ap_view_settle(v);
}

bool ap_view_move(struct ap_view *v, u32 key)
{
	u32 page = v->height > 1 ? v->height - 1 : 1, at = v->at;

	switch (key) {
	case AP_TUI_UP:
		at -= at > 0;
		break;
	case AP_TUI_DOWN:
		at++;
		break;
	case AP_TUI_PGUP:
		at -= at < page ? at : page;
		break;
	case AP_TUI_PGDN:
	case ' ':
		at += page;
		break;
	case AP_TUI_HOME:
		at = 0;
		break;
	case AP_TUI_END:
		at = v->n;
		break;
	case '[':
		v->left -= v->left < SIDEWAYS ? v->left : SIDEWAYS;
		return true;
	case ']':
		if (v->left < 4096)
			v->left += SIDEWAYS;
		return true;
	default:
		return false;
	}
	ap_view_go(v, at);
	return true;
}

/* --- search */

bool ap_view_find(struct ap_view *v, const char *text, int step)
{
	static struct ap_row row;
	u32 i, line;

	for (i = 1; *text && i <= v->n; i++) {
		line = step > 0 ? (v->at + i) % v->n : (v->at + v->n - i) % v->n;
		row.len = row.nspans = 0;
		row.text[0] = 0;
		v->ops->row(v, line, &row);
		if (strcasestr(row.text, text)) {
			ap_view_go(v, line);
			return true;
		}
	}
	return false;
}

/* --- drawing */

static void put_row(struct ap_screen *s, u32 at, const struct ap_row *r, u32 left, bool selected)
{
	char text[4096], piece[4096];
	u32 begin = 0, col = 0, i, n, columns, skip;

	for (i = 0; i < r->nspans && col < s->cols; i++) {
		n = r->span[i].end - begin;
		memcpy(piece, r->text + begin, n);
		piece[n] = 0;
		begin = r->span[i].end;
		columns = ap_text_columns(piece);
		skip = left < columns ? left : columns;
		left -= skip;
		n = ap_text_clip(piece, skip, s->cols - col, text, sizeof(text));
		if (n)
			s->put(s, at, col, selected ? AP_TINT_SELECTED : r->span[i].tint, text);
		col += n;
	}
	if (!selected || col >= s->cols)
		return;
	n = s->cols - col < sizeof(text) ? s->cols - col : (u32)sizeof(text) - 1;
	memset(text, ' ', n);
	text[n] = 0;
	s->put(s, at, col, AP_TINT_SELECTED, text);
}

/* A line of one tint over the whole width. */
static void put_bar(struct ap_screen *s, u32 at, enum ap_tint tint, const char *text)
{
	static struct ap_row r;

	r.len = r.nspans = 0;
	ap_row_add(&r, tint, "%s%*s", text, (int)s->cols, "");
	put_row(s, at, &r, 0, false);
}

static u32 draw_head(struct ap_view *v, struct ap_screen *s, u32 at)
{
	static struct ap_row r;
	char text[4096];

	r.len = r.nspans = 0;
	r.text[0] = 0;
	if (!v->ops->head || s->rows < 5)
		return at;
	v->ops->head(v, &r);
	if (!r.len)
		return at;
	ap_text_clip(r.text, v->left, s->cols, text, sizeof(text));
	put_bar(s, at, AP_TINT_HEAD, text);
	return at + 1;
}

static void draw_bottom(struct ap_view *v, struct ap_screen *s)
{
	struct ap_tui *t = v->tui;
	char text[600], end[600];
	u32 n;

	if (t->ask.label) {
		/* the end of what is typed is what one wants to see */
		snprintf(text, sizeof(text), "%s: %s", t->ask.label, t->ask.text);
		n = ap_text_columns(text);
		n = n >= s->cols ? n - s->cols + 1 : 0;
		n = ap_text_clip(text, n, s->cols, end, sizeof(end));
		put_bar(s, s->rows - 1, AP_TINT_BAR, end);
		s->cursor(s, s->rows - 1, n);
		return;
	}
	s->cursor(s, s->rows, 0);
	if (t->message[0])
		put_bar(s, s->rows - 1, AP_TINT_BAR, t->message);
	else if (s->rows >= 3)
		put_bar(s, s->rows - 1, AP_TINT_DIM, v->ops->hint ? v->ops->hint : "");
}

void ap_view_draw(struct ap_view *v, struct ap_screen *s)
{
	static struct ap_row r;
	char title[600];
	u32 i, first = 0, last;

	s->erase(s);
	if (!s->rows || !s->cols) {
		s->show(s);
		return;
	}
	if (s->rows >= 2) {
		v->ops->title(v, title, sizeof(title));
		put_bar(s, first++, AP_TINT_BAR, title);
	}
	first = draw_head(v, s, first);
	last = s->rows >= 3 ? s->rows - 1 : s->rows;
	v->height = last > first ? last - first : 0;
	ap_view_settle(v);
	for (i = 0; i < v->height && v->top + i < v->n; i++) {
		r.len = r.nspans = 0;
		r.text[0] = 0;
		v->ops->row(v, v->top + i, &r);
		put_row(s, first + i, &r, v->left, v->top + i == v->at);
	}
	if (!v->n && v->height && v->ops->empty)
		put_bar(s, first, AP_TINT_PLAIN, v->ops->empty(v));
	draw_bottom(v, s);
	s->show(s);
}
