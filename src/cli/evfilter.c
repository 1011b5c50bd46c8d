/* SPDX-License-Identifier: MIT */
#include "cli/evfilter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/options.h"
#include "profile/data/trace_filter.h"

static int refuse(char *why, const char *text)
{
	snprintf(why, AP_OPT_WHY, "%s", text);
	return -EINVAL;
}

int ap_evsel_filter(const struct ap_evsel *sel, struct ap_raw_filter **out, char *why)
{
	const char *system;
	char *format;
	int ret;

	if (ap_client_tracepoint(sel->attr.config, &system, &format))
		return refuse(why, "nothing describes the tracepoint");
	ret = ap_trace_filter_parse(out, format, sel->filter, why, AP_OPT_WHY);
	free(format);
	return ret;
}

static int narrow(struct ap_evsel *sel, const char *text, char *why)
{
	char *first = sel->filter;
	struct ap_raw_filter *f;
	int ret;

	sel->filter = first ? ap_xasprintf("(%s) && (%s)", first, text) : ap_xstrdup(text);
	free(first);
	ret = ap_evsel_filter(sel, &f, why);
	if (!ret)
		ap_trace_filter_free(f);
	return ret;
}

int ap_evlist_filter(struct ap_evlist *list, size_t newest, const char *text, char *why)
{
	int ret = 0;

	if (!list->n)
		return refuse(why, "follows the -e of the tracepoints that it is for");
	for (size_t i = newest; i < list->n; i++)
		if (list->sel[i].attr.type != AP_PERF_TYPE_TRACEPOINT)
			return refuse(why, "follows the -e of the tracepoints that it is for");
	for (size_t i = newest; i < list->n && !ret; i++)
		ret = narrow(&list->sel[i], text, why);
	return ret;
}

int ap_evsel_set_filter(const struct ap_evsel *sel, struct ap_client_event *event)
{
	struct ap_client_ioctl args = { .cmd = AP_PERF_IOC_SET_FILTER, .in = sel->filter };

	if (!sel->filter)
		return 0;
	args.in_size = strlen(sel->filter) + 1;
	return (int)ap_client_ioctl(event, &args);
}
