/* SPDX-License-Identifier: MIT */
/*
 * A perf.data that is a folder, as `perf record --threads` writes it: `data` is a file as ever,
 * with the header, the sections and records that tell of tasks; data.0, data.1, ... are records
 * alone, one file per recording thread.  They are read one after the other and all wait for the
 * last: each thread's are in order of time by themselves only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/error.h"
#include "files/in.h"
#include "profile/data/internal.h"

static int is_part(const struct dirent *e)
{
	return !strncmp(e->d_name, "data.", 5) && e->d_name[5] &&
	       strspn(e->d_name + 5, "0123456789") == strlen(e->d_name + 5);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	unsigned long x = strtoul((*a)->d_name + 5, NULL, 10);
	unsigned long y = strtoul((*b)->d_name + 5, NULL, 10);

	return x < y ? -1 : x > y;
}

/*
 * A file, with its size; anything else would be waited for.  Each is judged by itself: a folder of
 * ours may have others' files.
 */
static int open_file(const struct ap_stream *s, const char *path, u64 *size)
{
	int fd = ap_in_open(path, AP_IN_FILE | (s->any_owner ? 0 : AP_IN_OURS)), ret;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		ret = -errno;
		close(fd);
		return ret;
	}
	*size = (u64)st.st_size;
	return fd;
}

int ap_data_open_dir(struct ap_stream *s, const char *path)
{
	struct dirent **e;
	char name[4096];
	int i, n, fd;
	u64 size;

	snprintf(name, sizeof(name), "%s/data", path);
	fd = open_file(s, name, &size);
	if (fd < 0)
		return fd;
	close(s->fd);
	s->fd = fd;
	s->size = s->end = size;
	s->seekable = true;
	n = scandir(path, &e, is_part, by_number);
	if (n < 0)
		return -errno;
	s->parts = calloc((size_t)n + 1, sizeof(*s->parts));
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, e[i]->d_name);
		if (s->parts)
			s->parts[s->nparts++] = strdup(name);
		free(e[i]);
	}
	free(e);
	return s->parts ? 0 : -ENOMEM;
}

bool ap_stream_next_part(struct ap_stream *s)
{
	const char *path;
	u64 size = 0;

	if (s->part_at == s->nparts)
		return false;
	path = s->parts[s->part_at++];
	if (s->part >= 0)
		close(s->part);
	s->broken = false;
	s->part = path ? open_file(s, path, &size) : -ENOMEM;
	if (s->part < 0) {
		ap_stream_damage(s, "%s cannot be read: %s", path ? path : "a part of it",
				 ap_file_error(s->part));
		s->part = -1;
		return true; /* there may be others */
	}
	if (s->chunk)
		ap_chunk_put(s, s->chunk);
	if (s->inner)
		ap_chunk_put(s, s->inner);
	s->chunk = s->inner = NULL;
	s->at = s->inner_at = 0;
	ap_unpack_fini(s); /* each is packed by itself */
	s->pos = 0;
	s->end = size;
	return true;
}

void ap_stream_close_parts(struct ap_stream *s)
{
	u32 i;

	if (s->part >= 0)
		close(s->part);
	for (i = 0; i < s->nparts; i++)
		free(s->parts[i]);
	free(s->parts);
}
