/* SPDX-License-Identifier: MIT */
/*
 * The verdict for people: a table for terminals and logs, Markdown for the pages of CI systems.
 */
#include <inttypes.h>
#include <string.h>

#include "print/escape.h"
#include "print/print.h"
#include "profile/gate/gate.h"

const char *ap_gate_verdict_name(enum ap_gate_verdict verdict)
{
	static const char *const names[] = { [AP_GATE_FREE] = "no limit",
					     [AP_GATE_WITHIN] = "within",
					     [AP_GATE_IMPROVED] = "improved",
					     [AP_GATE_EXCEEDED] = "EXCEEDED" };

	return names[verdict];
}

bool ap_gate_percent(const struct ap_gate_row *row, double *percent)
{
	if (!row->before->count)
		return false;
	*percent = 100 * ((double)row->now->count - (double)row->before->count) /
		   (double)row->before->count;
	return true;
}

/* "+100 (+0.0250%)" */
static void change_text(const struct ap_gate_row *row, char *text, size_t size)
{
	u64 before = row->before->count, now = row->now->count;
	double percent;
	size_t n;

	if (now == before) {
		snprintf(text, size, "none");
		return;
	}
	n = (size_t)snprintf(text, size, "%c%" PRIu64, now > before ? '+' : '-',
			     now > before ? now - before : before - now);
	if (ap_gate_percent(row, &percent))
		snprintf(text + n, size - n, " (%+.4f%%)", percent);
}

static void headline(const struct ap_gate_result *r, char *text, size_t size)
{
	if (r->exceeded && r->limits == 1)
		snprintf(text, size, "the limit is exceeded");
	else if (r->exceeded)
		snprintf(text, size, "%zu of %zu limits exceeded", r->exceeded, r->limits);
	else
		snprintf(text, size, "within %s", r->limits == 1 ? "the limit" : "all limits");
}

/* Numbers the remarks: each call is one of them. */
struct remarks {
	size_t at, wanted;
	char *text;
	size_t size;
};

static bool is_wanted(struct remarks *k)
{
	return k->at++ == k->wanted;
}

static bool event_remark(struct remarks *k, const struct ap_gate_row *row)
{
	double percent = 0;

	if (row->verdict == AP_GATE_IMPROVED && is_wanted(k)) {
		(void)ap_gate_percent(row, &percent);
		snprintf(k->text, k->size,
			 "%s improved by %" PRIu64
			 " (%.4f%%): 'anyperf gate record' makes that the "
			 "baseline",
			 row->now->name, row->before->count - row->now->count, -percent);
		return true;
	}
	if (row->now->deviation > 0 && is_wanted(k)) {
		snprintf(k->text, k->size, "%s differed from run to run: mean +- %.4f%%",
			 row->now->name, row->now->deviation);
		return true;
	}
	if (row->before->deviation > 0 && is_wanted(k)) {
		snprintf(
			k->text, k->size,
			"%s differed from run to run when the baseline was recorded: mean +- %.4f%%",
			row->before->name, row->before->deviation);
		return true;
	}
	return false;
}

bool ap_gate_remark(const struct ap_gate_result *r, size_t nth, char *text, size_t size)
{
	const struct ap_gate_counts *was = r->before, *now = r->now;
	struct remarks k = { .wanted = nth, .text = text, .size = size };

	for (size_t i = 0; i < r->nrows; i++)
		if (event_remark(&k, &r->row[i]))
			return true;
	if (strcmp(was->command, now->command) && is_wanted(&k))
		return snprintf(text, size, "the baseline is of another command: %s", was->command);
	if (was->deterministic != now->deterministic && is_wanted(&k))
		return snprintf(text, size, "the baseline was recorded with%s fixed addresses",
				was->deterministic ? "" : "out");
	if (was->fixed_tsc != now->fixed_tsc && is_wanted(&k))
		return snprintf(text, size, "the baseline was recorded with%s --deterministic=time",
				was->fixed_tsc ? "" : "out");
	if (strcmp(was->cpu, now->cpu) && is_wanted(&k))
		return snprintf(text, size,
				"the baseline is from another CPU (%s), for which libraries may "
				"choose other code",
				was->cpu);
	if (strcmp(was->version, now->version) && ap_gate_has_modelled(was) && is_wanted(&k))
		return snprintf(text, size, "the baseline was modelled by anyperf %s, this is %s",
				was->version, now->version);
	for (size_t i = 0; i < now->nnotes; i++)
		if (is_wanted(&k))
			return snprintf(text, size, "%s (nor in the baseline)", now->note[i]);
	return false;
}

static int widest(const struct ap_gate_counts *g)
{
	int width = 5;

	for (size_t i = 0; i < g->nevents; i++)
		if ((int)ap_escape_width(g->event[i].name) > width)
			width = (int)ap_escape_width(g->event[i].name);
	return width;
}

static void print_functions(const struct ap_gate_result *r, FILE *out)
{
	if (!r->has_functions)
		return;
	ap_print(out, " Functions whose instructions changed most%s\n\n",
		 r->nchanges ? "" : ": none, beyond the error of samples");
	for (size_t i = 0; i < r->nchanges; i++) {
		const struct ap_gate_change *c = &r->change[i];
		u64 size = c->now > c->before ? c->now - c->before : c->before - c->now;

		ap_print(out,
			 " %c%-17" PRIu64 " +- %-14" PRIu64 " %18" PRIu64 " %18" PRIu64
			 "  %s  [%s]  # sampled\n",
			 c->now > c->before ? '+' : '-', size, c->error, c->before, c->now, c->name,
			 c->file);
	}
	if (r->nchanges)
		fprintf(out,
			"\n (change with its error, baseline, now: by one sample each %" PRIu64
			" instructions)\n\n",
			r->now->period);
}

void ap_gate_print(const struct ap_gate_result *r, FILE *out)
{
	int width = widest(r->before);
	char text[AP_GATE_WHY];

	headline(r, text, sizeof(text));
	ap_print(out, "\n Gate of '%s': %s\n\n", r->now->command, text);
	ap_print(out, " %-*s %18s %18s %26s %10s  %-8s\n", width, "event", "baseline", "now",
		 "change", "limit", "verdict");
	for (size_t i = 0; i < r->nrows; i++) {
		const struct ap_gate_row *row = &r->row[i];

		change_text(row, text, sizeof(text));
		ap_print(out, " %-*s %18" PRIu64 " %18" PRIu64 " %26s %10s  %-8s  # %s\n", width,
			 row->before->name, row->before->count, row->now->count, text,
			 row->limit ? row->limit->text : "-", ap_gate_verdict_name(row->verdict),
			 row->before->kind);
	}
	putc('\n', out);
	print_functions(r, out);
	for (size_t i = 0; ap_gate_remark(r, i, text, sizeof(text)); i++)
		ap_print(out, " %s\n", text);
}

void ap_gate_print_counts(const struct ap_gate_counts *g, const char *path, FILE *out)
{
	int width = widest(g);

	ap_print(out, "\n Baseline of '%s', now in %s\n\n", g->command, path);
	for (size_t i = 0; i < g->nevents; i++) {
		const struct ap_gate_event *e = &g->event[i];

		ap_print(out, " %-*s %18" PRIu64 "  # %s", width, e->name, e->count, e->kind);
		if (e->deviation > 0)
			fprintf(out, ", +- %.4f%% from run to run", e->deviation);
		putc('\n', out);
	}
	for (size_t i = 0; i < g->nnotes; i++)
		ap_print(out, "\n %s", g->note[i]);
	putc('\n', out);
}

/* In a cell or between backquotes: nothing that ends it. */
static void put_markdown(const char *s, FILE *out)
{
	for (size_t n; *s; s += n) {
		n = strcspn(s, "|`");
		n += !n;
		if (*s == '|')
			fputs("\\|", out);
		else if (*s == '`')
			putc('\'', out);
		else
			ap_print_bytes(out, s, n);
	}
}

static void functions_markdown(const struct ap_gate_result *r, FILE *out)
{
	if (!r->nchanges)
		return;
	fputs("| function | file | baseline | now | error of the change |\n|---|---|--:|--:|--:|\n",
	      out);
	for (size_t i = 0; i < r->nchanges; i++) {
		fputs("| `", out);
		put_markdown(r->change[i].name, out);
		fputs("` | `", out);
		put_markdown(r->change[i].file, out);
		fprintf(out, "` | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " |\n", r->change[i].before,
			r->change[i].now, r->change[i].error);
	}
	putc('\n', out);
}

void ap_gate_print_markdown(const struct ap_gate_result *r, FILE *out)
{
	char text[AP_GATE_WHY];

	headline(r, text, sizeof(text));
	ap_print(out, "### Performance gate: %s\n\n`", text);
	put_markdown(r->now->command, out);
	fputs("`\n\n| event | baseline | now | change | limit | verdict | kind |\n"
	      "|---|--:|--:|--:|--:|---|---|\n",
	      out);
	for (size_t i = 0; i < r->nrows; i++) {
		const struct ap_gate_row *row = &r->row[i];
		bool is_bad = row->verdict == AP_GATE_EXCEEDED;

		fputs("| `", out);
		put_markdown(row->before->name, out);
		change_text(row, text, sizeof(text));
		ap_print(out, "` | %" PRIu64 " | %" PRIu64 " | %s | %s | %s%s%s | %s |\n",
			 row->before->count, row->now->count, text,
			 row->limit ? row->limit->text : "", is_bad ? "**" : "",
			 ap_gate_verdict_name(row->verdict), is_bad ? "**" : "", row->before->kind);
	}
	putc('\n', out);
	functions_markdown(r, out);
	for (size_t i = 0; ap_gate_remark(r, i, text, sizeof(text)); i++) {
		fputs("- ", out);
		put_markdown(text, out);
		putc('\n', out);
	}
	putc('\n', out);
}
