/* SPDX-License-Identifier: MIT */
/*
 * `--filter`: of tracepoints only the samples that match.  Whoever passes one decides that, before
 * it is counted; but a session has room for 64 filters, and a pattern in -e makes one for each
 * tracepoint.  Where each that is counted is a sample those that do not match are left out when a
 * ring is read, then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "cli/evfilter.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/record.h"
#include "cli/record_opts.h"
#include "print/print.h"
#include "profile/data/data.h"
#include "profile/data/trace_filter.h"

int record_opt_trace_filter(void *args, const char *value, char *why)
{
	struct record_opts *o = args;

	return ap_evlist_filter(&o->events, o->newest, value, why);
}

/* --- before the start */

int record_filters_prepare(struct record *r)
{
	const struct ap_evlist *list = &r->opts->events;
	char why[AP_OPT_WHY];

	for (size_t i = 0; i < list->n; i++) {
		if (!list->sel[i].filter)
			continue;
		if (ap_evsel_filter(&list->sel[i], &r->event[i].filter, why)) {
			ap_print(stderr, "anyperf record: --filter: %s: %s\n", r->event[i].name,
				 why);
			return AP_EXIT_USAGE;
		}
		r->has_filters = true;
	}
	return 0;
}

int record_filter_set(const struct record *r, const struct record_event *ev,
		      struct ap_client_event *event)
{
	size_t i = (size_t)(ev - r->event);
	int ret;

	if (i >= r->opts->events.n)
		return 0;
	ret = ap_evsel_set_filter(&r->opts->events.sel[i], event);
	/*
	 * more than a session has room for: each that is counted is a sample, of which the others
	 * can be left out
	 */
	if (ret == -ENOSPC && r->opts->count <= 1 && !r->opts->per_thread_counts)
		return 0;
	return ret;
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
