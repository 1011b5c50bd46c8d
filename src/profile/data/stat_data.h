/* SPDX-License-Identifier: MIT */
/*
 * Counts in a perf.data: the records of `perf stat record`, written and taken apart.
 *
 * STAT_CONFIG says how rows were put together; STAT is what one event has counted so far at one CPU or thread, as read(2) gave
 * it; STAT_ROUND ends what was read together.  What perf's records have no room for (what kind of number each is, user time)
 * is a section of our own, which perf passes over.
 */
#ifndef AP_PROFILE_STAT_DATA_H
#define AP_PROFILE_STAT_DATA_H

#include "profile/data/data.h"
#include "profile/data/record_buf.h"

/* perf's numbers of what rows are of, as perf 6.1 has them; then what later ones have, whose numbers are others. */
enum ap_stat_aggr {
	AP_AGGR_NONE,
	AP_AGGR_GLOBAL,
	AP_AGGR_SOCKET,
	AP_AGGR_DIE,
	AP_AGGR_CORE,
	AP_AGGR_THREAD,
	AP_AGGR_UNSET,
	AP_AGGR_NODE,
	AP_AGGR_CLUSTER,
	AP_AGGR_CACHE
};

/* The type of an EVENT_UPDATE of our own: the section as a record. */
#define AP_EVENT_UPDATE_REMARKS 255

struct ap_stat_config {
	u64 aggr;     /* enum ap_stat_aggr */
	u64 interval; /* ms, 0: none */
	u64 scale;
};

struct ap_stat_value {
	u64 id;
	s32 cpu;    /* -1: any */
	u32 thread; /* the nth of THREAD_MAP */
	u64 count, enabled, running;
};

struct ap_stat_round {
	bool is_final;
	u64 time; /* ns since the beginning; of the final one: how long it all took */
};

void ap_record_stat_config(struct ap_buf *to, const struct ap_stat_config *config);
void ap_record_stat(struct ap_buf *to, const struct ap_stat_value *value);
void ap_record_stat_round(struct ap_buf *to, const struct ap_stat_round *round);
void ap_record_event_unit(struct ap_buf *to, u64 id, const char *unit);
void ap_record_event_scale(struct ap_buf *to, u64 id, double scale);

/* What a number says in a file by this version of perf ("6.9.g0123"; NULL: not known). */
enum ap_stat_aggr ap_stat_aggr_of(const char *version, u64 number);

/* false: the record is shorter than what it has to say. */
AP_MUST_CHECK bool ap_stat_config_parse(const struct ap_data_rec *rec, struct ap_stat_config *out);
AP_MUST_CHECK bool ap_stat_value_parse(const struct ap_data_rec *rec, struct ap_stat_value *out);
AP_MUST_CHECK bool ap_stat_round_parse(const struct ap_data_rec *rec, struct ap_stat_round *out);
/* The nth thread of a THREAD_MAP; false: it has fewer. */
AP_MUST_CHECK bool ap_thread_map_entry(const struct ap_data_rec *rec, u32 nth, s32 *tid,
				       char comm[16]);

#endif
