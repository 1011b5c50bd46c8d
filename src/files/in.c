/* SPDX-License-Identifier: MIT */
/*
 * What has the name is looked at by a descriptor that opens nothing (O_PATH), because to open a device may do something, and then
 * opened by that.  It is opened with O_NONBLOCK: what a FIFO's open would wait for may never come.
 */
#include "files/in.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "files/error.h"
#include "files/leaf.h"

#define PIPEFS_MAGIC 0x50495045

/* Is it a descriptor that somebody gave us?  own: the one by which it is looked at. */
static bool is_inherited(const struct stat *st, int own)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	bool is = false;
	struct stat other;

	while (!is && dir && (e = readdir(dir))) {
		int fd = atoi(e->d_name);

		is = e->d_name[0] != '.' && fd != own && !fstat(fd, &other) &&
		     other.st_dev == st->st_dev && other.st_ino == st->st_ino;
	}
	if (dir)
		closedir(dir);
	return is;
}

static bool is_ours(const struct stat *st)
{
	return !st->st_uid || st->st_uid == geteuid();
}

/*
 * A pipe that was made by pipe(2): its maker opened it for us, too.  A link to /proc/PID/fd/N leads to one as well, and may be
 * another user's, whose pipe stays open for ever.
 */
static bool is_nameless(int fd, const struct stat *st)
{
	struct statfs fs;

	return S_ISFIFO(st->st_mode) && !fstatfs(fd, &fs) && fs.f_type == PIPEFS_MAGIC &&
	       (is_ours(st) || is_inherited(st, fd));
}

/* /dev/null: an empty file for whoever wants one. */
static bool is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static int judge(int fd, const struct stat *st, unsigned int flags)
{
	if (flags & AP_IN_OURS && !(flags & AP_IN_FORCE) && !is_ours(st) && !is_nameless(fd, st))
		return -AP_FILE_OWNER;
	if (S_ISDIR(st->st_mode))
		return flags & AP_IN_FOLDER ? 0 : -EISDIR;
	if (flags & AP_IN_FILE && !S_ISREG(st->st_mode))
		return -AP_FILE_DEVICE;
	if (S_ISREG(st->st_mode) || flags & AP_IN_FORCE || is_null(st))
		return 0;
	if (S_ISFIFO(st->st_mode))
		return is_nameless(fd, st) ? 0 : -AP_FILE_FIFO;
	return -AP_FILE_DEVICE;
}

/* The same file by the descriptor that it was judged by: a name may lead elsewhere by now.  Without /proc there is only that. */
static int reopen(const char *path, int found, int how)
{
	char name[40];
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	fd = open(name, how);
	return fd < 0 && errno == ENOENT ? open(path, how) : fd;
}

/* What is forced is waited for, as it was asked for; of the rest only a pipe has to be read with waits. */
static int open_judged(const char *path, int found, const struct stat *st, unsigned int flags)
{
	bool may_wait = flags & AP_IN_FORCE && !S_ISREG(st->st_mode);
	int fd = reopen(path, found, O_RDONLY | O_CLOEXEC | O_NOCTTY | (may_wait ? 0 : O_NONBLOCK));
	struct stat opened;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &opened))
		ret = -errno;
	else if ((opened.st_mode & S_IFMT) != (st->st_mode & S_IFMT) || opened.st_uid != st->st_uid)
		ret = -AP_FILE_CHANGED;
	if (!ret && !may_wait && fcntl(fd, F_SETFL, 0))
		ret = -errno;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int ap_in_open(const char *path, unsigned int flags)
{
	int found = open(path, O_PATH | O_CLOEXEC), ret;
	struct stat st;

	if (found < 0)
		return -errno;
	ret = fstat(found, &st) ? -errno : judge(found, &st, flags);
	if (!ret)
		ret = open_judged(path, found, &st, flags);
	close(found);
	return ret;
}

FILE *ap_in_stream(const char *path, unsigned int flags, int *error)
{
	int fd = ap_in_open(path, flags);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

	*error = fd < 0 ? fd : f ? 0 : -errno;
	if (fd >= 0 && !f)
		close(fd);
	return f;
}

int ap_in_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int ap_in_fifo(const char *path)
{
	struct ap_leaf leaf;
	int ret = ap_leaf_find(&leaf, path, false), fd = -1;

	if (ret)
		return ret;
	if (!leaf.exists)
		ret = -ENOENT;
	else if (!S_ISFIFO(leaf.st.st_mode))
		ret = -AP_FILE_NO_FIFO;
	else if (ap_leaf_is_strangers(&leaf))
		ret = -AP_FILE_STRANGER;
	if (!ret)
		fd = openat(leaf.dir, leaf.name,
			    O_RDWR | O_NONBLOCK | O_CLOEXEC | (leaf.is_magic ? 0 : O_NOFOLLOW));
	if (!ret && fd < 0)
		ret = -errno;
	ap_leaf_close(&leaf);
	return ret ? ret : fd;
}

int ap_kernel_open(const char *path, int how)
{
	int fd;

	if (strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0) {
		errno = EINVAL;
		return -EINVAL;
	}
	fd = open(path, how | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

FILE *ap_kernel_stream(const char *path)
{
	int fd = ap_kernel_open(path, O_RDONLY);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (fd >= 0 && !f)
		close(fd);
	return f;
}
