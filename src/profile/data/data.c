/* SPDX-License-Identifier: MIT */
/*
 * Opening: the file header, the events and where the sections lie; then records one by one.
 */
#include "profile/data/data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/error.h"
#include "files/in.h"
#include "profile/data/internal.h"

/* What one file may claim, so that a damaged one is refused before memory is. */
#define MAX_EVENTS  65536U
#define MAX_IDS	    (1U << 24)
#define MAX_FEATURE (256ULL * 1024 * 1024)

static int fail(char *why, int err, const char *text)
{
	snprintf(why, AP_DATA_WHY, "%s", text);
	return err;
}

static void swap_header(struct ap_data_header *h)
{
	u64 *w = (u64 *)h;
	size_t i;

	for (i = 0; i < sizeof(*h) / 8; i++)
		w[i] = __builtin_bswap64(w[i]);
	/* The feature bits were words of 64 bits, or of 32 where hostname's bit shows it. */
	if (!(h->features[0] & 1ULL << AP_FEAT_HOSTNAME) &&
	    (h->features[0] >> 32 & 1ULL << AP_FEAT_HOSTNAME)) {
		for (i = 0; i < 4; i++)
			h->features[i] = h->features[i] << 32 | h->features[i] >> 32;
	}
}

/* The magic and what follows; the caller's stream then stands behind it in a pipe. */
static int read_header(struct ap_data *d, char *why)
{
	struct ap_data_header *h = &d->h;
	struct ap_stream *s = &d->s;

	if (!ap_stream_take(s, h, AP_DATA_PIPE_SIZE))
		return fail(why, -EINVAL, "is empty or too short to be a perf.data file");
	if (h->magic == AP_DATA_MAGIC_SWAPPED) {
		s->swapped = true;
		h->size = __builtin_bswap64(h->size);
	} else if (h->magic == 0x454c494646524550ULL) {
		return fail(why, -EINVAL,
			    "is of the first perf.data format (PERFFILE), not PERFILE2");
	} else if (h->magic != AP_DATA_MAGIC) {
		return fail(why, -EINVAL, "is not a perf.data file (no PERFILE2 at its start)");
	}
	if (h->size == AP_DATA_PIPE_SIZE) {
		d->pipe = true;
		h->magic = AP_DATA_MAGIC;
		return 0;
	}
	if (!s->seekable && s->fd >= 0)
		return fail(why, -EINVAL,
			    "is a file's content, which a pipe cannot carry: name the file");
	if (!ap_stream_at(s, 0, h, sizeof(*h)))
		return fail(why, -EINVAL, "ends in the middle of its header");
	if (s->swapped)
		swap_header(h);
	if (h->size < offsetof(struct ap_data_header, features))
		return fail(why, -EINVAL,
			    "has a header of a size that no version of the format has");
	if (h->size < sizeof(*h))
		memset(h->features, 0, sizeof(h->features));
	return 0;
}

static bool add_id(struct ap_data *d, u64 id, struct ap_data_event *ev)
{
	struct ap_table_slot *s = ap_table_find(&d->by_id, id);

	if (!s)
		return !ap_table_add(&d->by_id, id, (uintptr_t)ev);
	s->item = (uintptr_t)ev;
	return true;
}

static void place_fields(struct ap_data_event *ev)
{
	u64 t = ev->attr.sample_type;
	bool all = ev->attr.flags & AP_PERF_SAMPLE_ID_ALL;
	int before = 8 * (!!(t & AP_PERF_SAMPLE_IDENTIFIER) + !!(t & AP_PERF_SAMPLE_IP) +
			  !!(t & AP_PERF_SAMPLE_TID));
	int behind = 8 * (!!(t & AP_PERF_SAMPLE_IDENTIFIER) + !!(t & AP_PERF_SAMPLE_CPU) +
			  !!(t & AP_PERF_SAMPLE_STREAM_ID));
	bool id = t & AP_PERF_SAMPLE_ID;

	ev->sample_time = t & AP_PERF_SAMPLE_TIME ? before : -1;
	ev->other_time = all && (t & AP_PERF_SAMPLE_TIME) ? behind + 8 * id + 8 : -1;
	ev->sample_id = -1;
	ev->other_id = -1;
	if (t & AP_PERF_SAMPLE_IDENTIFIER) {
		ev->sample_id = 0;
		ev->other_id = all ? 8 : -1;
	} else if (id) {
		ev->sample_id =
			before + 8 * (!!(t & AP_PERF_SAMPLE_TIME) + !!(t & AP_PERF_SAMPLE_ADDR));
		ev->other_id = all ? behind + 8 : -1;
	}
}

struct ap_data_event *ap_data_add_event(struct ap_data *d, const u8 *attr, u32 size, const u8 *ids,
					u64 nids)
{
	struct ap_data_event *ev, **all;
	char name[128];
	u64 i;

	if (d->nev == MAX_EVENTS || nids > MAX_IDS)
		return NULL;
	if (!(d->nev & (d->nev - 1))) {
		all = realloc(d->ev, (d->nev ? 2 * d->nev : 1) * sizeof(*all));
		if (!all)
			return NULL;
		d->ev = all;
	}
	ev = calloc(1, sizeof(*ev));
	if (!ev)
		return NULL;
	memcpy(&ev->attr, attr, size < sizeof(ev->attr) ? size : sizeof(ev->attr));
	if (ev->attr.size && ev->attr.size < size)
		memset((u8 *)&ev->attr + (ev->attr.size < 64 ? 64 : ev->attr.size), 0,
		       ev->attr.size < sizeof(ev->attr)
			       ? sizeof(ev->attr) - (ev->attr.size < 64 ? 64 : ev->attr.size)
			       : 0);
	place_fields(ev);
	ap_event_name(&ev->attr, name, sizeof(name));
	ev->name = strdup(name);
	ev->ids = nids ? malloc(nids * sizeof(*ev->ids)) : NULL;
	ev->index = d->nev;
	ev->scale = 1;
	ev->group_size = 1;
	d->ev[d->nev++] = ev;
	if (!ev->name || (nids && !ev->ids))
		return NULL;
	for (i = 0; i < nids; i++) {
		ev->ids[ev->nids++] = ap_get64(ids + 8 * i);
		if (!add_id(d, ev->ids[i], ev))
			return NULL;
	}
	return ev;
}

static bool read_ids(struct ap_data *d, const struct ap_data_section *sec, u8 **ids)
{
	u64 i, v;

	*ids = NULL;
	if (!sec->size)
		return true;
	if (sec->size > 8ULL * MAX_IDS || sec->size > d->s.size)
		return false;
	*ids = malloc(sec->size);
	if (!*ids || !ap_stream_at(&d->s, sec->offset, *ids, sec->size)) {
		free(*ids);
		*ids = NULL;
		return false;
	}
	for (i = 0; d->s.swapped && i + 8 <= sec->size; i += 8) {
		v = __builtin_bswap64(ap_get64(*ids + i));
		memcpy(*ids + i, &v, 8);
	}
	return true;
}

static int read_event(struct ap_data *d, u64 off, u32 size, char *why)
{
	struct ap_data_section sec;
	struct ap_data_event *ev;
	u8 attr[512] = { 0 };
	u32 keep = size < sizeof(attr) ? size : (u32)sizeof(attr);
	u8 *ids;

	if (!ap_stream_at(&d->s, off, attr, keep) ||
	    !ap_stream_at(&d->s, off + size, &sec, sizeof(sec)))
		return fail(why, -EINVAL, "ends in the middle of its list of events");
	if (d->s.swapped) {
		ap_swap_attr(attr, keep);
		sec.offset = __builtin_bswap64(sec.offset);
		sec.size = __builtin_bswap64(sec.size);
	}
	if (!read_ids(d, &sec, &ids))
		return fail(why, -EINVAL, "has a damaged list of event ids");
	ev = ap_data_add_event(d, attr, keep, ids, sec.size / 8);
	free(ids);
	return ev ? 0 : fail(why, -ENOMEM, "has too many events");
}

static int read_events(struct ap_data *d, char *why)
{
	const struct ap_data_header *h = &d->h;
	u64 i, n;
	u32 size;
	int r;

	if (h->attr_size < AP_PERF_ATTR_SIZE_VER0 + 16 || h->attr_size > 4096 ||
	    h->attrs.size / h->attr_size > MAX_EVENTS)
		return fail(why, -EINVAL, "has a damaged list of events");
	size = (u32)h->attr_size - 16;
	n = h->attrs.size / h->attr_size;
	/* `stat record -n` has times alone */
	if (!n && !(h->features[0] >> AP_FEAT_STAT & 1))
		return fail(why, -EINVAL, "names no event");
	for (i = 0; i < n; i++) {
		r = read_event(d, h->attrs.offset + i * h->attr_size, size, why);
		if (r)
			return r;
	}
	return 0;
}

/* Behind the data stand the sections of the features, in the order of their bits. */
static void find_features(struct ap_data *d)
{
	struct ap_data_section sec;
	u64 off = d->h.data.offset + d->h.data.size;
	int i;

	if (d->unfinished)
		return;
	for (i = 0; i < 256; i++) {
		if (!(d->h.features[i / 64] >> i % 64 & 1))
			continue;
		if (!ap_stream_at(&d->s, off, &sec, sizeof(sec))) {
			d->features_cut = true;
			return;
		}
		off += sizeof(sec);
		if (d->s.swapped) {
			sec.offset = __builtin_bswap64(sec.offset);
			sec.size = __builtin_bswap64(sec.size);
		}
		if (sec.size > d->s.size || sec.offset > d->s.size - sec.size)
			d->feature_cut = true;
		d->feature[i].present = true;
		d->feature[i].offset = sec.offset;
		d->feature[i].size = sec.size;
	}
}

static int open_file_format(struct ap_data *d, char *why)
{
	struct ap_stream *s = &d->s;
	int r = read_events(d, why);

	if (r)
		return r;
	d->unfinished = !d->h.data.size;
	if (d->h.data.offset > s->size)
		return fail(why, -EINVAL, "is shorter than its header says: no record is left");
	/* what follows is records, wherever the header was */
	if (s->chunk)
		ap_chunk_put(s, s->chunk);
	s->chunk = NULL;
	s->at = 0;
	s->pos = d->h.data.offset;
	s->tolerant = d->unfinished;
	s->end = s->size;
	if (!d->unfinished && d->h.data.size <= ~0ULL - d->h.data.offset)
		s->end = d->h.data.offset + d->h.data.size;
	find_features(d);
	ap_data_name_events(d);
	ap_data_group_events(d);
	return 0;
}

static int begin(struct ap_data *d, char *why)
{
	int r = read_header(d, why);

	if (r) {
		if (d->s.damage[0])
			snprintf(why, AP_DATA_WHY, "%s", d->s.damage);
		return r;
	}
	return d->pipe ? 0 : open_file_format(d, why);
}

static struct ap_data *new_data(void)
{
	struct ap_data *d = calloc(1, sizeof(*d));

	if (d) {
		d->s.fd = d->s.part = -1;
		d->s.size = d->s.end = ~0ULL;
	}
	return d;
}

static int finish_open(struct ap_data *d, struct ap_data **out, char *why)
{
	int r = begin(d, why);

	if (r) {
		ap_data_close(d);
		return r;
	}
	*out = d;
	return 0;
}

/* Takes d, whose descriptor is open; path NULL: it has no name that is known. */
static int open_stream(struct ap_data *d, const char *path, struct ap_data **out, char *why)
{
	struct stat st;
	int err;

	if (d->s.fd < 0 || fstat(d->s.fd, &st)) {
		err = errno;
		ap_data_close(d);
		return fail(why, -err, strerror(err));
	}
	if (S_ISDIR(st.st_mode)) {
		err = path ? ap_data_open_dir(&d->s, path) : -EISDIR;
		if (err) {
			ap_data_close(d);
			snprintf(why, AP_DATA_WHY,
				 "is a folder, and no perf.data is in it: data: %s",
				 ap_file_error(err));
			return err;
		}
		if (!fstat(d->s.fd, &st))
			st.st_mode = 0; /* known already */
	}
	d->mtime = (u64)st.st_mtime;
	if (S_ISREG(st.st_mode)) {
		d->s.seekable = true;
		d->s.size = d->s.end = (u64)st.st_size;
	}
	return finish_open(d, out, why);
}

int ap_data_open(struct ap_data **out, const char *path, bool force, char *why)
{
	struct ap_data *d = new_data();
	int ret;

	if (!d)
		return fail(why, -ENOMEM, "no memory");
	d->s.any_owner = force;
	d->s.fd = strcmp(path, "-")
			  ? ap_in_open(path, AP_IN_OURS | AP_IN_FOLDER | (force ? AP_IN_FORCE : 0))
			  : dup(0);
	if (d->s.fd < 0 && strcmp(path, "-") != 0) {
		ret = d->s.fd;
		ap_data_close(d);
		return fail(why, ret, ap_file_error(ret));
	}
	return open_stream(d, path, out, why);
}

int ap_data_open_fd(struct ap_data **out, int fd, char *why)
{
	struct ap_data *d = new_data();

	if (!d)
		return fail(why, -ENOMEM, "no memory");
	d->s.fd = fd;
	return open_stream(d, NULL, out, why);
}

void ap_data_on_wait(struct ap_data *d, ap_data_wait_fn *fn, void *arg)
{
	d->s.wait = fn;
	d->s.wait_arg = arg;
}

int ap_data_open_memory(struct ap_data **out, const void *bytes, size_t size, char *why)
{
	struct ap_data *d = new_data();

	if (!d)
		return fail(why, -ENOMEM, "no memory");
	d->s.mem = bytes;
	d->s.size = d->s.end = size;
	return finish_open(d, out, why);
}

void ap_data_close(struct ap_data *d)
{
	size_t i;

	if (d->delivered)
		ap_chunk_put(&d->s, d->delivered);
	for (i = d->order.first; i < d->order.n; i++)
		ap_chunk_put(&d->s, d->order.q[i].raw.chunk);
	free(d->order.q);
	ap_stream_fini(&d->s);
	for (i = 0; i < d->nev; i++) {
		free(d->ev[i]->ids);
		free(d->ev[i]->name);
		free(d->ev[i]->unit);
		free(d->ev[i]);
	}
	for (i = 0; i < AP_ARRAY_SIZE(d->feature); i++)
		free(d->feature[i].bytes);
	free(d->ev);
	ap_table_fini(&d->by_id);
	free(d);
}

struct ap_data_event *ap_data_event_of(const struct ap_data *d, const u8 *bytes)
{
	u32 type = ap_get32(bytes), size = ap_get16(bytes + 6);
	struct ap_data_event *first;
	int off;
	u64 id;

	if (!d->nev)
		return NULL;
	first = d->ev[0];
	if (type == AP_RECORD_STAT && size >= AP_RECORD_HEADER + 8)
		return ap_table_get_ptr(&d->by_id, ap_get64(bytes + 8));
	if (d->nev == 1 || type >= AP_RECORD_HEADER_ATTR)
		return first;
	off = type == AP_PERF_RECORD_SAMPLE ? first->sample_id : first->other_id;
	if (off < 0)
		return first;
	if (AP_RECORD_HEADER + (u32)off + (type == AP_PERF_RECORD_SAMPLE ? 8 : 0) > size)
		return NULL;
	id = ap_get64(type == AP_PERF_RECORD_SAMPLE ? bytes + AP_RECORD_HEADER + off
						    : bytes + size - off);
	if (!id)
		return first; /* written by the tool itself */
	return ap_table_get_ptr(&d->by_id, id);
}

static u64 time_of(const struct ap_data_event *ev, const u8 *bytes)
{
	u32 size = ap_get16(bytes + 6);
	int off;

	if (ap_get32(bytes) >= AP_RECORD_HEADER_ATTR || !ev)
		return 0;
	if (ap_get32(bytes) == AP_PERF_RECORD_SAMPLE) {
		off = ev->sample_time;
		return off < 0 || AP_RECORD_HEADER + (u32)off + 8 > size
			       ? 0
			       : ap_get64(bytes + AP_RECORD_HEADER + off);
	}
	off = ev->other_time;
	return off < 0 || (u32)off + AP_RECORD_HEADER > size ? 0 : ap_get64(bytes + size - off);
}

static void deliver(struct ap_data *d, const struct ap_raw *raw, u64 time, struct ap_data_rec *rec)
{
	d->delivered = raw->chunk;
	rec->bytes = raw->bytes;
	rec->h = (struct ap_perf_event_header){ ap_get32(raw->bytes), ap_get16(raw->bytes + 4),
						ap_get16(raw->bytes + 6) };
	rec->time = time == ~0ULL ? 0 : time;
	rec->pos = raw->pos;
	rec->event = ap_data_event_of(d, raw->bytes);
}

/* What a stream has in a record is a section elsewhere. */
static void take_tracing(struct ap_data *d)
{
	struct ap_feature_data *f = &d->feature[AP_FEAT_TRACING_DATA];

	if (f->present || !d->s.ntracing)
		return;
	f->present = true;
	f->bytes = d->s.tracing;
	f->size = d->s.ntracing;
	d->s.tracing = NULL;
}

/* 1: delivered; 0: look again; -1: the end */
static int step(struct ap_data *d, struct ap_data_rec *rec)
{
	struct ap_raw raw;
	bool ok = true;
	u32 type;
	u64 time;

	if (!ap_stream_next(&d->s, &raw)) {
		d->ended = true;
		return ap_order_finish(&d->order) ? 0 : -1;
	}
	if (d->s.swapped)
		ap_swap_record(d, (u8 *)raw.bytes, __builtin_bswap16(ap_get16(raw.bytes + 6)));
	type = ap_get32(raw.bytes);
	if (type == AP_RECORD_TRACING_DATA && d->pipe)
		take_tracing(d);
	if (type >= AP_RECORD_HEADER_ATTR && !ap_data_pipe_record(d, raw.bytes))
		ap_stream_damage(&d->s, "record at %#llx is damaged", (unsigned long long)raw.pos);
	time = time_of(ap_data_event_of(d, raw.bytes), raw.bytes);
	if (d->unordered || !time || time == ~0ULL) {
		if (type == AP_RECORD_FINISHED_ROUND && !d->unordered && !d->s.nparts)
			ok = ap_order_round(&d->order);
		deliver(d, &raw, time, rec);
	} else {
		ok = ap_order_add(&d->order, time, &raw);
	}
	if (!ok)
		ap_stream_damage(&d->s, "out of memory");
	return type >= AP_RECORD_HEADER_ATTR || d->unordered || !time || time == ~0ULL;
}

int ap_data_next(struct ap_data *d, struct ap_data_rec *rec)
{
	struct ap_order *o = &d->order;
	struct ap_queued *q;
	int r;

	if (d->delivered)
		ap_chunk_put(&d->s, d->delivered);
	d->delivered = NULL;
	for (;;) {
		if (o->first < o->due) {
			q = &o->q[o->first++];
			deliver(d, &q->raw, q->time, rec);
			return 1;
		}
		if (o->first == o->n)
			o->first = o->n = o->due = 0;
		if (d->ended)
			return 0;
		r = step(d, rec);
		if (r)
			return r > 0;
	}
}

void ap_data_unordered(struct ap_data *d)
{
	d->unordered = true;
}

const char *ap_data_damage(const struct ap_data *d)
{
	if (d->s.damage[0])
		return d->s.damage;
	if (d->features_cut)
		return "cut off before the list of its features";
	return d->feature_cut ? "cut off in its features" : NULL;
}

bool ap_data_unfinished(const struct ap_data *d)
{
	return d->unfinished;
}

u32 ap_data_nevents(const struct ap_data *d)
{
	return d->nev;
}

struct ap_data_event *ap_data_event(const struct ap_data *d, u32 i)
{
	return d->ev[i];
}

const struct ap_data_header *ap_data_header(const struct ap_data *d)
{
	return &d->h;
}

bool ap_data_is_pipe(const struct ap_data *d)
{
	return d->pipe;
}

bool ap_data_swapped(const struct ap_data *d)
{
	return d->s.swapped;
}

u64 ap_data_mtime(const struct ap_data *d)
{
	return d->mtime;
}

u64 ap_data_size(const struct ap_data *d)
{
	return d->s.size;
}

u64 ap_data_parcels(const struct ap_data *d)
{
	return d->s.parcels;
}

u64 ap_data_consumed(const struct ap_data *d)
{
	return d->s.pos;
}

bool ap_data_has(const struct ap_data *d, enum ap_feature feature)
{
	return d->feature[feature].present;
}

const u8 *ap_data_feature(struct ap_data *d, enum ap_feature feature, u64 *size)
{
	struct ap_feature_data *f = &d->feature[feature];

	if (!f->present || f->size > MAX_FEATURE)
		return NULL;
	if (!f->bytes) {
		f->bytes = f->size <= d->s.size ? malloc(f->size + 1) : NULL;
		if (!f->bytes || !ap_stream_at(&d->s, f->offset, f->bytes, f->size)) {
			free(f->bytes);
			f->bytes = NULL;
			return NULL;
		}
		f->bytes[f->size] = 0;
	}
	*size = f->size;
	return f->bytes;
}
