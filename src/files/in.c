/* SPDX-License-Identifier: MIT */
/*
 * What has the name is looked at before it is opened, because to open a device may do something, and once more by its
 * descriptor.  It is opened with O_NONBLOCK: what a FIFO's open would wait for may never come.
 */
#include "files/in.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "files/error.h"
#include "files/leaf.h"

#define PIPEFS_MAGIC 0x50495045

/* A pipe that was made by pipe(2): whoever had its descriptor opened it for us. */
static bool is_nameless(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct statfs fs;
	bool is = fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == PIPEFS_MAGIC;

	if (fd >= 0)
		close(fd);
	return is;
}

/* /dev/null: an empty file for whoever wants one. */
static bool is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static int judge(const char *path, const struct stat *st, unsigned int flags)
{
	if (S_ISDIR(st->st_mode))
		return flags & AP_IN_FOLDER ? 0 : -EISDIR;
	if (flags & AP_IN_OURS && !(flags & AP_IN_FORCE) && st->st_uid && st->st_uid != geteuid())
		return S_ISFIFO(st->st_mode) && is_nameless(path) ? 0 : -AP_FILE_OWNER;
	if (flags & AP_IN_FILE && !S_ISREG(st->st_mode))
		return -AP_FILE_DEVICE;
	if (S_ISREG(st->st_mode) || flags & AP_IN_FORCE || is_null(st))
		return 0;
	if (S_ISFIFO(st->st_mode))
		return is_nameless(path) ? 0 : -AP_FILE_FIFO;
	return -AP_FILE_DEVICE;
}

/* What is forced is waited for, as it was asked for; of the rest only a pipe has to be read with waits. */
static int open_judged(const char *path, const struct stat *st, unsigned int flags)
{
	bool may_wait = flags & AP_IN_FORCE && !S_ISREG(st->st_mode);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (may_wait ? 0 : O_NONBLOCK));
	struct stat opened;
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &opened))
		ret = -errno;
	else
		ret = judge(path, &opened, flags);
	if (!ret && !may_wait && fcntl(fd, F_SETFL, 0))
		ret = -errno;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

int ap_in_open(const char *path, unsigned int flags)
{
	struct stat st;
	int ret = stat(path, &st) ? -errno : judge(path, &st, flags);

	return ret ? ret : open_judged(path, &st, flags);
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
