/* SPDX-License-Identifier: MIT */
/* Between script.c (lines), script_fields.c (what -F asks for) and script_extra.c (rarer fields). */
#ifndef AP_PROFILE_SCRIPT_INTERNAL_H
#define AP_PROFILE_SCRIPT_INTERNAL_H

#include "profile/data/tracing.h"
#include "profile/script/script.h"
#include "profile/text/text.h"

#define AP_SCRIPT_TYPES (AP_PERF_TYPE_MAX + 1) /* the last for all others */

struct ap_script {
	struct ap_profile_session *s;
	struct ap_data *d;
	struct ap_script_opts opts;
	FILE *out;
	u32 fields[AP_SCRIPT_TYPES], asked[AP_SCRIPT_TYPES];
	u32 name_width;
	struct ap_buf text; /* to be written */
	struct ap_text_cache chains;
	struct ap_frame *frame;
	struct ap_tracing *tracing; /* read at the first sample that needs it */
	bool tracing_tried;
	u64 first_time, last_time; /* of lines */
	int source_width;
};

static inline u32 ap_script_type(const struct ap_data_event *ev)
{
	return ev->attr.type < AP_PERF_TYPE_MAX ? ev->attr.type : AP_PERF_TYPE_MAX;
}

void ap_script_flush(struct ap_script *c);
/* What every line begins with. */
void ap_script_start(struct ap_script *c, const struct ap_profile_thread *th,
		     const struct ap_data_event *ev, const struct ap_sample *s, u32 fields);
void ap_script_extras(struct ap_script *c, struct ap_profile_thread *th,
		      const struct ap_data_event *ev, const struct ap_sample *s, u32 fields);
/* script_branch.c */
void ap_script_branches(struct ap_script *c, struct ap_profile_thread *th,
			const struct ap_sample *s, u32 fields);
void ap_script_data_source(struct ap_script *c, u64 v);
void ap_script_side_band(struct ap_script *c, const struct ap_data_rec *rec);

#endif
