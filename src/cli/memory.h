/* SPDX-License-Identifier: MIT */
/*
 * Memory of the command line tool.  A tool that cannot allocate a few hundred bytes has nothing
 * useful left to do, so these end the program with one line and status 125 instead of burdening
 * every caller.  Nothing outside of src/cli may use them.
 */
#ifndef AP_CLI_MEMORY_H
#define AP_CLI_MEMORY_H

#include <stddef.h>

#include "base/types.h"

/* Exit status of anyperf's own failures; the command's statuses stay below, as with env(1). */
#define AP_EXIT_FAILURE 125
#define AP_EXIT_USAGE	129

AP_NORETURN void ap_die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* An array of n elements grown from what it was; the new part is not initialised. */
void *ap_xgrow(void *array, size_t n, size_t size);
char *ap_xstrndup(const char *s, size_t n);
char *ap_xstrdup(const char *s);
char *ap_xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
