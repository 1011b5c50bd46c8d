/* SPDX-License-Identifier: MIT */
/*
 * Filters of the table, of which the last one put on is the first to go, and the menu of a line.
 */
#include <stdlib.h>
#include <string.h>

#include "tui/hist_view.h"

static bool passes_zoom(const struct zoom *z, const struct ap_hist_entry *e)
{
	switch (z->kind) {
	case ZOOM_DSO:
		return e->dso && e->dso->name == z->dso;
	case ZOOM_THREAD:
		return z->comm ? e->comm == z->comm : e->tid == z->tid;
	case ZOOM_KERNEL:
		return e->cpumode == AP_PERF_RECORD_MISC_KERNEL;
	case ZOOM_NAME:
		return e->sym && strcasestr(e->sym->name, z->name);
	case ZOOM_SOCKET:
		return e->socket == z->socket;
	}
	return true;
}

bool hist_passes(const struct hist_view *h, const struct ap_hist_entry *e)
{
	const struct ap_hist_opts *o = ap_hist_options(hist_of(h));
	double limit = h->limit >= 0 ? h->limit : o->percent_limit;
	u64 weight = o->children ? e->acc_period : e->period;

	if (e->hidden || (double)weight * 100 < limit * (double)h->whole)
		return false;
	for (u32 i = 0; i < h->nzoom; i++) {
		if (!passes_zoom(&h->zoom[i], e))
			return false;
	}
	return true;
}

static void zoom_in(struct hist_view *h, const struct zoom *z)
{
	if (h->nzoom == MAX_ZOOM) {
		ap_tui_say(h->v.tui, "That is deep enough; Esc zooms out");
		return;
	}
	h->zoom[h->nzoom++] = *z;
	h->is_stale = true;
}

bool hist_zoom_out(struct hist_view *h)
{
	if (!h->nzoom)
		return false;
	h->nzoom--;
	h->is_stale = true;
	return true;
}

/* The entry of the cursor's line, if entries are told apart by one of these. */
static const struct ap_hist_entry *entry_by(struct hist_view *h, enum ap_hist_key a,
					    enum ap_hist_key b)
{
	const struct hist_row *r = hist_current(h);
	struct ap_hist *hist = hist_of(h);

	return r && (ap_hist_has(hist, a) || ap_hist_has(hist, b)) ? r->e : NULL;
}

void hist_zoom_dso(struct hist_view *h)
{
	const struct ap_hist_entry *e = entry_by(h, AP_KEY_DSO, AP_KEY_SYM);
	struct zoom z = { .kind = ZOOM_DSO };

	if (!e || !e->dso) {
		ap_tui_say(h->v.tui, "This line is of no file");
		return;
	}
	z.dso = e->dso->name;
	zoom_in(h, &z);
}

void hist_zoom_thread(struct hist_view *h)
{
	const struct ap_hist_entry *e = entry_by(h, AP_KEY_PID, AP_KEY_COMM);
	struct zoom z = { .kind = ZOOM_THREAD };

	if (!e) {
		ap_tui_say(h->v.tui, "Lines are of no thread: sort by pid or comm (-s)");
		return;
	}
	z.tid = e->tid;
	if (!ap_hist_has(hist_of(h), AP_KEY_PID))
		z.comm = e->comm;
	snprintf(z.name, sizeof(z.name), "%s", e->comm);
	zoom_in(h, &z);
}

void hist_zoom_kernel(struct hist_view *h)
{
	struct zoom z = { .kind = ZOOM_KERNEL };

	zoom_in(h, &z);
}

void hist_zoom_socket(struct hist_view *h)
{
	const struct ap_hist_entry *e = entry_by(h, AP_KEY_SOCKET, AP_KEY_SOCKET);
	struct zoom z = { .kind = ZOOM_SOCKET };

	if (!e) {
		ap_tui_say(h->v.tui, "Lines are of no socket: sort by socket (-s)");
		return;
	}
	z.socket = e->socket;
	zoom_in(h, &z);
}

void hist_zoom_name(struct hist_view *h, const char *text)
{
	struct zoom z = { .kind = ZOOM_NAME };

	snprintf(z.name, sizeof(z.name), "%s", text);
	zoom_in(h, &z);
}

void hist_describe_zoom(const struct hist_view *h, char *buf, size_t size)
{
	size_t n = 0;

	*buf = 0;
	for (u32 i = 0; i < h->nzoom && n + 1 < size; i++) {
		const struct zoom *z = &h->zoom[i];
		int w = 0;

		if (z->kind == ZOOM_DSO)
			w = snprintf(buf + n, size - n, ", DSO: %s", z->dso);
		else if (z->kind == ZOOM_THREAD && z->comm)
			w = snprintf(buf + n, size - n, ", Command: %s", z->name);
		else if (z->kind == ZOOM_THREAD)
			w = snprintf(buf + n, size - n, ", Thread: %s(%u)", z->name, z->tid);
		else if (z->kind == ZOOM_SOCKET)
			w = snprintf(buf + n, size - n, ", Processor Socket: %d", (int)z->socket);
		else if (z->kind == ZOOM_KERNEL)
			w = snprintf(buf + n, size - n, ", Kernel");
		else
			w = snprintf(buf + n, size - n, ", Symbols with: %s", z->name);
		n += w > 0 ? (size_t)w : 0;
	}
}

/* --- annotating, and the menu of a line */

static const struct ap_symbol *symbol_of(struct hist_view *h, struct ap_dso **dso)
{
	const struct hist_row *r = hist_current(h);

	if (!r || !h->p->notes)
		return NULL;
	if (r->frame) {
		*dso = r->frame->frame.dso;
		return r->frame->frame.sym;
	}
	*dso = r->e->dso;
	return ap_hist_has(hist_of(h), AP_KEY_SYM) ? r->e->sym : NULL;
}

void hist_annotate(struct hist_view *h)
{
	struct ap_dso *dso = NULL;
	const struct ap_symbol *sym = symbol_of(h, &dso);

	if (!sym || !dso || sym->inlined)
		ap_tui_say(h->v.tui, sym && sym->inlined
					     ? "It was expanded in its caller: annotate that"
					     : "This line is of no function that is known");
	else
		ap_tui_show_function(h->v.tui, h->p, h->event, dso, sym);
}

/* What a menu's lines do: keys of the table. */
struct choices {
	struct hist_view *h;
	u32 key[12], n;
};

static void chosen(void *arg, u32 choice)
{
	struct choices *c = arg;

	ap_tui_key(c->h->v.tui, c->key[choice]);
}

void hist_menu(struct hist_view *h)
{
	static struct choices c;
	const struct hist_row *r = hist_current(h);
	struct ap_menu *m = ap_menu_new("What to do", chosen, &c);
	struct ap_dso *dso = NULL;
	const struct ap_symbol *sym = symbol_of(h, &dso);
	const struct ap_hist_entry *e;

	c = (struct choices){ .h = h };
	if (sym && dso && !sym->inlined) {
		ap_menu_add(m, "Annotate %s", sym->name);
		c.key[c.n++] = 'a';
	}
	e = entry_by(h, AP_KEY_PID, AP_KEY_COMM);
	if (e) {
		ap_menu_add(m, "Zoom into %s %s",
			    ap_hist_has(hist_of(h), AP_KEY_PID) ? "thread" : "command", e->comm);
		c.key[c.n++] = 't';
	}
	e = entry_by(h, AP_KEY_DSO, AP_KEY_SYM);
	if (e && e->dso) {
		ap_menu_add(m, "Zoom into DSO %s", e->dso->name);
		c.key[c.n++] = 'd';
	}
	e = entry_by(h, AP_KEY_SOCKET, AP_KEY_SOCKET);
	if (e) {
		ap_menu_add(m, "Zoom into processor socket %d", (int)e->socket);
		c.key[c.n++] = 'S';
	}
	if (r && r->sign != ' ') {
		ap_menu_add(m, "%s the call tree", r->sign == '+' ? "Open" : "Fold");
		c.key[c.n++] = '+';
	}
	if (h->nzoom) {
		ap_menu_add(m, "Zoom out");
		c.key[c.n++] = AP_TUI_ESC;
	}
	if (h->p->nevents > 1) {
		ap_menu_add(m, "Next event");
		c.key[c.n++] = AP_TUI_TAB;
	}
	if (h->p->samples) {
		ap_menu_add(m, "Samples as text");
		c.key[c.n++] = 'r';
	}
	if (h->p->file) {
		ap_menu_add(m, "Switch to another data file");
		c.key[c.n++] = 's';
	}
	ap_menu_add(m, "Write all lines to a file");
	c.key[c.n++] = 'P';
	ap_menu_add(m, "Quit");
	c.key[c.n++] = 'q';
	ap_tui_push(h->v.tui, ap_menu_view(m));
}
