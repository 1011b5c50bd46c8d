/* SPDX-License-Identifier: MIT */
/*
 * The format file of a tracepoint, a filter of its fields, and the record that it is held against, with zeros between
 * them.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "profile/data/trace_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ap_raw_filter *f;
	char why[200], *format, *text;
	size_t at = 0;

	format = fuzz_text(bytes, size, &at);
	text = fuzz_text(bytes, size, &at);
	if (!ap_trace_filter_parse(&f, format, text, why, sizeof(why))) {
		ap_trace_filter_match(f, bytes + at, (uint32_t)(size - at));
		ap_trace_filter_free(f);
	}
	free(format);
	free(text);
	return 0;
}
