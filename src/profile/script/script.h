/* SPDX-License-Identifier: MIT */
/*
 * Samples as lines of text, one by one, in the form of `perf script`, which is what people's tools
 * parse.
 */
#ifndef AP_PROFILE_SCRIPT_H
#define AP_PROFILE_SCRIPT_H

#include <stdio.h>

#include "profile/hist/filter.h"
#include "profile/symbols/session.h"

/* clang-format off */
#define AP_FIELD_COMM		(1U << 0)
#define AP_FIELD_TID		(1U << 1)
#define AP_FIELD_PID		(1U << 2)
#define AP_FIELD_TIME		(1U << 3)
#define AP_FIELD_CPU		(1U << 4)
#define AP_FIELD_EVENT		(1U << 5)
#define AP_FIELD_IP		(1U << 6)
#define AP_FIELD_SYM		(1U << 7)
#define AP_FIELD_DSO		(1U << 8)
#define AP_FIELD_ADDR		(1U << 9)
#define AP_FIELD_SYMOFF		(1U << 10)
#define AP_FIELD_SRCLINE	(1U << 11)
#define AP_FIELD_PERIOD		(1U << 12)
#define AP_FIELD_UREGS		(1U << 13)
#define AP_FIELD_IREGS		(1U << 14)
#define AP_FIELD_BRSTACK	(1U << 15)
#define AP_FIELD_WEIGHT		(1U << 16)
#define AP_FIELD_PHYS_ADDR	(1U << 17)
#define AP_FIELD_MISC		(1U << 18)
#define AP_FIELD_DATA_SRC	(1U << 19)
#define AP_FIELD_TRACE		(1U << 20)
#define AP_FIELD_BRSTACKSYM	(1U << 21)
#define AP_FIELD_DATA_PAGE_SIZE	(1U << 22)
#define AP_FIELD_CODE_PAGE_SIZE	(1U << 23)
#define AP_FIELD_INS_LAT	(1U << 24)
/* clang-format on */

struct ap_script_opts {
	const char *fields; /* -F, or NULL */
	bool no_chains;	    /* -G */
	bool nanoseconds;
	bool inlines;
	bool tasks, mmaps, switches; /* side-band records too */
	bool namespaces, cgroups, losses;
	u32 max_stack;			       /* frames of a chain; 0: all */
	bool full_sources;		       /* srcline: whole paths */
	bool since_start, since_last;	       /* times */
	const struct ap_sample_filter *filter; /* or NULL */
};

struct ap_script;

struct ap_script *ap_script_new(struct ap_profile_session *s, struct ap_data *d,
				const struct ap_script_opts *opts, FILE *out);
void ap_script_free(struct ap_script *c);
/* 0, or -EINVAL with a line in why: the options do not fit the events. */
AP_MUST_CHECK int ap_script_check(struct ap_script *c, char *why, size_t size);
/* A record that the session has seen already.  false: the sample is damaged. */
bool ap_script_record(struct ap_script *c, const struct ap_data_rec *rec);

#endif
