/* SPDX-License-Identifier: MIT */
/*
 * Source lines and expanded functions, by libdw.  Answers are kept by address: a hot place is asked
 * for again and again.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/symbols/symbol_internal.h"

#define MAX_FRAMES 64
#define MAX_DEPTH  512 /* of scopes in each other; a file may say any */

struct inlined_frames {
	u32 n; /* frames */
	const struct ap_symbol *frame[];
};

struct ap_debug {
	struct ap_elf elf;
	Dwarf *dw;
	struct ap_table known; /* answers by place */
	/*
	 * expanded functions: one symbol per function that they are in, so that equal ones are one
	 */
	struct ap_table expanded;
};

static bool open_debug(struct ap_dso *dso, const char *path, void *arg)
{
	struct ap_debug *d = arg;
	Dwarf_CU *cu = NULL;

	if (!ap_elf_open(&d->elf, dso, path))
		return false;
	ap_elf_segments(dso, &d->elf);
	d->dw = dwarf_begin_elf(d->elf.elf, DWARF_C_READ, NULL);
	if (d->dw && !dwarf_get_units(d->dw, NULL, &cu, NULL, NULL, NULL, NULL))
		return true;
	if (d->dw)
		dwarf_end(d->dw);
	d->dw = NULL;
	ap_elf_close(&d->elf);
	return false;
}

static struct ap_debug *debug_of(struct ap_dso *dso)
{
	struct ap_debug *d;

	if (dso->debug_tried)
		return dso->debug;
	dso->debug_tried = true;
	if (dso->kind != AP_DSO_FILE)
		return NULL;
	ap_dso_vaddr(dso, 0); /* segments are the program's own, not the debug file's */
	d = ap_profile_calloc(1, sizeof(*d));
	d->elf.fd = -1;
	if (ap_dso_candidates(dso, open_debug, d)) {
		dso->debug = d;
		return d;
	}
	free(d);
	return NULL;
}

void ap_debug_close(struct ap_debug *d)
{
	for (u32 i = 0; i < d->known.room; i++)
		free(ap_table_ptr(&d->known.slot[i]));
	ap_table_fini(&d->known);
	for (u32 i = 0; i < d->expanded.room; i++)
		free(ap_table_ptr(&d->expanded.slot[i]));
	ap_table_fini(&d->expanded);
	if (d->dw)
		dwarf_end(d->dw);
	ap_elf_close(&d->elf);
	free(d);
}

/* The compilation unit that has code at an address. */
static bool find_unit(struct ap_debug *d, u64 vaddr, Dwarf_Die *cu)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	if (dwarf_addrdie(d->dw, vaddr, cu))
		return true;
	/* no .debug_aranges (clang): ask each */
	while (!dwarf_get_units(d->dw, unit, &unit, NULL, NULL, &die, NULL)) {
		if (dwarf_haspc(&die, vaddr) > 0) {
			*cu = die;
			return true;
		}
	}
	return false;
}

/* The name as a linker knows it, from wherever it is said. */
static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute at;
	const char *name;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &at) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &at))
		return dwarf_formstring(&at);
	name = dwarf_attr_integrate(die, DW_AT_name, &at) ? dwarf_formstring(&at) : NULL;
	return name;
}

/* From the unit inwards: each function, then what was expanded in it, that covers the address. */
static u32 frames_in(Dwarf_Die *die, u64 vaddr, const char **name, u32 n, u32 depth)
{
	Dwarf_Die child;
	int tag;

	if (depth == MAX_DEPTH || dwarf_child(die, &child))
		return n;
	do {
		tag = dwarf_tag(&child);
		switch (tag) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			if (dwarf_haspc(&child, vaddr) <= 0)
				break;
			if (n < MAX_FRAMES)
				name[n++] = die_name(&child);
			return frames_in(&child, vaddr, name, n, depth + 1);
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (dwarf_haspc(&child, vaddr) > 0)
				return frames_in(&child, vaddr, name, n, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type: {
			u32 more = frames_in(&child, vaddr, name, n, depth + 1);

			if (more > n)
				return more;
			break;
		}
		default:
			break;
		}
	} while (!dwarf_siblingof(&child, &child));
	return n;
}

/* Expanded functions are no symbols of the file: made here, with the real one's extent. */
static const struct ap_symbol *frame_symbol(struct ap_dso *dso, const struct ap_symbol *fn,
					    const char *raw)
{
	const char *name = ap_symbol_name(dso->symbols, raw);
	struct ap_debug *d = dso->debug;
	u64 key = ap_hash_ptr(fn->start, name);
	const struct ap_table_slot *known;
	struct ap_symbol *s;

	if (fn->name == name)
		return fn;
	ap_table_each(&d->expanded, key, known)
	{
		s = ap_table_ptr(known);
		if (s->start == fn->start && s->name == name)
			return s;
	}
	s = ap_profile_calloc(1, sizeof(*s));
	*s = *fn;
	s->name = name;
	s->inlined = true;
	ap_profile_table_add(&d->expanded, key, s);
	return s;
}

static struct inlined_frames *ask(struct ap_dso *dso, const struct ap_symbol *fn, u64 place)
{
	const char *name[MAX_FRAMES];
	u64 vaddr = ap_dso_vaddr(dso, place);
	struct inlined_frames *a;
	u32 i, n = 0;
	Dwarf_Die cu;

	/* nothing is expanded into assembler, whose labels are not the symbols' names */
	if (find_unit(dso->debug, vaddr, &cu) && dwarf_srclang(&cu) != DW_LANG_Mips_Assembler)
		n = frames_in(&cu, vaddr, name, 0, 0);
	a = ap_profile_calloc(1, sizeof(*a) + n * sizeof(a->frame[0]));
	for (i = 0; i < n; i++) {
		if (name[n - 1 - i])
			a->frame[a->n++] = frame_symbol(dso, fn, name[n - 1 - i]);
	}
	ap_profile_table_add(&dso->debug->known, place, a);
	return a;
}

u32 ap_dso_inlines(struct ap_dso *dso, const struct ap_symbol *fn, u64 place,
		   const struct ap_symbol **out, u32 max)
{
	struct ap_debug *d = debug_of(dso);
	struct inlined_frames *a;
	u32 i;

	if (!d)
		return 0;
	a = ap_table_get_ptr(&d->known, place);
	if (!a)
		a = ask(dso, fn, place);
	for (i = 0; i < a->n && i < max; i++)
		out[i] = a->frame[i];
	return i;
}

bool ap_dso_line(struct ap_dso *dso, u64 place, const char **file, u32 *line)
{
	struct ap_debug *d = debug_of(dso);
	u64 vaddr;
	Dwarf_Die cu;
	Dwarf_Line *l;
	const char *src;
	int no;

	if (!d)
		return false;
	vaddr = ap_dso_vaddr(dso, place);
	if (!find_unit(d, vaddr, &cu))
		return false;
	l = dwarf_getsrc_die(&cu, vaddr);
	src = l ? dwarf_linesrc(l, NULL, NULL) : NULL;
	if (!src || dwarf_lineno(l, &no))
		return false;
	*file = ap_intern_str(&dso->symbols->text, src);
	*line = (u32)no;
	return true;
}
