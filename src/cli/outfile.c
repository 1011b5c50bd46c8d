/* SPDX-License-Identifier: MIT */
/*
 * Files that are replaced whole.  The temporary name lies in the folder of the target, because
 * rename(2) does not cross file systems; a symbolic link is followed first, so that the link
 * stays one; an existing file keeps its mode.  Our own standard output (-o /dev/stdout) is not
 * replaced but written on, where the command's output ends.
 */
#include "cli/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/memory.h"
#include "print/print.h"
#include "profile/write_fd.h"

static int complain(const char *path, int error, FILE *err)
{
	ap_print(err, "anyperf: cannot write output file %s: %s\n", path, strerror(error));
	return -error;
}

/* The file behind links; a file that does not exist yet is its own. */
static char *resolve(const char *path)
{
	char *real = realpath(path, NULL);

	return real ? real : ap_xstrdup(path);
}

/* Standard output or error, when it is a file and the name means that; else -1. */
static int standard_fd(const char *real)
{
	struct stat st, own;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO && !stat(real, &st); fd++)
		if (S_ISREG(st.st_mode) && !fstat(fd, &own) && own.st_dev == st.st_dev &&
		    own.st_ino == st.st_ino)
			return fd;
	return -1;
}

static bool is_replaceable(const char *real)
{
	struct stat st;

	return stat(real, &st) || (S_ISREG(st.st_mode) && standard_fd(real) < 0);
}

/* Makes the file that will be renamed: its descriptor, its name in *temp. */
static int make_temp(const char *real, char **temp)
{
	int fd;

	*temp = ap_xasprintf("%s.XXXXXX", real);
	fd = mkostemp(*temp, O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* By doing it: what access(2) grants to root, /proc and others still refuse. */
static int try_temp(const char *real)
{
	char *temp;
	int fd = make_temp(real, &temp);

	if (fd >= 0) {
		close(fd);
		unlink(temp);
	}
	free(temp);
	return fd < 0 ? fd : 0;
}

int ap_outfile_check(const char *path, FILE *err)
{
	char *real = resolve(path);
	struct stat st;
	int ret = 0;

	if (!*real)
		ret = -ENOENT;
	else if (!stat(real, &st) && S_ISDIR(st.st_mode))
		ret = -EISDIR;
	else if (is_replaceable(real))
		ret = try_temp(real);
	else if (access(real, W_OK))
		ret = -errno;
	free(real);
	return ret ? complain(path, -ret, err) : 0;
}

int ap_outfile_print(FILE *out, const char *text, size_t size, FILE *err)
{
	int ret = fflush(out) ? -errno : ap_write_all(fileno(out), text, size);

	if (ret)
		ap_print(err, "anyperf: cannot write the report: %s\n", strerror(-ret));
	return ret;
}

static mode_t wanted_mode(const char *real)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	return stat(real, &st) ? 0666 & ~mask : st.st_mode & 07777;
}

/* What has the name becomes NAME.old, as with perf record. */
static int keep_old(const char *real, bool *kept)
{
	char *old = ap_xasprintf("%s.old", real);
	int ret = rename(real, old) ? -errno : 0;

	*kept = !ret;
	free(old);
	return ret == -ENOENT ? 0 : ret;
}

/* kept: NULL, or what was there is kept, and whether anything was. */
static int replace(const char *real, const char *text, size_t size, bool *kept)
{
	char *temp;
	int fd = make_temp(real, &temp);
	int ret;

	if (fd < 0) {
		ret = fd;
		goto out;
	}
	ret = ap_write_all(fd, text, size);
	if (!ret && fchmod(fd, wanted_mode(real)))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && kept)
		ret = keep_old(real, kept);
	if (!ret && rename(temp, real))
		ret = -errno;
	if (ret)
		unlink(temp);
out:
	free(temp);
	return ret;
}

static int write_through(const char *real, const char *text, size_t size)
{
	int fd = standard_fd(real);
	int ret;

	if (fd >= 0)
		return ap_write_all(fd, text, size);
	fd = open(real, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	ret = ap_write_all(fd, text, size);
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

/* One write, so that who appends at the same time comes before or after; what is cut short is taken back. */
static int append(const char *real, const char *text, size_t size)
{
	int fd = open(real, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666), ret = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = write(fd, text, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		ret = -errno;
	else if ((size_t)n < size)
		ret = -ENOSPC;
	if (ret && n > 0 && !fstat(fd, &st) && lseek(fd, 0, SEEK_CUR) == st.st_size &&
	    ftruncate(fd, st.st_size - n))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

int ap_outfile_append(const char *path, const char *text, size_t size, FILE *err)
{
	char *real = resolve(path);
	int ret = is_replaceable(real) ? append(real, text, size) : write_through(real, text, size);

	free(real);
	return ret ? complain(path, -ret, err) : 0;
}

int ap_outfile_write(const char *path, const char *text, size_t size, FILE *err)
{
	return ap_outfile_write_keeping(path, text, size, NULL, err);
}

int ap_outfile_write_keeping(const char *path, const char *text, size_t size, bool *kept, FILE *err)
{
	char *real = resolve(path);
	int ret;

	if (kept)
		*kept = false;
	ret = is_replaceable(real) ? replace(real, text, size, kept)
				   : write_through(real, text, size);
	free(real);
	return ret ? complain(path, -ret, err) : 0;
}
