/* SPDX-License-Identifier: MIT */
/*
 * Records of tasks that may not write to their event's ring, since that is in another party's file
 * (docs/design/trust.md). They write to a ring in their own party's, of which we are the reader,
 * and what stands there goes on to the event's: at each wakeup, by the clock, and before somebody
 * looks.
 *
 * A ring is the work of others: what it says is copied, then checked, and a look takes no more than
 * was there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linux/host/host_internal.h"
#include "sampling/ring.h"

#define TICK_NS	   10000000ULL
#define RECORD_MAX 65536U

struct ap_host_carry {
	struct ap_host_carry *next;
	struct ap_event *event; /* that was opened */
	struct ap_ring_map map;
	u64 off;  /* what samplers call it */
	u64 tail; /* what we have read */
	u32 users;
};

static void copy_out(const struct ap_ring_map *map, u64 from, void *to, u32 n)
{
	u64 at = from & (map->size - 1), first = map->size - at < n ? map->size - at : n;

	memcpy(to, map->data + at, first);
	memcpy((u8 *)to + first, map->data, n - first);
}

static bool is_sane(const struct ap_perf_event_header *h, u64 there)
{
	return h->size >= sizeof(*h) && !(h->size % 8) && h->size <= there &&
	       (h->type == AP_PERF_RECORD_SAMPLE || h->type == AP_PERF_RECORD_LOST ||
		h->type == AP_PERF_RECORD_THROTTLE || h->type == AP_PERF_RECORD_UNTHROTTLE);
}

static void carry(struct ap_host *host, struct ap_host_carry *c)
{
	static u64 record[RECORD_MAX / 8];
	u64 head = __atomic_load_n(&c->map.page->data_head, __ATOMIC_ACQUIRE);
	struct ap_perf_event_header h;

	/* what cannot be is skipped */
	if (head - c->tail > c->map.size)
		c->tail = head;
	while (c->tail != head) {
		copy_out(&c->map, c->tail, &h, sizeof(h));
		if (head - c->tail < sizeof(h) || !is_sane(&h, head - c->tail)) {
			c->tail = head;
			break;
		}
		copy_out(&c->map, c->tail, record, h.size);
		/* it may be another one by now */
		memcpy(record, &h, sizeof(h));
		c->tail += h.size;
		ap_core_carry(host->core, c->event, record, h.size);
	}
	__atomic_store_n(&c->map.page->data_tail, c->tail, __ATOMIC_RELEASE);
}

void ap_host_carry_all(struct ap_host *host)
{
	for (struct ap_host_carry *c = host->carries; c; c = c->next)
		carry(host, c);
}

u64 ap_host_carries_tick(struct ap_host *host, u64 now)
{
	if (!host->carries)
		return 0;
	if (now >= host->carries_ns) {
		ap_host_carry_all(host);
		host->carries_ns = now + TICK_NS;
	}
	return host->carries_ns - now;
}

struct ap_host_carry *ap_host_carry_get(struct ap_host *host, u32 party, struct ap_event *event,
					u64 size)
{
	struct ap_host_carry *c;

	event = ap_event_opened(event);
	for (c = host->carries; c; c = c->next)
		if (c->event == event && c->map.party == party && c->map.size == size) {
			c->users++;
			return c;
		}
	c = calloc(1, sizeof(*c));
	if (!c || ap_host_ring_take(host, party, size, &c->map, &c->off)) {
		free(c);
		return NULL;
	}
	/* half of it would be late for a reader that waits for a few records */
	ap_ring_init(c->map.ring, size, size / 8);
	c->map.page->data_head = c->map.page->data_tail = 0;
	c->event = event;
	c->users = 1;
	c->next = host->carries;
	host->carries = c;
	return c;
}

static void drop(struct ap_host *host, struct ap_host_carry *c)
{
	struct ap_host_carry **p = &host->carries;

	carry(host, c);
	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	ap_host_ring_give(host, &c->map, c->off);
	free(c);
}

void ap_host_carry_put(struct ap_host *host, struct ap_host_carry *c)
{
	if (c && !--c->users)
		drop(host, c);
}

u64 ap_host_carry_ring(const struct ap_host_carry *c)
{
	return c->off;
}

/* Its memory goes. */
void ap_host_carries_end(struct ap_host *host, u32 party)
{
	struct ap_host_carry *c, *next;

	for (c = host->carries; c; c = next) {
		next = c->next;
		if (c->map.party != party)
			continue;
		for (u32 i = 0; host->samplers && i < host->samplers->used; i++)
			if (host->samplers->of[i].carry == c)
				host->samplers->of[i].carry = NULL;
		drop(host, c);
	}
}
