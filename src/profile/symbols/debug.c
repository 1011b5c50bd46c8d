/* SPDX-License-Identifier: MIT */
/*
 * Source lines and expanded functions, by libdw.  Answers are kept by address: a hot place is asked for
 * again and again.
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

struct answer {
	u64 place;
	bool used;
	u32 n; /* frames */
	const struct ap_symbol **frame;
};

struct ap_debug {
	struct ap_elf elf;
	Dwarf *dw;
	struct answer *known; /* open addressing by place */
	u32 nknown, cap;
	/* expanded functions: one symbol per function that they are in, so that equal ones are one */
	struct ap_symbol **expanded;
	u32 nexpanded, cap_expanded;
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
	u32 i;

	for (i = 0; i < d->cap; i++)
		free(d->known[i].frame);
	free(d->known);
	for (i = 0; i < d->cap_expanded; i++)
		free(d->expanded[i]);
	free(d->expanded);
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

static struct answer *slot(struct ap_debug *d, u64 place)
{
	u32 i = (u32)(place * 0x9e3779b97f4a7c15ULL >> 40) & (d->cap - 1);

	while (d->known[i].used && d->known[i].place != place)
		i = (i + 1) & (d->cap - 1);
	return &d->known[i];
}

static void grow(struct ap_debug *d)
{
	struct answer *old = d->known;
	u32 i, cap = d->cap;

	d->cap = cap ? 2 * cap : 1024;
	d->known = ap_profile_calloc(d->cap, sizeof(*d->known));
	for (i = 0; i < cap; i++) {
		if (old[i].used)
			*slot(d, old[i].place) = old[i];
	}
	free(old);
}

static struct ap_symbol **expanded_slot(struct ap_debug *d, u64 start, const char *name)
{
	u64 h = (start ^ (u64)(uintptr_t)name << 7) * 0x9e3779b97f4a7c15ULL;
	u32 i = (u32)(h >> 40) & (d->cap_expanded - 1);

	while (d->expanded[i] && (d->expanded[i]->start != start || d->expanded[i]->name != name))
		i = (i + 1) & (d->cap_expanded - 1);
	return &d->expanded[i];
}

static void grow_expanded(struct ap_debug *d)
{
	struct ap_symbol **old = d->expanded;
	u32 i, cap = d->cap_expanded;

	d->cap_expanded = cap ? 2 * cap : 64;
	d->expanded = ap_profile_calloc(d->cap_expanded, sizeof(*d->expanded));
	for (i = 0; i < cap; i++) {
		if (old[i])
			*expanded_slot(d, old[i]->start, old[i]->name) = old[i];
	}
	free(old);
}

/* Expanded functions are no symbols of the file: made here, with the real one's extent. */
static const struct ap_symbol *frame_symbol(struct ap_dso *dso, const struct ap_symbol *fn,
					    const char *raw)
{
	const char *name = ap_symbol_name(dso->symbols, raw);
	struct ap_debug *d = dso->debug;
	struct ap_symbol **s;

	if (fn->name == name)
		return fn;
	if (2 * (d->nexpanded + 1) > d->cap_expanded)
		grow_expanded(d);
	s = expanded_slot(d, fn->start, name);
	if (!*s) {
		*s = ap_profile_calloc(1, sizeof(**s));
		**s = *fn;
		(*s)->name = name;
		(*s)->inlined = true;
		d->nexpanded++;
	}
	return *s;
}

static void ask(struct ap_dso *dso, const struct ap_symbol *fn, struct answer *a)
{
	const char *name[MAX_FRAMES];
	u64 vaddr = ap_dso_vaddr(dso, a->place);
	Dwarf_Die cu;
	u32 i, n;

	/* nothing is expanded into assembler, whose labels are not the symbols' names */
	if (!find_unit(dso->debug, vaddr, &cu) || dwarf_srclang(&cu) == DW_LANG_Mips_Assembler)
		return;
	n = frames_in(&cu, vaddr, name, 0, 0);
	if (!n)
		return;
	a->frame = ap_profile_calloc(n, sizeof(*a->frame));
	for (i = 0; i < n; i++) {
		if (name[n - 1 - i])
			a->frame[a->n++] = frame_symbol(dso, fn, name[n - 1 - i]);
	}
}

u32 ap_dso_inlines(struct ap_dso *dso, const struct ap_symbol *fn, u64 place,
		   const struct ap_symbol **out, u32 max)
{
	struct ap_debug *d = debug_of(dso);
	struct answer *a;
	u32 i;

	if (!d)
		return 0;
	if (2 * (d->nknown + 1) > d->cap)
		grow(d);
	a = slot(d, place);
	if (!a->used) {
		a->used = true;
		a->place = place;
		d->nknown++;
		ask(dso, fn, a);
	}
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
