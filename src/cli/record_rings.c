/* SPDX-License-Identifier: MIT */
/*
 * From the rings to the file.  A ring is read up to the head that is seen first, copied out in
 * whole records and given free at once, so that the writing of a file never holds up a writer of
 * the ring.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "abi/record.h"
#include "cli/record.h"

/* IDENTIFIER, IP and TID, of those a sample has, precede its time. */
static size_t time_offset(u64 sample_type)
{
	size_t at = sizeof(struct ap_perf_event_header);

	at += sample_type & AP_PERF_SAMPLE_IDENTIFIER ? 8 : 0;
	at += sample_type & AP_PERF_SAMPLE_IP ? 8 : 0;
	at += sample_type & AP_PERF_SAMPLE_TID ? 8 : 0;
	return at;
}

static void note_time(struct record *r, u64 time)
{
	if (!r->first_time || time < r->first_time)
		r->first_time = time;
	if (time > r->last_time)
		r->last_time = time;
}

/* What the last line tells, and the section of times. */
void record_account(struct record *r, const char *records, size_t size)
{
	u64 type = r->event[0].attr.sample_type;
	size_t time_at = time_offset(type);

	while (size >= sizeof(struct ap_perf_event_header)) {
		struct ap_perf_event_header h;
		u64 value;

		memcpy(&h, records, sizeof(h));
		if (h.size < sizeof(h) || h.size > size)
			return;
		record_dsos_note(&r->dsos, records);
		if (r->opts->do_switch)
			record_tasks_note(&r->tasks, records);
		if (h.type == AP_PERF_RECORD_SAMPLE && h.size >= time_at + 8) {
			memcpy(&value, records + time_at, sizeof(value));
			note_time(r, value);
			r->samples++;
		} else if (h.type == AP_PERF_RECORD_LOST && h.size >= sizeof(h) + 16) {
			memcpy(&value, records + sizeof(h) + 8, sizeof(value));
			r->lost += value;
		}
		records += h.size;
		size -= h.size;
	}
}

/* True when there was anything. */
static bool read_ring(struct record *r, struct record_ring *ring)
{
	struct ap_perf_page *page = ring->map.page;
	u64 mask = ring->map.size - 1, tail = page->data_tail, head, from, n, first;

	/* pairs with the writer's barrier: records before the head that tells of them */
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	n = head - tail;
	if (!n || n > ring->map.size)
		return false;
	from = tail & mask;
	first = ring->map.size - from < n ? ring->map.size - from : n;
	r->scratch.size = 0;
	ap_buf_put(&r->scratch, ring->map.data + from, first);
	ap_buf_put(&r->scratch, ring->map.data, n - first);
	/* the copy precedes the tail that gives its place away */
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	if (r->scratch.failed) {
		r->error = -ENOMEM;
		return true;
	}
	record_filters_apply(r, &r->scratch);
	record_account(r, r->scratch.data, r->scratch.size);
	record_file_put(r, r->scratch.data, r->scratch.size);
	return true;
}

/* Whole records from the first on, before one that was overwritten in part or never written. */
static size_t whole_records(const char *records, size_t size)
{
	size_t at = 0;

	while (at + sizeof(struct ap_perf_event_header) <= size) {
		struct ap_perf_event_header h;

		memcpy(&h, records + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > size - at)
			break;
		at += h.size;
	}
	return at;
}

static int pause_ring(struct record_ring *ring, bool on)
{
	struct ap_client_ioctl args = { .cmd = AP_PERF_IOC_PAUSE_OUTPUT, .arg = on };

	return (int)ap_client_ioctl(ring->event, &args);
}

/* The newest comes first.  Who writes meanwhile would write over what is read. */
static bool dump_ring(struct record *r, struct record_ring *ring)
{
	u64 mask = ring->map.size - 1, head, from, n, first;

	if (pause_ring(ring, true))
		return false;
	head = __atomic_load_n(&ring->map.page->data_head, __ATOMIC_ACQUIRE);
	n = ring->dumped - head;
	n = n < ring->map.size ? n : ring->map.size;
	from = head & mask;
	first = ring->map.size - from < n ? ring->map.size - from : n;
	r->scratch.size = 0;
	ap_buf_put(&r->scratch, ring->map.data + from, first);
	ap_buf_put(&r->scratch, ring->map.data, n - first);
	ring->dumped = head;
	(void)!pause_ring(ring, false);
	if (r->scratch.failed) {
		r->error = -ENOMEM;
		return true;
	}
	r->scratch.size = whole_records(r->scratch.data, n);
	record_filters_apply(r, &r->scratch);
	n = r->scratch.size;
	record_account(r, r->scratch.data, n);
	record_file_put(r, r->scratch.data, n);
	return n;
}

/*
 * Much more than the kernel's clock and the session's differ by, or a writer of the kernel's takes.
 */
#define ROUND_NS 20000000ULL

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ULL + (u64)ts.tv_nsec;
}

/*
 * Whether a round may end when all rings have been read, which is about to begin.  Readers take
 * from it that nothing follows which is older than the newest record of the round before;
 * docs/design/record.md.
 */
static bool may_end_round(const struct record *r)
{
	if (now_ns() - r->round_at < ROUND_NS)
		return false;
	ap_client_catch_up(r->client);
	for (size_t i = 0; i < r->nrings; i++)
		if (!r->ring[i].is_backward && !ap_client_has_settled(r->ring[i].event))
			return false;
	return true;
}

static void read_all(struct record *r, bool dumps)
{
	bool any = false, ends_round = may_end_round(r);

	for (size_t i = 0; i < r->nrings; i++) {
		struct record_ring *ring = &r->ring[i];

		if (!ring->is_backward)
			any |= read_ring(r, ring);
		else if (dumps)
			any |= dump_ring(r, ring);
	}
	r->has_round |= any;
	if (r->error || !r->writer)
		return;
	/* samples of an exact profile are older than what is written before them */
	ends_round &= r->has_round && !r->opts->run.profiles;
	if (ends_round) {
		r->error = ap_writer_round(r->writer);
		r->has_round = false;
		r->round_at = now_ns();
	}
	if ((any || ends_round) && !r->error)
		r->error = ap_writer_flush(r->writer);
}

void record_rings_read(struct record *r)
{
	read_all(r, false);
}

void record_rings_dump(struct record *r)
{
	read_all(r, true);
}
