/* SPDX-License-Identifier: MIT */
/*
 * Who has a descriptor of an event's file: for what cannot be done by our own reference, which is
 * neither end of the pipe.  One is remembered, at first the opener; where that has none any more
 * all processes of the session are looked through.  All descriptors of an event are of one open
 * file: the kernel gives no second one.
 *
 * What a descriptor is its link says, which the kernel answers by itself.  To stat others' files
 * would ask their file systems, and those may take for ever.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files/in.h"
#include "linux/host/host_internal.h"
#include "linux/session/owner.h"

#define PATH_MAX_FD 48

static const char *path_of(char path[PATH_MAX_FD], pid_t pid, int fd)
{
	snprintf(path, PATH_MAX_FD, "/proc/%d/fd/%d", (int)pid, fd);
	return path;
}

/* The link of a descriptor, seen from a folder or by its whole path. */
static bool is_its(const struct ap_host_file *f, int dir, const char *name)
{
	char link[PATH_MAX_FD], want[PATH_MAX_FD];
	ssize_t n = readlinkat(dir, name, link, sizeof(link));
	int len = snprintf(want, sizeof(want), "pipe:[%llu]", (unsigned long long)f->inode);

	return n == len && !memcmp(link, want, (size_t)n);
}

bool ap_host_fd_is_pipe(int fd, u64 inode)
{
	const struct ap_host_file f = { .inode = inode };
	char path[PATH_MAX_FD];

	return is_its(&f, AT_FDCWD, path_of(path, getpid(), fd));
}

u64 ap_host_fd_pipe(int fd)
{
	char path[PATH_MAX_FD], link[PATH_MAX_FD];
	ssize_t n = readlink(path_of(path, getpid(), fd), link, sizeof(link) - 1);
	unsigned long long inode = 0;

	link[n > 0 ? n : 0] = '\0';
	return sscanf(link, "pipe:[%llu]", &inode) == 1 ? inode : 0;
}

static bool is_own_its(const struct ap_host_file *f, int fd)
{
	return ap_host_fd_is_pipe(fd, f->inode);
}

/* The number of a descriptor of the file in a folder of them; -1 none. */
static int find_in(const struct ap_host_file *f, const char *path)
{
	struct dirent *entry;
	DIR *dir = opendir(path);
	int fd = -1;

	while (dir && fd < 0 && (entry = readdir(dir)))
		if (is_its(f, dirfd(dir), entry->d_name))
			fd = atoi(entry->d_name);
	if (dir)
		closedir(dir);
	return fd;
}

static int find_fd(const struct ap_host_file *f, pid_t pid)
{
	char path[PATH_MAX_FD];

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	return find_in(f, path);
}

/* What one process gives: not below 0, it has the file. */
typedef int get_fn(const struct ap_host_file *f, pid_t pid, int fd);

static int look_in(struct ap_host_file *f, pid_t pid, get_fn *get)
{
	int fd = find_fd(f, pid), got = fd < 0 ? -1 : get(f, pid, fd);

	if (got < 0)
		return -1;
	f->holder_pid = pid;
	f->holder_fd = fd;
	return got;
}

static int from_holder(const struct ap_host *host, struct ap_host_file *f, get_fn *get)
{
	pid_t known = f->holder_pid;
	int got = get(f, known, f->holder_fd);

	if (got < 0)
		got = look_in(f, known, get);
	for (u32 i = 0; got < 0 && i < host->sv->ntracks; i++) {
		const struct ap_track *track = host->sv->tracks[i];

		if (!track->is_gone && track->pid > 0 && track->pid != known)
			got = look_in(f, track->pid, get);
	}
	return got;
}

static int get_copy(const struct ap_host_file *f, pid_t pid, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), copy;

	if (pidfd < 0)
		return -1;
	copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	close(pidfd);
	if (copy < 0 || is_own_its(f, copy))
		return copy;
	close(copy);
	return -1;
}

int ap_host_file_borrow(struct ap_host *host, struct ap_host_file *f)
{
	if (f->kept >= 0)
		return fcntl(f->kept, F_DUPFD_CLOEXEC, 0);
	return from_holder(host, f, get_copy);
}

void ap_host_file_keep(struct ap_host *host, struct ap_host_file *f)
{
	bool wanted = f->is_async && f->nmappers && !f->perfctr;

	if (wanted && f->kept < 0)
		f->kept = ap_host_file_borrow(host, f);
	if (wanted || f->kept < 0)
		return;
	close(f->kept);
	f->kept = -1;
}

/* Without a descriptor of ours. */
static int get_nothing(const struct ap_host_file *f, pid_t pid, int fd)
{
	char path[PATH_MAX_FD];

	return is_its(f, AT_FDCWD, path_of(path, pid, fd)) ? 0 : -1;
}

bool ap_host_file_has_holder(struct ap_host *host, struct ap_host_file *f)
{
	return f->kept >= 0 || from_holder(host, f, get_nothing) >= 0;
}

bool ap_host_file_lends(struct ap_host_file *f)
{
	if (f->ref < 0 || get_nothing(f, f->holder_pid, f->holder_fd) < 0)
		return false;
	close(f->ref);
	f->ref = -1;
	return true;
}

static int get_ref(const struct ap_host_file *f, pid_t pid, int fd)
{
	char path[PATH_MAX_FD];
	int ref = ap_kernel_open(path_of(path, pid, fd), O_PATH);

	if (ref < 0 || is_own_its(f, ref))
		return ref;
	close(ref);
	return -1;
}

int ap_host_file_ref(struct ap_host *host, struct ap_host_file *f)
{
	return f->ref >= 0 ? f->ref : from_holder(host, f, get_ref);
}

bool ap_host_file_is_held(struct ap_host *host, struct ap_host_file *f,
			  const struct ap_host_task *t)
{
	char path[PATH_MAX_FD];
	u32 name = t->seg ? t->seg->index + 1 : 0, i;

	for (i = 0; i < AP_HOST_USERS && f->users[i]; i++)
		if (f->users[i] == name)
			return true;
	if (!ap_owner_may_more(host->sv))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", (int)t->pid, (int)t->tid);
	if (!name || find_in(f, path) < 0)
		return false;
	/* the opener stays the first; of the others the last ones are remembered */
	f->users[i < AP_HOST_USERS ? i : 1 + f->inode % (AP_HOST_USERS - 1)] = name;
	return true;
}

/* --- descriptors of tasks */

/*
 * The folder stays open: its files are found from there in half the time, and it is of the process
 * that was there then, which is looked at once.
 */
static int open_fds(struct ap_host *host, const struct ap_host_task *t)
{
	char path[96];
	int ret;

	if (host->fds > 0)
		close(host->fds);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", (int)t->pid, (int)t->tid);
	host->fds = ap_kernel_open(path, O_PATH | O_DIRECTORY);
	host->fds_pid = t->pid;
	host->fds_tid = t->tid;
	ret = host->fds < 0 ? host->fds : 0;
	if (!ret && !ap_host_task_is_itself(host, t)) {
		close(host->fds);
		host->fds = 0;
		ret = -EBADF;
	}
	return ret;
}

static int by_proc(struct ap_host *host, const struct ap_host_task *t, s32 fd)
{
	bool is_new = host->fds <= 0 || host->fds_pid != t->pid || host->fds_tid != t->tid;
	char name[16];
	int ref;

	snprintf(name, sizeof(name), "%d", fd);
	if (!is_new) {
		ref = openat(host->fds, name, O_PATH | O_CLOEXEC);
		if (ref >= 0)
			return ref;
	}
	ref = open_fds(host, t);
	if (ref)
		return ref;
	ref = openat(host->fds, name, O_PATH | O_CLOEXEC);
	return ref < 0 ? -errno : ref;
}

/* Where /proc does not show it: a copy, which stands for a moment only. */
static int by_copy(const struct ap_host_task *t, s32 fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0), copy = -1, ref = -EBADF;
	char path[32];

	if (pidfd < 0)
		return -errno;
	if (ap_host_task_is_itself(t->host, t)) {
		copy = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
		ref = copy < 0 ? -errno : 0;
	}
	close(pidfd);
	if (copy < 0)
		return ref;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
	ref = ap_kernel_open(path, O_PATH);
	close(copy);
	return ref;
}

int ap_host_fd_ref(struct ap_host *host, const struct ap_host_task *t, s32 fd)
{
	int ref;

	if (fd < 0)
		return -EBADF;
	ref = by_proc(host, t, fd);
	if (ref == -EACCES || ref == -EPERM)
		ref = by_copy(t, fd);
	return ref == -ENOENT ? -EBADF : ref;
}
