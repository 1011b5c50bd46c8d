/* SPDX-License-Identifier: MIT */
/*
 * Event strings as perf writes them: names with a `:modifiers` tail.  Modifiers never change what
 * is counted here, because user space is all that ever is; they decide whether that is what was
 * asked for.  What would need the kernel's side, or a split that the kernel does not report, is
 * not supported rather than nearly right.
 */
#include "cli/evlist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/nearest.h"

#define WHY_MODE_KERNEL "kernel-mode work is never counted"
#define WHY_MODE_OTHER	"guests and hypervisors are never counted"
#define WHY_MODE_SPLIT	"the kernel's own counts are not split by mode"

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

	if (desc->kind == AP_KIND_UNSUPPORTED)
		return desc->why;
	if ((strchr(mods, 'h') && !user && !kernel) || (strchr(mods, 'G') && !strchr(mods, 'H')))
		return WHY_MODE_OTHER;
	if (desc->from == AP_FROM_RAW)
		return kernel ? WHY_MODE_KERNEL : NULL;
	if (kernel && !user)
		return WHY_MODE_KERNEL;
	if (user && !kernel && !ap_event_is_clock(desc) && desc->from == AP_FROM_SW)
		return WHY_MODE_SPLIT;
	return NULL;
}

static const char *suggest(const char *name)
{
	struct ap_nearest near;
	size_t i, a;

	ap_nearest_init(&near, name);
	for (i = 0; i < ap_nevents; i++) {
		ap_nearest_offer(&near, ap_events[i].name);
		for (a = 0; a < AP_EVENT_ALIASES && ap_events[i].alias[a]; a++)
			ap_nearest_offer(&near, ap_events[i].alias[a]);
	}
	return near.name;
}

static int unknown(const char *name, char *why, size_t size)
{
	const char *near = suggest(name);

	if (strchr(name, '/'))
		snprintf(why, size, "event syntax error: '%s': pmu/term/ events are not supported",
			 name);
	else if (near)
		snprintf(why, size,
			 "event syntax error: '%s': unknown event, did you mean '%s'? "
			 "('anyperf list' names all)",
			 name, near);
	else
		snprintf(why, size,
			 "event syntax error: '%s': unknown event ('anyperf list' names all)",
			 name);
	return -EINVAL;
}

static int add(struct ap_evlist *list, char *name, char *why, size_t size)
{
	const char *colon = strchr(name, ':');
	const char *mods = colon ? colon + 1 : "";
	const struct ap_event_desc *desc;

	desc = ap_event_find(name, colon ? (size_t)(colon - name) : strlen(name));
	if (!desc)
		return unknown(name, why, size);
	if (!modifiers_are_valid(mods)) {
		snprintf(why, size, "event syntax error: '%s': bad modifier '%s'", name, mods);
		return -EINVAL;
	}
	list->sel = ap_xgrow(list->sel, list->n + 1, sizeof(*list->sel));
	list->sel[list->n++] =
		(struct ap_evsel){ .desc = desc, .name = name, .why = unsupported(desc, mods) };
	return 0;
}

int ap_evlist_parse(struct ap_evlist *list, const char *spec, char *why, size_t size)
{
	const char *p = spec;

	if (strpbrk(spec, "{}")) {
		snprintf(why, size, "event syntax error: '%s': groups {} are not supported", spec);
		return -EINVAL;
	}
	for (;;) {
		size_t len = strcspn(p, ",");
		char *name;
		int ret;

		if (!len) {
			snprintf(why, size, "event syntax error: '%s': an event is missing", spec);
			return -EINVAL;
		}
		name = ap_xstrndup(p, len);
		ret = add(list, name, why, size);
		if (ret) {
			free(name);
			return ret;
		}
		if (!p[len])
			return 0;
		p += len + 1;
	}
}

void ap_evlist_fini(struct ap_evlist *list)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		free(list->sel[i].name);
	free(list->sel);
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
