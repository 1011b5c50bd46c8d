/* SPDX-License-Identifier: MIT */
/*
 * A profiled file: symbol tables, PLT, .eh_frame, DWARF, and stacks that are unwound by it.
 */
#include "fuzz_dso.h"
#include "profile/symbols/disasm.h"

static void look(struct ap_dso *dso, uint64_t place)
{
	const struct ap_symbol *fn = ap_dso_symbol(dso, place), *frames[16],
			       none = { .start = place, .name = "?" };
	const char *source;
	uint8_t code[64];
	uint32_t line;

	ap_dso_inlines(dso, fn ? fn : &none, place, frames, 16);
	ap_dso_line(dso, place, &source, &line);
	ap_dso_code(dso, place, code, sizeof(code));
	if (fn)
		ap_dso_function(dso, fn, code, sizeof(code));
	ap_dso_place(dso, ap_dso_vaddr(dso, place));
}

static struct ap_dso *open_file(struct ap_symbols *all, const char *path)
{
	return ap_dso_get(all, path, AP_DSO_FILE);
}

static void look_around(struct ap_dso *dso, const uint8_t *bytes, size_t size)
{
	(void)bytes;
	(void)size;
	ap_dso_symbol(dso, 0);
	for (uint32_t i = 0; i < dso->nsym && i < 24; i++) {
		look(dso, dso->sym[i].start);
		look(dso, dso->sym[i].end - 1);
	}
	for (uint32_t i = 0; i < dso->nseg && i < 8; i++)
		look(dso, dso->seg[i].off + 1);
	for (uint64_t place = 0; place < 0x3000; place += 0x3f1)
		look(dso, place);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	return fuzz_dso(bytes, size, open_file, look_around);
}
