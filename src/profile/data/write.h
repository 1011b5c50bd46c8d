/* SPDX-License-Identifier: MIT */
/*
 * Writing perf.data: a file that is whole at every moment, or a stream into a pipe.
 *
 * A file begins under a temporary name and gets its own with the first records, which describe what
 * runs already; what had the name before is then NAME.old.  From there on records are appended, and
 * after each time the size in the header is set to what has been appended.  So a writer that is
 * killed leaves a valid file that ends with a whole record: what is lost is what was not handed
 * over yet, and the sections behind the data, which every reader can do without.  (But for
 * compressed files: perf learns from a section how much room they take, and refuses them without;
 * our reader does not.)
 */
#ifndef AP_PROFILE_WRITE_H
#define AP_PROFILE_WRITE_H

#include "abi/perf.h"
#include "base/types.h"

struct ap_write_event {
	struct ap_perf_attr attr;
	const char *name;
	const u64 *ids;
	size_t nids;
	size_t leader; /* index of its group's first event: its own if it leads or is alone */
};

struct ap_write_options {
	const char *path; /* NULL: into fd, as a stream */
	int fd;
	unsigned int level;		     /* of zstd, 1 to 22; 0: not compressed */
	const struct ap_write_event *events; /* borrowed until the end */
	size_t nevents;
};

struct ap_writer;

/* -errno: the file could not be made, and what was there is as it was. */
AP_MUST_CHECK int ap_writer_open(struct ap_writer **writer, const struct ap_write_options *options);

/* Whole records of the kernel's format.  Small ones are kept until ap_writer_flush. */
AP_MUST_CHECK int ap_writer_put(struct ap_writer *writer, const void *records, size_t size);
/* All rings were read once: readers may sort what came before the last time. */
AP_MUST_CHECK int ap_writer_round(struct ap_writer *writer);
/* What was put is in the file, and its header says so. */
AP_MUST_CHECK int ap_writer_flush(struct ap_writer *writer);

/* Bytes in the file so far, or on their way. */
u64 ap_writer_size(const struct ap_writer *writer);
/* Bytes of records before compression per byte after it. */
u32 ap_writer_ratio(const struct ap_writer *writer);

/* A feature section.  In a file they are kept until ap_writer_finish. */
AP_MUST_CHECK int ap_writer_feature(struct ap_writer *writer, unsigned int feature,
				    const void *data, size_t size);

/* The sections behind the data, and the end.  The writer is gone, whatever it returns. */
AP_MUST_CHECK int ap_writer_finish(struct ap_writer *writer);

/* Bytes of an attr in files: as few as tell all, because older readers refuse longer ones. */
u32 ap_write_attr_size(const struct ap_write_event *events, size_t n);

#endif
