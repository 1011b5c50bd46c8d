/* SPDX-License-Identifier: MIT */
/*
 * Stacks as lines: "comm;main;f 17".  A separator in a name is a colon, as stackcollapse-perf.pl
 * has it.  Threads of one name are one, so that each stack is there once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "print/print.h"
#include "profile/export/export.h"

static void put_name(const char *name, FILE *out)
{
	for (size_t n;; name += n + 1) {
		n = strcspn(name, ";");
		ap_print_bytes(out, name, n);
		if (!name[n])
			return;
		fputc(':', out);
	}
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

struct stack_line {
	char *stack;
	u64 weight;
};

static int by_stack(const void *a, const void *b)
{
	return strcmp(((const struct stack_line *)a)->stack, ((const struct stack_line *)b)->stack);
}

static char *line_of(const struct ap_export *x, const struct ap_stack_event *ev, u32 node)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_stack(x, ev, node, out);
	return fclose(out) ? NULL : text;
}

static void put_lines(struct stack_line *line, u32 n, FILE *out)
{
	qsort(line, n, sizeof(*line), by_stack);
	for (u32 i = 0; i < n; i++) {
		if (i + 1 < n && !strcmp(line[i].stack, line[i + 1].stack))
			line[i + 1].weight += line[i].weight;
		else
			ap_print(out, "%s %llu\n", line[i].stack,
				 (unsigned long long)line[i].weight);
	}
}

int ap_export_collapsed(const struct ap_export *x, FILE *out)
{
	const struct ap_stack_event *ev = &x->stacks->event[x->event];
	struct stack_line *line = calloc(ev->nnodes + 1, sizeof(*line));
	int ret = line ? 0 : -ENOMEM;
	u32 n = 0;

	for (u32 i = 1; !ret && i < ev->nnodes; i++) {
		line[n].weight = ap_export_self(x, &ev->node[i]);
		if (!line[n].weight)
			continue;
		line[n].stack = line_of(x, ev, i);
		ret = line[n].stack ? 0 : -ENOMEM;
		n += !ret;
	}
	if (!ret && n)
		put_lines(line, n, out);
	while (n)
		free(line[--n].stack);
	free(line);
	return ret;
}
