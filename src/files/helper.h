/* SPDX-License-Identifier: MIT */
/*
 * What is taken from the environment: programs that we start as helpers, and folders.
 */
#ifndef AP_FILES_HELPER_H
#define AP_FILES_HELPER_H

#include <stddef.h>

#include "base/types.h"

/*
 * A program in an absolute folder of PATH that nobody but root and we can have put there, links resolved.  False:
 * there is none.
 */
bool ap_helper_find(const char *name, char *path, size_t size);
/* The value of a variable that names a folder; otherwise where it is not set, or we have more rights than the process that set it. */
const char *ap_folder_of_variable(const char *name, const char *otherwise);

#endif
