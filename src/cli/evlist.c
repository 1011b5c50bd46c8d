/* SPDX-License-Identifier: MIT */
/*
 * Event strings as perf writes them: names with a `:modifiers` tail, in groups where braces are
 * around them.  Modifiers about modes never change what the engine counts, because user space is
 * all that it sees; they decide whether that is what was asked for.  What would need the kernel's
 * side of it is not supported rather than nearly right.  The kernel's own events are told of them.
 */
#include "cli/evlist.h"

#include "base/plant.h"
#include "cli/cgroups.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/nearest.h"
#include "linux/client/client.h"
#include "linux/run/run.h"

#define WHY_MODE_KERNEL "kernel-mode work is never counted"
#define WHY_MODE_OTHER	"guests and hypervisors are never counted"
#define WHY_NO_COUNTER	"no counter here counts this code"

/* Letters that perf knows, each once; p asks for precision and may stand three times. */
static bool modifiers_are_valid(const char *mods)
{
	const char *p;

	for (p = mods; *p; p++) {
		const char *first = strchr(mods, *p);

		if (!strchr("ukhGHpPSDWIe", *p))
			return false;
		if (first != p && (*p != 'p' || p - first > 2))
			return false;
	}
	return true;
}

/* Why an event with these modifiers is not supported, or NULL when it is. */
static const char *unsupported(const struct ap_event_desc *desc, const char *mods)
{
	bool user = strchr(mods, 'u'), kernel = strchr(mods, 'k');
	bool is_soft = desc->from == AP_FROM_SW && !ap_event_is_clock(desc);

	if (desc->kind == AP_KIND_UNSUPPORTED)
		return desc->why;
	if (desc->from == AP_FROM_SW && desc->index == AP_SW_DUMMY)
		return NULL;
	if ((strchr(mods, 'h') && !user && !kernel) || (strchr(mods, 'G') && !strchr(mods, 'H')))
		return WHY_MODE_OTHER;
	if (desc->from == AP_FROM_RAW)
		return kernel ? WHY_MODE_KERNEL : NULL;
	return kernel && !user && !is_soft ? WHY_MODE_KERNEL : NULL;
}

/* buf: room for the name */
static const char *suggest(const char *name, char *buf, size_t size)
{
	static const enum ap_client_names lists[] = { AP_NAMES_OWN, AP_NAMES_CACHE, AP_NAMES_RAW,
						      AP_NAMES_TRACEPOINT };
	struct ap_client_name other;
	struct ap_nearest near;
	size_t i, a;

	ap_nearest_init(&near, name);
	/* names of one system have most of their letters in common */
	if (strchr(name, ':') && near.edits > 3)
		near.edits = 3;
	for (i = 0; i < ap_nevents; i++) {
		ap_nearest_offer(&near, ap_events[i].name);
		for (a = 0; a < AP_EVENT_ALIASES && ap_events[i].alias[a]; a++)
			ap_nearest_offer(&near, ap_events[i].alias[a]);
	}
	for (i = 0; i < AP_ARRAY_SIZE(lists); i++)
		for (unsigned int k = 0; ap_client_name(lists[i], k, &other); k++) {
			unsigned int before = near.edits;

			ap_nearest_offer(&near, other.name);
			if (near.edits == before)
				continue;
			snprintf(buf, size, "%s", other.name);
			near.name = buf;
		}
	return near.name;
}

/* Does it begin as tracepoints do, with a system and a colon? */
static bool is_of_trace_system(const char *name)
{
	size_t len = strcspn(name, ":");
	struct ap_client_name point;

	if (!name[len])
		return false;
	for (unsigned int i = 0; ap_client_name(AP_NAMES_TRACEPOINT, i, &point); i++) {
		if (!strncmp(point.name, name, len + 1))
			return true;
	}
	return false;
}

static int unknown(const char *name, char *why, size_t size)
{
	char buf[AP_CLIENT_NAME_MAX];
	const char *near = suggest(name, buf, sizeof(buf));
	bool is_pattern = strchr(name, ':') && strpbrk(name, "*?[");

	if (near && !is_pattern && !strchr(name, '/'))
		snprintf(why, size,
			 "no event is called '%s', did you mean '%s'? ('anyperf list' names all)",
			 name, near);
	else if (is_of_trace_system(name) || is_pattern)
		snprintf(why, size,
			 "no tracepoint is called '%s' ('anyperf list tracepoint' names all)",
			 name);
	else if (strchr(name, '/'))
		snprintf(why, size, "'%s': no such PMU, or no such terms of it", name);
	else
		snprintf(why, size, "no event is called '%s' ('anyperf list' names all)", name);
	return -EINVAL;
}

/* --- one event */

/*
 * Events that a PMU of the session names, and no table of ours: raw codes, terms, breakpoints ...
 */
static struct ap_event_desc *describe(const struct ap_evsel *sel)
{
	struct ap_event_desc *own = ap_xgrow(NULL, 1, sizeof(*own));
	bool is_cpu = sel->attr.type == AP_PERF_TYPE_RAW ||
		      sel->attr.type == AP_PERF_TYPE_HARDWARE ||
		      sel->attr.type == AP_PERF_TYPE_HW_CACHE;

	*own = (struct ap_event_desc){ .name = "", .unit = "", .meaning = "" };
	own->kind = sel->kinds & AP_KINDS_MODEL ? AP_KIND_MODELLED : AP_KIND_EXACT;
	own->from = AP_FROM_RAW;
	if (sel->attr.type == AP_PERF_TYPE_SOFTWARE) {
		own->kind = AP_KIND_KERNEL;
		own->from = AP_FROM_SW;
		own->index = AP_SW_N;
	} else if (is_cpu && !sel->kinds) {
		own->kind = AP_KIND_UNSUPPORTED;
		own->from = AP_FROM_NOTHING;
		own->why = WHY_NO_COUNTER;
	}
	return own;
}

/* The first len letters name an event; its description and attr. */
static bool find(struct ap_evsel *sel, const char *name, size_t len)
{
	int ret;

	sel->desc = ap_event_find(name, len);
	if (sel->desc && sel->desc->from != AP_FROM_NOTHING)
		name = sel->desc->name;
	ret = ap_client_event_by_name(
		name, sel->desc && name == sel->desc->name ? strlen(name) : len, &sel->attr);
	if (!ret) {
		sel->kinds = ap_client_event_kinds(&sel->attr);
		sel->is_derived = ap_client_is_derived(&sel->attr);
		sel->is_in_slots = ap_client_is_in_slots(&sel->attr);
	}
	/* the numbers of a table's unsupported ones may have a counter */
	if (sel->desc && (sel->desc->kind != AP_KIND_UNSUPPORTED || !sel->kinds))
		return true;
	if (ret)
		return false;
	sel->desc = sel->own = describe(sel);
	return true;
}

/* What follows the name: after a colon, or after the last slash of terms. */
static const char *modifiers_of(const char *name, size_t *len)
{
	const char *slash = strrchr(name, '/'), *colon = strrchr(name, ':');

	*len = strlen(name);
	if (slash && slash != strchr(name, '/') && (!colon || colon < slash)) {
		*len = (size_t)(slash + 1 - name);
		return slash + 1;
	}
	if (!colon)
		return name + *len;
	*len = (size_t)(colon - name);
	return colon + 1;
}

/*
 * Switches and faults belong to modes, and the kernel's own event is told of those left out, as
 * perf does.
 */
static void exclude_modes(struct ap_evsel *sel)
{
	bool user = strchr(sel->mods, 'u'), kernel = strchr(sel->mods, 'k');

	if (user || kernel)
		sel->attr.flags &= ~AP_EVSEL_MODES;
	if (user != kernel)
		sel->attr.flags |= user ? AP_PERF_EXCLUDE_KERNEL : AP_PERF_EXCLUDE_USER;
}

static void apply(struct ap_evsel *sel, const char *mods)
{
	size_t len = strlen(sel->mods);

	snprintf(sel->mods + len, sizeof(sel->mods) - len, "%s", mods);
	if (sel->desc->from == AP_FROM_RAW && sel->attr.type != AP_PERF_TYPE_TRACEPOINT)
		sel->attr.flags |= AP_PERF_EXCLUDE_KERNEL | AP_PERF_EXCLUDE_HV;
	if (sel->desc->from == AP_FROM_SW && !ap_event_is_clock(sel->desc))
		exclude_modes(sel);
	if (strchr(mods, 'D'))
		sel->attr.flags |= AP_PERF_PINNED;
	if (strchr(mods, 'e'))
		sel->attr.flags |= AP_PERF_EXCLUSIVE;
	sel->is_weak |= strchr(mods, 'W') != NULL;
	if (!sel->why)
		sel->why = unsupported(sel->desc, mods);
}

/* An event as it stands in the list: what all that a pattern stands for have in common. */
struct typed {
	const char *text;
	struct ap_evterms terms;
};

/*
 * What the event is called: perf has terms of its own in a name where some of a PMU are beside
 * them.
 */
static char *name_of(const char *name, const struct typed *typed)
{
	if (typed->terms.name)
		return ap_xstrdup(typed->terms.name);
	return ap_xstrdup(strchr(name, '/') ? typed->text : name);
}

static int add_one(struct ap_evlist *list, const char *name, const struct typed *typed, char *why,
		   size_t size)
{
	struct ap_evsel sel = { .leader = AP_EVSEL_ALONE, .terms = typed->terms };
	size_t len = strlen(name);
	const char *mods = name + len;

	/* a colon belongs to some of the names */
	if (!find(&sel, name, len)) {
		mods = modifiers_of(name, &len);
		if (!name[len] || !find(&sel, name, len)) {
			/* two colons: a bad modifier says more than an unknown name */
			len = strcspn(name, ":");
			mods = name + len + (name[len] == ':');
			if (!name[len] || !find(&sel, name, len))
				return unknown(typed->text, why, size);
		}
	}
	if (!modifiers_are_valid(mods)) {
		free(sel.own);
		/* an event has the name of a system of tracepoints */
		if (is_of_trace_system(name) && !memchr(name, ':', len))
			return unknown(typed->text, why, size);
		snprintf(why, size, "event syntax error: '%s': bad modifier '%s'", name, mods);
		return -EINVAL;
	}
	apply(&sel, mods);
	sel.name = name_of(name, typed);
	sel.has_own_mods = *mods && !sel.terms.name;
	sel.terms.name = NULL;
	list->sel = ap_xgrow(list->sel, list->n + 1, sizeof(*list->sel));
	list->sel[list->n++] = sel;
	return 0;
}

/*
 * system:pattern, in either of which are * ? or [], and modifiers behind it: all tracepoints that
 * match.
 */
static int add_matching(struct ap_evlist *list, const char *name, const struct typed *typed,
			char *why, size_t size)
{
	size_t system = strcspn(name, ":") + 1, len = system + strcspn(name + system, ":");
	char *pattern = ap_xstrndup(name, len);
	struct ap_client_name point;
	bool any = false;
	int ret = 0;

	for (unsigned int i = 0; !ret && ap_client_name(AP_NAMES_TRACEPOINT, i, &point); i++) {
		char *one;

		if (fnmatch(pattern, point.name, 0))
			continue;
		any = true;
		one = ap_xasprintf("%s%s", point.name, name + len);
		ret = add_one(list, one, typed, why, size);
		free(one);
	}
	free(pattern);
	return any ? ret : unknown(typed->text, why, size);
}

static int add(struct ap_evlist *list, const char *text, char *why, size_t size)
{
	struct typed typed = { .text = text };
	bool is_pattern;
	char *name;
	int ret = ap_evterms_take(text, &name, &typed.terms, why, size);

	if (ret)
		return ret;
	is_pattern = strchr(name, ':') && strpbrk(name, "*?[") && !strchr(name, '/');
	ret = is_pattern ? add_matching(list, name, &typed, why, size)
			 : add_one(list, name, &typed, why, size);
	free(typed.terms.name);
	free(name);
	return ret;
}

/* --- lists and groups */

/* Up to a comma or brace that is not among the terms of a PMU. */
static size_t token(const char *p)
{
	bool has_terms = strncmp(p, "mem:", 4) != 0, in_terms = false;
	size_t n;

	for (n = 0; p[n]; n++) {
		if (p[n] == '/' && has_terms)
			in_terms = !in_terms;
		if (!in_terms && strchr(",{}", p[n]))
			break;
	}
	return n;
}

static int missing(const char *spec, char *why, size_t size)
{
	snprintf(why, size, "event syntax error: '%s': an event is missing", spec);
	return -EINVAL;
}

static int add_token(struct ap_evlist *list, const char **p, const char *spec, char *why,
		     size_t size)
{
	size_t len = token(*p);
	char *name;
	int ret;

	if (!len)
		return missing(spec, why, size);
	name = ap_xstrndup(*p, len);
	ret = add(list, name, why, size);
	free(name);
	*p += len;
	return ret;
}

/* Modifiers behind the brace are those of all members; D and e are the leader's alone. */
static int end_group(struct ap_evlist *list, size_t first, const char **p, char *why, size_t size)
{
	char mods[32] = "";
	size_t len;

	if (**p == ':') {
		len = strcspn(*p + 1, ",}");
		snprintf(mods, sizeof(mods), "%.*s", (int)len, *p + 1);
		if (!len || len >= sizeof(mods) || !modifiers_are_valid(mods)) {
			snprintf(why, size, "event syntax error: bad modifier '%.*s' of a group",
				 (int)len, *p + 1);
			return -EINVAL;
		}
		*p += 1 + len;
	}
	for (size_t i = first; i < list->n; i++) {
		list->sel[i].leader = first;
		apply(&list->sel[i], mods);
		if (i > first)
			list->sel[i].attr.flags &= ~(AP_PERF_PINNED | AP_PERF_EXCLUSIVE);
	}
	return 0;
}

static int add_group(struct ap_evlist *list, const char **p, const char *spec, char *why,
		     size_t size)
{
	size_t first = list->n;
	int ret;

	do {
		(*p)++;
		ret = add_token(list, p, spec, why, size);
	} while (!ret && **p == ',');
	if (ret)
		return ret;
	if (**p != '}') {
		snprintf(why, size, "event syntax error: '%s': a group is not closed", spec);
		return -EINVAL;
	}
	(*p)++;
	return end_group(list, first, p, why, size);
}

int ap_evlist_parse(struct ap_evlist *list, const char *spec, char *why, size_t size)
{
	const char *p = spec;
	int ret;

	for (;;) {
		ret = *p == '{' ? add_group(list, &p, spec, why, size)
				: add_token(list, &p, spec, why, size);
		AP_PLANT("events", list->n &&
					   list->sel[list->n - 1].attr.type == AP_PERF_TYPE_RAW &&
					   list->sel[list->n - 1].attr.config > 0xfff);
		if (ret || !*p)
			return ret;
		if (*p != ',')
			return missing(spec, why, size);
		p++;
	}
}

void ap_evlist_modify(struct ap_evlist *list, const char *mods)
{
	for (size_t i = 0; i < list->n; i++)
		apply(&list->sel[i], mods);
}

char *ap_evsel_user_name(const struct ap_evsel *sel)
{
	size_t len = strlen(sel->name);
	bool is_open = sel->has_own_mods || (len && sel->name[len - 1] == '/');

	return ap_xasprintf("%s%su", sel->name, is_open ? "" : ":");
}

void ap_evlist_group(struct ap_evlist *list)
{
	for (size_t i = 0; i < list->n; i++) {
		list->sel[i].leader = 0;
		if (i)
			list->sel[i].attr.flags &= ~(AP_PERF_PINNED | AP_PERF_EXCLUSIVE);
	}
}

void ap_evlist_fini(struct ap_evlist *list)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		free(list->sel[i].name);
		free(list->sel[i].own);
		free(list->sel[i].filter);
	}
	free(list->sel);
	ap_cgroups_free(list->cgroups);
	*list = (struct ap_evlist){ 0 };
}

bool ap_evlist_needs(const struct ap_evlist *list, enum ap_event_from from)
{
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (!list->sel[i].why && list->sel[i].desc->from == from)
			return true;
	}
	return false;
}
