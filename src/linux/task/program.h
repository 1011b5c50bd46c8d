/* SPDX-License-Identifier: MIT */
/*
 * The program file that an exec will run: where PATH finds it, and whether it can be followed.
 */
#ifndef AP_LINUX_PROGRAM_H
#define AP_LINUX_PROGRAM_H

#include <stddef.h>

#include "base/types.h"

/*
 * Finds name as execvp does, in dirs ("a:b", empty parts are the current directory; NULL is the
 * system's default).  0 with the path, -ENOENT, or -EACCES when only files that may not be
 * executed were found.
 */
AP_MUST_CHECK int ap_program_find(const char *name, const char *dirs, char *path, size_t size);

/* What is the matter with path, as " (text)" behind the error of finding or executing it; or "". */
const char *ap_program_remedy(const char *path, int err);

/*
 * NULL when a task that runs path can be counted, else the reason that the report gives.  Follows
 * #! lines.  What cannot be read is assumed to be fine: the exec stop will tell.
 */
const char *ap_program_why_not(const char *path);

#endif
