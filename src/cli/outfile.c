/* SPDX-License-Identifier: MIT */
/*
 * Files that are written in one piece (files/out.h), with a line where they cannot be.
 */
#include "cli/outfile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/error.h"
#include "files/out.h"
#include "print/print.h"
#include "profile/text/write_fd.h"

static int complain(const char *path, int error, FILE *err)
{
	if (error)
		ap_print(err, "anyperf: cannot write output file %s: %s\n", path,
			 ap_file_error(error));
	return error;
}

int ap_outfile_check(const char *path, unsigned int flags, FILE *err)
{
	return complain(path, ap_out_check(path, flags), err);
}

int ap_outfile_print(FILE *out, const char *text, size_t size, FILE *err)
{
	/* raw: the caller has escaped it */
	int ret = fflush(out) ? -errno : ap_write_all(fileno(out), text, size);

	if (ret)
		ap_print(err, "anyperf: cannot write the report: %s\n", strerror(-ret));
	return ret;
}

/* kept: NULL, or what was there is kept, and whether anything was. */
static int replace(const char *path, const char *text, size_t size, bool *kept)
{
	struct ap_out out;
	int ret = ap_out_begin(&out, path, kept ? AP_OUT_KEEP : 0);

	if (ret)
		return ret;
	ret = ap_out_open(&out);
	if (!ret)
		ret = ap_write_all(out.fd, text, size); /* raw: the caller has escaped it */
	if (!ret && kept)
		ret = ap_out_keep_old(&out, kept);
	if (!ret)
		ret = ap_out_commit(&out);
	ap_out_end(&out);
	return ret;
}

/*
 * One write, so that what others append at the same time comes before or after; what is cut short
 * is taken back.
 */
static int append_text(int fd, const char *text, size_t size)
{
	struct stat st;
	int ret = 0;
	ssize_t n;

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
	return ret;
}

int ap_outfile_append(const char *path, const char *text, size_t size, FILE *err)
{
	struct ap_out out;
	int ret = ap_out_begin(&out, path, AP_OUT_APPEND);

	if (ret)
		return complain(path, ret, err);
	ret = ap_out_open(&out);
	if (!ret)
		ret = out.is_straight ? ap_write_all(out.fd, text, size) /* raw: is escaped */
				      : append_text(out.fd, text, size);
	if (!ret)
		ret = ap_out_commit(&out);
	ap_out_end(&out);
	return complain(path, ret, err);
}

int ap_outfile_write(const char *path, const char *text, size_t size, FILE *err)
{
	return complain(path, replace(path, text, size, NULL), err);
}

int ap_outfile_write_keeping(const char *path, const char *text, size_t size, bool *kept, FILE *err)
{
	*kept = false;
	return complain(path, replace(path, text, size, kept), err);
}
