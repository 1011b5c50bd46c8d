/* SPDX-License-Identifier: MIT */
/*
 * What -e is given, and --filter after it.
 */
#include <stdlib.h>

#include "cli/evfilter.h"
#include "cli/evlist.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ap_evlist list = { 0 };
	char why[400], *spec, *filter;
	size_t at = 0;

	spec = fuzz_text(bytes, size, &at);
	filter = fuzz_text(bytes, size, &at);
	if (!ap_evlist_parse(&list, spec, why, sizeof(why)) && list.n) {
		ap_evlist_modify(&list, "u");
		for (size_t i = 0; i < list.n; i++)
			free(ap_evsel_user_name(&list.sel[i]));
		ap_evlist_group(&list);
		if (*filter)
			(void)!ap_evlist_filter(&list, 0, filter, why);
	}
	ap_evlist_fini(&list);
	free(spec);
	free(filter);
	return 0;
}
