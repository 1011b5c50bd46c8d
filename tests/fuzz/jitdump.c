/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer's way into what reads the jitdumps of JIT compilers.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_dso.h"

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

static struct ap_dso *open_dump(struct ap_symbols *all, const char *path)
{
	struct ap_dso *dso = ap_dso_get(all, "/nonexistent/perf-1.map", AP_DSO_JIT);

	dso->jitdump = path;
	return dso;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	return fuzz_dso(bytes, size, open_dump, look);
}
