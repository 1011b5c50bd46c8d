/* SPDX-License-Identifier: MIT */
/*
 * A file of metrics (--metric-file), each of which is then asked for.
 */
#include <stdlib.h>

#include "cli/metric.h"
#include "fuzz.h"

static int ask(void *arg, const char *name, size_t len, double *v)
{
	(void)arg;
	*v = (double)len;
	return len ? *name != 'x' : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ap_metric_table t = { 0 };
	char why[400], *text;
	size_t at = 0;
	double v;

	text = fuzz_text(bytes, size, &at);
	if (!ap_metrics_parse(&t, text, "file", why, sizeof(why)))
		for (size_t i = 0; i < t.n; i++)
			(void)!ap_metric_value(&t, &t.v[i], ask, NULL, &v, why, sizeof(why));
	ap_metrics_fini(&t);
	free(text);
	return 0;
}
