/* SPDX-License-Identifier: MIT */
/*
 * A baseline, which is held against itself and printed in all forms; before it, up to a zero, the limits.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "profile/gate/gate.h"

static void judge(const struct ap_gate_counts *g, const struct ap_gate_limits *limits)
{
	struct ap_gate_result r = { 0 };
	char why[AP_GATE_WHY];

	if (!ap_gate_check(g, limits, why) && !ap_gate_compare(&r, g, g, limits, why)) {
		if (!ap_gate_compare_functions(&r, 3))
			ap_gate_print_markdown(&r, fuzz_sink());
		ap_gate_print(&r, fuzz_sink());
		(void)!ap_gate_write_json(&r, fuzz_sink());
	}
	ap_gate_result_fini(&r);
	ap_gate_print_counts(g, "path", fuzz_sink());
	(void)!ap_gate_write(g, fuzz_sink());
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ap_gate_limits limits = { 0 };
	struct ap_gate_counts g;
	char path[64], why[AP_GATE_WHY], *spec;
	size_t at = 0;
	int fd;

	spec = fuzz_text(bytes, size, &at);
	if (ap_gate_limits_add(&limits, spec, why)) {
		ap_gate_limits_fini(&limits);
		limits = (struct ap_gate_limits){ 0 };
	}
	fd = fuzz_file(bytes + at, size - at, path);
	if (!ap_gate_read(&g, path, why))
		judge(&g, &limits);
	ap_gate_counts_fini(&g);
	ap_gate_limits_fini(&limits);
	free(spec);
	close(fd);
	return 0;
}
