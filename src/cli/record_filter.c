/* SPDX-License-Identifier: MIT */
/*
 * `--filter`: of tracepoints only the samples that match.  A filter of the kernel decides before an event is
 * counted, which is the same where each event is a sample; so other periods are refused.  Here nothing in the
 * program that is recorded interprets one: the samples that do not match are left out when a ring is read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/record.h"
#include "cli/record_opts.h"
#include "profile/data.h"
#include "profile/trace_filter.h"

/* --- the option */

static int refuse(char *why, const char *text)
{
	snprintf(why, AP_OPT_WHY, "%s", text);
	return -EINVAL;
}

/* Of all events of the -e before it; a second one narrows the first. */
int record_opt_trace_filter(void *args, const char *value, char *why)
{
	struct record_opts *o = args;
	size_t n = o->events.n;

	for (size_t i = o->newest; i < n; i++)
		if (o->events.sel[i].attr.type != AP_PERF_TYPE_TRACEPOINT)
			return refuse(why, "follows the -e of the tracepoints that it is for");
	if (!n)
		return refuse(why, "follows the -e of the tracepoints that it is for");
	o->filter = ap_xgrow(o->filter, n, sizeof(*o->filter));
	for (; o->nfilters < n; o->nfilters++)
		o->filter[o->nfilters] = NULL;
	for (size_t i = o->newest; i < n; i++) {
		char *first = o->filter[i];

		o->filter[i] =
			first ? ap_xasprintf("(%s) && (%s)", first, value) : ap_xstrdup(value);
		free(first);
	}
	return 0;
}

void record_filters_free(struct record_opts *o)
{
	for (size_t i = 0; i < o->nfilters; i++)
		free(o->filter[i]);
	free(o->filter);
}

/* --- before the start */

static bool compile(struct record *r, size_t i)
{
	struct record_event *ev = &r->event[i];
	const char *text = r->opts->filter[i], *system;
	char why[AP_OPT_WHY];
	char *format;
	int ret;

	if (ap_client_tracepoint(ev->attr.config, &system, &format)) {
		fprintf(stderr, "anyperf record: --filter: nothing describes %s\n", ev->name);
		return false;
	}
	ret = ap_trace_filter_parse(&ev->filter, format, text, why, sizeof(why));
	free(format);
	if (ret)
		fprintf(stderr, "anyperf record: --filter: '%s' of %s: %s\n", text, ev->name, why);
	r->has_filters = true;
	return !ret;
}

int record_filters_prepare(struct record *r)
{
	const struct record_opts *o = r->opts;

	if (o->nfilters && (o->count > 1 || o->per_thread_counts)) {
		fprintf(stderr,
			"anyperf record: --filter and %s do not go together: events that do not "
			"match are counted all the same\n",
			o->count > 1 ? "-c" : "-s");
		return AP_EXIT_USAGE;
	}
	for (size_t i = 0; i < o->nfilters; i++)
		if (o->filter[i] && !compile(r, i))
			return AP_EXIT_USAGE;
	return 0;
}

void record_filters_end(struct record *r)
{
	for (size_t i = 0; i < r->nevents; i++)
		ap_trace_filter_free(r->event[i].filter);
}

/* --- what was recorded */

static bool has_id(const struct record_event *ev, u64 id)
{
	for (size_t i = 0; i < ev->nids; i++)
		if (ev->ids[i] == id)
			return true;
	return false;
}

/* All have the same sample_type, in which the id comes first where there are several. */
static const struct record_event *event_of(const struct record *r, const u8 *record)
{
	u64 id;

	if (!(r->event[0].attr.sample_type & AP_PERF_SAMPLE_IDENTIFIER))
		return &r->event[0];
	memcpy(&id, record + sizeof(struct ap_perf_event_header), sizeof(id));
	for (size_t i = 0; i < r->nevents; i++)
		if (has_id(&r->event[i], id))
			return &r->event[i];
	return NULL;
}

static bool is_wanted(const struct record *r, const u8 *record)
{
	const struct record_event *ev = event_of(r, record);
	struct ap_sample sample;

	if (!ev || !ev->filter)
		return true;
	return ap_sample_parse(&(struct ap_data_event){ .attr = ev->attr }, record, &sample) ||
	       ap_trace_filter_match(ev->filter, sample.raw, sample.raw_size);
}

/* Whole records; what is left moves together. */
void record_filters_apply(const struct record *r, struct ap_buf *records)
{
	size_t from = 0, to = 0;

	if (!r->has_filters)
		return;
	while (records->size - from >= sizeof(struct ap_perf_event_header)) {
		struct ap_perf_event_header h;

		memcpy(&h, records->data + from, sizeof(h));
		if (h.size < sizeof(h) + 8 || h.size > records->size - from)
			break;
		if (h.type != AP_PERF_RECORD_SAMPLE ||
		    is_wanted(r, (const u8 *)records->data + from)) {
			memmove(records->data + to, records->data + from, h.size);
			to += h.size;
		}
		from += h.size;
	}
	memmove(records->data + to, records->data + from, records->size - from);
	records->size = to + records->size - from;
}
