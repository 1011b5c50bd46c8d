/* SPDX-License-Identifier: MIT */
#include "samplers.h"

#include <stdlib.h>
#include <string.h>

#include "sampling/overflow.h"
#include "sampling/record.h"
#include "tap/tap.h"

#define NSAMPLERS 8192

struct fake_sampler {
	struct ap_sampler s;
	struct ap_sampling live; /* follows */
	struct fake_task *task;
	bool used, linked;
};

static struct fake_sampler samplers[NSAMPLERS];
static struct fake_ring rings[NRINGS];
static u64 lanes[AP_LANE_MAX];
u32 lanes_used[AP_LANE_MAX];
struct fake_wakes wakes;

static struct fake_sampler *fake_of(struct ap_sampler *s)
{
	return ap_container_of(s, struct fake_sampler, s);
}

/* --- ops */

static int w_want_lane(void *p, u64 kinds, u32 *lane)
{
	u32 i, at = AP_LANE_MAX;

	(void)p;
	for (i = 0; i < AP_LANE_MAX; i++) {
		if (lanes_used[i] && lanes[i] == kinds)
			break;
		if (!lanes_used[i] && at == AP_LANE_MAX)
			at = i;
	}
	if (i == AP_LANE_MAX)
		i = at;
	if (i == AP_LANE_MAX)
		return -AP_ENOSPC;
	lanes[i] = kinds;
	lanes_used[i]++;
	*lane = i;
	return 0;
}

static void w_put_lane(void *p, u32 lane)
{
	(void)p;
	REQUIRE(lane < AP_LANE_MAX && lanes_used[lane]);
	lanes_used[lane]--;
}

static int w_sampler_new(void *p, void *host, struct ap_event *event, struct ap_sampler **out)
{
	struct world *w = p;

	(void)event;
	if (!w->allocs_left)
		return -AP_ENOMEM;
	for (u32 i = 0; i < NSAMPLERS; i++) {
		if (samplers[i].used)
			continue;
		memset(&samplers[i], 0, sizeof(samplers[i]));
		samplers[i].used = true;
		samplers[i].task = host;
		*out = &samplers[i].s;
		return 0;
	}
	return -AP_ENOSPC;
}

static void w_sampler_link(void *p, void *host, struct ap_sampler *s)
{
	(void)p;
	REQUIRE(fake_of(s)->used && fake_of(s)->task == host && !fake_of(s)->linked);
	REQUIRE(s->source && s->id && !(ap_sampling_of(s)->state & AP_SAMPLER_ARMED));
	fake_of(s)->linked = true;
}

static void w_sampler_free(void *p, void *host, struct ap_sampler *s)
{
	(void)p;
	REQUIRE(fake_of(s)->used && fake_of(s)->task == host);
	fake_of(s)->used = false;
}

static void w_sampler_lock(void *p, void *host)
{
	struct fake_task *t = host;

	(void)p;
	REQUIRE(!t->is_locked);
	t->is_locked = true;
}

static void w_sampler_unlock(void *p, void *host, bool kick)
{
	struct fake_task *t = host;

	(void)p;
	REQUIRE(t->is_locked);
	t->is_locked = false;
	t->kicks += kick;
}

static u64 value_of(const struct fake_task *t, const struct ap_sampler *s)
{
	u64 sum = 0;

	if (s->source == AP_SAMPLE_CLOCK)
		return t->time;
	for (u32 k = 0; k < NKINDS; k++)
		if (s->kinds & AP_KIND_BIT(k))
			sum += t->raw[k];
	return sum;
}

static u64 w_sampler_value(void *p, void *host, const struct ap_sampler *s)
{
	(void)p;
	return value_of(host, s);
}

static void w_wake(void *p, struct ap_event *event, u32 what)
{
	(void)p;
	wakes.event = event;
	wakes.poll += !!(what & AP_WAKE_POLL);
	wakes.in += !!(what & AP_WAKE_IN);
	wakes.hup += !!(what & AP_WAKE_HUP);
}

static u64 w_clock_id(void *p, s32 clockid)
{
	return ((struct world *)p)->clock + 1000000000ULL * (u64)(clockid + 1);
}

/* --- life */

void samplers_init(struct world *w)
{
	memset(samplers, 0, sizeof(samplers));
	memset(rings, 0, sizeof(rings));
	memset(lanes_used, 0, sizeof(lanes_used));
	memset(&wakes, 0, sizeof(wakes));
	w->ops.want_lane = w_want_lane;
	w->ops.put_lane = w_put_lane;
	w->ops.sampler_new = w_sampler_new;
	w->ops.sampler_link = w_sampler_link;
	w->ops.sampler_free = w_sampler_free;
	w->ops.sampler_lock = w_sampler_lock;
	w->ops.sampler_unlock = w_sampler_unlock;
	w->ops.sampler_value = w_sampler_value;
	w->ops.wake = w_wake;
	w->ops.clock_id = w_clock_id;
}

u32 nr_samplers(void)
{
	u32 n = 0;

	for (u32 i = 0; i < NSAMPLERS; i++)
		n += samplers[i].used;
	return n;
}

struct ap_sampler *sampler_at(struct fake_task *t, u32 n)
{
	for (u32 i = 0; i < NSAMPLERS; i++)
		if (samplers[i].used && samplers[i].linked && samplers[i].task == t && !n--)
			return &samplers[i].s;
	return NULL;
}

void samplers_end(struct world *w)
{
	(void)w;
	EXPECT_U64(nr_samplers(), 0);
	for (u32 i = 0; i < AP_LANE_MAX; i++)
		EXPECT_U64(lanes_used[i], 0);
}

/* --- threads */

static void map_of(const struct ap_sampler *s, struct ap_ring_map *map)
{
	struct fake_ring *r = &rings[s->ring - 1];

	REQUIRE(s->ring <= NRINGS && r->used);
	*map = (struct ap_ring_map){ .ring = &r->ring,
				     .page = &r->page,
				     .data = r->data,
				     .size = (s->ring_pages - 1) * AP_PAGE_SIZE,
				     .flags = s->ring_flags };
	REQUIRE(map->size == RING_SIZE);
}

static void overflow(struct world *w, struct fake_task *t, struct ap_sampler *s, u64 value)
{
	const struct ap_ring_writer writer = { .name = AP_RING_NAME(0, t - w->tasks) };
	struct ap_moment m = { .value = value, .now = w->clock, .tick = w->clock / AP_TICK_NS };
	struct ap_sample_data d = { .misc = AP_PERF_RECORD_MISC_USER,
				    .ip = ap_sampling_of(s)->next };
	struct ap_record_format f;
	bool woken = false;
	struct ap_ring_map map;
	u32 what;
	u64 period;

	what = ap_sampler_overflow(s, &m, &period);
	d.period = period;
	d.origin = (struct ap_record_origin){ .pid = (u32)(t - w->tasks + 100),
					      .tid = (u32)(t - w->tasks + 100),
					      .time = w->clock,
					      .cpu = (u32)t->cpu };
	if (s->ring) {
		const struct ap_record_to to = { &map, &writer, &f, &d.origin, &woken };

		map_of(s, &map);
		ap_record_format_of(s, &f);
		if ((what & AP_OVERFLOW_THROTTLED) && ap_record_throttle(&to, true))
			ap_sampling_of(s)->lost++;
		if (ap_sample_write(&map, &writer, &f, &d, &woken))
			ap_sampling_of(s)->lost++;
	}
}

void samplers_run(struct world *w, struct fake_task *t)
{
	REQUIRE(!t->is_locked);
	for (u32 i = 0; i < NSAMPLERS; i++) {
		struct ap_sampler *s = &samplers[i].s;

		if (!samplers[i].used || !samplers[i].linked || samplers[i].task != t)
			continue;
		while (ap_sampler_is_due(s, value_of(t, s)))
			overflow(w, t, s, value_of(t, s));
	}
}

/* --- rings */

int ring_map(struct world *w, int fd, bool is_writable)
{
	struct ap_ring_map map;
	int r, n = 0;

	while (n < NRINGS && rings[n].used)
		n++;
	REQUIRE(n < NRINGS);
	memset(&rings[n], 0, sizeof(rings[n]));
	map = (struct ap_ring_map){ .ring = &rings[n].ring,
				    .page = &rings[n].page,
				    .data = rings[n].data };
	r = ap_core_mmap_ring(w->core, w->tasks[0].task, w->fds[fd], 1 + RING_SIZE / AP_PAGE_SIZE,
			      is_writable, &map, (u64)n + 1);
	if (r)
		return r;
	rings[n].used = true;
	return n;
}

int ring_for(struct world *w, struct ap_perf_attr attr, s32 pid, s32 cpu)
{
	int ring = ring_map(w, open_for(w, attr, pid, cpu), true);

	REQUIRE(ring >= 0);
	return ring;
}

bool ring_is_free(void)
{
	for (u32 i = 0; i < NRINGS; i++)
		if (!rings[i].used)
			return true;
	return false;
}

void ring_forget(int ring)
{
	memset(&rings[ring], 0xee, sizeof(rings[ring])); /* not to be written to any more */
	rings[ring].used = false;
}

void ring_unmap(struct world *w, int fd, int ring)
{
	ap_core_munmap(w->core, w->fds[fd]);
	ring_forget(ring);
}

struct fake_ring *ring_of(int ring)
{
	return &rings[ring];
}

static void copy_out(const struct fake_ring *r, u64 at, void *to, u64 n)
{
	for (u64 i = 0; i < n; i++)
		((u8 *)to)[i] = r->data[(at + i) % RING_SIZE];
}

bool ring_take(int ring, struct ring_record *rec)
{
	struct fake_ring *r = &rings[ring];

	if (r->taken == r->page.data_head)
		return false;
	copy_out(r, r->taken, &rec->header, sizeof(rec->header));
	REQUIRE(rec->header.size >= 8 && rec->header.size % 8 == 0 &&
		rec->header.size <= sizeof(rec->words));
	copy_out(r, r->taken + 8, rec->words, rec->header.size - 8U);
	rec->nr = rec->header.size / 8U - 1;
	r->taken += rec->header.size;
	r->page.data_tail = r->taken;
	return true;
}

u32 ring_count(int ring, u32 type)
{
	struct ring_record rec;
	u32 n = 0;

	while (ring_take(ring, &rec))
		n += rec.header.type == type;
	return n;
}
