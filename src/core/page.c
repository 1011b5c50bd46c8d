/* SPDX-License-Identifier: MIT */
/*
 * Mappings: the control page, kept up to date under its sequence lock, and which event writes into
 * which data area.  An event has a buffer, which others share by SET_OUTPUT, and it dies with its
 * last mapping.
 */
#include "abi/errno.h"
#include "core/internal.h"

#define POLL_IN	 0x001U
#define POLL_ERR 0x008U
#define POLL_HUP 0x010U

/* --- the control page */

/* Readers are in other processes: the order of these stores is what they rely on. */
static void page_begin(struct ap_perf_page *page)
{
	__atomic_store_n(&page->lock, page->lock + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void page_end(struct ap_perf_page *page)
{
	__atomic_store_n(&page->lock, page->lock + 1, __ATOMIC_RELEASE);
}

#define CPU_NUMBERS  64 /* from this number of a counter on: beside those of tasks */
#define PAGES_NS     10000000ULL
#define PAGES_MAX_NS (16 * PAGES_NS)

/*
 * The number of the counter that rdpmc reads plus one; 0 where no counter tells the count.  A CPU's
 * events are told from those of tasks, and from those of other CPUs.  Who maps only another
 * process' event has no use for a number:  natively its counter is where that runs.
 */
static u32 page_index(const struct ap_event *e)
{
	if (e->state != AP_STATE_ACTIVE || !e->hw.kinds || e->hw.counts_nothing)
		return 0;
	if (!e->ctx->task)
		return e->page_number < 0 ? 0 : CPU_NUMBERS + e->page_number + 1;
	if (e->is_others || e->hw.counter < 0)
		return 0;
	return e->hw.counter + 1;
}

bool ap_core_pmc(struct ap_core *core, const struct ap_event *e, u32 counter, u64 *value)
{
	(void)core;
	if (!e->page || page_index(e) != counter + 1)
		return false;
	/* what the page's offset is taken from */
	*value = ap_event_own_count(e) - e->count + e->hw.start;
	return true;
}

void ap_event_set_others(struct ap_event *e, bool is_others)
{
	if (e->is_others == is_others)
		return;
	e->is_others = is_others;
	ap_event_changed(e);
}

static void take_cpu_number(struct ap_event *e)
{
	u64 free = ~e->core->cpu_numbers;

	if (!e->ctx || e->ctx->task || e->page_number >= 0 || !free)
		return;
	e->page_number = __builtin_ctzll(free);
	e->core->cpu_numbers |= free & -free;
}

void ap_page_leave(struct ap_event *e)
{
	e->page = NULL;
	ap_list_del(&e->in_pages);
	if (e->page_number >= 0)
		e->core->cpu_numbers &= ~(1ULL << e->page_number);
	e->page_number = -1;
}

static void fill_time(const struct ap_event *e, struct ap_perf_page *page)
{
	const struct ap_core_config *c = &e->core->config;
	u64 now;

	if (!c->time_mult)
		return;
	now = e->core->ops.clock(e->core->world);
	page->time_mult = c->time_mult;
	page->time_shift = c->time_shift;
	if (!c->task_time_is_unseen || (e->ctx && !e->ctx->task)) {
		page->capabilities |= AP_PERF_CAP_USER_TIME;
		page->time_offset = c->time_zero - now;
	}
	if (e->attr.flags & AP_PERF_USE_CLOCKID)
		return;
	page->capabilities |= AP_PERF_CAP_USER_TIME_ZERO;
	page->time_zero = c->time_zero;
}

static u16 pmc_width(const struct ap_core *core)
{
	return core->config.pmc_width ? core->config.pmc_width : 64;
}

/*
 * What rdpmc gave when the event was counted last, as its reader takes it: a signed number of so
 * many bits.
 */
static u64 pmc_start(const struct ap_event *e)
{
	u32 shift = 64U - pmc_width(e->core);

	return (u64)((s64)((e->hw.start + e->core->config.pmc_bias) << shift) >> shift);
}

void ap_page_update(struct ap_event *e)
{
	struct ap_perf_page *page = e->page;
	u32 index = page_index(e);

	if (e->ctx)
		ap_event_update(e, ap_ctx_now(e->ctx));
	page_begin(page);
	page->index = index;
	page->offset = index ? e->count - pmc_start(e) : ap_event_own_count(e);
	page->offset += e->child_count;
	page->time_enabled = e->enabled + e->child_enabled;
	page->time_running = e->running + e->child_running;
	if (e->state == AP_STATE_ACTIVE) {
		/* a clock may not have moved since it began; readers divide by these */
		page->time_enabled += !page->time_enabled;
		page->time_running += !page->time_running;
	}
	page->capabilities = AP_PERF_CAP_BIT0_IS_DEPRECATED;
	if (!ap_event_is_soft(e) && e->core->ops.raw) {
		page->capabilities |= AP_PERF_CAP_USER_RDPMC;
		page->pmc_width = pmc_width(e->core);
	}
	fill_time(e, page);
	page_end(page);
	e->page_time = e->enabled;
}

/*
 * A kernel writes times at each switch of the task, which nobody sees here.  Who sleeps is looked
 * at less and less.
 */
u64 ap_pages_tick(struct ap_core *core)
{
	bool is_any = false, has_moved = false;
	struct ap_list *l;
	u64 now;

	if (ap_list_empty(&core->pages))
		return 0;
	now = core->ops.clock(core->world);
	if (now - core->pages_at < core->pages_ns)
		return core->pages_ns - (now - core->pages_at);
	ap_list_for_each(l, &core->pages) {
		struct ap_event *e = ap_list_entry(l, struct ap_event, in_pages);
		u64 was = e->page_time;

		if (!ap_event_is_enabled(e))
			continue;
		is_any = true;
		ap_page_update(e);
		has_moved |= e->enabled != was;
	}
	core->pages_at = now;
	core->pages_ns = has_moved || core->pages_ns < PAGES_NS ? PAGES_NS
			 : core->pages_ns < PAGES_MAX_NS	? 2 * core->pages_ns
								: PAGES_MAX_NS;
	return is_any ? core->pages_ns : 0;
}

static void page_start(struct ap_event *e, struct ap_perf_page *page)
{
	page->size = offsetof(struct ap_perf_page, reserved);
	page->data_offset = AP_PAGE_SIZE;
	page->data_size = e->buffer->data_pages * AP_PAGE_SIZE;
	e->page = page;
	if (ap_list_empty(&e->in_pages))
		ap_list_add_tail(&e->core->pages, &e->in_pages);
	e->core->pages_ns = 0;
	take_cpu_number(e);
	ap_event_changed(e);
}

/* --- buffers */

/* poll has another answer. */
void ap_event_poll_changed(struct ap_event *e)
{
	if (e->core->ops.wake && !e->parent)
		e->core->ops.wake(e->core->world, e, AP_WAKE_POLL);
}

static void leave(struct ap_event *e)
{
	struct ap_buffer *b = e->buffer;

	if (!b)
		return;
	ap_list_del(&e->of_buffer);
	e->buffer = NULL;
	if (!ap_list_empty(&b->users))
		return;
	ap_list_del(&b->all);
	ap_free(e->core, b, sizeof(*b));
}

void ap_buffer_leave(struct ap_event *e)
{
	if (!e->buffer)
		return;
	leave(e);
	ap_samplers_set_output(e);
	ap_event_poll_changed(e);
}

static void buffer_join(struct ap_event *e, struct ap_buffer *b)
{
	leave(e);
	e->buffer = b;
	ap_list_add_tail(&b->users, &e->of_buffer);
	ap_samplers_set_output(e);
	ap_event_poll_changed(e);
}

void ap_buffer_of_sampler(const struct ap_event *e, struct ap_sampler *s)
{
	const struct ap_buffer *b = ap_event_opened(e)->buffer;

	s->ring = b && b->map.ring ? b->at : 0;
	s->ring_pages = s->ring ? 1 + b->data_pages : 0;
	s->ring_flags = s->ring ? b->map.flags : 0;
	if (e->core->ops.sampler_ring)
		s->ring = e->core->ops.sampler_ring(e->core->world, s, s->ring ? &b->map : NULL,
						    s->ring);
}

/* All that write there have the same news. */
static void tell_users(struct ap_buffer *b)
{
	struct ap_list *l, *n;

	ap_list_for_each_safe(l, n, &b->users)
		ap_event_poll_changed(ap_list_entry(l, struct ap_event, of_buffer));
}

void ap_buffer_woken(struct ap_buffer *b)
{
	b->seen = __atomic_load_n(&b->map.ring->wakes, __ATOMIC_ACQUIRE);
	tell_users(b);
}

void ap_core_rings_woken(struct ap_core *core)
{
	struct ap_list *l, *n;

	ap_list_for_each_safe(l, n, &core->buffers) {
		struct ap_buffer *b = ap_list_entry(l, struct ap_buffer, all);

		if (b->map.ring &&
		    __atomic_load_n(&b->map.ring->wakes, __ATOMIC_ACQUIRE) != b->seen)
			ap_buffer_woken(b);
	}
}

void ap_core_writer_died(struct ap_core *core, u32 party, u32 name)
{
	struct ap_list *l;

	ap_list_for_each(l, &core->buffers) {
		struct ap_buffer *b = ap_list_entry(l, struct ap_buffer, all);

		if (b->map.ring && b->map.party == party && ap_ring_clear(&b->map, name))
			ap_buffer_woken(b);
	}
}

static bool is_backward(const struct ap_event *e)
{
	return e->attr.flags & AP_PERF_WRITE_BACKWARD;
}

int ap_output_set(struct ap_event *e, struct ap_event *target)
{
	if (target) {
		if (target == e || target->cpu != e->cpu)
			return -AP_EINVAL;
		if (e->cpu == -1 && target->target != e->target)
			return -AP_EINVAL;
		if (ap_event_clockid(target) != ap_event_clockid(e) ||
		    is_backward(target) != is_backward(e))
			return -AP_EINVAL;
	}
	if (e->nr_maps)
		return -AP_EINVAL;
	if (!target) {
		ap_buffer_leave(e);
		return 0;
	}
	if (!target->buffer)
		return -AP_EINVAL;
	if (e->buffer != target->buffer)
		buffer_join(e, target->buffer);
	return 0;
}

int ap_output_pause(struct ap_event *e, bool pause)
{
	if (!e->buffer || !e->buffer->data_pages)
		return -AP_EINVAL;
	e->buffer->paused = pause;
	if (e->buffer->map.ring)
		__atomic_store_n(&e->buffer->map.ring->paused, pause, __ATOMIC_RELEASE);
	return 0;
}

/* The first mapping says which mode it is in, and the event that has it how it wakes. */
static void ring_start(struct ap_event *e, struct ap_buffer *b, const struct ap_ring_map *map,
		       u64 at, bool is_writable)
{
	u64 watermark = e->attr.flags & AP_PERF_WATERMARK ? e->attr.wakeup_events : 0;

	b->map = *map;
	b->map.size = b->data_pages * AP_PAGE_SIZE;
	b->map.flags =
		(is_writable ? 0 : AP_RING_OVERWRITE) | (is_backward(e) ? AP_RING_BACKWARD : 0);
	b->at = at;
	ap_ring_init(b->map.ring, b->map.size, watermark);
}

/*
 * Linux refuses an inherited event that follows its task, because a buffer there has one CPU to
 * write it.  Our rings have a lock, so the session's owner may; others see what they see natively.
 */
static bool may_map(const struct ap_event *e, const struct ap_task *caller)
{
	return !caller || e->cpu != -1 || !(e->attr.flags & AP_PERF_INHERIT);
}

static int map_pages(struct ap_event *e, u64 pages, bool is_writable, struct ap_perf_page *page,
		     const struct ap_ring_map *ring, u64 at)
{
	struct ap_core *core = e->core;
	struct ap_buffer *b;
	u64 data = pages - 1;

	if (!pages || (data & (data - 1)))
		return -AP_EINVAL;
	if (e->buffer) {
		if (e->buffer->data_pages != data)
			return -AP_EINVAL;
		if (!e->nr_maps)
			return -AP_EBUSY; /* its output goes elsewhere */
	} else {
		b = ap_alloc(core, sizeof(*b));
		if (!b)
			return -AP_ENOMEM;
		b->data_pages = data;
		ap_list_init(&b->users);
		ap_list_init(&b->all);
		ap_list_add_tail(&core->buffers, &b->all);
		if (ring && data)
			ring_start(e, b, ring, at, is_writable);
		buffer_join(e, b);
	}
	e->nr_maps++;
	e->buffer->nr_maps++;
	page_start(e, page);
	return 0;
}

int ap_core_mmap(struct ap_core *core, struct ap_task *caller, struct ap_event *e, u64 pages,
		 bool is_writable, struct ap_perf_page *page)
{
	(void)core;
	if (!may_map(e, caller))
		return -AP_EINVAL;
	return map_pages(e, pages, is_writable, page, NULL, 0);
}

int ap_core_mmap_ring(struct ap_core *core, struct ap_task *caller, struct ap_event *e, u64 pages,
		      bool is_writable, const struct ap_ring_map *ring, u64 at)
{
	(void)core;
	if (!may_map(e, caller))
		return -AP_EINVAL;
	return map_pages(e, pages, is_writable, ring->page, ring, at);
}

void ap_core_munmap(struct ap_core *core, struct ap_event *e)
{
	struct ap_buffer *b = e->buffer;

	(void)core;
	if (!e->nr_maps)
		return;
	if (!--e->nr_maps)
		ap_page_leave(e);
	if (--b->nr_maps)
		return;
	/* the last mapping: events that were redirected here have no output any more */
	while (b->users.next->next != &b->users)
		ap_buffer_leave(ap_list_entry(b->users.next, struct ap_event, of_buffer));
	ap_buffer_leave(ap_list_entry(b->users.next, struct ap_event, of_buffer));
}

u32 ap_core_would_poll(struct ap_core *core, const struct ap_event *e)
{
	const struct ap_ring *ring;

	(void)core;
	if (e->state == AP_STATE_EXIT && ap_list_empty(&e->children))
		return POLL_HUP;
	if (e->state == AP_STATE_ERROR)
		return POLL_ERR;
	if (!e->buffer)
		return POLL_HUP;
	ring = e->buffer->map.ring;
	return ring && __atomic_load_n(&ring->poll, __ATOMIC_ACQUIRE) ? POLL_IN : 0;
}

/* Asked once, told once, as the kernel's rb->poll is. */
u32 ap_core_poll(struct ap_core *core, struct ap_event *e)
{
	u32 polled = ap_core_would_poll(core, e);

	if (polled == POLL_IN) {
		__atomic_store_n(&e->buffer->map.ring->poll, 0, __ATOMIC_RELEASE);
		tell_users(e->buffer);
	}
	return polled;
}
