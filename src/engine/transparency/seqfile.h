/* SPDX-License-Identifier: MIT */
/* How much of a text one read gets, where the kernel makes it record by record (seq_file). */
#ifndef AP_ENGINE_SEQFILE_H
#define AP_ENGINE_SEQFILE_H

#include "base/types.h"

/* A file's reader: the kernel has one for all that share its description, pread or not. */
struct ap_seqfile {
	u64 pos;  /* behind the last read */
	u64 end;  /* of the records that were made and not read yet */
	u64 room; /* for records, a page at first */
};

void ap_seqfile_begin(struct ap_seqfile *s);

/*
 * fd has all of the text, in records of one line, or blocks of one that begins with a number and
 * others that do not.  What would a read of size bytes at pos return?  Process lock held.
 */
u64 ap_seqfile_read(struct ap_seqfile *s, s32 fd, bool has_blocks, u64 pos, u64 size);

#endif
