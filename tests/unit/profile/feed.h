/* SPDX-License-Identifier: MIT */
/*
 * Bytes through everything that reads a perf.data: records, machine state, tables with trees, lines of
 * text.  For damaged files, by hand and by a fuzzer.
 */
#ifndef AP_TESTS_PROFILE_FEED_H
#define AP_TESTS_PROFILE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all of it could be read. */
bool feed(const uint8_t *bytes, size_t size);

#endif
