/* SPDX-License-Identifier: MIT */
/*
 * Records in order of time.  A recorder drains its buffers one after the other, so their records
 * are mixed in time; after a round over all buffers it writes FINISHED_ROUND.  What it finds in the
 * next round may be older than this round's newest record, but not older than the newest of the
 * round before: up to there records may be delivered.  Equal times keep the file's order.
 *
 * The buffers' pieces are sorted in themselves, so the queue is a few ascending runs: they are
 * merged, which costs nothing where there is one.
 */
#include <stdlib.h>

#include "profile/data/internal.h"

bool ap_order_add(struct ap_order *o, u64 time, const struct ap_raw *raw)
{
	struct ap_queued *q;

	if (o->n == o->cap) {
		size_t cap;

		if (o->first > o->cap / 2) {
			memmove(o->q, o->q + o->first, (o->n - o->first) * sizeof(*o->q));
			o->n -= o->first;
			o->due -= o->first;
			o->first = 0;
		} else {
			cap = o->cap ? 2 * o->cap : 4096;
			q = realloc(o->q, cap * sizeof(*q));
			if (!q)
				return false;
			o->q = q;
			o->cap = cap;
		}
	}
	o->q[o->n++] = (struct ap_queued){ time, *raw };
	if (time > o->round_max)
		o->round_max = time;
	return true;
}

/* Merges the neighbours [a, m) and [m, b); tmp has room for the shorter. */
static void merge(struct ap_queued *q, size_t a, size_t m, size_t b, struct ap_queued *tmp)
{
	size_t i, k;

	while (a < m && q[a].time <= q[m].time)
		a++;
	while (b > m && q[b - 1].time >= q[m - 1].time)
		b--;
	if (a == m || b == m)
		return;
	if (m - a <= b - m) {
		memcpy(tmp, q + a, (m - a) * sizeof(*q));
		k = m - a;
		for (i = 0; i < k;)
			q[a++] = m < b && q[m].time < tmp[i].time ? q[m++] : tmp[i++];
		return;
	}
	memcpy(tmp, q + m, (b - m) * sizeof(*q));
	k = b - m;
	while (k)
		q[--b] = m > a && q[m - 1].time > tmp[k - 1].time ? q[--m] : tmp[--k];
}

/* Where the ascending run that begins at i ends. */
static size_t run_end(const struct ap_queued *q, size_t i, size_t n)
{
	for (i++; i < n && q[i].time >= q[i - 1].time; i++)
		;
	return i;
}

static bool sort(struct ap_queued *q, size_t n)
{
	struct ap_queued *tmp;
	size_t a, m, b;

	if (n < 2 || run_end(q, 0, n) == n)
		return true;
	tmp = malloc((n / 2 + 1) * sizeof(*q));
	if (!tmp)
		return false;
	do {
		for (a = 0; a < n && (m = run_end(q, a, n)) < n; a = b) {
			b = run_end(q, m, n);
			merge(q, a, m, b, tmp);
		}
	} while (run_end(q, 0, n) < n);
	free(tmp);
	return true;
}

static bool release(struct ap_order *o, u64 limit)
{
	size_t lo = o->first, hi = o->n, mid;

	if (o->first == o->n) {
		o->due = o->n;
		return true;
	}
	if (!sort(o->q + o->first, o->n - o->first))
		return false;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (o->q[mid].time <= limit)
			lo = mid + 1;
		else
			hi = mid;
	}
	o->due = lo;
	return true;
}

bool ap_order_round(struct ap_order *o)
{
	bool ok = release(o, o->limit);

	o->limit = o->round_max;
	return ok;
}

bool ap_order_finish(struct ap_order *o)
{
	return release(o, ~0ULL);
}
