/* SPDX-License-Identifier: MIT */
#include "cli/mem_record.h"

#include <stdlib.h>

#include "cli/commands.h"
#include "cli/memory.h"

void ap_words_add(struct ap_words *w, const char *word)
{
	w->v = ap_xgrow(w->v, (size_t)w->n + 2, sizeof(*w->v));
	w->v[w->n++] = ap_xstrdup(word);
	w->v[w->n] = NULL;
}

void ap_words_add_option(struct ap_words *w, const char *name, const char *value)
{
	if (!value)
		return;
	ap_words_add(w, name);
	ap_words_add(w, value);
}

void ap_words_add_flag(struct ap_words *w, const char *name, bool is_set)
{
	if (is_set)
		ap_words_add(w, name);
}

void ap_words_fini(struct ap_words *w)
{
	while (w->n)
		free(w->v[--w->n]);
	free(w->v);
	w->v = NULL;
}

int ap_mem_record(const struct ap_mem_record *r, const char *events, char **command)
{
	struct ap_words w = { 0 };
	int status;

	ap_words_add(&w, "record");
	ap_words_add(&w, "--data");
	ap_words_add(&w, "--weight");
	ap_words_add_option(&w, "--event", r->events ? r->events : events);
	ap_words_add_option(&w, "--count", r->count);
	ap_words_add_option(&w, "--freq", r->freq);
	ap_words_add_option(&w, "--output", r->output);
	ap_words_add_option(&w, "--mmap-pages", r->pages);
	ap_words_add_option(&w, "--pid", r->pid);
	ap_words_add_option(&w, "--delay", r->delay);
	ap_words_add_option(&w, "--call-graph", r->call_graph);
	ap_words_add_option(&w, "--machine", r->machine);
	ap_words_add_option(&w, "--timeout", r->timeout);
	ap_words_add_flag(&w, "--all-cpus", r->all_cpus);
	ap_words_add_flag(&w, "--graph", r->graph);
	ap_words_add_flag(&w, "--no-inherit", r->no_inherit);
	ap_words_add_flag(&w, "--quiet", r->quiet);
	ap_words_add_flag(&w, "--verbose", r->verbose);
	ap_words_add_flag(&w, "--phys-data", r->phys);
	ap_words_add_flag(&w, "--data-page-size", r->page_size);
	ap_words_add_flag(&w, "--sample-cpu", r->with_cpu);
	ap_words_add_flag(&w, "--deterministic", r->deterministic);
	if (command && *command)
		ap_words_add(&w, "--");
	for (; command && *command; command++)
		ap_words_add(&w, *command);
	status = ap_cmd_record(w.n, w.v);
	ap_words_fini(&w);
	return status;
}
