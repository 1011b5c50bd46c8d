/* SPDX-License-Identifier: MIT */
#include "profile/hist/listing.h"

#include <stdlib.h>
#include <string.h>

#include "profile/hist/hist_internal.h"
#include "profile/symbols/disasm.h"
#include "profile/symbols/symbol_internal.h"

#define MAX_SOURCE (16U * 1024 * 1024)
#define AHEAD	   10 /* source lines that are shown because the next instruction's is near */

/* A source file, cut into lines. */
struct source_file {
	const char *path; /* interned */
	char *text;
	char **line;
	u32 n;
	u32 shown; /* the last line that was */
	struct source_file *next;
};

static void cut(struct source_file *s)
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

static struct source_file *source_of(struct source_file **all, const char *path)
{
	struct source_file *s;
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

static void free_sources(struct source_file *s)
{
	struct source_file *next;

	for (; s; s = next) {
		next = s->next;
		free(s->text);
		free(s->line);
		free(s);
	}
}

struct listing_maker {
	struct ap_listing *l;
	struct ap_dso *dso;
	struct ap_arena texts;
	struct source_file *sources, *last;
	u32 last_line;
};

static struct ap_listing_line *new_line(struct listing_maker *m, enum ap_listing_kind kind)
{
	struct ap_listing *l = m->l;
	struct ap_listing_line *line;

	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->line = ap_profile_realloc(l->line, l->cap, sizeof(*l->line));
	}
	line = &l->line[l->n++];
	*line = (struct ap_listing_line){ .kind = kind };
	return line;
}

static void source_lines(struct listing_maker *m, u64 place, u64 off)
{
	struct ap_listing_line *new;
	const char *path;
	struct source_file *s;
	u32 line, from;

	if (!ap_dso_line(m->dso, place, &path, &line) || !line)
		return;
	s = source_of(&m->sources, path);
	if (s == m->last && line == m->last_line)
		return;
	if (s != m->last) {
		new = new_line(m, AP_LISTING_FILE);
		new->text = path;
		new->number = line;
		new->off = off;
	}
	from = line > s->shown && line - s->shown <= AHEAD && s->shown ? s->shown + 1 : line;
	for (; from <= line && from <= s->n; from++) {
		new = new_line(m, AP_LISTING_SOURCE);
		new->text = s->line[from - 1];
		new->number = from;
		new->off = off;
	}
	s->shown = line;
	m->last = s;
	m->last_line = line;
}

/* text, and "<name+0x12>" behind it where it refers to a place that has a name */
static const char *with_target(struct listing_maker *m, const char *text, u64 target)
{
	u64 place = ap_dso_place(m->dso, target);
	const struct ap_symbol *sym = target ? ap_dso_symbol(m->dso, place) : NULL;
	size_t size = strlen(text) + (sym ? strlen(sym->name) : 0) + 32;
	char *out = ap_arena_get(&m->texts, size);

	if (!sym)
		snprintf(out, size, "%s", text);
	else if (place == sym->start)
		snprintf(out, size, "%s <%s>", text, sym->name);
	else
		snprintf(out, size, "%s <%s+0x%llx>", text, sym->name,
			 (unsigned long long)(place - sym->start));
	return out;
}

static void instructions(struct listing_maker *m, const u8 *code, size_t size, struct ap_disasm *d)
{
	struct ap_listing_line *line;
	u64 off, vaddr, target;
	char text[256];
	u32 len;

	ap_disasm_begin(d, code, size, ap_dso_vaddr(m->dso, m->l->start));
	for (off = 0; off < size; off += len) {
		vaddr = ap_dso_vaddr(m->dso, m->l->start + off);
		len = ap_disasm_next(d, off, text, sizeof(text), &target);
		if (!len) {
			snprintf(text, sizeof(text), ".byte 0x%x", code[off]);
			len = 1;
		}
		source_lines(m, m->l->start + off, off);
		line = new_line(m, AP_LISTING_CODE);
		line->text = with_target(m, text, target);
		line->off = off;
		line->len = len;
		line->vaddr = vaddr;
		line->target = target;
	}
}

bool ap_listing_make(struct ap_listing *l, struct ap_dso *dso, const struct ap_symbol *sym,
		     struct ap_disasm *d)
{
	struct listing_maker m = { .l = l, .dso = dso };
	size_t size = sym->end - sym->start, got;
	u8 *code;

	memset(l, 0, sizeof(*l));
	if (size > AP_MAX_FUNCTION)
		return false;
	code = ap_profile_realloc(NULL, size + 1, 1);
	l->start = sym->start;
	l->size = size;
	got = ap_dso_function(dso, sym, code, size);
	if (got)
		instructions(&m, code, got, d);
	free(code);
	l->texts = m.texts.blocks;
	l->sources = m.sources;
	return got;
}

void ap_listing_weigh(struct ap_listing *l, const struct ap_notes *notes)
{
	for (u32 i = 0; i < l->n; i++) {
		struct ap_listing_line *line = &l->line[i];

		line->period = line->count = 0;
		for (u64 k = line->off; notes && k < line->off + line->len && k < l->size; k++) {
			line->period += notes->by_byte[k];
			line->count += notes->n_by_byte[k];
		}
	}
}

void ap_listing_fini(struct ap_listing *l)
{
	struct ap_arena texts = { .blocks = l->texts };

	ap_arena_fini(&texts);
	free_sources(l->sources);
	free(l->line);
	memset(l, 0, sizeof(*l));
}
