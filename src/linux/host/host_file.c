/* SPDX-License-Identifier: MIT */
/*
 * Perf descriptors are read ends of pipes; the kernel counts their holders.  We hold the pipe by an
 * O_PATH reference, which is neither end.  Whether a reader is left anywhere is asked by opening a
 * writer for a moment: its poll says POLLERR when there is none.  It is asked when a close was
 * reported, and of all, a few at a time, when a process or image has ended and at a slow tick.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "inject/proc.h"
#include "linux/host/host_internal.h"
#include "linux/task/now.h"
#include "perfctr/virtual.h"

#define SWEEP_NS    1000000000ULL /* between slow sweeps */
#define SWEEP_MANY  64		  /* files asked at once, so that requests need not wait */
#define SWEEP_LOAD  10		  /* a sweep may take one part in so many of the time */
#define REFS_LENT   16
#define CLOSED_MANY 512 /* files that are asked before a call that closed many goes on */

static u32 bucket_of(u64 inode)
{
	return ap_pub_home(inode) % AP_HOST_BUCKETS;
}

struct ap_host_file *ap_host_file_find(struct ap_host *host, u64 inode)
{
	struct ap_host_file *f = host->files[bucket_of(inode)];

	while (f && f->inode != inode)
		f = f->next;
	return f;
}

static void forget_closed(struct ap_host *host, struct ap_host_file *f)
{
	u32 i = 0;

	while (host->closed[i] != f)
		i++;
	host->closed[i] = host->closed[--host->nclosed];
	f->is_closed = false;
}

void ap_host_file_free(struct ap_host *host, struct ap_host_file *f)
{
	struct ap_host_file **p = &host->files[bucket_of(f->inode)];
	struct ap_task *task = f->event ? ap_event_task(f->event) : NULL;

	while (f->nmappers)
		ap_host_munmap(host, f, f->mappers[0]);
	ap_host_pub_remove(host, f);
	if (f->event) {
		ap_event_set_host(f->event, NULL);
		ap_core_release(host->core, f->event);
	}
	ap_vctr_put(f->vctr);
	if (task)
		ap_host_task_order(ap_task_host(task));
	while (*p != f)
		p = &(*p)->next;
	*p = f->next;
	*f->before = f->after;
	if (f->after)
		f->after->before = f->before;
	if (f->is_closed)
		forget_closed(host, f);
	if (host->sweep == f)
		host->sweep = f->after;
	host->nfiles--;
	host->ncpu_files -= f->is_of_cpu;
	if (!host->ncpu_files)
		ap_host_cpus_fini(host);
	if (f->ref >= 0) {
		close(f->ref);
		host->is_short_of_fds = false;
	}
	if (f->writer >= 0)
		close(f->writer);
	if (f->kept >= 0)
		close(f->kept);
	free(f->mappers);
	free(f);
}

/*
 * To ask where nobody has the pipe open for writing sends the signal of a file that has O_ASYNC:
 * that a writer is found that has it is an answer as well.
 */
static bool has_reader(struct ap_host *host, struct ap_host_file *f)
{
	struct pollfd pfd = { .fd = f->writer, .events = 0 };
	bool is_lost;
	int fd;

	if (pfd.fd < 0 && f->ref < 0)
		return ap_host_file_has_holder(host, f);
	fd = f->is_async && pfd.fd < 0 ? ap_host_file_borrow(host, f) : -1;
	if (fd >= 0) {
		close(fd);
		return true;
	}
	if (pfd.fd < 0)
		pfd.fd = ap_host_file_end(host, f, O_WRONLY);
	if (pfd.fd < 0)
		return errno != ENXIO;
	is_lost = poll(&pfd, 1, 0) == 1 && pfd.revents & POLLERR;
	if (pfd.fd != f->writer)
		close(pfd.fd);
	return !is_lost;
}

void ap_host_file_check(struct ap_host *host, struct ap_host_file *f)
{
	if (!f->nmappers && !has_reader(host, f))
		ap_host_file_free(host, f);
}

/* To ask takes as long as an open, so it is done between requests. */
void ap_host_file_closed_in_place(struct ap_host *host, struct ap_host_file *f)
{
	if (f->is_closed)
		return;
	if (host->nclosed == AP_HOST_CLOSED_MAX) {
		ap_host_file_check(host, f);
		return;
	}
	f->is_closed = true;
	host->closed[host->nclosed++] = f;
}

/* The task goes on meanwhile, unless others are concerned: then its log is to be read first. */
static void settle(struct ap_host *host, struct ap_host_file *f)
{
	struct ap_event_public event;
	u64 inode = f->inode;

	forget_closed(host, f);
	if (f->nmappers || has_reader(host, f))
		return;
	if (f->event) {
		ap_event_public(f->event, &event);
		if (!event.is_simple)
			ap_host_sync_event(host, f->event);
	}
	f = ap_host_file_find(host, inode);
	if (f)
		ap_host_file_free(host, f);
}

static void settle_one(struct ap_host *host)
{
	settle(host, host->closed[host->nclosed - 1]);
}

void ap_host_settle_all(struct ap_host *host)
{
	while (host->nclosed)
		settle_one(host);
}

struct ap_host_file *ap_host_file_named(struct ap_host *host, u64 inode)
{
	struct ap_host_file *f = ap_host_file_find(host, inode);

	if (f)
		ap_host_sync_event(host, f->event);
	f = ap_host_file_find(host, inode);
	if (f && f->is_closed)
		settle(host, f);
	return ap_host_file_find(host, inode);
}

/*
 * One for a new file, which may have to be lent by others: they are looked for where they are from
 * then on.
 */
static int take_ref(struct ap_host *host, const struct ap_host_task *t, s32 fd)
{
	int ref = ap_host_fd_ref(host, t, fd);
	struct ap_host_file *f;
	u32 n = 0;

	for (; ref == -EMFILE && host->nclosed; ref = ap_host_fd_ref(host, t, fd))
		settle_one(host);
	if (ref != -EMFILE)
		return ref;
	for (f = host->all_files; f && n < REFS_LENT; f = f->after)
		n += ap_host_file_lends(f);
	host->is_short_of_fds = n;
	ref = n ? ap_host_fd_ref(host, t, fd) : -ENFILE;
	return ref == -EMFILE ? -ENFILE : ref;
}

int ap_host_file_open(struct ap_host *host, const struct ap_host_task *t, s32 fd, u64 inode,
		      struct ap_host_file **out)
{
	struct ap_host_file *f, **bucket = &host->files[bucket_of(inode)];
	int ref;

	if (ap_host_file_find(host, inode))
		return -EBADF;
	ref = take_ref(host, t, fd);
	if (ref < 0)
		return ref;
	f = calloc(1, sizeof(*f));
	if (!f || !ap_host_fd_is_pipe(ref, inode)) {
		free(f);
		close(ref);
		return f ? -EBADF : -ENOMEM;
	}
	f->inode = inode;
	f->ref = ref;
	f->holder_pid = t->pid;
	f->holder_fd = fd;
	f->users[0] = t->seg ? t->seg->index + 1 : 0;
	if (host->is_short_of_fds)
		(void)ap_host_file_lends(f);
	f->pub = -1;
	f->writer = -1;
	f->kept = -1;
	f->next = *bucket;
	*bucket = f;
	f->after = host->all_files;
	f->before = &host->all_files;
	if (f->after)
		f->after->before = &f->after;
	host->all_files = f;
	host->nfiles++;
	*out = f;
	return 0;
}

bool ap_host_settle(struct ap_host *host)
{
	if (!host->nclosed)
		return false;
	host->epoch++;
	settle_one(host);
	ap_host_let_go(host);
	return true;
}

void ap_host_files_fini(struct ap_host *host)
{
	if (host->self_fds > 0)
		close(host->self_fds);
	if (host->fds > 0)
		close(host->fds);
}

void ap_host_files_ended(struct ap_host *host)
{
	host->is_sweeping = host->nfiles != 0;
	host->sweep = host->all_files;
}

/* So many files, if there are as many. */
static void sweep(struct ap_host *host, u32 many)
{
	for (u32 n = 0; host->sweep && n < many; n++) {
		struct ap_host_file *f = host->sweep;
		u64 inode = f->inode;

		host->sweep = f->after;
		/* which may be its end */
		ap_host_sync_event(host, f->event);
		f = ap_host_file_find(host, inode);
		/* one without is being opened */
		if (f && (f->event || f->perfctr))
			ap_host_file_check(host, f);
	}
	host->is_sweeping = host->sweep != NULL;
}

void ap_host_files_closed(struct ap_host *host)
{
	ap_host_files_ended(host);
	if (host->nfiles <= CLOSED_MANY)
		sweep(host, UINT32_MAX);
}

/* Its process has ended, and nobody has told us yet. */
static bool is_over(const struct ap_host *host, u32 seg)
{
	struct ap_seg head;

	return !ap_session_seg_read(host->ses, seg, &head) && head.ns_pid &&
	       head.pidns == host->ses->head->pidns && ap_has_ended((pid_t)head.ns_pid);
}

static void unmap_gone(struct ap_host *host)
{
	for (struct ap_host_file *f = host->all_files; f; f = f->after)
		for (u32 i = f->nmappers; i-- > 0;)
			if (is_over(host, f->mappers[i]))
				ap_host_munmap(host, f, f->mappers[i]);
}

void ap_host_files_sweep(struct ap_host *host)
{
	unmap_gone(host);
	ap_host_files_ended(host);
	sweep(host, UINT32_MAX);
}

u64 ap_host_files_tick(struct ap_host *host, u64 now)
{
	if (!host->nfiles)
		return 0;
	if (!host->is_sweeping && now >= host->sweep_ns) {
		host->sweep_ns = now + SWEEP_NS;
		ap_host_tasks_tick(host);
		ap_host_files_ended(host);
	}
	if (!host->is_sweeping)
		return host->sweep_ns - now;
	if (now < host->sweep_again_ns)
		return host->sweep_again_ns - now;
	host->epoch++;
	sweep(host, SWEEP_MANY);
	host->sweep_again_ns = now + SWEEP_LOAD * (ap_now_ns() - now);
	return host->is_sweeping ? host->sweep_again_ns - now : host->sweep_ns - now;
}
