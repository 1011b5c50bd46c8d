/* SPDX-License-Identifier: MIT */
/*
 * What `stat record` knows and perf's records have no room for: which kind of number each row is, why it has none, the
 * user time, notes.  It is a section of our own of the file (AP_FEAT_REMARKS): lines of text, a word and what it is about.
 */
#ifndef AP_CLI_STAT_REMARKS_H
#define AP_CLI_STAT_REMARKS_H

#include "base/buf.h"
#include "cli/stat.h"

void ap_stat_remarks_put(struct ap_buf *to, const struct ap_stat *st, size_t nevents);

/* Of one event. */
struct ap_stat_remark {
	enum ap_event_kind kind;
	enum ap_event_from from;
	enum ap_source source;
	u64 kinds;
	bool is_derived;
	double error; /* of an estimate, in per cent; below 0: not known */
	char *name;   /* of its description, see cli/events.h */
	char *why;    /* NULL: counted */
};

struct ap_stat_remarks {
	char *title;
	u64 user_ns, sys_ns;
	bool has_times, has_engine, is_unscaled;
	u32 model_sample; /* 0: the models saw all */
	struct ap_stat_remark *event;
	size_t nevents;
	char **note;
	size_t nnotes;
};

/* text: the section, which ends with a NUL.  Of a line that is no line of ours nothing is taken. */
void ap_stat_remarks_read(struct ap_stat_remarks *r, const char *text);
void ap_stat_remarks_fini(struct ap_stat_remarks *r);

#endif
