/* SPDX-License-Identifier: MIT */
/*
 * The table of `anyperf stat --regions`: for each region its calls, and of each event that the engine counts the sum, the mean and
 * the minimum of a call.  In CSV and JSON a line is of a region and an event.
 *
 * The mean and the minimum are of calls that are not within another call of the same region, whose counts the sum has.
 */
#include "cli/stat_regions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/stat.h"
#include "print/print.h"

/* The kernel's numbers are of a task, and a breakpoint's are elsewhere. */
static bool is_countable(const struct ap_evsel *sel)
{
	return !sel->why && sel->desc->from == AP_FROM_RAW && sel->kinds && !sel->is_derived &&
	       !sel->is_in_slots && !(sel->attr.flags & AP_PERF_EXCLUDE_USER);
}

int ap_stat_regions_choose(struct ap_stat_regions *r, struct ap_run_options *run,
			   const struct ap_evlist *events, char *why, size_t size)
{
	bool is_modelled = false;

	if (!r->are_wanted)
		return 0;
	for (size_t i = 0; i < events->n; i++) {
		const struct ap_evsel *sel = &events->sel[i];

		if (!is_countable(sel))
			continue;
		if (r->nsel == AP_REGION_EVENTS) {
			snprintf(why, size, "--regions counts %u events at most", AP_REGION_EVENTS);
			return -EINVAL;
		}
		is_modelled |= (sel->kinds & AP_KINDS_MODEL) != 0;
		run->region_kinds[r->nsel] = sel->kinds;
		r->sel[r->nsel++] = sel;
	}
	if (!r->nsel) {
		snprintf(why, size,
			 "--regions needs an event that the engine counts, as instructions");
		return -EINVAL;
	}
	if (is_modelled && run->model_sample > 1) {
		snprintf(why, size, "--regions of modelled events needs --model-sample 1");
		return -EINVAL;
	}
	run->nregion_events = r->nsel;
	run->client_requests = true;
	return 0;
}

void ap_stat_regions_take(struct ap_stat_regions *r, const struct ap_region_lines *lines)
{
	ap_stat_regions_fini(r);
	r->got = *lines;
	r->got.line = ap_xgrow(NULL, lines->n + 1, sizeof(*lines->line));
	if (lines->n)
		memcpy(r->got.line, lines->line, lines->n * sizeof(*lines->line));
}

void ap_stat_regions_fini(struct ap_stat_regions *r)
{
	free(r->got.line);
	r->got = (struct ap_region_lines){ 0 };
}

/* Calls that the sum is of. */
static u64 outermost(const struct ap_region_line *line)
{
	return line->ended > line->within ? line->ended - line->within : 0;
}

static double mean(const struct ap_region_line *line, u32 i)
{
	return (double)line->sum[i] / (double)outermost(line);
}

static const char *tag(const struct ap_evsel *sel)
{
	return ap_stat_kind_name(sel->desc->kind, false);
}

/* --- the table */

static void print_table_line(const struct ap_stat_regions *r, const struct ap_region_line *line,
			     FILE *out)
{
	ap_print(out, "\n %s: ", line->name);
	fprintf(out, line->ended == 1 ? "%'" PRIu64 " call" : "%'" PRIu64 " calls", line->ended);
	if (line->within)
		fprintf(out, ", %'" PRIu64 " of them within another", line->within);
	fputc('\n', out);
	for (u32 i = 0; outermost(line) && i < r->nsel; i++) {
		fprintf(out, "%'18" PRIu64 " %'18.2f %'18" PRIu64, line->sum[i], mean(line, i),
			line->least[i]);
		ap_print(out, "      %-24s # %s\n", r->sel[i]->name, tag(r->sel[i]));
	}
}

static void print_table(const struct ap_stat_regions *r, FILE *out)
{
	ap_print(out, " Regions:\n\n%18s %18s %18s      event\n", "sum", "mean", "minimum");
	for (u32 n = 0; n < r->got.n; n++)
		print_table_line(r, &r->got.line[n], out);
	fputc('\n', out);
}

/* --- lines of fields, and of JSON */

static void print_csv_line(const struct ap_stat_regions *r, const struct ap_region_line *line,
			   u32 i, const char *sep, FILE *out)
{
	ap_print_fields(out, sep, "region\t%s\t%" PRIu64 "\t%" PRIu64 "\t%s\t", line->name,
			line->ended, line->within, r->sel[i]->name);
	if (outermost(line))
		ap_print_fields(out, sep, "%" PRIu64 "\t%.2f\t%" PRIu64, line->sum[i],
				mean(line, i), line->least[i]);
	else
		ap_print_fields(out, sep, "\t\t");
	ap_print_fields(out, sep, "\t%s\n", tag(r->sel[i]));
}

static void print_json_line(const struct ap_stat_regions *r, const struct ap_region_line *line,
			    u32 i, FILE *out)
{
	fputs("{\"region\" : ", out);
	ap_print_json(out, line->name);
	fprintf(out,
		", \"calls\" : %" PRIu64 ", \"within\" : %" PRIu64 ", \"event\" : ", line->ended,
		line->within);
	ap_print_json(out, r->sel[i]->name);
	if (outermost(line))
		fprintf(out, ", \"sum\" : %" PRIu64 ", \"mean\" : %.2f, \"minimum\" : %" PRIu64,
			line->sum[i], mean(line, i), line->least[i]);
	else
		fputs(", \"sum\" : null, \"mean\" : null, \"minimum\" : null", out);
	ap_print(out, ", \"kind\" : \"%s\"}\n", tag(r->sel[i]));
}

static void print_lines(const struct ap_stat_regions *r, const struct ap_stat_format *fmt,
			FILE *out)
{
	for (u32 n = 0; n < r->got.n; n++) {
		for (u32 i = 0; i < r->nsel; i++) {
			if (fmt->style == AP_STAT_CSV)
				print_csv_line(r, &r->got.line[n], i, fmt->separator, out);
			else
				print_json_line(r, &r->got.line[n], i, out);
		}
	}
}

/* --- what is wrong */

static void say_note(const struct ap_stat_format *fmt, FILE *out, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say_note(const struct ap_stat_format *fmt, FILE *out, const char *format, ...)
{
	char line[2 * AP_REGION_NAME + 100];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (fmt->style == AP_STAT_JSON)
		ap_stat_print_json_note(line, out);
	else
		ap_print(out, "%s%s\n", fmt->style == AP_STAT_CSV ? "# " : "", line);
}

static bool is_wrong(const struct ap_region_line *line)
{
	return line->begun != line->ended || line->unbegun;
}

bool ap_stat_regions_are_wrong(const struct ap_stat_regions *r)
{
	bool wrong = r->got.too_many || r->got.too_deep || r->got.unreadable;

	for (u32 n = 0; n < r->got.n; n++)
		wrong |= is_wrong(&r->got.line[n]);
	return wrong;
}

static void say_of_line(const struct ap_region_line *line, const struct ap_stat_format *fmt,
			FILE *out)
{
	if (line->begun > line->ended)
		say_note(fmt, out,
			 "region '%s': %" PRIu64 " begun, %" PRIu64
			 " ended: what was not ended is not counted",
			 line->name, line->begun, line->ended);
	else if (line->begun < line->ended)
		say_note(fmt, out, "region '%s': its counts were overwritten by the program",
			 line->name);
	if (line->unbegun)
		say_note(fmt, out, "region '%s': ends without a beginning: %" PRIu64, line->name,
			 line->unbegun);
}

static void say_all(const struct ap_stat_regions *r, const struct ap_stat_format *fmt, FILE *out)
{
	for (u32 n = 0; n < r->got.n; n++)
		say_of_line(&r->got.line[n], fmt, out);
	if (r->got.too_many)
		say_note(fmt, out,
			 "too many regions: %" PRIu64
			 " beginnings and ends of others than the first %u are not counted",
			 r->got.too_many, r->got.n);
	if (r->got.too_deep)
		say_note(fmt, out, "regions too deep: %" PRIu64 " within %u others are not counted",
			 r->got.too_deep, AP_REGION_DEPTH);
	if (r->got.unreadable)
		say_note(fmt, out,
			 "%" PRIu64 " names of regions cannot be read, or have more than %u bytes",
			 r->got.unreadable, AP_REGION_NAME - 1);
	if (!r->got.n && !ap_stat_regions_are_wrong(r))
		say_note(fmt, out, "no region was begun");
}

void ap_stat_regions_print(const struct ap_stat_regions *r, const struct ap_stat_format *fmt,
			   FILE *out)
{
	if (!r->are_wanted)
		return;
	if (fmt->style != AP_STAT_TABLE)
		print_lines(r, fmt, out);
	else if (r->got.n)
		print_table(r, out);
	say_all(r, fmt, out);
	if (fmt->style == AP_STAT_TABLE)
		fputc('\n', out);
}
