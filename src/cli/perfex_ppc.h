/* SPDX-License-Identifier: MIT */
/*
 * `anyperf perfex` with a 32-bit PowerPC: the command is counted as `anyperf stat` counts, and what
 * it has counted goes through perfctr's driver into the registers of the CPU's model.
 */
#ifndef AP_CLI_PERFEX_PPC_H
#define AP_CLI_PERFEX_PPC_H

#include "cli/perfex_event.h"
#include "linux/run/run.h"

struct ap_ppcmodel_family;

/* NULL: no PowerPC that there is a model of. */
const struct ap_ppcmodel_family *ap_perfex_ppc_find(const char *name);
/* Appends their names, each behind a space, to the n bytes of a text. */
void ap_perfex_ppc_names(char *text, size_t n, size_t size);

/* Each returns an exit status. */
int ap_perfex_ppc_info(FILE *out, const struct ap_ppcmodel_family *family);
int ap_perfex_ppc_list(FILE *out, const struct ap_ppcmodel_family *family, bool is_long);
/* output: NULL, standard error. */
int ap_perfex_ppc_measure(struct ap_run_options *run, const struct ap_ppcmodel_family *family,
			  const struct ap_perfex_control *control, const char *output);

#endif
