/* SPDX-License-Identifier: MIT */
/*
 * /tmp/perf-PID.map of a JIT compiler, whose names are mangled by whatever rules.
 */
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "profile/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct ap_symbols all;
	struct ap_dso *dso;
	char path[64];
	int fd = fuzz_file(bytes, size, path);

	ap_symbols_init(&all);
	all.params = size & 1;
	dso = ap_dso_get(&all, path, AP_DSO_JIT);
	for (uint64_t place = 1; place; place <<= 1)
		ap_dso_symbol(dso, place);
	for (uint32_t i = 0; i < dso->nsym; i++)
		if (!ap_dso_symbol(dso, dso->sym[i].start))
			__builtin_trap();
	ap_symbols_fini(&all);
	close(fd);
	return 0;
}
