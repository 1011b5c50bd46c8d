/* SPDX-License-Identifier: MIT */
/*
 * Stacks as lines: "comm;main;f 17".  The separator and line ends cannot be in a name, so they are
 * replaced there.
 */
#include "profile/export.h"

static void put_name(const char *name, FILE *out)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : *name == '\n' ? ' ' : *name, out);
}

static void put_stack(const struct ap_export *x, const struct ap_stack_event *ev, u32 node,
		      FILE *out)
{
	if (ap_stacks_is_thread(ev, node)) {
		put_name(ap_export_comm(x, ev, node), out);
		return;
	}
	put_stack(x, ev, ev->node[node].parent, out);
	putc(';', out);
	put_name(ap_export_func(x, ev->node[node].frame)->name, out);
	if (ap_export_func(x, ev->node[node].frame)->is_kernel)
		fputs("_[k]", out);
}

int ap_export_collapsed(const struct ap_export *x, FILE *out)
{
	const struct ap_stack_event *ev = &x->stacks->event[x->event];

	for (u32 i = 1; i < ev->nnodes; i++) {
		u64 weight = ap_export_self(x, &ev->node[i]);

		if (!weight)
			continue;
		put_stack(x, ev, i, out);
		fprintf(out, " %llu\n", (unsigned long long)weight);
	}
	return 0;
}
