/* SPDX-License-Identifier: MIT */
/*
 * The records by which a tool tells readers of ids, threads, CPUs, names and clocks.
 */
#include <stdio.h>
#include <string.h>

#include "profile/data/format.h"
#include "profile/symbols/running.h"

#define IDS_PER_RECORD	   2000
#define THREADS_PER_RECORD 2000
#define EVENT_UPDATE_NAME  2
#define CPU_MAP_CPUS	   0 /* a list of numbers */

static void put_ids(struct ap_buf *to, const struct ap_id_place *place, size_t n)
{
	size_t start = ap_buf_begin(to, AP_RECORD_ID_INDEX, 0);

	ap_buf_u64(to, n);
	for (size_t i = 0; i < n; i++) {
		ap_buf_u64(to, place[i].id);
		ap_buf_u64(to, place[i].index);
		ap_buf_u64(to, (u64)place[i].cpu);
		ap_buf_u64(to, (u64)place[i].tid);
	}
	ap_buf_end(to, start);
}

void ap_record_id_index(struct ap_buf *to, const struct ap_id_place *place, size_t n)
{
	for (size_t at = 0; at < n; at += IDS_PER_RECORD)
		put_ids(to, place + at, n - at < IDS_PER_RECORD ? n - at : IDS_PER_RECORD);
}

static void put_threads(struct ap_buf *to, const struct ap_thread_name *thread, size_t n)
{
	size_t start = ap_buf_begin(to, AP_RECORD_THREAD_MAP, 0);

	ap_buf_u64(to, n);
	for (size_t i = 0; i < n; i++) {
		ap_buf_u64(to, (u64)(s64)thread[i].tid);
		ap_buf_put(to, thread[i].comm, sizeof(thread[i].comm));
	}
	ap_buf_end(to, start);
}

void ap_record_thread_map(struct ap_buf *to, const struct ap_thread_name *thread, size_t n)
{
	for (size_t at = 0; at < n; at += THREADS_PER_RECORD)
		put_threads(to, thread + at,
			    n - at < THREADS_PER_RECORD ? n - at : THREADS_PER_RECORD);
}

void ap_record_cpu_map(struct ap_buf *to, const u16 *cpu, size_t n)
{
	size_t start = ap_buf_begin(to, AP_RECORD_CPU_MAP, 0);
	u16 head[2] = { CPU_MAP_CPUS, (u16)n };

	ap_buf_put(to, head, sizeof(head));
	ap_buf_put(to, cpu, n * sizeof(*cpu));
	ap_buf_zero(to, AP_ALIGN_UP(sizeof(head) + n * sizeof(*cpu), 8) - sizeof(head) -
				n * sizeof(*cpu));
	ap_buf_end(to, start);
}

void ap_record_event_name(struct ap_buf *to, u64 id, const char *name)
{
	size_t start = ap_buf_begin(to, AP_RECORD_EVENT_UPDATE, 0);

	ap_buf_u64(to, EVENT_UPDATE_NAME);
	ap_buf_u64(to, id);
	ap_buf_chars(to, name, 8);
	ap_buf_end(to, start);
}

void ap_record_time_conv(struct ap_buf *to, const struct ap_perf_page *page)
{
	u8 caps[8] = { 0 };
	size_t start;

	if (!(page->capabilities & AP_PERF_CAP_USER_TIME_ZERO))
		return;
	start = ap_buf_begin(to, AP_RECORD_TIME_CONV, 0);
	ap_buf_u64(to, page->time_shift);
	ap_buf_u64(to, page->time_mult);
	ap_buf_u64(to, page->time_zero);
	ap_buf_u64(to, page->time_cycles);
	ap_buf_u64(to, page->time_mask);
	caps[0] = 1;
	caps[1] = !!(page->capabilities & AP_PERF_CAP_USER_TIME_SHORT);
	ap_buf_put(to, caps, sizeof(caps));
	ap_buf_end(to, start);
}
