/* SPDX-License-Identifier: MIT */
/*
 * What fuzzers share.
 */
#ifndef AP_TESTS_FUZZ_H
#define AP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A file of these bytes, in memory, as a path below /proc; to be closed. */
int fuzz_file(const void *bytes, size_t size, char path[64]);
/* Where output goes that nobody reads. */
FILE *fuzz_sink(void);
/* The input's next line or word as a string of its own, to be freed: *at goes behind its end. */
char *fuzz_text(const uint8_t *bytes, size_t size, size_t *at);

#endif
