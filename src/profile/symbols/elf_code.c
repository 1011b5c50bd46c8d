/* SPDX-License-Identifier: MIT */
/*
 * Code that no symbol table names: stubs of a PLT, which have the name of what they lead to, and
 * functions of stripped files, which begin where the unwinding tables say.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plant.h"
#include "profile/symbols/symbol_internal.h"

/* --- PLT */

/* A word that the dynamic linker fills: its address, and whose address it becomes. */
struct got_slot {
	u64 addr;
	const char *name; /* NULL: a resolver's answer */
	u64 resolver;
};

struct slots {
	struct got_slot *v;
	u32 n;
	/* of .rela.plt, by number: what lazy stubs push */
	u32 first, count;
	/* symbols by place, and the shortest name of a place first: what resolvers are called */
	const struct ap_symbol **known;
	u32 nknown;
};

static int by_addr(const void *pa, const void *pb)
{
	const struct got_slot *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void add_slots(struct ap_elf *e, Elf_Scn *scn, const GElf_Shdr *sh, struct slots *to)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	Elf_Scn *syms = elf_getscn(e->elf, sh->sh_link);
	Elf_Data *names = syms && sh->sh_link ? elf_getdata(syms, NULL) : NULL;
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Shdr dyn;
	GElf_Rela r;
	GElf_Sym sym;

	to->v = ap_profile_realloc(to->v, to->n + n, sizeof(*to->v));
	for (size_t i = 0; i < n && gelf_getrela(data, (int)i, &r); i++) {
		u32 type = (u32)GELF_R_TYPE(r.r_info);
		struct got_slot *s = &to->v[to->n];

		*s = (struct got_slot){ .addr = r.r_offset };
		if (type == R_X86_64_IRELATIVE)
			s->resolver = (u64)r.r_addend;
		else if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) && names &&
			 gelf_getshdr(syms, &dyn) &&
			 gelf_getsym(names, (int)GELF_R_SYM(r.r_info), &sym))
			s->name = elf_strptr(e->elf, dyn.sh_link, sym.st_name);
		to->n++;
	}
}

static const char *section_name(Elf *elf, const GElf_Shdr *sh)
{
	size_t strings;
	const char *name =
		elf_getshdrstrndx(elf, &strings) ? NULL : elf_strptr(elf, strings, sh->sh_name);

	return name ? name : "";
}

/*
 * The words of .rela.plt stay in its order, in front; the others are sorted to be searched by
 * address.
 */
static void find_slots(struct ap_elf *e, struct slots *to)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA &&
		    !strcmp(section_name(e->elf, &sh), ".rela.plt"))
			add_slots(e, scn, &sh, to);
	to->count = to->n;
	for (scn = NULL; (scn = elf_nextscn(e->elf, scn));)
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && sh.sh_flags & SHF_ALLOC)
			add_slots(e, scn, &sh, to);
	to->first = to->count;
	if (to->n > to->first)
		qsort(to->v + to->first, to->n - to->first, sizeof(*to->v), by_addr);
}

static const struct got_slot *slot_at(const struct slots *s, u64 addr)
{
	u32 n = s->n - s->first;
	struct got_slot key = { .addr = addr };

	return n ? bsearch(&key, s->v + s->first, n, sizeof(key), by_addr) : NULL;
}

static u32 get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, 4);
	return v;
}

/* Through which word a stub of so many bytes jumps, or NULL. */
static const struct got_slot *through(const struct slots *s, const u8 *code, size_t size, u64 vaddr)
{
	static const u8 endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t i = size > 4 && !memcmp(code, endbr, 4) ? 4 : 0;
	const u8 *p = code + i;

	if (i + 5 <= size && p[0] == 0x68) /* push $number: a lazy one, whose jump is elsewhere */
		return get32(p + 1) < s->count ? &s->v[get32(p + 1)] : NULL;
	i += p[0] == 0xf2; /* bnd */
	if (i + 6 > size || code[i] != 0xff || code[i + 1] != 0x25)
		return NULL;
	return slot_at(s, vaddr + i + 6 + (u64)(s64)(s32)get32(code + i + 2));
}

static int by_place(const void *pa, const void *pb)
{
	const struct ap_symbol *a = *(const struct ap_symbol *const *)pa;
	const struct ap_symbol *b = *(const struct ap_symbol *const *)pb;
	size_t na, nb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	na = strlen(a->name);
	nb = strlen(b->name);
	if (na != nb)
		return na < nb ? -1 : 1;
	return a < b ? -1 : a > b; /* the file's order */
}

/*
 * The symbols that the file has, copied: stubs are added to vec while they are looked up, and it
 * moves then.
 */
static struct ap_symbol *know_symbols(struct slots *s, const struct ap_symvec *vec)
{
	struct ap_symbol *copy = ap_profile_realloc(NULL, vec->n, sizeof(*copy));

	s->known = ap_profile_calloc(vec->n, sizeof(*s->known));
	for (u32 i = 0; i < vec->n; i++) {
		copy[i] = vec->v[i];
		if (copy[i].type != STT_NOTYPE)
			s->known[s->nknown++] = &copy[i];
	}
	qsort(s->known, s->nknown, sizeof(struct ap_symbol *), by_place);
	return copy;
}

/* What a resolver is called is what it resolves. */
static const char *resolver_name(struct ap_dso *dso, const struct slots *s, u64 vaddr)
{
	u64 place = ap_dso_place(dso, vaddr);
	u32 lo = 0, hi = s->nknown;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (s->known[mid]->start < place)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->nknown && s->known[lo]->start == place ? s->known[lo]->name : NULL;
}

static void add_stub(struct ap_dso *dso, const struct slots *slots, const struct got_slot *slot,
		     u64 vaddr, u64 size, struct ap_symvec *vec)
{
	struct ap_symbol s = { .type = STT_FUNC, .bind = STB_GLOBAL };
	const char *name = slot->name;
	char text[1024];

	if (name && *name)
		name = ap_symbol_name(dso->symbols, name);
	else
		name = slot->resolver ? resolver_name(dso, slots, slot->resolver) : NULL;
	if (name)
		snprintf(text, sizeof(text), "%s@plt", name);
	else
		snprintf(text, sizeof(text), "*ABS*+0x%llx@plt",
			 (unsigned long long)slot->resolver);
	s.start = ap_dso_place(dso, vaddr);
	s.end = s.start + size;
	s.name = ap_intern_str(&dso->symbols->text, text);
	ap_symvec_add(vec, &s);
}

static void stubs(struct ap_dso *dso, Elf_Scn *scn, const GElf_Shdr *sh, bool is_lazy,
		  const struct slots *slots, struct ap_symvec *vec)
{
	Elf_Data *data = elf_rawdata(scn, NULL);
	/* some linkers write no size, or that of the section's words */
	u64 step = sh->sh_entsize >= 8 && sh->sh_entsize <= 64 ? sh->sh_entsize : 16;

	for (u64 at = 0; data && data->d_buf && at < data->d_size; at += step) {
		size_t size = data->d_size - at < step ? data->d_size - at : step;
		const u8 *code = (const u8 *)data->d_buf + at;
		const struct got_slot *slot = through(slots, code, size, sh->sh_addr + at);

		if (slot)
			add_stub(dso, slots, slot, sh->sh_addr + at, size, vec);
		else if (is_lazy && !at) {
			/* by which the others reach the linker */
			struct ap_symbol s = { .start = ap_dso_place(dso, sh->sh_addr),
					       .name = ".plt",
					       .type = STT_FUNC };

			s.end = s.start + size;
			ap_symvec_add(vec, &s);
		}
	}
}

void ap_elf_plt(struct ap_dso *dso, struct ap_elf *e, struct ap_symvec *vec)
{
	struct ap_symbol *copy = NULL;
	struct slots slots = { 0 };
	Elf_Scn *scn = NULL;
	GElf_Ehdr eh;
	GElf_Shdr sh;

	ap_elf_segments(dso, e);
	if (!gelf_getehdr(e->elf, &eh) || eh.e_machine != EM_X86_64)
		return;
	find_slots(e, &slots);
	if (slots.n)
		copy = know_symbols(&slots, vec);
	while (slots.n && (scn = elf_nextscn(e->elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS)
			continue;
		name = section_name(e->elf, &sh);
		if (!strcmp(name, ".plt") || !strcmp(name, ".plt.sec") ||
		    !strcmp(name, ".plt.got") || !strcmp(name, ".iplt"))
			stubs(dso, scn, &sh, !strcmp(name, ".plt"), &slots, vec);
	}
	free(slots.v);
	free(slots.known);
	free(copy);
}

/* --- functions that only the unwinding tables know */

/* How the pointers of a CIE's functions are written. */
static u8 encoding_of(const Dwarf_CIE *cie)
{
	const char *a = cie->augmentation;
	const u8 *p = cie->augmentation_data, *end = p + cie->augmentation_data_size;

	if (!a || a[0] != 'z')
		return DW_EH_PE_absptr;
	for (a++; *a && p < end; a++) {
		switch (*a) {
		case 'R':
			return *p;
		case 'L':
			p++;
			break;
		case 'P': {
			u8 form = *p & 0x0f;

			p += 1 + (form == DW_EH_PE_udata2 || form == DW_EH_PE_sdata2   ? 2
				  : form == DW_EH_PE_udata4 || form == DW_EH_PE_sdata4 ? 4
										       : 8);
			break;
		}
		default:
			break;
		}
	}
	return DW_EH_PE_absptr;
}

/*
 * A pointer of 2, 4 or 8 bytes; *p goes behind it.  false: it is none that says an address by
 * itself.
 */
static bool pointer(u8 encoding, const u8 **p, const u8 *end, u64 here, u64 *v)
{
	u8 form = encoding & 0x0f;
	bool is_signed = form & 0x08;
	size_t size;

	switch (form & 0x07) {
	case 0:
	case 4:
		size = 8;
		break;
	case 2:
		size = 2;
		break;
	case 3:
		size = 4;
		break;
	default:
		return false; /* of any length */
	}
	if ((size_t)(end - *p) < size)
		return false;
	*v = 0;
	memcpy(v, *p, size);
	if (is_signed && size < 8)
		*v = (u64)((s64)(*v << (64 - 8 * size)) >> (64 - 8 * size));
	*p += size;
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		*v += here;
	else if (encoding & 0x70)
		return false;
	return true;
}

struct starts {
	struct code_range {
		u64 start, end; /* places */
	} * v;
	u32 n, cap;
	/* CIEs that were met, which their functions name by place */
	struct {
		u64 at;
		u8 encoding;
	} * cie;
	u32 ncies;
};

static void add_start(struct starts *all, u64 start, u64 size)
{
	if (!size || size > ~start)
		return;
	if (all->n == all->cap) {
		all->cap = all->cap ? 2 * all->cap : 256;
		all->v = ap_profile_realloc(all->v, all->cap, sizeof(*all->v));
	}
	all->v[all->n++] = (struct code_range){ start, start + size };
}

static void add_cie(struct starts *all, u64 at, const Dwarf_CIE *cie)
{
	if (!(all->ncies & (all->ncies - 1)))
		all->cie = ap_profile_realloc(all->cie, all->ncies ? 2 * all->ncies : 1,
					      sizeof(*all->cie));
	all->cie[all->ncies].at = at;
	all->cie[all->ncies++].encoding = encoding_of(cie);
}

/* They are met in the order of their places. */
static bool find_cie(const struct starts *all, u64 at, u8 *encoding)
{
	u32 lo = 0, hi = all->ncies;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (all->cie[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == all->ncies || all->cie[lo].at != at)
		return false;
	*encoding = all->cie[lo].encoding;
	return true;
}

static void read_frames(struct ap_dso *dso, struct ap_elf *e, Elf_Scn *scn, const GElf_Shdr *sh,
			struct starts *all)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	unsigned char *ident = (unsigned char *)elf_getident(e->elf, NULL);
	Dwarf_Off at = 0, next;
	Dwarf_CFI_Entry entry;
	u8 encoding;

	all->ncies = 0; /* places are those of this section */
	while (data && data->d_buf && !dwarf_next_cfi(ident, data, true, at, &next, &entry) &&
	       next > at) {
		const u8 *p, *base = data->d_buf;
		u64 start, size;

		if (dwarf_cfi_cie_p(&entry)) {
			add_cie(all, at, &entry.cie);
		} else if (find_cie(all, entry.fde.CIE_pointer, &encoding)) {
			p = entry.fde.start;
			if (pointer(encoding, &p, entry.fde.end, sh->sh_addr + (u64)(p - base),
				    &start) &&
			    pointer(encoding & 0x0f, &p, entry.fde.end, 0, &size)) {
				AP_PLANT("elf", size > 0x100000);
				add_start(all, ap_dso_place(dso, start), size);
			}
		}
		at = next;
	}
}

static int by_start(const void *pa, const void *pb)
{
	const struct code_range *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static int symbol_by_start(const void *pa, const void *pb)
{
	const struct ap_symbol *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/*
 * What no symbol covers becomes one, called by its address; what has a symbol without a size gets
 * its end.
 */
static void fill_gaps(struct ap_dso *dso, const struct starts *all, struct ap_symvec *vec)
{
	struct ap_symbol *known = ap_profile_realloc(NULL, vec->n + 1, sizeof(*known));
	u32 n = vec->n, i = 0;
	u64 covered = 0;

	if (n)
		memcpy(known, vec->v, n * sizeof(*known));
	qsort(known, n, sizeof(*known), symbol_by_start);
	for (u32 k = 0; k < all->n; k++) {
		const struct code_range *r = &all->v[k];
		struct ap_symbol s = { .start = r->start, .end = r->end, .type = STT_FUNC };
		char text[32];

		for (; i < n && known[i].start < r->start; i++)
			if (known[i].end > covered)
				covered = known[i].end;
		if (covered > r->start || (i < n && known[i].start == r->start) ||
		    (k && all->v[k - 1].start == r->start))
			continue;
		snprintf(text, sizeof(text), "sub_%llx",
			 (unsigned long long)ap_dso_vaddr(dso, r->start));
		s.name = ap_intern_str(&dso->symbols->text, text);
		ap_symvec_add(vec, &s);
	}
	free(known);
}

static void close_labels(const struct starts *all, struct ap_symvec *vec)
{
	for (u32 i = 0; i < vec->n; i++) {
		struct code_range key = { vec->v[i].start, 0 }, *found;

		if (vec->v[i].end != vec->v[i].start || !all->n)
			continue;
		found = bsearch(&key, all->v, all->n, sizeof(key), by_start);
		if (found)
			vec->v[i].end = found->end;
	}
}

void ap_elf_unnamed(struct ap_dso *dso, struct ap_elf *e, struct ap_symvec *vec)
{
	struct starts all = { 0 };
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS &&
		    !strcmp(section_name(e->elf, &sh), ".eh_frame"))
			read_frames(dso, e, scn, &sh, &all);
	if (all.n) {
		qsort(all.v, all.n, sizeof(*all.v), by_start);
		close_labels(&all, vec);
		fill_gaps(dso, &all, vec);
	}
	free(all.v);
	free(all.cie);
}
