/* SPDX-License-Identifier: MIT */
/*
 * A function as text: source lines before the instructions that were made of them, and before each
 * instruction its share of the function's samples.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/annotate.h"
#include "profile/disasm.h"
#include "profile/symbol_internal.h"

#define MAX_SOURCE (16U * 1024 * 1024)
#define AHEAD	   10 /* source lines that are shown because the next instruction's is near */

/* A source file, cut into lines. */
struct source {
	const char *path; /* interned */
	char *text;
	char **line;
	u32 n;
	u32 shown; /* the last line that was */
	struct source *next;
};

static void cut(struct source *s)
{
	char *p = s->text, *end;

	while (*p) {
		if (!(s->n & (s->n - 1)))
			s->line = ap_profile_realloc(s->line, s->n ? 2 * s->n : 1, sizeof(char *));
		s->line[s->n++] = p;
		end = strchr(p, '\n');
		if (!end)
			break;
		*end = 0;
		p = end + 1;
	}
}

static struct source *source_of(struct source **all, const char *path)
{
	struct source *s;
	FILE *f;
	int fd;

	for (s = *all; s; s = s->next) {
		if (s->path == path)
			return s;
	}
	s = ap_profile_calloc(1, sizeof(*s));
	s->path = path;
	s->text = ap_profile_calloc(1, 1);
	fd = ap_open_regular(path);
	f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (f) {
		size_t n;

		s->text = ap_profile_realloc(s->text, MAX_SOURCE + 1, 1);
		n = fread(s->text, 1, MAX_SOURCE, f);
		s->text[n] = 0;
		s->text = ap_profile_realloc(s->text, n + 1, 1);
		fclose(f);
	}
	cut(s);
	s->next = *all;
	*all = s;
	return s;
}

static void free_sources(struct source *s)
{
	struct source *next;

	for (; s; s = next) {
		next = s->next;
		free(s->text);
		free(s->line);
		free(s);
	}
}

struct writer {
	const struct ap_notes *n;
	const struct ap_annotate_opts *opts;
	FILE *out;
	struct source *sources, *last;
	u32 last_line;
};

static void source_lines(struct writer *w, u64 place)
{
	const char *path;
	struct source *s;
	u32 line, from;

	if (w->opts->no_source || !ap_dso_line(w->n->dso, place, &path, &line) || !line)
		return;
	s = source_of(&w->sources, path);
	if (s == w->last && line == w->last_line)
		return;
	if (s != w->last) {
		const char *slash = strrchr(path, '/');

		fprintf(w->out, "         : %s:%u\n",
			w->opts->full_paths || !slash ? path : slash + 1, line);
	}
	from = line > s->shown && line - s->shown <= AHEAD && s->shown ? s->shown + 1 : line;
	for (; from <= line && from <= s->n; from++)
		fprintf(w->out, "         : %-4u %s\n", from, s->line[from - 1]);
	s->shown = line;
	w->last = s;
	w->last_line = line;
}

static void share(struct writer *w, u64 off, u32 len)
{
	u64 period = 0, count = 0, size = w->n->sym->end - w->n->sym->start;
	u32 i;

	for (i = 0; i < len && off + i < size; i++) {
		period += w->n->by_byte[off + i];
		count += w->n->n_by_byte[off + i];
	}
	if (w->opts->samples)
		fprintf(w->out, "%8llu", (unsigned long long)count);
	else
		fprintf(w->out, "%8.2f",
			w->n->period ? 100.0 * (double)period / (double)w->n->period : 0.0);
}

/* "<name+0x12>" behind what refers to a place that has a name. */
static void refer(struct writer *w, u64 target)
{
	u64 place = ap_dso_place(w->n->dso, target);
	const struct ap_symbol *sym = target ? ap_dso_symbol(w->n->dso, place) : NULL;

	if (!sym)
		return;
	fprintf(w->out, " <%s", sym->name);
	if (place != sym->start)
		fprintf(w->out, "+0x%llx", (unsigned long long)(place - sym->start));
	fputc('>', w->out);
}

static void title(struct writer *w, const char *event)
{
	const struct ap_notes *n = w->n;
	int width;

	width = fprintf(
		w->out,
		" %s |\tSource code & Disassembly of %s for %s (%llu samples, percent: local "
		"period)\n",
		w->opts->samples ? "Samples" : "Percent",
		w->opts->full_paths ? n->dso->path : n->dso->name, event,
		(unsigned long long)n->count);
	for (width += 4; width--;)
		fputc('-', w->out);
	fprintf(w->out, "\n         :\n         : %016llx <%s>:\n",
		(unsigned long long)ap_dso_vaddr(n->dso, n->sym->start), n->sym->name);
}

static void instructions(struct writer *w, const u8 *code, size_t size, struct ap_disasm *d)
{
	u64 start = w->n->sym->start, off, vaddr, target;
	char text[256];
	u32 len;

	for (off = 0; off < size; off += len) {
		vaddr = ap_dso_vaddr(w->n->dso, start + off);
		len = ap_disasm_next(d, code + off, size - off, vaddr, text, sizeof(text), &target);
		if (!len) {
			snprintf(text, sizeof(text), ".byte  0x%02x", code[off]);
			len = 1;
		}
		source_lines(w, start + off);
		share(w, off, len);
		fprintf(w->out, " :   %llx:   %s", (unsigned long long)vaddr, text);
		refer(w, target);
		fputc('\n', w->out);
	}
}

bool ap_annotate_print(const struct ap_notes *n, const char *event, struct ap_disasm *d,
		       const struct ap_annotate_opts *opts, FILE *out)
{
	struct writer w = { .n = n, .opts = opts, .out = out };
	size_t size = n->sym->end - n->sym->start, got;
	u8 *code = ap_profile_realloc(NULL, size + 1, 1);

	got = ap_dso_code(n->dso, n->sym->start, code, size);
	if (got) {
		title(&w, event);
		instructions(&w, code, got, d);
	}
	free_sources(w.sources);
	free(code);
	return got;
}
