/* SPDX-License-Identifier: MIT */
/*
 * The table of an event on the screen: lines, keys.
 */
#include "tui/hist_view.h"

#include <stdlib.h>
#include <string.h>

#include "profile/symbols/disasm.h"

static void hist_title(struct ap_view *v, char *buf, size_t size)
{
	struct hist_view *h = (struct hist_view *)v;
	const struct ap_tui_event *event = &h->p->event[h->event];
	u64 n = h->nzoom ? h->shown : event->samples;
	char unit, zoom[400], lost[64] = "";

	n = ap_hist_short(n, &unit);
	hist_describe_zoom(h, zoom, sizeof(zoom));
	if (h->p->lost)
		snprintf(lost, sizeof(lost), ", lost: %llu", (unsigned long long)h->p->lost);
	snprintf(buf, size, "Samples: %llu%.*s of event '%s', Event count (approx.): %llu%s%s",
		 (unsigned long long)n, unit != ' ', &unit, event->name,
		 (unsigned long long)event->total, lost, zoom);
}

static void hist_head(struct ap_view *v, struct ap_row *out)
{
	struct hist_view *h = (struct hist_view *)v;
	struct ap_hist *hist = hist_of(h);
	const struct ap_hist_opts *o = hist ? ap_hist_options(hist) : NULL;
	u32 i;

	if (!o || h->has_no_head)
		return;
	ap_row_add(out, AP_TINT_HEAD, "  ");
	for (i = 0; i < o->ncolumn; i++) {
		if (ap_hist_left_out(hist, i))
			continue;
		ap_row_add(out, AP_TINT_HEAD, "%s%*s", i ? "  " : "",
			   o->column[i] < AP_KEY_N ? -(int)h->width[i] : (int)h->width[i],
			   ap_hist_header(hist, i));
	}
}

static void entry_row(struct hist_view *h, const struct hist_row *r, struct ap_row *out)
{
	struct ap_hist *hist = hist_of(h);
	const struct ap_hist_opts *o = ap_hist_options(hist);
	static char text[4096];
	u32 i, columns;

	ap_row_add(out, AP_TINT_PLAIN, "%c ", r->sign);
	for (i = 0; i < o->ncolumn; i++) {
		double share = ap_hist_share(hist, r->e, i);
		bool is_last = i + 1 == o->ncolumn;

		if (ap_hist_left_out(hist, i))
			continue;
		ap_hist_cell(hist, r->e, i, h->width[i], text, sizeof(text));
		/* padded anew, as wide as it is shown */
		if (!is_last)
			text[ap_hist_trim(text)] = '\0';
		columns = is_last ? h->width[i] : ap_text_columns(text);
		ap_row_add(out, share >= 0 ? ap_tint_of(share) : AP_TINT_PLAIN, "%s%s%*s",
			   i ? "  " : "", text,
			   columns < h->width[i] ? (int)(h->width[i] - columns) : 0, "");
	}
}

static void frame_row(struct hist_view *h, const struct hist_row *r, struct ap_row *out)
{
	struct ap_hist *hist = hist_of(h);
	u64 weight = ap_chain_total(r->frame);
	char value[64], name[3000];
	u32 indent = r->depth < 300 ? 3 * r->depth : 900;

	ap_row_add(out, AP_TINT_PLAIN, "%*s%c ", (int)indent, "", r->sign);
	if (r->has_weight) {
		ap_row_add(out,
			   ap_tint_of(r->total ? 100.0 * (double)weight / (double)r->total : 0),
			   "%s ", ap_chain_value(hist, r->frame, r->total, value, sizeof(value)));
	}
	ap_row_add(out, AP_TINT_PLAIN, "%s", ap_frame_name(&r->frame->frame, name, sizeof(name)));
}

static void hist_row(struct ap_view *v, u32 i, struct ap_row *out)
{
	struct hist_view *h = (struct hist_view *)v;

	if (h->row[i].frame)
		frame_row(h, &h->row[i], out);
	else
		entry_row(h, &h->row[i], out);
}

static const char *hist_empty(struct ap_view *v)
{
	return hist_of((struct hist_view *)v) ? "Nothing passes; Esc zooms out"
					      : "Nothing was sampled yet";
}

static void hist_refresh(struct ap_view *v)
{
	struct hist_view *h = (struct hist_view *)v;

	if (h->is_stale || h->generation != h->p->generation)
		hist_rows_make(h);
}

static void hist_free(struct ap_view *v)
{
	struct hist_view *h = (struct hist_view *)v;

	ap_marks_fini(&h->open);
	free(h->row);
	free(h);
}

static void typed_limit(void *arg, const char *text)
{
	struct hist_view *h = arg;
	char *end;
	double limit = strtod(text, &end);

	if (end == text || *end || !(limit >= 0)) {
		ap_tui_say(h->v.tui, "'%s' is no number of percent", text);
		return;
	}
	h->limit = limit;
	h->is_stale = true;
}

static void typed_name(void *arg, const char *text)
{
	if (*text)
		hist_zoom_name(arg, text);
}

static void show_header(struct hist_view *h)
{
	char *text = NULL;
	size_t size;
	FILE *out = h->p->header ? open_memstream(&text, &size) : NULL;

	if (!out) {
		ap_tui_say(h->v.tui, "There is no header");
		return;
	}
	h->p->header(h->p->header_arg, out);
	fclose(out);
	ap_tui_push(h->v.tui, ap_text_view("Header", text));
}

/* All of the entry that the line is of, which becomes the current one. */
static void fold(struct hist_view *h)
{
	u32 line = h->v.at;

	if (!hist_current(h))
		return;
	while (line && h->row[line].frame)
		line--;
	hist_open_entry(h, line, false);
	h->v.at = line;
}

static void toggle(struct hist_view *h, bool whole)
{
	const struct hist_row *r = hist_current(h);
	u32 line = h->v.at;
	bool open;

	if (!r)
		return;
	if (whole) {
		/* the main entry of the line */
		while (line && h->row[line].frame)
			line--;
		r = &h->row[line];
	}
	/* a group's sign is at its first or last frame, which may be another line */
	open = hist_is_open(h, r->mark);
	if (whole && r->sign != ' ') {
		hist_open_entry(h, line, !open);
		h->v.at = line;
	} else if (r->sign != ' ') {
		hist_open(h, r->mark, !open);
	}
}

static bool fold_key(struct hist_view *h, u32 key)
{
	switch (key) {
	case '+':
		toggle(h, false);
		return true;
	case 'e':
		toggle(h, true);
		return true;
	case 'c':
		fold(h);
		return true;
	case 'E':
	case 'C':
		hist_open_all(h, key == 'E');
		return true;
	default:
		return false;
	}
}

static bool zoom_key(struct hist_view *h, u32 key)
{
	switch (key) {
	case 'd':
		hist_zoom_dso(h);
		return true;
	case 't':
		hist_zoom_thread(h);
		return true;
	case 'k':
		hist_zoom_kernel(h);
		return true;
	case 'S':
		hist_zoom_socket(h);
		return true;
	case 'f':
		ap_tui_ask(h->v.tui, "Only symbols with", typed_name, h);
		return true;
	case 'F':
		h->is_relative = !h->is_relative;
		h->is_stale = true;
		ap_tui_say(h->v.tui, h->is_relative ? "Percentages are of what is shown"
						    : "Percentages are of all");
		return true;
	case 'L':
		ap_tui_ask(h->v.tui, "Least percent", typed_limit, h);
		return true;
	default:
		return false;
	}
}

static void out(struct hist_view *h)
{
	if (hist_zoom_out(h))
		return;
	if (h->v.below)
		ap_tui_pop(h->v.tui);
	else
		ap_tui_say(h->v.tui, "Nothing is zoomed into; q quits");
}

static void enter(struct hist_view *h)
{
	const struct hist_row *r = hist_current(h);

	if (r && r->frame && r->sign != ' ')
		toggle(h, false);
	else
		hist_menu(h);
}

static bool hist_key(struct ap_view *v, u32 key)
{
	struct hist_view *h = (struct hist_view *)v;

	if (fold_key(h, key) || zoom_key(h, key))
		return true;
	switch (key) {
	case 'a':
		hist_annotate(h);
		return true;
	case 'm':
		hist_menu(h);
		return true;
	case AP_TUI_ENTER:
	case AP_TUI_RIGHT:
		enter(h);
		return true;
	case AP_TUI_ESC:
	case AP_TUI_LEFT:
		out(h);
		return true;
	case AP_TUI_TAB:
	case AP_TUI_BACKTAB:
		if (!hist_next_event(h, key == AP_TUI_TAB ? 1 : -1))
			ap_tui_say(v->tui, "There is no other event");
		return true;
	case 'H':
		h->has_no_head = !h->has_no_head;
		return true;
	case 'V':
		h->p->full_paths = !h->p->full_paths;
		h->is_stale = true;
		ap_tui_say(v->tui,
			   h->p->full_paths ? "With paths and addresses" : "By their names");
		return true;
	case 'i':
		show_header(h);
		return true;
	case 'r':
		hist_samples(h);
		return true;
	case 's':
		hist_other_file(h);
		return true;
	case 'z':
		if (!h->p->is_live)
			return false;
		h->p->is_forgetful = !h->p->is_forgetful;
		ap_tui_say(v->tui, h->p->is_forgetful ? "Each refresh forgets what was before"
						      : "What was before fades");
		return true;
	case 'q':
		v->tui->is_over = true;
		return true;
	default:
		return false;
	}
}

static const struct ap_view_ops hist_ops = {
	.title = hist_title,
	.head = hist_head,
	.row = hist_row,
	.key = hist_key,
	.refresh = hist_refresh,
	.empty = hist_empty,
	.free = hist_free,
	.help = "The table\n"
		"\n"
		"  Enter, Right, m               menu; on a call tree Enter opens or folds\n"
		"  a                             annotate the function\n"
		"  +                             open or fold one level of the call tree\n"
		"  e                             open or fold all of the entry's call tree\n"
		"  c                             fold it\n"
		"  E, C                          open, fold all call trees\n"
		"  d                             zoom into the file (shared object)\n"
		"  t                             zoom into the thread\n"
		"  k                             zoom into the kernel\n"
		"  S                             zoom into the processor socket (-s socket)\n"
		"  f                             only symbols whose name has a text\n"
		"  L                             leave out what weighs less\n"
		"  F                             percentages of what is shown, or of all\n"
		"  Esc, Left                     zoom out\n"
		"  Tab, Shift-Tab                next event, the one before\n"
		"  H                             headings\n"
		"  V                             with paths and addresses, as by -v\n"
		"  i                             what the file says of itself\n"
		"  r                             samples as text: of the command, the function, all\n"
		"  s                             switch to another data file of this folder\n"
		"  z                             (top) forget at each refresh, or fade\n"
		"  q                             quit\n",
	.hint = "Enter: menu  a: annotate  +/e/E/C: call trees  d/t: zoom  /: search  ?: help  q: quit",
};

/* --- to the outside */

static void push_event(struct ap_tui *t, struct ap_tui_profile *p, u32 event)
{
	struct hist_view *h = ap_profile_calloc(1, sizeof(*h));

	h->v.ops = &hist_ops;
	h->p = p;
	h->event = event;
	h->limit = -1;
	h->is_stale = true;
	ap_tui_push(t, &h->v);
}

bool hist_next_event(struct hist_view *h, int step)
{
	u32 n = h->p->nevents, i, event;

	for (i = 1; i < n; i++) {
		event = (h->event + (step > 0 ? i : n - i)) % n;
		if (!h->p->event[event].hist)
			continue;
		h->event = event;
		h->v.at = h->v.top = 0;
		h->is_stale = true;
		return true;
	}
	return false;
}

struct events_menu {
	struct ap_tui *t;
	struct ap_tui_profile *p;
	u32 *event; /* by line */
};

static void event_chosen(void *arg, u32 choice)
{
	struct events_menu *m = arg;

	push_event(m->t, m->p, m->event[choice]);
}

/* Several: a menu of those with samples stands below the tables. */
void ap_tui_show_profile(struct ap_tui *t, struct ap_tui_profile *p)
{
	static struct events_menu m;
	struct ap_menu *menu;
	u32 i, n = 0;

	free(m.event);
	m = (struct events_menu){ t, p, ap_profile_calloc(p->nevents + 1, sizeof(u32)) };
	for (i = 0; i < p->nevents; i++) {
		if (p->event[i].hist)
			m.event[n++] = i;
	}
	if (n <= 1 || p->is_live) {
		push_event(t, p, m.event[0]);
		return;
	}
	menu = ap_menu_new("Events with samples", event_chosen, &m);
	for (i = 0; i < n; i++)
		ap_menu_add(menu, "%8llu samples of %s",
			    (unsigned long long)p->event[m.event[i]].samples,
			    p->event[m.event[i]].name);
	ap_menu_stays(menu);
	ap_tui_push(t, ap_menu_view(menu));
}

void ap_tui_profile_fini(struct ap_tui_profile *p)
{
	if (p->disasm)
		ap_disasm_free(p->disasm);
	p->disasm = NULL;
}
