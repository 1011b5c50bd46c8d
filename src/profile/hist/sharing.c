/* SPDX-License-Identifier: MIT */
#include "profile/hist/sharing.h"

#include <stdlib.h>
#include <string.h>

#include "profile/hist/data_source.h"

static int cmp(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static int by_use(const void *pa, const void *pb)
{
	const struct ap_share_use *a = pa, *b = pb;
	int r = cmp(a->line, b->line);

	r = r ? r : cmp(a->offset, b->offset);
	r = r ? r : cmp(a->tid, b->tid);
	r = r ? r : cmp(a->at.ip, b->at.ip);
	return r ? r : cmp(a->is_store, b->is_store);
}

/* The worst first. */
static int by_hitm(const void *pa, const void *pb)
{
	const struct ap_share_line *a = pa, *b = pb;
	int r = cmp(b->hitm, a->hitm);

	return r ? r : cmp(a->line, b->line);
}

static u64 weight_of(const struct ap_data_event *ev, const struct ap_sample *s)
{
	return ev->attr.sample_type & AP_PERF_SAMPLE_WEIGHT ? s->weight : s->weight & ~0U;
}

static void add(struct ap_sharing *sh, struct ap_profile_session *session,
		const struct ap_data_rec *rec, u64 size)
{
	const u64 needs = AP_PERF_SAMPLE_ADDR | AP_PERF_SAMPLE_DATA_SRC;
	struct ap_share_use *u;
	struct ap_profile_thread *t;
	struct ap_sample s;
	u64 op;

	if (!rec->event || ap_sample_parse(rec->event, rec->bytes, &s)) {
		sh->damaged++;
		return;
	}
	sh->samples++;
	op = AP_SOURCE_OP(s.data_src);
	if ((rec->event->attr.sample_type & needs) != needs ||
	    !(op & (AP_SOURCE_LOAD | AP_SOURCE_STORE)) || !s.addr) {
		sh->without++;
		return;
	}
	if (sh->nuses == sh->room) {
		sh->room = sh->room ? 2 * sh->room : 1024;
		sh->use = ap_profile_realloc(sh->use, sh->room, sizeof(*sh->use));
	}
	ap_session_at(session, rec->event, s.time);
	t = ap_session_thread(session, s.pid, s.tid);
	u = &sh->use[sh->nuses++];
	*u = (struct ap_share_use){ .line = s.addr & ~(size - 1),
				    .offset = s.addr & (size - 1),
				    .tid = s.tid,
				    .comm = t->comm,
				    .is_store = op & AP_SOURCE_STORE,
				    .refs = s.period,
				    .cycles = weight_of(rec->event, &s),
				    .timed = weight_of(rec->event, &s) != 0 };
	u->hitm = AP_SOURCE_SNOOP(s.data_src) & AP_SOURCE_HITM ? s.period : 0;
	ap_session_resolve(session, t, s.cpumode, s.ip, &u->at);
	ap_session_resolve(session, t, s.cpumode, s.addr, &u->data);
}

/* Equal uses become one. */
static void merge(struct ap_sharing *sh)
{
	u32 n = 0;

	if (sh->nuses)
		qsort(sh->use, sh->nuses, sizeof(*sh->use), by_use);
	for (u32 i = 0; i < sh->nuses; i++) {
		struct ap_share_use *u = &sh->use[i], *to = n ? &sh->use[n - 1] : NULL;

		sh->refs += u->refs;
		sh->hitm += u->hitm;
		if (!to || by_use(to, u)) {
			sh->use[n++] = *u;
			continue;
		}
		to->hitm += u->hitm;
		to->refs += u->refs;
		to->cycles += u->cycles;
		to->timed += u->timed;
	}
	sh->nuses = n;
}

/* Whether a place that one thread stores to, or uses in whatever way, is another's as well. */
static bool is_shared(const struct ap_share_use *u, u32 n, bool in_any_way)
{
	for (u32 i = 0; i < n; i++)
		for (u32 k = i + 1; k < n && u[k].offset == u[i].offset; k++)
			if (u[k].tid != u[i].tid && (in_any_way || u[k].is_store || u[i].is_store))
				return true;
	return false;
}

static bool has_store(const struct ap_share_use *u, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (u[i].is_store)
			return true;
	return false;
}

/* Uses are in order of offsets; a thread that met HITM is counted once. */
static u32 count_threads(const struct ap_share_use *u, u32 n)
{
	u32 threads = 0;

	for (u32 i = 0; i < n; i++) {
		bool seen = !u[i].hitm;

		for (u32 k = 0; k < i && !seen; k++)
			seen = u[k].tid == u[i].tid && u[k].hitm;
		threads += !seen;
	}
	return threads;
}

static void add_line(struct ap_sharing *sh, u32 first, u32 n)
{
	const struct ap_share_use *u = &sh->use[first];
	struct ap_share_line l = { .line = u->line, .first = first, .n = n };

	sh->all++;
	for (u32 i = 0; i < n; i++) {
		l.hitm += u[i].hitm;
		l.loads += u[i].is_store ? 0 : u[i].hitm;
		l.stores += u[i].is_store ? u[i].hitm : 0;
	}
	l.threads = count_threads(u, n);
	if (l.threads < 2)
		return;
	l.is_unknown = !has_store(u, n) && is_shared(u, n, true);
	l.is_false = !l.is_unknown && !is_shared(u, n, false);
	sh->line = ap_profile_realloc(sh->line, sh->nlines + 1, sizeof(*sh->line));
	sh->line[sh->nlines++] = l;
}

void ap_sharing_read(struct ap_sharing *sh, struct ap_profile_session *s, struct ap_data *d,
		     u64 size)
{
	struct ap_data_rec rec;

	memset(sh, 0, sizeof(*sh));
	while (ap_data_next(d, &rec)) {
		if (rec.h.type == AP_PERF_RECORD_SAMPLE)
			add(sh, s, &rec, size);
		else
			ap_session_record(s, &rec);
	}
	merge(sh);
	for (u32 i = 0, n; i < sh->nuses; i += n) {
		for (n = 1; i + n < sh->nuses && sh->use[i + n].line == sh->use[i].line; n++)
			;
		add_line(sh, i, n);
	}
	if (sh->nlines)
		qsort(sh->line, sh->nlines, sizeof(*sh->line), by_hitm);
}

void ap_sharing_fini(struct ap_sharing *sh)
{
	free(sh->use);
	free(sh->line);
	memset(sh, 0, sizeof(*sh));
}
