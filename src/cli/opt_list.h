/* SPDX-License-Identifier: MIT */
/*
 * Tables of options as lines that scripts read: opt_list.c says what the fields are.
 */
#ifndef AP_CLI_OPT_LIST_H
#define AP_CLI_OPT_LIST_H

#include <stdio.h>

#include "cli/options.h"

/* One command; spec is NULL where it has no options, words are "" where none may follow it. */
void ap_opts_list(const char *name, const char *words, const char *operands,
		  const struct ap_opt_spec *spec, const char *help, FILE *out);

#endif
