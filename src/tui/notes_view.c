/* SPDX-License-Identifier: MIT */
/*
 * A function on the screen: its instructions with what was sampled at each, and their source.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/hist/listing.h"
#include "profile/symbols/disasm.h"
#include "tui/flow.h"

enum notes_mode { MODE_PERCENT, MODE_PERIOD, MODE_SAMPLES, MODE_N };

struct notes_view {
	struct ap_view v;
	struct ap_tui_profile *p;
	u32 event;
	struct ap_dso *dso;
	const struct ap_symbol *sym;
	const struct ap_notes *notes; /* NULL: no sample */
	struct ap_listing listing;
	u32 *shown; /* lines of the listing that are, v.n of them */
	u32 *hot;   /* lines with samples, the heaviest first */
	u32 nhot, hot_at;
	bool has_source, has_numbers, is_stale;
	bool is_of_all, by_samples; /* percentages */
	bool has_arrows, has_sources, is_short, has_paths;
	enum ap_flow_offsets offsets;
	struct ap_flow flow;
	enum notes_mode mode;
	u64 generation;
};

static const struct ap_listing_line *line_at(const struct notes_view *n, u32 i)
{
	return &n->listing.line[n->shown[i]];
}

static u64 total_of(const struct notes_view *n)
{
	return n->notes ? n->notes->period : 0;
}

static double share_of(const struct notes_view *n, const struct ap_listing_line *line)
{
	u64 total, part = n->by_samples ? line->count : line->period;

	if (!n->notes)
		return 0;
	if (n->by_samples)
		total = n->is_of_all ? n->notes->all_count : n->notes->count;
	else
		total = n->is_of_all ? n->notes->all_period : n->notes->period;
	return total ? 100.0 * (double)part / (double)total : 0;
}

static void notes_title(struct ap_view *v, char *buf, size_t size)
{
	struct notes_view *n = (struct notes_view *)v;
	const struct ap_tui_event *event = &n->p->event[n->event];

	snprintf(buf, size, "%s  %s  [%llu samples of '%s', %llu events]", n->sym->name,
		 n->p->full_paths ? n->dso->path : n->dso->name,
		 n->notes ? (unsigned long long)n->notes->count : 0,
		 event->leader ? event->leader : event->name, (unsigned long long)total_of(n));
}

static void notes_head(struct ap_view *v, struct ap_row *out)
{
	static const char *const names[MODE_N] = { "Percent", "Period", "Samples" };
	struct notes_view *n = (struct notes_view *)v;

	ap_row_add(out, AP_TINT_HEAD, "%12s | %s", names[n->mode],
		   n->has_source ? "Source and instructions" : "Instructions");
	if (n->mode == MODE_PERCENT && (n->is_of_all || n->by_samples))
		ap_row_add(out, AP_TINT_HEAD, " (percent of %s %s)",
			   n->is_of_all ? "all" : "the function's",
			   n->by_samples ? "samples" : "periods");
}

static void weight(struct notes_view *n, const struct ap_listing_line *line, struct ap_row *out)
{
	enum ap_tint tint = ap_tint_of(share_of(n, line));

	if (!line->count)
		ap_row_add(out, AP_TINT_PLAIN, "%12s", "");
	else if (n->mode == MODE_PERCENT)
		ap_row_add(out, tint, "%12.2f", share_of(n, line));
	else
		ap_row_add(
			out, tint, "%12llu",
			(unsigned long long)(n->mode == MODE_PERIOD ? line->period : line->count));
}

/* Between the weights and the source or instruction. */
static void margin(struct notes_view *n, u32 i, struct ap_row *out)
{
	u32 from = n->flow.from[n->shown[i]];

	ap_row_add(out, AP_TINT_DIM, " | ");
	if (n->has_sources && from)
		ap_row_add(out, AP_TINT_PLAIN, "%3u ", from);
	else if (n->has_sources)
		ap_row_add(out, AP_TINT_PLAIN, "    ");
	if (n->has_arrows)
		ap_row_add(out, AP_TINT_HEAD, "%s",
			   ap_flow_arrow(&n->flow, n->shown[n->v.at], n->shown[i]));
}

static void instruction(struct notes_view *n, u32 i, struct ap_row *out)
{
	const struct ap_listing_line *line = line_at(n, i);

	weight(n, line, out);
	margin(n, i, out);
	if (!n->is_short) {
		ap_row_add(out, AP_TINT_PLAIN, "%8llx:  %s", (unsigned long long)line->vaddr,
			   line->text);
		return;
	}
	if (ap_flow_has_offset(&n->flow, &n->listing, n->shown[i], n->offsets))
		ap_row_add(out, AP_TINT_PLAIN, "%8llx:  ", (unsigned long long)line->off);
	else
		ap_row_add(out, AP_TINT_PLAIN, "%11s", "");
	ap_flow_put_short(&n->flow, &n->listing, n->shown[i], out);
}

static void notes_row(struct ap_view *v, u32 i, struct ap_row *out)
{
	struct notes_view *n = (struct notes_view *)v;
	const struct ap_listing_line *line = line_at(n, i);
	const char *slash;

	switch (line->kind) {
	case AP_LISTING_FILE:
		slash = strrchr(line->text, '/');
		ap_row_add(out, AP_TINT_DIM, "%12s", "");
		margin(n, i, out);
		ap_row_add(out, AP_TINT_DIM, "%s:%u",
			   n->has_paths || !slash ? line->text : slash + 1, line->number);
		break;
	case AP_LISTING_SOURCE:
		ap_row_add(out, AP_TINT_DIM, "%12s", "");
		margin(n, i, out);
		if (n->has_numbers)
			ap_row_add(out, AP_TINT_DIM, "%-5u", line->number);
		ap_row_add(out, AP_TINT_DIM, "%s", line->text);
		break;
	case AP_LISTING_CODE:
		instruction(n, i, out);
		break;
	}
}

/* --- what is shown */

static int by_weight(const void *pa, const void *pb, void *arg)
{
	const struct ap_listing *l = arg;
	u32 a = *(const u32 *)pa, b = *(const u32 *)pb;

	if (l->line[a].period != l->line[b].period)
		return l->line[a].period > l->line[b].period ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void weigh(struct notes_view *n)
{
	n->generation = n->p->generation;
	n->notes = ap_annotate_find(n->p->notes, n->p->event[n->event].index, n->sym);
	ap_listing_weigh(&n->listing, n->notes);
	n->nhot = 0;
	for (u32 i = 0; i < n->listing.n; i++) {
		if (n->listing.line[i].count)
			n->hot[n->nhot++] = i;
	}
	if (n->nhot)
		qsort_r(n->hot, n->nhot, sizeof(u32), by_weight, &n->listing);
	if (n->hot_at >= n->nhot)
		n->hot_at = 0;
}

/* To a line of the listing, or the next one that is shown. */
static void go(struct notes_view *n, u32 line)
{
	u32 i;

	for (i = 0; i + 1 < n->v.n && n->shown[i] < line; i++)
		;
	ap_view_go(&n->v, i);
	/* its surroundings, as far as there is room */
	if (n->v.at == n->v.top && n->v.height > 4)
		n->v.top -= n->v.top < 3 ? n->v.top : 3;
	ap_view_settle(&n->v);
}

static void choose_lines(struct notes_view *n)
{
	u32 at = n->v.n ? n->shown[n->v.at] : 0;

	n->v.n = 0;
	for (u32 i = 0; i < n->listing.n; i++) {
		if (n->has_source || n->listing.line[i].kind == AP_LISTING_CODE)
			n->shown[n->v.n++] = i;
	}
	n->is_stale = false;
	go(n, at);
}

static void notes_refresh(struct ap_view *v)
{
	struct notes_view *n = (struct notes_view *)v;

	if (n->generation != n->p->generation)
		weigh(n);
	if (n->is_stale)
		choose_lines(n);
}

static void notes_free(struct ap_view *v)
{
	struct notes_view *n = (struct notes_view *)v;

	ap_flow_fini(&n->flow);
	ap_listing_fini(&n->listing);
	free(n->shown);
	free(n->hot);
	free(n);
}

/* --- keys */

static void go_hot(struct notes_view *n, int step)
{
	if (!n->nhot) {
		ap_tui_say(n->v.tui, "No sample was in this function itself");
		return;
	}
	n->hot_at = (n->hot_at + n->nhot + (u32)step) % n->nhot;
	go(n, n->hot[n->hot_at]);
}

/* Where the instruction goes: a line of this function, or another function. */
static void follow(struct notes_view *n)
{
	const struct ap_listing_line *line = n->v.n ? line_at(n, n->v.at) : NULL;
	const struct ap_symbol *sym;
	u64 place;

	if (!line || !line->target) {
		ap_tui_say(n->v.tui, "This line goes nowhere else");
		return;
	}
	place = ap_dso_place(n->dso, line->target);
	for (u32 i = 0; i < n->listing.n; i++) {
		if (n->listing.line[i].kind == AP_LISTING_CODE &&
		    n->listing.line[i].vaddr == line->target) {
			go(n, i);
			return;
		}
	}
	sym = ap_dso_symbol(n->dso, place);
	if (!sym)
		ap_tui_say(n->v.tui, "No function is known at %llx",
			   (unsigned long long)line->target);
	else
		ap_tui_show_function(n->v.tui, n->p, n->event, n->dso, sym);
}

/* The next function by weight, in place of this one. */
static void next_function(struct notes_view *n, int step)
{
	u32 count = ap_annotate_finish(n->p->notes), i, at = count;
	struct ap_tui *t = n->v.tui;
	const struct ap_notes *f;

	for (i = 0; i < count; i++) {
		if (ap_annotate_get(n->p->notes, i) == n->notes)
			at = i;
	}
	at = at == count ? 0 : at + (u32)step;
	f = at < count ? ap_annotate_get(n->p->notes, at) : NULL;
	if (!f || f->event != n->p->event[n->event].index)
		ap_tui_say(t, step > 0 ? "This is the last function with samples"
				       : "This is the heaviest function");
	else if (ap_tui_show_function(t, n->p, n->event, f->dso, f->sym)) {
		/* the old one goes from below the new one */
		struct ap_view *v = t->view;

		v->below = n->v.below;
		notes_free(&n->v);
	}
}

/* How instructions are shown. */
static bool form_key(struct notes_view *n, u32 key)
{
	static const char *const offsets[AP_FLOW_N] = { "jump to", "jump to, and of calls",
							"are, all of them" };

	switch (key) {
	case 'j':
		n->has_arrows = !n->has_arrows;
		return true;
	case 'J':
		n->has_sources = !n->has_sources;
		return true;
	case 'l':
		n->has_paths = !n->has_paths;
		return true;
	case 'o':
		n->is_short = !n->is_short;
		return true;
	case 'O':
		n->offsets = n->is_short ? (n->offsets + 1) % AP_FLOW_N : n->offsets;
		n->is_short = true;
		ap_tui_say(n->v.tui, "Offsets of where instructions %s", offsets[n->offsets]);
		return true;
	default:
		return false;
	}
}

static bool show_key(struct notes_view *n, u32 key)
{
	switch (key) {
	case 's':
		n->has_source = !n->has_source;
		n->is_stale = true;
		return true;
	case 't':
		n->mode = (n->mode + 1) % MODE_N;
		return true;
	case 'p':
		n->is_of_all = !n->is_of_all;
		n->mode = MODE_PERCENT;
		return true;
	case 'b':
		n->by_samples = !n->by_samples;
		n->mode = MODE_PERCENT;
		return true;
	case 'k':
		n->has_numbers = !n->has_numbers;
		return true;
	default:
		return false;
	}
}

static bool notes_key(struct ap_view *v, u32 key)
{
	struct notes_view *n = (struct notes_view *)v;

	if (show_key(n, key) || form_key(n, key))
		return true;
	switch (key) {
	case 'H':
		n->hot_at = 0;
		go_hot(n, 0);
		return true;
	case AP_TUI_TAB:
	case AP_TUI_BACKTAB:
		go_hot(n, key == AP_TUI_TAB ? 1 : -1);
		return true;
	case AP_TUI_ENTER:
	case AP_TUI_RIGHT:
		follow(n);
		return true;
	case '>':
	case '<':
		next_function(n, key == '>' ? 1 : -1);
		return true;
	default:
		return false;
	}
}

static void notes_save_name(struct ap_view *v, char *buf, size_t size)
{
	struct notes_view *n = (struct notes_view *)v;
	char *p;

	snprintf(buf, size < 200 ? size : 200, "%s.annotation", n->sym->name);
	for (p = buf; *p; p++) {
		if (*p == '/' || *p <= ' ' || *p == 0x7f)
			*p = '_';
	}
	if (buf[0] == '.')
		buf[0] = '_';
}

static const struct ap_view_ops notes_ops = {
	.title = notes_title,
	.head = notes_head,
	.row = notes_row,
	.key = notes_key,
	.refresh = notes_refresh,
	.free = notes_free,
	.save_name = notes_save_name,
	.help = "A function\n"
		"\n"
		"  H                             the instruction with most samples\n"
		"  Tab, Shift-Tab                the next with fewer, with more\n"
		"  Enter, Right                  where the instruction jumps or what it calls\n"
		"  <, >                          the next heavier, lighter function\n"
		"  s                             source lines\n"
		"  k, l                          their numbers, whole paths of their files\n"
		"  j, J                          the arrow of a jump; how many come here\n"
		"  o, O                          short operands and offsets, or addresses; of which lines\n"
		"  t                             percent, periods, samples\n"
		"  p                             percent of the function, or of all\n"
		"  b                             percent of periods, or of samples\n"
		"  q, Esc, Left                  back\n",
	.hint = "H/Tab: hot lines  Enter: follow  s: source  t: units  /: search  ?: help  q: back",
};

bool ap_tui_show_function(struct ap_tui *t, struct ap_tui_profile *p, u32 event, struct ap_dso *dso,
			  const struct ap_symbol *sym)
{
	struct ap_disasm_opts opts = { p->style && !strcmp(p->style, "intel"), p->objdump };
	struct notes_view *n;
	char why[400];

	if (!p->disasm)
		p->disasm = ap_disasm_new(&opts, why, sizeof(why));
	if (!p->disasm) {
		ap_tui_say(t, "%s", why);
		return false;
	}
	n = ap_profile_calloc(1, sizeof(*n));
	n->v.ops = &notes_ops;
	n->p = p;
	n->event = event;
	n->dso = dso;
	n->sym = sym;
	n->has_source = !p->no_source;
	n->has_numbers = n->has_arrows = true;
	n->has_paths = p->full_paths;
	n->mode = p->with_samples ? MODE_SAMPLES : MODE_PERCENT;
	if (!ap_listing_make(&n->listing, dso, sym, p->disasm)) {
		ap_tui_say(t, "The code of %s cannot be read: it is in no file here", sym->name);
		notes_free(&n->v);
		return false;
	}
	n->shown = ap_profile_calloc(n->listing.n + 1, sizeof(u32));
	n->hot = ap_profile_calloc(n->listing.n + 1, sizeof(u32));
	n->is_stale = true;
	ap_flow_make(&n->flow, &n->listing);
	weigh(n);
	ap_tui_push(t, &n->v);
	if (n->nhot)
		go_hot(n, 0);
	return true;
}
