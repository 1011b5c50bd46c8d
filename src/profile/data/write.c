/* SPDX-License-Identifier: MIT */
/*
 * The file: header, the ids of each event, attrs, records, and at the end a table of sections and
 * the sections.  Everything before the records is written once; of the header only the size of the
 * data changes, and at the very end the bits of the sections.
 */
#include "profile/data/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files/out.h"
#include "profile/data/format.h"
#include "profile/data/pack.h"
#include "profile/data/record_buf.h"
#include "profile/text/write_fd.h"

#define OUT_SIZE   (1U << 20) /* written at once */
#define CHUNK_SIZE (1U << 17) /* compressed at once */

struct ap_writer {
	int fd;
	bool is_stream;
	bool is_new;	    /* a file of which nothing is written yet */
	struct ap_out file; /* where it has a name */
	int error;	    /* the first one: what comes later is not written */
	const struct ap_write_event *events;
	size_t nevents;
	u32 attr_size;
	struct ap_data_header header;
	struct ap_buf out;
	struct ap_buf chunk; /* records that wait to be compressed */
	struct ap_packer *packer;
	unsigned int level;
	u64 raw, packed;
	struct ap_buf section[AP_DATA_FEATURES];
	bool has[AP_DATA_FEATURES];
};

u32 ap_write_attr_size(const struct ap_write_event *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (events[i].attr.config3)
			return AP_PERF_ATTR_SIZE_VER8;
	return AP_PERF_ATTR_SIZE_VER7;
}

static int fail(struct ap_writer *w, int error)
{
	if (!w->error)
		w->error = error;
	return w->error;
}

/* How many of the bytes are whole records. */
static size_t whole(const char *records, size_t size)
{
	size_t at = 0;
	u16 n;

	while (size - at >= AP_RECORD_HEADER) {
		memcpy(&n, records + at + 6, sizeof(n));
		if (n < AP_RECORD_HEADER || n > size - at)
			break;
		at += n;
	}
	return at;
}

static int write_header(struct ap_writer *w)
{
	ssize_t n = pwrite(w->fd, &w->header, sizeof(w->header), 0);

	if (n == sizeof(w->header))
		return 0;
	return fail(w, n < 0 ? -errno : -EIO);
}

/* The file with what is in out: under its name once all of that is in it.  What was there is kept as .old, as perf does. */
static int make_file(struct ap_writer *w)
{
	bool was_one;
	int ret = ap_out_open(&w->file);

	w->fd = w->file.fd;
	if (!ret)
		ret = ap_write_all(w->fd, w->out.data, w->out.size); /* raw: a profile */
	if (!ret && w->file.leaf.exists && w->file.leaf.st.st_size)
		ret = ap_out_keep_old(&w->file, &was_one);
	return ret ? ret : ap_out_show(&w->file);
}

/* The first records go with what is in front of them. */
static int write_first(struct ap_writer *w)
{
	w->header.data.size = w->out.size - w->header.data.offset;
	memcpy(w->out.data, &w->header, sizeof(w->header));
	/* raw: a profile */
	return w->fd < 0 ? make_file(w) : ap_write_all(w->fd, w->out.data, w->out.size);
}

/* The records of out, and then the header that counts them. */
static int write_out(struct ap_writer *w)
{
	bool is_first = w->is_new;
	size_t done;
	int ret;

	if (w->out.failed)
		return fail(w, -ENOMEM);
	if (w->error || !w->out.size)
		return w->error;
	w->is_new = false;
	if (is_first)
		ret = write_first(w);
	else
		ret = ap_write_some(w->fd, w->out.data, w->out.size, &done);
	/* a disk that is full has taken some */
	if (!is_first)
		w->header.data.size += ret ? whole(w->out.data, done) : done;
	w->out.size = 0;
	if (!w->is_stream && !is_first && write_header(w))
		return w->error;
	return ret ? fail(w, ret) : 0;
}

/* --- beginning */

static void put_attr(struct ap_buf *buf, const struct ap_write_event *ev, u32 size)
{
	struct ap_perf_attr attr = ev->attr;

	attr.size = size;
	ap_buf_put(buf, &attr, size);
}

static void begin_file(struct ap_writer *w)
{
	struct ap_data_header *h = &w->header;
	u64 at = sizeof(*h);

	ap_buf_put(&w->out, h, sizeof(*h));
	for (size_t i = 0; i < w->nevents; i++)
		ap_buf_put(&w->out, w->events[i].ids, w->events[i].nids * sizeof(u64));
	for (size_t i = 0; i < w->nevents; i++) {
		put_attr(&w->out, &w->events[i], w->attr_size);
		ap_buf_u64(&w->out, at);
		ap_buf_u64(&w->out, w->events[i].nids * sizeof(u64));
		at += w->events[i].nids * sizeof(u64);
	}
	h->magic = AP_DATA_MAGIC;
	h->size = sizeof(*h);
	h->attr_size = w->attr_size + sizeof(struct ap_data_section);
	h->attrs.offset = at;
	h->attrs.size = w->nevents * h->attr_size;
	h->data.offset = at + h->attrs.size;
	if (!w->out.failed)
		memcpy(w->out.data, h, sizeof(*h));
}

static void begin_stream(struct ap_writer *w)
{
	ap_buf_u64(&w->out, AP_DATA_MAGIC);
	ap_buf_u64(&w->out, AP_DATA_PIPE_SIZE);
	for (size_t i = 0; i < w->nevents; i++) {
		size_t start = ap_buf_begin(&w->out, AP_RECORD_HEADER_ATTR, 0);

		put_attr(&w->out, &w->events[i], w->attr_size);
		ap_buf_put(&w->out, w->events[i].ids, w->events[i].nids * sizeof(u64));
		if (!ap_buf_end(&w->out, start))
			fail(w, w->out.failed ? -ENOMEM : -E2BIG);
	}
}

static int begin(struct ap_writer *w)
{
	if (w->is_stream) {
		begin_stream(w);
	} else {
		begin_file(w);
		w->is_new = true;
	}
	return w->out.failed ? fail(w, -ENOMEM) : w->error;
}

/* A pipe or a device is written to as it is; a file is made with its first records. */
static int open_path(struct ap_writer *w, const char *path)
{
	int ret = ap_out_begin(&w->file, path, AP_OUT_PRIVATE | AP_OUT_KEEP);

	if (!ret && w->file.is_straight) {
		ret = ap_out_open(&w->file);
		w->fd = w->file.fd;
		w->is_stream = !ret && lseek(w->fd, 0, SEEK_CUR) < 0;
	}
	return ret ? ret : begin(w);
}

static void writer_free(struct ap_writer *w)
{
	if (w->fd >= 0 && w->fd != w->file.fd && !(w->is_stream && w->fd == STDOUT_FILENO))
		close(w->fd);
	ap_out_end(&w->file);
	ap_packer_free(w->packer);
	for (size_t i = 0; i < AP_DATA_FEATURES; i++)
		ap_buf_fini(&w->section[i]);
	ap_buf_fini(&w->out);
	ap_buf_fini(&w->chunk);
	free(w);
}

static void compression_section(const struct ap_writer *w, struct ap_buf *to)
{
	ap_buf_u32(to, 0); /* version: perf's, the only one that hotspot's parser takes */
	ap_buf_u32(to, 1); /* zstd */
	ap_buf_u32(to, w->level);
	ap_buf_u32(to, ap_writer_ratio(w));
	ap_buf_u32(to, CHUNK_SIZE); /* no record becomes more than this */
}

/* Who reads a stream must know before it meets the first compressed record. */
static int announce_compression(struct ap_writer *w)
{
	struct ap_buf buf = { 0 };
	int ret;

	if (!w->level || !w->is_stream)
		return 0;
	compression_section(w, &buf);
	ret = buf.failed ? -ENOMEM : ap_writer_feature(w, AP_FEAT_COMPRESSED, buf.data, buf.size);
	ap_buf_fini(&buf);
	return ret;
}

int ap_writer_open(struct ap_writer **writer, const struct ap_write_options *options)
{
	struct ap_writer *w = calloc(1, sizeof(*w));
	int ret = 0;

	if (!w)
		return -ENOMEM;
	w->fd = w->file.fd = w->file.leaf.dir = -1;
	w->events = options->events;
	w->nevents = options->nevents;
	w->attr_size = ap_write_attr_size(options->events, options->nevents);
	w->level = options->level;
	if (w->level)
		ret = ap_packer_new(&w->packer, w->level);
	if (!ret && options->path)
		ret = open_path(w, options->path);
	else if (!ret) {
		w->fd = options->fd;
		w->is_stream = true;
		ret = begin(w);
	}
	if (!ret)
		ret = announce_compression(w);
	if (ret) {
		writer_free(w);
		return ret;
	}
	*writer = w;
	return 0;
}

/* --- records */

static int pack_chunk(struct ap_writer *w)
{
	size_t before = w->out.size;

	if (w->chunk.failed)
		return fail(w, -ENOMEM);
	if (!w->chunk.size)
		return 0;
	if (ap_packer_put(w->packer, w->chunk.data, w->chunk.size, &w->out))
		return fail(w, -ENOMEM);
	w->raw += w->chunk.size;
	w->packed += w->out.size - before;
	w->chunk.size = 0;
	return 0;
}

static int put_packed(struct ap_writer *w, const char *records, size_t size)
{
	while (size && !w->error) {
		u16 n;

		memcpy(&n, records + 6, sizeof(n));
		if (n < AP_RECORD_HEADER || n > size)
			return fail(w, -EINVAL);
		if (w->chunk.size + n > CHUNK_SIZE && pack_chunk(w))
			return w->error;
		ap_buf_put(&w->chunk, records, n);
		records += n;
		size -= n;
	}
	return w->error;
}

int ap_writer_put(struct ap_writer *w, const void *records, size_t size)
{
	if (w->error)
		return w->error;
	if (w->packer) {
		if (put_packed(w, records, size))
			return w->error;
	} else {
		ap_buf_put(&w->out, records, size);
	}
	return w->out.size >= OUT_SIZE || w->out.failed ? write_out(w) : 0;
}

int ap_writer_round(struct ap_writer *w)
{
	size_t start;

	if (pack_chunk(w))
		return w->error;
	start = ap_buf_begin(&w->out, AP_RECORD_FINISHED_ROUND, 0);
	return ap_buf_end(&w->out, start) ? 0 : fail(w, -ENOMEM);
}

int ap_writer_flush(struct ap_writer *w)
{
	return pack_chunk(w) ? w->error : write_out(w);
}

u64 ap_writer_size(const struct ap_writer *w)
{
	return w->header.data.offset + w->header.data.size + w->out.size -
	       (w->is_new ? w->header.data.offset : 0);
}

u32 ap_writer_ratio(const struct ap_writer *w)
{
	return w->packed ? (u32)((w->raw + w->packed / 2) / w->packed) : 1;
}

/* --- sections */

/* Build ids are records of their own in a stream. */
static int stream_feature(struct ap_writer *w, unsigned int feature, const void *data, size_t size)
{
	size_t start;

	if (pack_chunk(w))
		return w->error;
	if (feature == AP_FEAT_BUILD_ID) {
		ap_buf_put(&w->out, data, size);
		return w->out.failed ? fail(w, -ENOMEM) : 0;
	}
	if (feature == AP_FEAT_TRACING_DATA) {
		/* a record of 12 bytes, and the section behind it, filled up */
		u32 fill = (u32)(AP_ALIGN_UP(size, 8) - size);

		start = ap_buf_begin(&w->out, AP_RECORD_TRACING_DATA, 0);
		ap_buf_u32(&w->out, (u32)size + fill);
		ap_buf_end(&w->out, start);
		ap_buf_put(&w->out, data, size);
		ap_buf_zero(&w->out, fill);
		return w->out.failed ? fail(w, -ENOMEM) : 0;
	}
	start = ap_buf_begin(&w->out, AP_RECORD_HEADER_FEATURE, 0);
	ap_buf_u64(&w->out, feature);
	ap_buf_put(&w->out, data, size);
	ap_buf_end(&w->out, start); /* one that is too long is left out */
	return w->out.failed ? fail(w, -ENOMEM) : 0;
}

int ap_writer_feature(struct ap_writer *w, unsigned int feature, const void *data, size_t size)
{
	if (feature >= AP_DATA_FEATURES)
		return -EINVAL;
	if (w->is_stream)
		return stream_feature(w, feature, data, size);
	w->section[feature].size = 0;
	ap_buf_put(&w->section[feature], data, size);
	w->has[feature] = true;
	return w->section[feature].failed ? -ENOMEM : 0;
}

static int write_sections(struct ap_writer *w)
{
	struct ap_buf table = { 0 };
	u64 at = w->header.data.offset + w->header.data.size;
	int ret;

	for (unsigned int i = 0; i < AP_DATA_FEATURES; i++)
		at += w->has[i] ? sizeof(struct ap_data_section) : 0;
	for (unsigned int i = 0; i < AP_DATA_FEATURES; i++) {
		if (!w->has[i])
			continue;
		ap_buf_u64(&table, at);
		ap_buf_u64(&table, w->section[i].size);
		at += w->section[i].size;
	}
	for (unsigned int i = 0; i < AP_DATA_FEATURES; i++) {
		if (!w->has[i])
			continue;
		ap_buf_put(&table, w->section[i].data, w->section[i].size);
		w->header.features[i / 64] |= 1ULL << (i % 64);
	}
	/* raw: a profile */
	ret = table.failed ? -ENOMEM : ap_write_all(w->fd, table.data, table.size);
	ap_buf_fini(&table);
	return ret ? fail(w, ret) : write_header(w);
}

int ap_writer_finish(struct ap_writer *w)
{
	int ret = ap_writer_flush(w);

	if (!ret && !w->is_stream && w->level) {
		struct ap_buf *section = &w->section[AP_FEAT_COMPRESSED];

		compression_section(w, section);
		w->has[AP_FEAT_COMPRESSED] = true;
	}
	if (!w->is_stream) {
		if (!ret)
			ret = write_sections(w);
		/* after a full disk: nothing behind what the header counts */
		if (ret && w->fd >= 0 &&
		    ftruncate(w->fd, (off_t)(w->header.data.offset + w->header.data.size)))
			ret = w->error;
	}
	writer_free(w);
	return ret;
}
