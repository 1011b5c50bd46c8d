/* SPDX-License-Identifier: MIT */
/*
 * A file that is written.  Where nothing or a regular file has the name, a new file is made beside it, which takes its
 * place when it is complete; a device, a FIFO or a descriptor's name is written straight.  docs/design/files.md has the rules.
 */
#ifndef AP_FILES_OUT_H
#define AP_FILES_OUT_H

#include <stddef.h>

#include "files/leaf.h"

#define AP_OUT_PRIVATE (1U << 0) /* a profile: nobody else may read it, whatever was there before */
#define AP_OUT_APPEND                                                                              \
	(1U << 1)	     /* to what is there: one write, which is there whole or not at all */
#define AP_OUT_NEW (1U << 2) /* what has the name stays: the new file gets another one */

#define AP_OUT_KEEP (1U << 3) /* ap_out_keep_old() will be called */

struct ap_out {
	struct ap_leaf leaf;
	unsigned int flags;
	int fd;			 /* to write to, once it is opened; -1 before */
	bool is_straight;	 /* what is written is there at once */
	char temp[NAME_MAX + 1]; /* the name until then; "": none */
};

/* All return 0 or an error for ap_file_error(). */

/* Finds and judges what has the name; nothing is made.  What follows is done in that folder. */
AP_MUST_CHECK int ap_out_begin(struct ap_out *out, const char *path, unsigned int flags);
/* For out->fd. */
AP_MUST_CHECK int ap_out_open(struct ap_out *out);
/*
 * Gives what has the name the name NAME.old instead; *was_one: there was something.  With AP_OUT_KEEP ap_out_begin() has found that it can
 * be done.
 */
AP_MUST_CHECK int ap_out_keep_old(struct ap_out *out, bool *was_one);
/* It is complete: it is closed, and gets its mode and its name. */
AP_MUST_CHECK int ap_out_commit(struct ap_out *out);
/* The same for one that grows: it stays open. */
AP_MUST_CHECK int ap_out_show(struct ap_out *out);
/* The same with AP_OUT_NEW: as NAME, or NAME.1, NAME.2 ... where that is taken; in name, of so many bytes. */
AP_MUST_CHECK int ap_out_commit_new(struct ap_out *out, char *name, size_t size);
/* Closes it, and takes back what was not committed. */
void ap_out_end(struct ap_out *out);

/* Whether it could be written, found out by doing it: what access(2) grants to root /proc refuses. */
AP_MUST_CHECK int ap_out_check(const char *path, unsigned int flags);

/*
 * A file of ours alone in TMPDIR: a descriptor, or an error.  Its name is gone when this returns, so that nobody can give that to
 * another file; a caller that needs a name has /proc/PID/fd/N.
 */
AP_MUST_CHECK int ap_out_temporary(const char *name);

#endif
