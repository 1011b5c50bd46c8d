/* SPDX-License-Identifier: MIT */
/*
 * The calls of 2009 (include/anyperf/legacy.h) over today's.  What a descriptor was opened with is remembered by
 * its number, and is believed only while the event behind that number says the same id: nobody tells of
 * close(2).  A mapping with data is memory of ours that anyperf_legacy_sync() fills from the real one.
 *
 * In a signal's handler only sync may be called, and read of events without GROUP: a sync that finds the lists in
 * use leaves them alone.  The other calls wait for each other.
 */
#include <anyperf/legacy.h>

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/record.h"
#include "legacy/legacy.h"

struct event {
	int fd;
	u64 id, config;
	u32 record_type, read_format;
};

struct legacy_mapping {
	struct legacy_mapping *next;
	struct anyperf_legacy_page *page; /* what the program has: a page and data */
	size_t size;			  /* of both */
	struct ap_perf_page *real;
	u64 tail, mask, lost;
	pid_t owner; /* a child of fork has the copy, and no real one */
	struct ap_legacy_ring ring;
};

static atomic_flag busy = ATOMIC_FLAG_INIT;
static struct event *events;
static size_t nevents;
static struct legacy_mapping *mappings;
static atomic_bool has_groups; /* an event with GROUP was opened */

static bool try_lock(void)
{
	return !atomic_flag_test_and_set_explicit(&busy, memory_order_acquire);
}

static void lock(void)
{
	while (!try_lock())
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* --- events */

static bool has_id(int fd, u64 *id)
{
	return !ioctl(fd, AP_PERF_IOC_ID, id);
}

/* The event that this descriptor is, if it was opened here. */
static bool find_event(int fd, struct event *out)
{
	bool is_known = false;
	u64 id;

	lock();
	for (size_t i = 0; i < nevents && !is_known; i++) {
		is_known = events[i].fd == fd;
		*out = events[i];
	}
	unlock();
	return is_known && has_id(fd, &id) && id == out->id;
}

/* Of sync, which has the lock. */
static bool config_of(void *arg, u64 id, u64 *config)
{
	(void)arg;
	for (size_t i = 0; i < nevents; i++) {
		if (events[i].id != id)
			continue;
		*config = events[i].config;
		return true;
	}
	return false;
}

static bool remember(int fd, const struct anyperf_legacy_attr *attr)
{
	struct event e = { fd, 0, attr->config, attr->record_type, attr->read_format }, *more;
	size_t i;

	if (!has_id(fd, &e.id))
		return false;
	lock();
	for (i = 0; i < nevents && events[i].fd != fd; i++)
		;
	more = i < nevents ? events : realloc(events, (nevents + 1) * sizeof(*events));
	if (more) {
		events = more;
		events[i] = e;
		nevents += i == nevents;
	}
	unlock();
	if (e.record_type & ANYPERF_LEGACY_RECORD_GROUP)
		has_groups = true;
	return more != NULL;
}

/*
 * MUNMAP records are asked for behind the open, and only sessions have them.  Whoever is to be counted from the
 * beginning is so only when that is done.
 */
static int open_event(const struct anyperf_legacy_attr *attr, struct ap_perf_attr *now, int pid,
		      int cpu, int group_fd)
{
	bool waits = attr->munmap && !(now->flags & AP_PERF_DISABLED);
	int fd, err;

	if (waits)
		now->flags |= AP_PERF_DISABLED;
	fd = (int)syscall(SYS_perf_event_open, now, pid, cpu, group_fd, 0UL);
	if (fd < 0 || !attr->munmap)
		return fd;
	err = ioctl(fd, AP_PERF_IOC_RECORD_MUNMAP, 0) ? EOPNOTSUPP : 0;
	if (!err && waits && ioctl(fd, AP_PERF_IOC_ENABLE, 0))
		err = errno;
	if (!err)
		return fd;
	close(fd);
	errno = err;
	return -1;
}

int anyperf_legacy_open(const struct anyperf_legacy_attr *attr, int pid, int cpu, int group_fd,
			unsigned long flags)
{
	struct ap_perf_attr now;
	int err, fd;

	err = flags   ? -EINVAL
	      : !attr ? -EFAULT
		      : ap_legacy_attr(attr, (u32)sysconf(_SC_PAGESIZE), &now);
	if (err) {
		errno = -err;
		return -1;
	}
	fd = open_event(attr, &now, pid < 0 ? -1 : pid, cpu, group_fd);
	if (fd < 0) {
		errno = ap_legacy_error(errno);
	} else if (!remember(fd, attr)) {
		close(fd);
		errno = ENOMEM;
		fd = -1;
	}
	return fd;
}

/* --- reads */

/* A group's read, however many members it has. */
static ssize_t read_group(int fd, u64 **words)
{
	for (size_t n = 64; n <= 1U << 20; n *= 4) {
		ssize_t got;

		*words = malloc(n * sizeof(**words));
		if (!*words)
			return -1;
		got = read(fd, *words, n * sizeof(**words));
		if (got >= 0 || errno != ENOSPC)
			return got;
		free(*words);
	}
	*words = NULL;
	errno = ENOSPC;
	return -1;
}

long anyperf_legacy_read(int fd, void *buf, size_t size)
{
	struct event e;
	u64 *words, out[3];
	ssize_t got;
	int n;

	if (!has_groups || !find_event(fd, &e) || !(e.record_type & ANYPERF_LEGACY_RECORD_GROUP))
		return read(fd, buf, size);
	got = read_group(fd, &words);
	n = got < 0 ? -errno : ap_legacy_read(e.read_format, e.id, words, (u32)got / 8, out);
	free(words);
	if (n > 0 && size < (size_t)n * 8)
		n = -ENOSPC;
	if (n < 0) {
		errno = -n;
		return -1;
	}
	memcpy(buf, out, (size_t)n * 8);
	return n * 8;
}

/* --- mappings */

/* Today's page is the page of 2009 if the counter is as wide as the loop of 2009 takes it. */
static void *map_page(void *addr, size_t size, int prot, int flags, int fd)
{
	struct ap_perf_page *real = mmap(addr, size, prot, flags, fd, 0);

	if (real == MAP_FAILED ||
	    (real->capabilities & AP_PERF_CAP_USER_RDPMC && real->pmc_width == 64))
		return real;
	munmap(real, size);
	return mmap(addr, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | (flags & MAP_FIXED), -1, 0);
}

static void *map_data(void *addr, size_t size, int flags, const struct event *e, size_t page)
{
	struct legacy_mapping *m = calloc(1, sizeof(*m));

	if (!m)
		return MAP_FAILED;
	m->size = size;
	m->mask = size - page - 1;
	m->owner = getpid();
	m->ring.record_type = e->record_type;
	m->ring.read_format = e->read_format;
	m->ring.config_of = config_of;
	/* writable, whatever was asked for: what has not been taken out is not overwritten then */
	m->real = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, 0);
	if (m->real == MAP_FAILED)
		goto fail;
	m->page = mmap(addr, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (flags & MAP_FIXED), -1, 0);
	if (m->page == MAP_FAILED) {
		munmap(m->real, size);
		goto fail;
	}
	lock();
	m->next = mappings;
	mappings = m;
	unlock();
	return m->page;
fail:
	free(m);
	return MAP_FAILED;
}

void *anyperf_legacy_mmap(void *addr, size_t size, int prot, int flags, int fd, long offset)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct event e;

	/* what the kernel refuses it shall refuse in its own way */
	if (fd < 0 || offset || !(flags & MAP_SHARED) || !find_event(fd, &e))
		return mmap(addr, size, prot, flags, fd, offset);
	return size <= page ? map_page(addr, size, prot, flags, fd)
			    : map_data(addr, size, flags, &e, page);
}

int anyperf_legacy_munmap(void *addr, size_t size)
{
	struct legacy_mapping **at, *m = NULL;

	lock();
	for (at = &mappings; *at; at = &(*at)->next) {
		if ((void *)(*at)->page != addr || (*at)->size != size)
			continue;
		m = *at;
		*at = m->next;
		break;
	}
	unlock();
	if (m && m->owner == getpid())
		munmap(m->real, size);
	free(m);
	return munmap(addr, size);
}

/* --- records */

static u8 *data_of(void *page)
{
	return (u8 *)page + sysconf(_SC_PAGESIZE);
}

/* Into a data area or out of it, around its end. */
static void copy_in(u8 *area, u64 mask, u64 at, const u8 *bytes, u32 size)
{
	u64 room = mask + 1 - (at & mask);
	u32 first = size < room ? size : (u32)room;

	memcpy(area + (at & mask), bytes, first);
	memcpy(area, bytes + first, size - first);
}

static void copy_out(const u8 *area, u64 mask, u64 at, void *bytes, u32 size)
{
	u64 room = mask + 1 - (at & mask);
	u32 first = size < room ? size : (u32)room;

	memcpy(bytes, area + (at & mask), first);
	memcpy((u8 *)bytes + first, area, size - first);
}

static void count_lost(struct legacy_mapping *m, const u8 *record, u32 size)
{
	struct ap_perf_record_lost lost;

	if (size < sizeof(struct ap_perf_event_header) + sizeof(lost))
		return;
	memcpy(&lost, record + sizeof(struct ap_perf_event_header), sizeof(lost));
	m->lost += lost.lost;
}

static void take_one(struct legacy_mapping *m, const struct ap_perf_event_header *header)
{
	static _Alignas(8) u8 record[65536], out[65536];
	u32 head = m->page->head[0];
	int n;

	copy_out(data_of(m->real), m->mask, m->tail, record, header->size);
	if (header->type == AP_PERF_RECORD_LOST)
		count_lost(m, record, header->size);
	n = ap_legacy_record(&m->ring, record, header->size, out);
	if (n <= 0) {
		m->lost += n < 0; /* not one that this event writes: cannot be, and is not silent */
		return;
	}
	copy_in(data_of(m->page), m->mask, head, out, (u32)n);
	__atomic_store_n(&m->page->head[0], head + (u32)n, __ATOMIC_RELEASE);
}

static void take_all(struct legacy_mapping *m)
{
	u64 head = __atomic_load_n(&m->real->data_head, __ATOMIC_ACQUIRE);
	struct ap_perf_event_header header;

	while (head - m->tail >= sizeof(header)) {
		copy_out(data_of(m->real), m->mask, m->tail, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - m->tail) {
			m->lost++; /* no record begins here: what is left cannot be walked */
			m->tail = head;
			break;
		}
		take_one(m, &header);
		m->tail += header.size;
	}
	__atomic_store_n(&m->real->data_tail, m->tail, __ATOMIC_RELEASE);
}

size_t anyperf_legacy_sync(void)
{
	pid_t pid;

	if (!try_lock())
		return 0;
	pid = mappings ? getpid() : 0;
	for (struct legacy_mapping *m = mappings; m; m = m->next) {
		if (m->owner == pid)
			take_all(m);
	}
	unlock();
	return 0;
}

uint32_t anyperf_legacy_data_head(const struct anyperf_legacy_page *page)
{
	anyperf_legacy_sync();
	return __atomic_load_n(&page->head[0], __ATOMIC_ACQUIRE);
}

uint64_t anyperf_legacy_lost(const struct anyperf_legacy_page *page)
{
	u64 lost = 0;

	anyperf_legacy_sync();
	lock();
	for (struct legacy_mapping *m = mappings; m; m = m->next) {
		if (m->page == page)
			lost = m->lost;
	}
	unlock();
	return lost;
}
