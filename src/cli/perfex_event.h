/* SPDX-License-Identifier: MIT */
/*
 * perfex's events: evntsel[/escr][@pmc], or a name of the CPU's list; and what it prints of a CPU.
 */
#ifndef AP_CLI_PERFEX_EVENT_H
#define AP_CLI_PERFEX_EVENT_H

#include <anyperf/perfctr.h>
#include <stddef.h>
#include <stdio.h>

#include "base/types.h"

enum ap_perfex_radix {
	AP_PERFEX_DEFAULT, /* hexadecimal, with a word where C would read another number */
	AP_PERFEX_HEX,
	AP_PERFEX_C
};

struct ap_perfex_control {
	enum ap_perfex_radix radix;
	unsigned int n;
	struct {
		const char *text; /* borrowed from argv */
		enum ap_perfex_radix radix;
	} events[PERFCTR_MAX_PMCS];
	u32 pebs_enable, pebs_matrix_vert;
};

/* All: 0, or -EINVAL with a line in why. */
AP_MUST_CHECK int ap_perfex_number(const char *text, enum ap_perfex_radix radix, u32 *val,
				   char *why, size_t size);
AP_MUST_CHECK int ap_perfex_add(struct ap_perfex_control *c, const char *text, char *why,
				size_t size);
/* What they are on this CPU. */
AP_MUST_CHECK int ap_perfex_resolve(const struct ap_perfex_control *c,
				    const struct perfctr_info *info, struct vperfctr_control *out,
				    char *why, size_t size);

/* What is known of the CPU; NULL: nothing. */
struct ap_x86model_about;
/* perfctr_info.cpu_type of a CPU that --cpu knows, and what it is called. */
u32 ap_perfex_type(const char *name);
const char *ap_perfex_cpu_name(const struct perfctr_info *info);
const struct ap_x86model_about *ap_perfex_about(const struct perfctr_info *info);

/* perfex_sums.c */
struct ap_perfex_label {
	u64 kinds;
	const char *why; /* none */
};

/* The table, and what each sum is; labels NULL: unknown. */
void ap_perfex_print(FILE *out, const struct perfctr_cpu_control *cpu,
		     const struct perfctr_sum_ctrs *sum, const struct ap_perfex_label *labels);
void ap_perfex_print_sums(FILE *out, const struct perfctr_info *info,
			  const struct vperfctr_control *c, const struct perfctr_sum_ctrs *sum);

/* Exit status. */
int ap_perfex_print_info(FILE *out, const struct perfctr_info *info);
int ap_perfex_print_list(FILE *out, const struct perfctr_info *info, bool is_long);

#endif
