/* SPDX-License-Identifier: MIT */
/* For programs that sample themselves: a ring, its records in order, and small verbs. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096UL

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
	char *data;
	uint64_t size;
	uint64_t tail; /* ours, also of a ring that is not told */
	int is_told;
	uint64_t id;
};

static inline int sample_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	attr->size = sizeof(*attr);
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

static inline uint64_t sample_id(int fd)
{
	uint64_t id = 0;

	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	return id;
}

static inline int sample_map(struct ring *r, int fd, unsigned int pages, int prot)
{
	void *p = mmap(NULL, (1 + pages) * PAGE, prot, MAP_SHARED, fd, 0);

	memset(r, 0, sizeof(*r));
	r->fd = fd;
	if (p == MAP_FAILED)
		return -errno;
	r->page = p;
	r->data = (char *)p + PAGE;
	r->size = pages * PAGE;
	r->is_told = prot & PROT_WRITE;
	r->id = sample_id(fd);
	return 0;
}

static inline void map_or_die(struct ring *r, int fd, unsigned int pages, int prot)
{
	int ret = sample_map(r, fd, pages, prot);

	if (ret) {
		printf("cannot map: %s\n", strerror(-ret));
		exit(1);
	}
}

static inline void sample_unmap(struct ring *r)
{
	munmap(r->page, PAGE + r->size);
	close(r->fd);
}

/* The next record, whole in buf; 0: there is none. */
static inline int sample_next(struct ring *r, void *buf, size_t cap)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header *h = buf;
	char *to = buf;

	if (r->tail == head)
		return 0;
	for (uint64_t i = 0; i < sizeof(*h); i++)
		to[i] = r->data[(r->tail + i) % r->size];
	if (h->size < sizeof(*h) || h->size > cap) {
		printf("FAILED: a record of %u bytes\n", h->size);
		exit(1);
	}
	for (uint64_t i = 0; i < h->size; i++)
		to[i] = r->data[(r->tail + i) % r->size];
	r->tail += h->size;
	if (r->is_told)
		__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
	return 1;
}

static inline int sample_polls(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 ? p.revents : 0;
}

static inline uint64_t sample_count(int fd)
{
	uint64_t v = 0;

	return read(fd, &v, sizeof(v)) > 0 ? v : 0;
}

struct sample_case {
	const char *name;
	void (*run)(void);
};

/* Runs the case that the first argument names, or all; the last has no name. */
static inline int sample_main(const struct sample_case *c, int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (; c->name; c++) {
		if (argc > 1 && strcmp(argv[1], c->name))
			continue;
		printf("-- %s\n", c->name);
		c->run();
	}
	return 0;
}

#endif
