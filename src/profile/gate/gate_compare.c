/* SPDX-License-Identifier: MIT */
/*
 * The verdict.  What cannot be compared is refused and not compared anyway: a gate that passes
 * because half of the program was not counted is worse than none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gate/gate.h"

static bool is_modelled(const struct ap_gate_event *e)
{
	return !strcmp(e->kind, "modelled");
}

int ap_gate_add_event(struct ap_gate_counts *g, const struct ap_gate_event *event)
{
	struct ap_gate_event *grown = realloc(g->event, (g->nevents + 1) * sizeof(*grown));
	struct ap_gate_event copy = *event;

	if (!grown)
		return -ENOMEM;
	g->event = grown;
	copy.name = strdup(event->name);
	copy.kind = strdup(event->kind);
	grown[g->nevents++] = copy;
	return copy.name && copy.kind ? 0 : -ENOMEM;
}

int ap_gate_add_note(struct ap_gate_counts *g, const char *text)
{
	char **grown = realloc(g->note, (g->nnotes + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	g->note = grown;
	grown[g->nnotes] = strdup(text);
	return grown[g->nnotes++] ? 0 : -ENOMEM;
}

void ap_gate_counts_fini(struct ap_gate_counts *g)
{
	for (size_t i = 0; i < g->nevents; i++) {
		free(g->event[i].name);
		free(g->event[i].kind);
	}
	for (size_t i = 0; i < g->nnotes; i++)
		free(g->note[i]);
	for (size_t i = 0; i < g->nfunctions; i++) {
		free(g->function[i].name);
		free(g->function[i].file);
	}
	free(g->function);
	free(g->event);
	free(g->note);
	free(g->version);
	free(g->command);
	free(g->machine);
	free(g->machine_id);
	free(g->cpu);
	*g = (struct ap_gate_counts){ 0 };
}

const struct ap_gate_event *ap_gate_find(const struct ap_gate_counts *g, const char *name)
{
	for (size_t i = 0; i < g->nevents; i++)
		if (!strcmp(g->event[i].name, name))
			return &g->event[i];
	return NULL;
}

bool ap_gate_has_modelled(const struct ap_gate_counts *g)
{
	for (size_t i = 0; i < g->nevents; i++)
		if (is_modelled(&g->event[i]))
			return true;
	return false;
}

static void list_names(const struct ap_gate_counts *g, char *text, size_t size)
{
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < g->nevents && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", g->event[i].name);
}

int ap_gate_check(const struct ap_gate_counts *before, const struct ap_gate_limits *limits,
		  char *why)
{
	char names[200];

	list_names(before, names, sizeof(names));
	for (size_t i = 0; i < limits->n; i++) {
		if (ap_gate_find(before, limits->limit[i].event))
			continue;
		snprintf(why, AP_GATE_WHY,
			 "the baseline has no %.80s, only %s; 'gate record -e' adds events",
			 limits->limit[i].event, names);
		return -EINVAL;
	}
	return 0;
}

static bool has_note(const struct ap_gate_counts *g, const char *text)
{
	for (size_t i = 0; i < g->nnotes; i++)
		if (!strcmp(g->note[i], text))
			return true;
	return false;
}

/* That the same parts of the command were counted. */
static int check_notes(const struct ap_gate_counts *before, const struct ap_gate_counts *now,
		       char *why)
{
	for (size_t i = 0; i < now->nnotes; i++) {
		if (has_note(before, now->note[i]))
			continue;
		snprintf(why, AP_GATE_WHY, "%.200s, which the baseline has counted", now->note[i]);
		return -EINVAL;
	}
	for (size_t i = 0; i < before->nnotes; i++) {
		if (has_note(now, before->note[i]))
			continue;
		snprintf(why, AP_GATE_WHY, "the baseline says \"%.200s\", and now it is counted",
			 before->note[i]);
		return -EINVAL;
	}
	return 0;
}

static int check_event(const struct ap_gate_counts *before, const struct ap_gate_counts *now,
		       const struct ap_gate_event *was, const struct ap_gate_event *is, char *why)
{
	if (!is) {
		snprintf(why, AP_GATE_WHY, "%.80s was not counted", was->name);
		return -EINVAL;
	}
	if (strcmp(was->kind, is->kind)) {
		snprintf(why, AP_GATE_WHY, "%.80s is %.40s in the baseline and %s here", was->name,
			 was->kind, is->kind);
		return -EINVAL;
	}
	if (!is_modelled(was) || !strcmp(before->machine_id, now->machine_id))
		return 0;
	if (strcmp(before->machine, now->machine))
		snprintf(why, AP_GATE_WHY,
			 "%.80s is modelled for %.80s in the baseline and for %.80s here",
			 was->name, before->machine, now->machine);
	else
		snprintf(why, AP_GATE_WHY,
			 "%.80s is modelled for %.80s, which is described otherwise than in the "
			 "baseline",
			 was->name, before->machine);
	return -EINVAL;
}

static const struct ap_gate_limit *limit_of(const struct ap_gate_limits *limits, const char *name)
{
	for (size_t i = 0; i < limits->n; i++)
		if (!strcmp(limits->limit[i].event, name))
			return &limits->limit[i];
	return NULL;
}

static void judge(struct ap_gate_result *result, struct ap_gate_row *row)
{
	if (!row->limit)
		return;
	result->limits++;
	if (!ap_gate_is_within(row->limit, row->before->count, row->now->count)) {
		row->verdict = AP_GATE_EXCEEDED;
		result->exceeded++;
	} else if (row->now->count < row->before->count) {
		row->verdict = AP_GATE_IMPROVED;
		result->improved++;
	} else {
		row->verdict = AP_GATE_WITHIN;
	}
}

/* Every program retires instructions, and each branch is one. */
static int check_sense(const struct ap_gate_counts *g, const char *which, char *why)
{
	const struct ap_gate_event *instructions = ap_gate_find(g, "instructions");
	const struct ap_gate_event *branches = ap_gate_find(g, "branches");

	if (!instructions || strcmp(instructions->kind, "exact") != 0)
		return 0;
	if (!instructions->count) {
		snprintf(why, AP_GATE_WHY, "%s no instructions, which no program can do without",
			 which);
		return -EINVAL;
	}
	if (!branches || branches->count <= instructions->count)
		return 0;
	snprintf(why, AP_GATE_WHY, "%s more branches than instructions, which cannot be", which);
	return -EINVAL;
}

int ap_gate_compare(struct ap_gate_result *result, const struct ap_gate_counts *before,
		    const struct ap_gate_counts *now, const struct ap_gate_limits *limits,
		    char *why)
{
	int ret = ap_gate_check(before, limits, why);

	*result = (struct ap_gate_result){ .before = before, .now = now };
	if (!ret)
		ret = check_notes(before, now, why);
	if (!ret)
		ret = check_sense(before, "the baseline has", why);
	if (!ret)
		ret = check_sense(now, "this run has", why);
	if (ret)
		return ret;
	result->row = calloc(before->nevents + 1, sizeof(*result->row));
	if (!result->row) {
		snprintf(why, AP_GATE_WHY, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < before->nevents; i++) {
		struct ap_gate_row *row = &result->row[result->nrows++];

		row->before = &before->event[i];
		row->now = ap_gate_find(now, row->before->name);
		row->limit = limit_of(limits, row->before->name);
		ret = check_event(before, now, row->before, row->now, why);
		if (ret)
			return ret;
		judge(result, row);
	}
	return 0;
}

void ap_gate_result_fini(struct ap_gate_result *result)
{
	free(result->change);
	free(result->row);
	*result = (struct ap_gate_result){ 0 };
}
