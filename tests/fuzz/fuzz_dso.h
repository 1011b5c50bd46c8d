/* SPDX-License-Identifier: MIT */
/*
 * For fuzzers of files that symbols come from: the input as such a file, looked at, and given back.
 */
#ifndef AP_TESTS_FUZZ_DSO_H
#define AP_TESTS_FUZZ_DSO_H

#include <unistd.h>

#include "fuzz.h"
#include "profile/symbols/symbol.h"

static inline int fuzz_dso(const uint8_t *bytes, size_t size,
			   struct ap_dso *(*open)(struct ap_symbols *all, const char *path),
			   void (*look)(struct ap_dso *dso, const uint8_t *bytes, size_t size))
{
	struct ap_symbols all;
	char path[64];
	int fd = fuzz_file(bytes, size, path);

	ap_symbols_init(&all);
	all.params = size & 1;
	look(open(&all, path), bytes, size);
	ap_symbols_fini(&all);
	close(fd);
	return 0;
}

#endif
