/* SPDX-License-Identifier: MIT */
/*
 * Feeds: what the kernel writes down of a task for us, where it permits, in the ring of an event of its own.
 * So far that is when the task is on a CPU.  Read at ticks, before each request is served and at the task's end;
 * told to the core with the kernel's time, which is the clock that ours follows.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/host_internal.h"

#define DATA_PAGES 16U /* some 1600 switches until it is read */
#define RING_BYTES ((u64)DATA_PAGES * AP_PAGE_SIZE)
#define FEED_NS	   4000000ULL

struct ap_host_feed {
	struct ap_host_task *task;
	int fd;
	struct perf_event_mmap_page *page; /* NULL: not mapped in this process yet */
	bool is_out;			   /* the task, by what has been told */
	struct ap_host_feed *next, **prev;
};

/* PERF_RECORD_SWITCH with sample_id_all of TID | TIME | CPU. */
struct switch_record {
	struct perf_event_header header;
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
};

static int open_event(pid_t tid)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr.sample_id_all = 1;
	attr.context_switch = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The mapping is not inherited by who goes on in the background. */
static bool map(struct ap_host_feed *f)
{
	void *p;

	if (f->page)
		return true;
	p = mmap(NULL, AP_PAGE_SIZE + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	f->page = p == MAP_FAILED ? NULL : p;
	return f->page;
}

static void copy(const struct ap_host_feed *f, u64 at, void *to, u64 n)
{
	const u8 *data = (const u8 *)f->page + AP_PAGE_SIZE;

	for (u64 i = 0; i < n; i++)
		((u8 *)to)[i] = data[(at + i) % RING_BYTES];
}

/* A task that waits while its event is opened is on a CPU as far as anybody was told. */
static void take(struct ap_host *host, struct ap_host_feed *f, const struct switch_record *r)
{
	const struct ap_switch sw = { .time = r->time,
				      .cpu = (s32)r->cpu,
				      .is_out = r->header.misc & PERF_RECORD_MISC_SWITCH_OUT,
				      .is_preempted = r->header.misc &
						      PERF_RECORD_MISC_SWITCH_OUT_PREEMPT };

	if (r->header.type != PERF_RECORD_SWITCH || r->cpu >= ap_host_count_cpus() ||
	    sw.is_out == f->is_out)
		return;
	f->is_out = sw.is_out;
	ap_core_switched(host->core, f->task->core, &sw);
}

static void drain(struct ap_host *host, struct ap_host_feed *f)
{
	u64 head, tail;

	if (!map(f))
		return;
	head = __atomic_load_n(&f->page->data_head, __ATOMIC_ACQUIRE);
	tail = f->page->data_tail;
	while (tail != head) {
		struct switch_record r;

		memset(&r, 0, sizeof(r));
		copy(f, tail, &r, sizeof(r.header));
		copy(f, tail, &r, r.header.size < sizeof(r) ? r.header.size : sizeof(r));
		tail += r.header.size;
		take(host, f, &r);
	}
	__atomic_store_n(&f->page->data_tail, tail, __ATOMIC_RELEASE);
}

void ap_host_feeds_drain(struct ap_host *host)
{
	for (struct ap_host_feed *f = host->feeds; f; f = f->next)
		drain(host, f);
}

u64 ap_host_feeds_tick(struct ap_host *host, u64 now)
{
	if (!host->feeds)
		return 0;
	if (now < host->feeds_ns)
		return host->feeds_ns - now;
	ap_host_feeds_drain(host);
	host->feeds_ns = now + FEED_NS;
	return FEED_NS;
}

static void begin(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_host_feed *f;
	int fd = open_event(t->tid);

	t->is_fed = true; /* or will never be */
	f = fd < 0 ? NULL : calloc(1, sizeof(*f));
	if (!f) {
		if (fd >= 0)
			close(fd);
		return;
	}
	*f = (struct ap_host_feed){
		.task = t, .fd = fd, .next = host->feeds, .prev = &host->feeds
	};
	if (f->next)
		f->next->prev = &f->next;
	host->feeds = f;
	t->feed = f;
	(void)map(f);
}

void ap_host_feed_set(struct ap_host *host, struct ap_host_task *t, bool is_wanted)
{
	if (is_wanted && !t->is_fed && t->tid > 0 && !t->is_ending)
		begin(host, t);
	else if (!is_wanted)
		ap_host_feed_end(host, t);
}

void ap_host_feed_end(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_host_feed *f = t->feed;

	t->is_fed = false;
	if (!f)
		return;
	drain(host, f);
	if (f->page)
		munmap(f->page, AP_PAGE_SIZE + RING_BYTES);
	close(f->fd);
	*f->prev = f->next;
	if (f->next)
		f->next->prev = f->prev;
	t->feed = NULL;
	free(f);
}

void ap_host_feeds_each_fd(struct ap_host *host, void (*keep)(void *arg, int fd), void *arg)
{
	for (struct ap_host_feed *f = host->feeds; f; f = f->next) {
		f->page = NULL;
		keep(arg, f->fd);
	}
}
