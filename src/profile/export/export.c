/* SPDX-License-Identifier: MIT */
#include "profile/export/export.h"

#include <stdlib.h>
#include <string.h>

static const struct ap_export_format formats[] = {
	{ "flamegraph", "perf.html", false, false, ap_export_flamegraph,
	  "one HTML or SVG file (by its name) with a flame graph: zoom and search" },
	{ "collapsed", "perf.collapsed", false, true, ap_export_collapsed,
	  "a line per stack, for flamegraph.pl, inferno and others" },
	{ "speedscope", "perf.speedscope.json", false, false, ap_export_speedscope,
	  "speedscope.app" },
	{ "firefox", "perf.firefox.json", true, false, ap_export_firefox, "profiler.firefox.com" },
	{ "pprof", "perf.pb.gz", true, false, ap_export_pprof, "pprof (gzip protobuf)" },
	{ "callgrind", "callgrind.out.perf", true, false, ap_export_callgrind,
	  "KCachegrind, callgrind_annotate" },
	{ "cachegrind", "cachegrind.out.perf", true, false, ap_export_cachegrind,
	  "cg_annotate, cg_diff, cg_merge: a column for each event" },
};

const struct ap_export_format *ap_export_find(const char *name)
{
	for (size_t i = 0; i < AP_ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

const struct ap_export_format *ap_export_nth(unsigned int n)
{
	return n < AP_ARRAY_SIZE(formats) ? &formats[n] : NULL;
}

void *ap_export_grow(void *array, size_t n, size_t *room, size_t size)
{
	size_t wider = *room ? *room * 2 : 1024;
	void *more;

	if (n < *room)
		return array;
	more = realloc(array, wider * size);
	if (more)
		*room = wider;
	return more;
}
