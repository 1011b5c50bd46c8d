/* SPDX-License-Identifier: MIT */
/*
 * /tmp/perf-PID.map of a JIT compiler, whose names are mangled by whatever rules.
 */
#include "fuzz_dso.h"

static struct ap_dso *open_map(struct ap_symbols *all, const char *path)
{
	return ap_dso_get(all, path, AP_DSO_JIT);
}

static void look(struct ap_dso *dso, const uint8_t *bytes, size_t size)
{
	(void)bytes;
	(void)size;
	for (uint64_t place = 1; place; place <<= 1)
		ap_dso_symbol(dso, place);
	for (uint32_t i = 0; i < dso->nsym; i++)
		if (!ap_dso_symbol(dso, dso->sym[i].start))
			__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	return fuzz_dso(bytes, size, open_map, look);
}
