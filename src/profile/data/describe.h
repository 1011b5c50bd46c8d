/* SPDX-License-Identifier: MIT */
/*
 * Attrs and headers of a file as text, in perf's words.
 */
#ifndef AP_PROFILE_DESCRIBE_H
#define AP_PROFILE_DESCRIBE_H

#include <stdio.h>

#include "profile/data/data.h"

void ap_data_print_header(struct ap_data *d, FILE *out);
/* ", field<is>value" for every field that is not 0. */
void ap_attr_print(const struct ap_perf_attr *attr, const char *is, FILE *out);
/* The same without the first comma. */
void ap_attr_print_first(const struct ap_perf_attr *attr, const char *is, FILE *out);

#endif
