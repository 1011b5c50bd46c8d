/* SPDX-License-Identifier: MIT */
/*
 * All of these records are words of 64 bits, but for the CPU and the thread of a STAT, which share
 * one.
 */
#include "profile/data/stat_data.h"

#include <stdio.h>

#include <string.h>

#include "profile/data/format.h"

enum config_term { TERM_AGGR, TERM_INTERVAL, TERM_SCALE };

#define EVENT_UPDATE_UNIT  0
#define EVENT_UPDATE_SCALE 1

#define CONFIG_TERM  16U /* bytes of a tag and its value */
#define STAT_SIZE    48U
#define THREAD_ENTRY 24U

/* --- writing */

void ap_record_stat_config(struct ap_buf *to, const struct ap_stat_config *config)
{
	const u64 value[] = { [TERM_AGGR] = config->aggr,
			      [TERM_INTERVAL] = config->interval,
			      [TERM_SCALE] = config->scale };
	size_t start = ap_buf_begin(to, AP_RECORD_STAT_CONFIG, 0);

	ap_buf_u64(to, AP_ARRAY_SIZE(value));
	for (u64 tag = 0; tag < AP_ARRAY_SIZE(value); tag++) {
		ap_buf_u64(to, tag);
		ap_buf_u64(to, value[tag]);
	}
	ap_buf_end(to, start);
}

void ap_record_stat(struct ap_buf *to, const struct ap_stat_value *value)
{
	size_t start = ap_buf_begin(to, AP_RECORD_STAT, 0);

	ap_buf_u64(to, value->id);
	ap_buf_u32(to, (u32)value->cpu);
	ap_buf_u32(to, value->thread);
	ap_buf_u64(to, value->count);
	ap_buf_u64(to, value->enabled);
	ap_buf_u64(to, value->running);
	ap_buf_end(to, start);
}

void ap_record_stat_round(struct ap_buf *to, const struct ap_stat_round *round)
{
	size_t start = ap_buf_begin(to, AP_RECORD_STAT_ROUND, 0);

	ap_buf_u64(to, round->is_final);
	ap_buf_u64(to, round->time);
	ap_buf_end(to, start);
}

void ap_record_event_unit(struct ap_buf *to, u64 id, const char *unit)
{
	size_t start = ap_buf_begin(to, AP_RECORD_EVENT_UPDATE, 0);

	ap_buf_u64(to, EVENT_UPDATE_UNIT);
	ap_buf_u64(to, id);
	ap_buf_chars(to, unit, 8);
	ap_buf_end(to, start);
}

void ap_record_event_scale(struct ap_buf *to, u64 id, double scale)
{
	size_t start = ap_buf_begin(to, AP_RECORD_EVENT_UPDATE, 0);

	ap_buf_u64(to, EVENT_UPDATE_SCALE);
	ap_buf_u64(to, id);
	ap_buf_put(to, &scale, sizeof(scale));
	ap_buf_end(to, start);
}

/* --- reading */

bool ap_stat_config_parse(const struct ap_data_rec *rec, struct ap_stat_config *out)
{
	const u8 *p = rec->bytes + AP_RECORD_HEADER + 8;
	u64 n;

	*out = (struct ap_stat_config){ .aggr = AP_AGGR_GLOBAL, .scale = 1 };
	if (rec->h.size < AP_RECORD_HEADER + 8)
		return false;
	n = ap_get64(p - 8);
	if (n > (rec->h.size - AP_RECORD_HEADER - 8) / CONFIG_TERM)
		return false;
	for (; n; n--, p += CONFIG_TERM) {
		u64 value = ap_get64(p + 8);

		switch (ap_get64(p)) {
		case TERM_AGGR:
			out->aggr = value;
			break;
		case TERM_INTERVAL:
			out->interval = value;
			break;
		case TERM_SCALE:
			out->scale = value;
			break;
		default: /* of a newer perf */
			break;
		}
	}
	return true;
}

bool ap_stat_value_parse(const struct ap_data_rec *rec, struct ap_stat_value *out)
{
	const u8 *p = rec->bytes + AP_RECORD_HEADER;

	if (rec->h.size < STAT_SIZE)
		return false;
	*out = (struct ap_stat_value){ .id = ap_get64(p),
				       .cpu = (s32)ap_get32(p + 8),
				       .thread = ap_get32(p + 12),
				       .count = ap_get64(p + 16),
				       .enabled = ap_get64(p + 24),
				       .running = ap_get64(p + 32) };
	return true;
}

bool ap_stat_round_parse(const struct ap_data_rec *rec, struct ap_stat_round *out)
{
	const u8 *p = rec->bytes + AP_RECORD_HEADER;

	if (rec->h.size < AP_RECORD_HEADER + 16)
		return false;
	*out = (struct ap_stat_round){ .is_final = ap_get64(p) == 1, .time = ap_get64(p + 8) };
	return true;
}

bool ap_thread_map_entry(const struct ap_data_rec *rec, u32 nth, s32 *tid, char comm[16])
{
	const u8 *p = rec->bytes + AP_RECORD_HEADER;
	u64 n, room;

	if (rec->h.size < AP_RECORD_HEADER + 8)
		return false;
	n = ap_get64(p);
	room = (rec->h.size - AP_RECORD_HEADER - 8) / THREAD_ENTRY;
	if (nth >= n || nth >= room)
		return false;
	p += 8 + (size_t)nth * THREAD_ENTRY;
	*tid = (s32)ap_get64(p);
	memcpy(comm, p + 8, 15);
	comm[15] = '\0';
	return true;
}

/* perf 6.5 has caches behind dies, perf 6.9 clusters before them: what follows moves up. */
enum ap_stat_aggr ap_stat_aggr_of(const char *version, u64 number)
{
	unsigned int major, minor, more = 0;

	if (version && sscanf(version, "%u.%u", &major, &minor) == 2)
		more = major > 6 || (major == 6 && minor >= 9) ? 2 : major == 6 && minor >= 5;
	if (number <= AP_AGGR_DIE || !more)
		return number <= AP_AGGR_NODE ? (enum ap_stat_aggr)number : AP_AGGR_UNSET;
	if (number <= AP_AGGR_DIE + more)
		return number == AP_AGGR_DIE + more ? AP_AGGR_CACHE : AP_AGGR_CLUSTER;
	number -= more;
	return number <= AP_AGGR_NODE ? (enum ap_stat_aggr)number : AP_AGGR_UNSET;
}
