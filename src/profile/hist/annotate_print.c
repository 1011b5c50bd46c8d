/* SPDX-License-Identifier: MIT */
/*
 * A function as text: source lines before the instructions that were made of them, and before each
 * instruction its share of the function's samples.  Made to be equal to what perf prints.
 */
#include <stdlib.h>
#include <string.h>

#include "print/print.h"
#include "profile/hist/annotate.h"
#include "profile/hist/listing.h"

/* What a source line weighs less than, in percent, is not told of. */
#define LEAST_LINE 0.5

/* What stands before the colon: width, and of the heading its name. */
static int margin(const struct ap_annotate_opts *opts)
{
	return opts->periods ? 13 : 9;
}

static const char *heading(const struct ap_annotate_opts *opts)
{
	if (opts->periods)
		return "Period     ";
	return opts->samples ? "Samples" : "Percent";
}

static double percent_of(const struct ap_notes *n, u64 period, u64 count,
			 const struct ap_annotate_opts *opts)
{
	u64 part = opts->hits ? count : period, all = opts->hits ? n->count : n->period;

	if (opts->global)
		all = opts->hits ? n->all_count : n->all_period;
	return all ? 100.0 * (double)part / (double)all : 0.0;
}

static void title(const struct ap_notes *n, const char *event, const struct ap_annotate_opts *opts,
		  FILE *out)
{
	int width;

	width = ap_print(out,
			 " %s |\tSource code & Disassembly of %s for %s (%llu samples, percent: %s "
			 "%s)\n",
			 heading(opts), opts->full_paths ? n->dso->path : n->dso->name, event,
			 (unsigned long long)n->count, opts->global ? "global" : "local",
			 opts->hits ? "hits" : "period");
	for (width += 4; width--;)
		fputc('-', out);
	ap_print(out, "\n%*s:\n%*s: %016llx <%s>:\n", margin(opts), "", margin(opts), "",
		 (unsigned long long)ap_dso_vaddr(n->dso, n->sym->start), n->sym->name);
}

static void share(const struct ap_notes *n, const struct ap_listing_line *line,
		  const struct ap_annotate_opts *opts, FILE *out)
{
	int width = margin(opts) - 1;

	if (opts->periods)
		fprintf(out, "%*llu", width, (unsigned long long)line->period);
	else if (opts->samples)
		fprintf(out, "%*llu", width, (unsigned long long)line->count);
	else
		fprintf(out, "%*.2f", width, percent_of(n, line->period, line->count, opts));
}

/* --- what source lines weigh */

struct source_sum {
	const char *file;
	u32 line;
	double percent;
};

/* Of equal ones the later name first, as perf's tree has them. */
static int by_percent(const void *pa, const void *pb)
{
	const struct source_sum *a = pa, *b = pb;
	char ta[16], tb[16];
	int r;

	if (a->percent != b->percent)
		return a->percent > b->percent ? -1 : 1;
	r = strcmp(b->file, a->file);
	snprintf(ta, sizeof(ta), "%u", a->line);
	snprintf(tb, sizeof(tb), "%u", b->line);
	return r ? r : strcmp(tb, ta);
}

/* Instructions that weigh enough, by their lines; as perf sums them up. */
static u32 sum_lines(const struct ap_notes *n, const struct ap_listing *l,
		     const struct ap_annotate_opts *opts, struct source_sum *sum)
{
	const char *file;
	u32 line, count = 0;

	for (u32 i = 0; i < l->n; i++) {
		double p = percent_of(n, l->line[i].period, l->line[i].count, opts);
		u32 k;

		if (l->line[i].kind != AP_LISTING_CODE || p <= LEAST_LINE ||
		    !ap_dso_line(n->dso, n->sym->start + l->line[i].off, &file, &line))
			continue;
		for (k = 0; k < count && (sum[k].file != file || sum[k].line != line); k++)
			;
		if (k == count)
			sum[count++] = (struct source_sum){ file, line, 0 };
		sum[k].percent += p;
	}
	return count;
}

static const char *short_name(const char *path, const struct ap_annotate_opts *opts)
{
	const char *slash = strrchr(path, '/');

	return opts->full_paths || !slash ? path : slash + 1;
}

static void source_lines(const struct ap_notes *n, const struct ap_listing *l,
			 const struct ap_annotate_opts *opts, FILE *out)
{
	struct source_sum *sum = ap_profile_calloc(l->n + 1, sizeof(*sum));
	u32 count = sum_lines(n, l, opts, sum);

	qsort(sum, count, sizeof(*sum), by_percent);
	ap_print(out,
		 "\nSorted summary for file %s\n----------------------------------------------\n\n",
		 n->dso->path);
	if (!count)
		fprintf(out, " Nothing higher than %.1f%%\n", LEAST_LINE);
	for (u32 i = 0; i < count; i++)
		ap_print(out, " %7.2f %s:%u\n", sum[i].percent, short_name(sum[i].file, opts),
			 sum[i].line);
	free(sum);
}

static void print_line(const struct ap_notes *n, const struct ap_listing_line *line,
		       const struct ap_annotate_opts *opts, FILE *out)
{
	if (line->kind != AP_LISTING_CODE && opts->no_source)
		return;
	switch (line->kind) {
	case AP_LISTING_FILE:
		ap_print(out, "%*s: %s:%u\n", margin(opts), "", short_name(line->text, opts),
			 line->number);
		break;
	case AP_LISTING_SOURCE:
		ap_print(out, "%*s: %-4u ", margin(opts), "", line->number);
		ap_print_line(out, line->text);
		fputc('\n', out);
		break;
	case AP_LISTING_CODE:
		share(n, line, opts, out);
		ap_print(out, " :   %llx:   %s\n", (unsigned long long)line->vaddr, line->text);
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
		if (opts->lines)
			source_lines(n, &l, opts, out);
		title(n, event, opts, out);
		for (u32 i = 0; i < l.n; i++)
			print_line(n, &l.line[i], opts, out);
	}
	ap_listing_fini(&l);
	return is_there;
}
