/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer's way into what reads the files of JIT compilers: a jitdump and, of the same bytes, a
 * perf-PID.map.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Symbols at the places that the bytes name, and their code. */
static void look(struct ap_dso *dso, const uint8_t *bytes, size_t size)
{
	uint8_t code[256];
	uint64_t place;

	for (size_t at = 0; at + 8 <= size && at < 4096; at += 8) {
		memcpy(&place, bytes + at, sizeof(place));
		ap_dso_symbol(dso, place);
		ap_dso_code(dso, place, code, sizeof(code));
	}
	for (uint32_t i = 0; i < dso->nsym && i < 100; i++) {
		if (ap_dso_symbol(dso, dso->sym[i].start) == NULL)
			abort();
		ap_dso_code(dso, dso->sym[i].start, code, sizeof(code));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	int fd = memfd_create("jit", MFD_CLOEXEC);
	struct ap_symbols all;
	struct ap_dso *dso;
	char path[64];

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ap_symbols_init(&all);
	dso = ap_dso_get(&all, "/nonexistent/perf-1.map", AP_DSO_JIT);
	dso->jitdump = path;
	look(dso, bytes, size);
	look(ap_dso_get(&all, path, AP_DSO_JIT), bytes, size);
	ap_symbols_fini(&all);
	close(fd);
	return 0;
}
