/* SPDX-License-Identifier: MIT */
/*
 * A function as text: source lines before the instructions that were made of them, and before each
 * instruction its share of the function's samples.  Made to be equal to what perf prints.
 */
#include <string.h>

#include "profile/annotate.h"
#include "profile/listing.h"

static void title(const struct ap_notes *n, const char *event, const struct ap_annotate_opts *opts,
		  FILE *out)
{
	int width;

	width = fprintf(
		out,
		" %s |\tSource code & Disassembly of %s for %s (%llu samples, percent: local "
		"period)\n",
		opts->samples ? "Samples" : "Percent",
		opts->full_paths ? n->dso->path : n->dso->name, event,
		(unsigned long long)n->count);
	for (width += 4; width--;)
		fputc('-', out);
	fprintf(out, "\n         :\n         : %016llx <%s>:\n",
		(unsigned long long)ap_dso_vaddr(n->dso, n->sym->start), n->sym->name);
}

static void share(const struct ap_notes *n, const struct ap_listing_line *line, bool samples,
		  FILE *out)
{
	if (samples)
		fprintf(out, "%8llu", (unsigned long long)line->count);
	else
		fprintf(out, "%8.2f",
			n->period ? 100.0 * (double)line->period / (double)n->period : 0.0);
}

static void print_line(const struct ap_notes *n, const struct ap_listing_line *line,
		       const struct ap_annotate_opts *opts, FILE *out)
{
	const char *slash;

	if (line->kind != AP_LISTING_CODE && opts->no_source)
		return;
	switch (line->kind) {
	case AP_LISTING_FILE:
		slash = strrchr(line->text, '/');
		fprintf(out, "         : %s:%u\n",
			opts->full_paths || !slash ? line->text : slash + 1, line->number);
		break;
	case AP_LISTING_SOURCE:
		fprintf(out, "         : %-4u %s\n", line->number, line->text);
		break;
	case AP_LISTING_CODE:
		share(n, line, opts->samples, out);
		fprintf(out, " :   %llx:   %s\n", (unsigned long long)line->vaddr, line->text);
		break;
	}
}

bool ap_annotate_print(const struct ap_notes *n, const char *event, struct ap_disasm *d,
		       const struct ap_annotate_opts *opts, FILE *out)
{
	struct ap_listing l;
	bool is_there = ap_listing_make(&l, n->dso, n->sym, d);

	if (is_there) {
		ap_listing_weigh(&l, n);
		title(n, event, opts, out);
		for (u32 i = 0; i < l.n; i++)
			print_line(n, &l.line[i], opts, out);
	}
	ap_listing_fini(&l);
	return is_there;
}
