/* SPDX-License-Identifier: MIT */
/*
 * Reading perf.data: a file (PERFILE2, either byte order) or the stream form of it that pipes
 * carry.  Whoever opened one asks for its events (ap_data_nattrs), its feature sections, and then
 * for record after record in order of time.  Nothing of the file is believed: sizes and offsets
 * are held against what is there, and where a file ends early or is damaged the reader delivers
 * what came before and says what is wrong (ap_data_damage).
 */
#ifndef AP_PROFILE_DATA_H
#define AP_PROFILE_DATA_H

#include "abi/perf.h"
#include "base/types.h"
#include "profile/data/format.h"

#define AP_DATA_WHY 400 /* room for one line that says what went wrong */

/* One event of the file and what follows from its sample_type. */
struct ap_data_event {
	struct ap_perf_attr attr;
	u64 *ids;
	u32 nids;
	u32 index;
	char *name; /* from the file, else as perf would call the attr */
	char *unit; /* from the file, or NULL */
	double scale;
	bool named;	   /* by the file */
	u32 group_size;	   /* of a leader: how many events from it on belong to its group; else 1 */
	const char *group; /* its name, or NULL */
	/* bytes from the payload's start in a sample, from the record's end elsewhere; -1: none */
	int sample_time, other_time, sample_id, other_id;
};

struct ap_branch {
	u64 from, to, flags;
};

/* A sample taken apart.  Pointers lead into the record, whose words may be unaligned. */
struct ap_sample {
	u64 ip, time, addr, id, stream_id, period, weight, data_src, transaction;
	u64 phys_addr, cgroup, data_page_size, code_page_size;
	u32 pid, tid, cpu;
	u16 misc;
	u8 cpumode;
	u64 nchain;
	const u8 *chain; /* nchain words */
	const u8 *read;	 /* as attr.read_format says */
	u32 read_size;
	u32 raw_size;
	const u8 *raw;
	u64 nbranches, hw_index;
	const u8 *branches; /* nbranches times three words */
	u64 regs_abi, regs_intr_abi;
	const u8 *regs, *regs_intr; /* one word per bit of the mask */
	u64 stack_size, stack_dyn;
	const u8 *stack;
};

struct ap_data_rec {
	struct ap_perf_event_header h;
	const u8 *bytes; /* the whole record, in this machine's byte order */
	u64 time;	 /* 0: has none */
	u64 pos; /* where it begins in the file; of packed ones, where their parcel begins */
	struct ap_data_event *event;
};

struct ap_data;

/* A descriptor that the reader closes. */
AP_MUST_CHECK int ap_data_open_fd(struct ap_data **out, int fd, char *why);
/*
 * "-" is standard input.  force: also of another user's file, a FIFO or a device.  0, or -errno (or
 * an error of files/error.h) with a line in why.
 */
AP_MUST_CHECK int ap_data_open(struct ap_data **out, const char *path, bool force, char *why);
/* The same over memory that stays: for tests and fuzzers. */
AP_MUST_CHECK int ap_data_open_memory(struct ap_data **out, const void *bytes, size_t size,
				      char *why);
void ap_data_close(struct ap_data *d);

/*
 * The next record: by time as far as records have one (samples of different buffers come mixed),
 * else where it stands.  1 with *rec valid until the next call; 0 at the end.
 */
int ap_data_next(struct ap_data *d, struct ap_data_rec *rec);
/*
 * Called before each read(2) from a pipe: a caller that has more to do waits in there until
 * descriptor fd has something.  false: read no further, as if the stream ended.
 */
typedef bool ap_data_wait_fn(void *arg, int fd);
void ap_data_on_wait(struct ap_data *d, ap_data_wait_fn *fn, void *arg);
/* Deliver records as they stand in the file. */
void ap_data_unordered(struct ap_data *d);
/* What stopped the reader before the end, or NULL. */
const char *ap_data_damage(const struct ap_data *d);
/* The file was not finished by its writer; it was read as far as it goes. */
bool ap_data_unfinished(const struct ap_data *d);

/* Of a stream the events are known only after its first records have been asked for. */
bool ap_data_has_groups(const struct ap_data *d);
u32 ap_data_nevents(const struct ap_data *d);
struct ap_data_event *ap_data_event(const struct ap_data *d, u32 i);
const struct ap_data_header *ap_data_header(const struct ap_data *d);
bool ap_data_is_pipe(const struct ap_data *d);
bool ap_data_swapped(const struct ap_data *d);
/* The file's age (st_mtime), size and name. */
u64 ap_data_mtime(const struct ap_data *d);
u64 ap_data_size(const struct ap_data *d);
/* How many packed records there were, besides what was in them. */
u64 ap_data_parcels(const struct ap_data *d);
/* Bytes that records have taken so far. */
u64 ap_data_consumed(const struct ap_data *d);

/*
 * A feature section whole, as in the file (foreign byte order too: use ap_data_u32/u64 on it), or
 * NULL.  Owned by d.
 */
const u8 *ap_data_feature(struct ap_data *d, enum ap_feature feature, u64 *size);
bool ap_data_has(const struct ap_data *d, enum ap_feature feature);
u32 ap_data_u32(const struct ap_data *d, const u8 *p);
u64 ap_data_u64(const struct ap_data *d, const u8 *p);
/* A feature that is one string, or NULL. */
const char *ap_data_string(struct ap_data *d, enum ap_feature feature);

/* The build-ids that the file lists, one call each. */
typedef void ap_build_id_fn(void *arg, u32 pid, u16 misc, const u8 *id, u32 size, const char *path);
void ap_data_build_ids(struct ap_data *d, ap_build_id_fn *fn, void *arg);

/* What event a record belongs to; NULL: an id that the file does not know. */
struct ap_data_event *ap_data_event_of(const struct ap_data *d, const u8 *bytes);
/* 0, or -EFAULT where the record is shorter than its parts. */
AP_MUST_CHECK int ap_sample_parse(const struct ap_data_event *ev, const u8 *bytes,
				  struct ap_sample *out);
/* The identity fields of other records (attr.sample_id_all); zeros where there are none. */
void ap_sample_trailer(const struct ap_data_event *ev, const u8 *bytes, struct ap_sample *out);

/* perf's name of an attr, into buf. */
void ap_event_name(const struct ap_perf_attr *attr, char *buf, size_t size);

#endif
