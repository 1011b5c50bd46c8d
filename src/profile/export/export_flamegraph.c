/* SPDX-License-Identifier: MIT */
/*
 * A page with a flame graph: flamegraph.html with the tree as JSON in its place, in which
 * no name can end the script that holds it.  The image is another (export_svg.c).
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "profile/export/export.h"

#define MARK "@DATA@"

extern const char ap_flamegraph_page[], ap_flamegraph_page_end[];

static json_t *text(const char *bytes)
{
	return ap_export_json_text(bytes);
}

/* Names of functions first, then those of threads. */
static json_t *names(const struct ap_export *x)
{
	json_t *list = json_array();

	for (u32 i = 0; i < x->stacks->nfuncs; i++)
		json_array_append_new(list, text(x->stacks->func[i].name));
	for (u32 i = 0; i < x->stacks->nthreads; i++)
		json_array_append_new(list, text(x->stacks->thread[i].comm));
	return list;
}

static json_t *tree(const struct ap_export *x)
{
	const struct ap_stack_event *ev = &x->stacks->event[x->event];
	json_t *parent = json_array(), *name = json_array(), *weight = json_array();
	json_t *kernel = json_array();

	for (u32 i = 1; i < ev->nnodes; i++) {
		const struct ap_stack_node *node = &ev->node[i];
		bool is_thread = ap_stacks_is_thread(ev, i);
		u32 index = is_thread ? x->stacks->nfuncs + node->frame
				      : x->stacks->frame[node->frame].func;

		json_array_append_new(parent, json_integer(node->parent));
		json_array_append_new(name, json_integer(index));
		json_array_append_new(weight, json_integer((json_int_t)ap_export_total(x, node)));
		json_array_append_new(
			kernel,
			json_integer(!is_thread && ap_export_func(x, node->frame)->is_kernel));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "parent", parent, "name", name,
			 "weight", weight, "kernel", kernel, "names", names(x), "title",
			 text(x->title), "event", text(ev->event->name), "unit",
			 x->weight == AP_WEIGHT_PERIOD ? "events" : "samples");
}

static const char *find(const char *text)
{
	return memmem(ap_flamegraph_page, (size_t)(ap_flamegraph_page_end - ap_flamegraph_page),
		      text, strlen(text));
}

static int put_page(const json_t *tree, FILE *out)
{
	const char *mark = find(MARK), *rest = mark + strlen(MARK);
	int ret;

	fwrite(ap_flamegraph_page, 1, (size_t)(mark - ap_flamegraph_page), out); /* raw: our page */
	ret = ap_export_json_dump(tree, JSON_COMPACT, out);
	fwrite(rest, 1, (size_t)(ap_flamegraph_page_end - rest), out); /* raw: our page */
	return ret;
}

int ap_export_flamegraph(const struct ap_export *x, FILE *out)
{
	json_t *root;
	int ret;

	if (x->as_svg)
		return ap_export_flamegraph_svg(x, out);
	root = tree(x);
	ret = put_page(root, out);
	json_decref(root);
	return ret;
}
