/* SPDX-License-Identifier: MIT */
/*
 * A file that is read, by a name that a user, a profile or a variable gave.  Opening it never waits.
 */
#ifndef AP_FILES_IN_H
#define AP_FILES_IN_H

#include <stdio.h>

#include "base/types.h"

#define AP_IN_FORCE  (1U << 0) /* FIFOs and devices as well, and anybody's: --force */
#define AP_IN_OURS   (1U << 1) /* only what root or we own */
#define AP_IN_FOLDER (1U << 2) /* a folder is no error */
#define AP_IN_FILE   (1U << 3) /* no pipe either: it is a profile that names the file */

/* A descriptor of a regular file, of /dev/null, or of a pipe that has no name (bash's <(...), /dev/stdin); or an error for ap_file_error(). */
AP_MUST_CHECK int ap_in_open(const char *path, unsigned int flags);
/* The same as a stream; NULL: *error says why. */
FILE *ap_in_stream(const char *path, unsigned int flags, int *error);

/* A folder. */
AP_MUST_CHECK int ap_in_folder(const char *path);
/* A FIFO, to be read and written without waiting: it stays open when its other end goes. */
AP_MUST_CHECK int ap_in_fifo(const char *path);

/* The kernel's own, by a path below /proc, /sys or a tracefs; -errno, NULL and errno.  how: O_RDONLY, O_PATH ... */
int ap_kernel_open(const char *path, int how);
FILE *ap_kernel_stream(const char *path);

#endif
