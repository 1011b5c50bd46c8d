/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as an SVG image: shapes and text that any viewer draws, laid out here, and a script
 * that zooms and searches where a browser runs it (flamegraph_svg.js; it moves the shapes that are
 * there).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "print/escape.h"
#include "print/print.h"
#include "profile/export/export.h"

#define WIDTH	   1200.0
#define HEIGHT	   17  /* of a box */
#define HEAD	   44  /* above the boxes: title, buttons */
#define FOOT	   30  /* below: what the pointer is on */
#define LEAST	   0.1 /* narrower boxes are left out */
#define LETTER	   6.7 /* width of one */
#define LEAST_NAME 3   /* fewer letters say nothing */

extern const char ap_flamegraph_svg_script[], ap_flamegraph_svg_script_end[];

/*
 * Frames of one name under one parent are one box: threads of one name, or functions of two files.
 */
struct box {
	const char *name;
	bool is_kernel;
	u32 parent, depth;
	u64 weight; /* with all above it */
	double x, width;
};

struct graph {
	const struct ap_export *x;
	const struct ap_stack_event *ev;
	struct box *box; /* the root, then parents before children */
	u32 n;
	u32 *sorted;	       /* boxes by parent and name */
	struct ap_table known; /* boxes by parent, kind and name */
	u32 depth;	       /* of the highest box that is seen */
};

/* --- boxes */

static u32 hash_of(const char *name, u32 seed)
{
	u32 h = seed * 0x9e3779b1U + 1;

	while (*name)
		h = h * 31 + (u8)*name++;
	return h;
}

static u32 box_of(struct graph *g, u32 parent, const char *name, bool is_kernel)
{
	u64 hash = ap_hash_text(2 * parent + is_kernel, name, strlen(name));
	const struct ap_table_slot *s;
	struct box *b;

	ap_table_each(&g->known, hash, s)
	{
		b = &g->box[s->item];
		if (b->parent == parent && b->is_kernel == is_kernel && !strcmp(b->name, name))
			return (u32)s->item;
	}
	b = &g->box[g->n];
	*b = (struct box){ .name = name,
			   .is_kernel = is_kernel,
			   .parent = parent,
			   .depth = g->box[parent].depth + 1 };
	ap_profile_table_add(&g->known, hash, (void *)(uintptr_t)g->n);
	return g->n++;
}

static void fill(struct graph *g, u32 *to)
{
	const struct ap_stack_event *ev = g->ev;

	g->box[0] = (struct box){ .name = "all", .width = WIDTH };
	g->n = 1;
	for (u32 i = 1; i < ev->nnodes; i++) {
		const struct ap_stack_node *node = &ev->node[i];
		u64 weight = ap_export_total(g->x, node);

		if (ap_stacks_is_thread(ev, i)) {
			to[i] = box_of(g, 0, ap_export_comm(g->x, ev, i), false);
			g->box[0].weight += weight;
		} else {
			const struct ap_stack_func *f = ap_export_func(g->x, node->frame);

			to[i] = box_of(g, to[node->parent], f->name, f->is_kernel);
		}
		g->box[to[i]].weight += weight;
	}
}

static int by_parent(const void *pa, const void *pb, void *arg)
{
	const struct graph *g = arg;
	const struct box *a = &g->box[*(const u32 *)pa], *b = &g->box[*(const u32 *)pb];
	int r;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	r = strcmp(a->name, b->name);
	return r ? r : a->is_kernel - b->is_kernel;
}

/* Sorted by parents, each box is placed after its parent was. */
static void place(struct graph *g)
{
	double left = 0;
	u32 parent = 0;

	for (u32 i = 1; i < g->n; i++)
		g->sorted[i - 1] = i;
	qsort_r(g->sorted, g->n - 1, sizeof(u32), by_parent, g);
	for (u32 i = 0; i + 1 < g->n; i++) {
		struct box *b = &g->box[g->sorted[i]];
		const struct box *p = &g->box[b->parent];

		if (b->parent != parent || !i)
			left = p->x;
		parent = b->parent;
		b->x = left;
		b->width = p->weight ? p->width * (double)b->weight / (double)p->weight : 0;
		left += b->width;
		if (b->width >= LEAST && b->depth > g->depth)
			g->depth = b->depth;
	}
}

static int graph_make(struct graph *g)
{
	u32 *to = calloc(g->ev->nnodes + 1, sizeof(*to));

	g->box = calloc(g->ev->nnodes + 1, sizeof(*g->box));
	g->sorted = calloc(g->ev->nnodes + 1, sizeof(u32));
	if (to && g->box && g->sorted) {
		fill(g, to);
		place(g);
	}
	free(to);
	return g->box && g->sorted && to ? 0 : -ENOMEM;
}

/* --- text */

/* "1,234,567" */
static void put_number(u64 n, FILE *out)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			putc(',', out);
		putc(digits[i], out); /* raw: a digit */
	}
}

/* --- the image */

static void put_color(const struct box *b, FILE *out)
{
	u32 v = hash_of(b->name, 0) * 0x9e3779b1U >> 25;

	if (!b->depth)
		fputs("#ddd", out);
	else if (b->is_kernel)
		fprintf(out, "#%02x%02xee", 130 + v / 3, 175 + v / 3);
	else
		fprintf(out, "#%02x%02x%02x", 236 + v / 8, 130 + v * 3 / 4, 85 + v / 4);
}

static const char *unit(const struct graph *g)
{
	return g->x->weight == AP_WEIGHT_PERIOD ? "events" : "samples";
}

static void put_box(const struct graph *g, const struct box *b, FILE *out)
{
	int y = HEAD + (int)(g->depth - b->depth) * HEIGHT;
	u32 room = (u32)((b->width - 6) / LETTER), n = ap_escape_columns(b->name, strlen(b->name));
	u64 all = g->box[0].weight;

	if (b->width < 6)
		room = 0;
	fputs("<g><title>", out);
	ap_print_xml(out, b->name, ~0U);
	fputs(" (", out);
	put_number(b->weight, out);
	ap_print(
		out,
		" %s, %.2f%%)</title><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"",
		unit(g), all ? 100 * (double)b->weight / (double)all : 0, b->x, y, b->width,
		HEIGHT - 1);
	put_color(b, out);
	fprintf(out, "\"/><text x=\"%.2f\" y=\"%d\">", b->x + 3, y + 12);
	if (n <= room)
		ap_print_xml(out, b->name, ~0U);
	else if (room >= LEAST_NAME) {
		ap_print_xml(out, b->name, room - 2);
		fputs("..", out);
	}
	fputs("</text></g>\n", out);
}

static void put_head(const struct graph *g, int height, FILE *out)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"no\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" height=\"%d\" "
		"viewBox=\"0 0 %d %d\">\n<title>",
		(int)WIDTH, height, (int)WIDTH, height);
	ap_print_xml(out, g->x->title, ~0U);
	fputs("</title>\n"
	      "<style>text { font: 11px monospace; fill: #222; } #boxes g { cursor: pointer; }"
	      " #boxes g:hover rect { stroke: #000; } #boxes text { pointer-events: none; }"
	      " .above { opacity: 0.55; } .found rect { fill: #c4f; }"
	      " .button { cursor: pointer; text-decoration: underline; }</style>\n",
	      out);
	fprintf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<text x=\"3\" y=\"18\" ",
		(int)WIDTH, height);
	fputs("font-weight=\"bold\">", out);
	ap_print_xml(out, g->x->title, (u32)(WIDTH / LETTER) - 2);
	fputs("</text>\n<text x=\"3\" y=\"35\">", out);
	ap_print_xml(out, g->ev->event->name, ~0U);
	fputs(": ", out);
	put_number(g->box[0].weight, out);
	ap_print(out, " %s</text>\n", unit(g));
	/* they are of no use until the script shows them */
	fputs("<g id=\"buttons\" visibility=\"hidden\">\n"
	      "<text class=\"button\" id=\"search\" x=\"880\" y=\"35\">search</text>\n"
	      "<text class=\"button\" id=\"reset\" x=\"940\" y=\"35\">reset zoom</text>\n"
	      "<text class=\"button\" id=\"flip\" x=\"1026\" y=\"35\">from the top</text>\n"
	      "</g>\n<text id=\"matched\" x=\"740\" y=\"35\"></text>\n",
	      out);
	fprintf(out, "<text id=\"info\" x=\"3\" y=\"%d\"></text>\n", height - 11);
}

int ap_export_flamegraph_svg(const struct ap_export *x, FILE *out)
{
	struct graph g = { .x = x, .ev = &x->stacks->event[x->event] };
	int ret = graph_make(&g);

	if (!ret) {
		put_head(&g, HEAD + (int)(g.depth + 1) * HEIGHT + FOOT, out);
		fputs("<g id=\"boxes\">\n", out);
		put_box(&g, &g.box[0], out);
		for (u32 i = 0; i + 1 < g.n; i++)
			if (g.box[g.sorted[i]].width >= LEAST)
				put_box(&g, &g.box[g.sorted[i]], out);
		fprintf(out, "</g>\n<script data-letter=\"%.1f\"><![CDATA[\n", LETTER);
		fwrite(ap_flamegraph_svg_script, 1, /* raw: our script */
		       (size_t)(ap_flamegraph_svg_script_end - ap_flamegraph_svg_script), out);
		fputs("]]></script>\n</svg>\n", out);
	}
	free(g.box);
	free(g.sorted);
	ap_table_fini(&g.known);
	return ret;
}
