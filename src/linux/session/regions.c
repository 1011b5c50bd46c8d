/* SPDX-License-Identifier: MIT */
/*
 * The tables of regions (abi/region.h), read at the end: of each party once, rows of one name as one line.  Tasks may have written
 * anything there: a name is ended here, a number is a number.
 */
#include "linux/session/regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct ap_region_line *find(struct ap_region_lines *to, const char *name)
{
	for (u32 i = 0; i < to->n; i++)
		if (!strcmp(to->line[i].name, name))
			return &to->line[i];
	return NULL;
}

/* A task can have one party after the other, each with rows of other names. */
#define LINES_MAX (16 * AP_REGION_ROWS)

/* One of that name; NULL: no memory. */
static struct ap_region_line *line_of(struct ap_region_lines *to, const char *name)
{
	struct ap_region_line *line = find(to, name), *more;

	if (line)
		return line;
	more = realloc(to->line, (to->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	to->line = more;
	line = &more[to->n++];
	memset(line, 0, sizeof(*line));
	memset(line->least, 0xff, sizeof(line->least));
	strcpy(line->name, name);
	return line;
}

static int add_line(struct ap_region_lines *to, const struct ap_region_line *from)
{
	struct ap_region_line *line;

	if (to->n >= LINES_MAX && !find(to, from->name)) {
		to->too_many += from->begun + from->ended;
		return 0;
	}
	line = line_of(to, from->name);
	if (!line)
		return -ENOMEM;
	line->begun += from->begun;
	line->ended += from->ended;
	line->within += from->within;
	line->unbegun += from->unbegun;
	for (u32 i = 0; i < AP_REGION_EVENTS; i++) {
		line->sum[i] += from->sum[i];
		if (from->least[i] < line->least[i])
			line->least[i] = from->least[i];
	}
	return 0;
}

static int add_row(struct ap_region_lines *to, const struct ap_region_row *row)
{
	struct ap_region_line line = { .begun = row->begun,
				       .ended = row->ended,
				       .within = row->within,
				       .unbegun = row->unbegun };

	if (row->state != AP_REGION_READY)
		return 0;
	memcpy(line.name, row->name, sizeof(line.name) - 1);
	memcpy(line.sum, row->sum, sizeof(line.sum));
	for (u32 i = 0; i < AP_REGION_EVENTS; i++)
		line.least[i] = ~row->least[i];
	return add_line(to, &line);
}

static int add_party(struct ap_region_lines *to, const struct ap_session_file *f)
{
	struct ap_regions *all = malloc(sizeof(*all));
	int ret = all ? ap_session_read(f, all, sizeof(*all), AP_REGIONS_OFF) : -ENOMEM;

	for (u32 i = 0; !ret && i < AP_REGION_ROWS; i++)
		ret = add_row(to, &all->row[i]);
	if (!ret) {
		to->too_many += all->too_many;
		to->too_deep += all->too_deep;
		to->unreadable += all->unreadable;
	}
	free(all);
	return ret;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct ap_region_line *)a)->name,
		      ((const struct ap_region_line *)b)->name);
}

int ap_session_regions(const struct ap_session_file *s, struct ap_region_lines *out)
{
	const struct ap_session_file *f;
	int ret = 0;

	if (!s->head->nregion_events)
		return 0;
	if (s->regions) {
		for (u32 i = 0; !ret && i < s->regions->n; i++)
			ret = add_line(out, &s->regions->line[i]);
		out->too_many += s->regions->too_many;
		out->too_deep += s->regions->too_deep;
		out->unreadable += s->regions->unreadable;
	}
	for (u32 p = 0; !ret && (f = ap_session_next_party(s, &p));)
		ret = add_party(out, f);
	if (out->n)
		qsort(out->line, out->n, sizeof(*out->line), by_name);
	return ret;
}

void ap_session_regions_fold(struct ap_session_file *s, const struct ap_session_file *party)
{
	if (!s->head || !s->head->nregion_events)
		return;
	if (!s->regions)
		s->regions = calloc(1, sizeof(*s->regions));
	/* without memory a party's regions are missing, and so is the memory for the report */
	if (s->regions)
		(void)!add_party(s->regions, party);
}

void ap_session_regions_free(struct ap_session_file *s)
{
	if (s->regions)
		free(s->regions->line);
	free(s->regions);
	s->regions = NULL;
}
