/* SPDX-License-Identifier: MIT */
/*
 * The callgrind format: for each function its own cost by line, and what it called with the cost of
 * that.  A profile has stacks, no calls: "calls=" counts samples in which the call was seen.  A
 * call that stands several times in one stack is counted once, as inclusive costs are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "print/print.h"
#include "profile/export/export.h"

/* One line of costs; callee is FUNC_SELF for what a function cost itself. */
struct call_cost {
	u32 func, callee, line;
	u64 weight, count;
};

#define FUNC_SELF ((u32)-1)

struct call_costs {
	struct call_cost *v;
	size_t n, room;
};

static bool add(struct call_costs *costs, struct call_cost cost)
{
	struct call_cost *v = ap_export_grow(costs->v, costs->n, &costs->room, sizeof(*v));

	if (!v)
		return false;
	costs->v = v;
	costs->v[costs->n++] = cost;
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct call_cost *x = a, *y = b;

	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	/* its own costs come first: FUNC_SELF + 1 is 0 */
	if (x->callee != y->callee)
		return x->callee + 1 < y->callee + 1 ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* Whether the call from node's parent to node stands further up in the stack as well. */
static bool is_repeated(const struct ap_export *x, const struct ap_stack_event *ev, u32 node)
{
	u32 callee = x->stacks->frame[ev->node[node].frame].func;
	u32 caller = x->stacks->frame[ev->node[ev->node[node].parent].frame].func;

	for (u32 at = ev->node[node].parent; !ap_stacks_is_thread(ev, at);) {
		u32 up = ev->node[at].parent;

		if (ap_stacks_is_thread(ev, up))
			return false;
		if (x->stacks->frame[ev->node[at].frame].func == callee &&
		    x->stacks->frame[ev->node[up].frame].func == caller)
			return true;
		at = up;
	}
	return false;
}

/* Samples of a thread that has no stack at all do not exist: there is at least the place itself. */
static bool collect(const struct ap_export *x, const struct ap_stack_event *ev,
		    struct call_costs *costs)
{
	bool ok = true;

	for (u32 i = 1; i < ev->nnodes && ok; i++) {
		const struct ap_stack_node *node = &ev->node[i];
		const struct ap_stack_frame *frame, *caller;
		u32 parent = node->parent;

		if (ap_stacks_is_thread(ev, i))
			continue;
		frame = &x->stacks->frame[node->frame];
		if (node->count)
			ok = add(costs, (struct call_cost){ frame->func, FUNC_SELF, frame->line,
							    ap_export_self(x, node), node->count });
		if (!ok || ap_stacks_is_thread(ev, parent) || is_repeated(x, ev, i))
			continue;
		caller = &x->stacks->frame[ev->node[parent].frame];
		ok = add(costs, (struct call_cost){ caller->func, frame->func, caller->line,
						    ap_export_total(x, node), node->count_below });
	}
	return ok;
}

/* Equal places become one. */
static void merge(struct call_costs *costs)
{
	size_t n = 0;

	qsort(costs->v, costs->n, sizeof(*costs->v), by_place);
	for (size_t i = 0; i < costs->n; i++) {
		if (n && !by_place(&costs->v[n - 1], &costs->v[i])) {
			costs->v[n - 1].weight += costs->v[i].weight;
			costs->v[n - 1].count += costs->v[i].count;
		} else {
			costs->v[n++] = costs->v[i];
		}
	}
	costs->n = n;
}

/*
 * A name of the program.  One that looks like the "(17)" by which names are shortened, or like an
 * empty one, must not stand for another.
 */
static void put_name(const char *key, const char *name, FILE *out)
{
	ap_print(out, "%s=", key);
	if (*name == '(' && name[1] >= '0' && name[1] <= '9') {
		fputs("\\x28", out);
		name++;
	}
	ap_print(out, "%s\n", *name ? name : "???");
}

static const char *file_of(const struct ap_stack_func *func)
{
	return func->file ? func->file : "???";
}

static const char *object_of(const struct ap_stack_func *func)
{
	return func->dso ? func->dso->path : "???";
}

static void put(const struct ap_export *x, const struct call_costs *costs, FILE *out)
{
	u32 current = FUNC_SELF;

	for (size_t i = 0; i < costs->n; i++) {
		const struct call_cost *c = &costs->v[i];
		const struct ap_stack_func *func = &x->stacks->func[c->func];

		if (c->func != current) {
			fputc('\n', out);
			put_name("ob", object_of(func), out);
			put_name("fl", file_of(func), out);
			put_name("fn", func->name, out);
		}
		current = c->func;
		if (c->callee != FUNC_SELF) {
			const struct ap_stack_func *callee = &x->stacks->func[c->callee];

			put_name("cob", object_of(callee), out);
			put_name("cfi", file_of(callee), out);
			put_name("cfn", callee->name, out);
			fprintf(out, "calls=%llu 0\n", (unsigned long long)c->count);
		}
		fprintf(out, "%u %llu\n", c->line, (unsigned long long)c->weight);
	}
}

/* Callgrind's own name where it has one, since scripts look for it. */
static const char *event_of(const struct ap_export *x, const struct ap_stack_event *ev)
{
	static const char instructions[] = "instructions";
	size_t len = sizeof(instructions) - 1;
	const char *name = ev->event->name;
	bool is_ir = !strncmp(name, instructions, len) && (!name[len] || name[len] == ':');

	return is_ir && x->weight == AP_WEIGHT_PERIOD ? "Ir" : "Weight";
}

int ap_export_callgrind(const struct ap_export *x, FILE *out)
{
	const struct ap_stack_event *ev = &x->stacks->event[x->event];
	struct call_costs costs = { 0 };
	u64 total = x->weight == AP_WEIGHT_PERIOD ? ev->period : ev->count;
	const char *event = event_of(x, ev);

	if (!collect(x, ev, &costs)) {
		free(costs.v);
		return -ENOMEM;
	}
	merge(&costs);
	ap_print(out, "# callgrind format\nversion: 1\ncreator: anyperf %s\ncmd: ", x->version);
	ap_print_str(out, x->title);
	ap_print(out, "\npositions: line\nevent: %s : %s\nevents: %s\nsummary: %llu\n", event,
		 ev->event->name, event, (unsigned long long)total);
	put(x, &costs, out);
	fprintf(out, "\ntotals: %llu\n", (unsigned long long)total);
	free(costs.v);
	return 0;
}
