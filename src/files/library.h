/* SPDX-License-Identifier: MIT */
/*
 * A shared library of the system that a command can do without.
 */
#ifndef AP_FILES_LIBRARY_H
#define AP_FILES_LIBRARY_H

/* For dlsym() and dlclose(); NULL: it is not installed, or cannot be loaded into this program. */
void *ap_library_open(const char *name);

#endif
