/* SPDX-License-Identifier: MIT */
/*
 * The parts of the reader: where bytes come from (stream.c), what order records are delivered in
 * (order.c), foreign byte order (swap.c), packed records (unpack.c).
 *
 * Bytes are read into chunks of a fixed size.  A record lies whole in one chunk: what a chunk holds
 * of a record that it does not hold to the end is copied to the front of the next one.  A chunk is
 * used again when all its records have been delivered, so memory is bounded by what the order of
 * records makes wait.
 */
#ifndef AP_PROFILE_INTERNAL_H
#define AP_PROFILE_INTERNAL_H

#include "base/table.h"
#include "profile/data/data.h"

#define AP_CHUNK_SIZE (1024U * 1024)

struct ap_chunk {
	struct ap_chunk *next; /* of the free ones */
	u32 pending;	       /* records in the queue, and 1 while it is read from */
	u32 len, cap;
	u64 pos; /* of data[0] in the file */
	u8 data[];
};

/* A record as it is found. */
struct ap_raw {
	const u8 *bytes;
	struct ap_chunk *chunk;
	u64 pos;
};

struct ap_stream {
	int fd;		/* -1: memory */
	int part;	/* what records are read from once the file's own are over; -1: those */
	char **parts;	/* of a folder (data_dir.c) */
	bool any_owner; /* may be another user's: --force */
	u32 nparts, part_at;
	bool seekable;
	ap_data_wait_fn *wait; /* or NULL */
	void *wait_arg;
	const u8 *mem;
	u64 size; /* of the whole, ~0 where it is not known */
	u64 pos;  /* next byte to be read */
	u64 end;  /* where records end */
	bool swapped;
	bool tolerant; /* the writer did not finish: a cut record is no damage */
	struct ap_chunk *chunk, *free;
	u32 at;			/* in the chunk */
	struct ap_chunk *inner; /* what packed records contained */
	u32 inner_at;
	u64 inner_pos;
	u8 *tracing; /* what came behind a stream's TRACING_DATA record */
	u64 ntracing;
	void *unpacker;
	u64 records, parcels; /* of packed ones */
	bool broken;	      /* nothing more comes from what is read now */
	char damage[AP_DATA_WHY];
};

/* Reads exactly n bytes at off; false where there are fewer. */
bool ap_stream_at(struct ap_stream *s, u64 off, void *buf, u64 n);
/* Reads n bytes from where the stream stands. */
bool ap_stream_take(struct ap_stream *s, void *buf, u64 n);
/* 1 with a record, 0 at the end or at damage. */
int ap_stream_next(struct ap_stream *s, struct ap_raw *raw);
/*
 * data_dir.c: the folder's `data` becomes the file, and its other files wait; or an error for
 * ap_file_error()
 */
AP_MUST_CHECK int ap_data_open_dir(struct ap_stream *s, const char *path);
/* Goes on with the next of them: false, there is none. */
bool ap_stream_next_part(struct ap_stream *s);
void ap_stream_close_parts(struct ap_stream *s);
void ap_stream_fini(struct ap_stream *s);
void ap_stream_damage(struct ap_stream *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
struct ap_chunk *ap_chunk_new(struct ap_stream *s, u32 cap);
void ap_chunk_put(struct ap_stream *s, struct ap_chunk *c);

/* Appends what the packed record contains to s->inner; false: damaged. */
bool ap_unpack(struct ap_stream *s, const struct ap_raw *raw);
void ap_unpack_fini(struct ap_stream *s);

struct ap_queued {
	u64 time;
	struct ap_raw raw;
};

struct ap_order {
	struct ap_queued *q; /* [first, n) waits */
	size_t first, n, cap;
	size_t due; /* [first, due) is sorted and may be delivered */
	u64 round_max, limit;
};

/* false: no memory */
bool ap_order_add(struct ap_order *o, u64 time, const struct ap_raw *raw);
bool ap_order_round(struct ap_order *o);
bool ap_order_finish(struct ap_order *o);

/* Turns a record into this machine's byte order, in place. */
void ap_swap_record(const struct ap_data *d, u8 *bytes, u32 size);
void ap_swap_attr(u8 *bytes, u32 size);

/* An event appended to d's. */
struct ap_data_event *ap_data_add_event(struct ap_data *d, const u8 *attr, u32 size, const u8 *ids,
					u64 nids);
bool ap_data_pipe_record(struct ap_data *d, const u8 *bytes);
/* The names and units that the file gives to events. */
void ap_data_name_events(struct ap_data *d);
void ap_data_group_events(struct ap_data *d);
void ap_data_update_event(struct ap_data *d, const u8 *bytes);

struct ap_feature_data {
	u64 offset, size;
	u8 *bytes;
	bool present;
};

struct ap_data {
	struct ap_stream s;
	struct ap_order order;
	struct ap_data_header h;
	bool pipe, unfinished, unordered, ended;
	bool features_cut; /* records are still worth reading */
	bool feature_cut;  /* one of them does not end in the file */
	u64 mtime;
	struct ap_data_event **ev;
	u32 nev;
	struct ap_feature_data feature[AP_DATA_FEATURES];
	struct ap_table by_id;	    /* events */
	struct ap_chunk *delivered; /* holds the record that was handed out */
};

#endif
