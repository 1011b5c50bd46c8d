/* SPDX-License-Identifier: MIT */
/*
 * Symbol tables of ELF files, by libelf.
 */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/plant.h"
#include "files/in.h"
#include "profile/symbols/symbol_internal.h"

#define MAX_UNPACKED (1024ULL * 1024 * 1024)

/* The image that the kernel maps into this very process. */
static Elf *vdso_image(void)
{
	const char *p = (const char *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)p;

	if (!p)
		return NULL;
	return elf_memory((char *)(uintptr_t)p,
			  eh->e_shoff + (size_t)eh->e_shentsize * eh->e_shnum);
}

int ap_open_regular(const char *path)
{
	int fd = ap_in_open(path, AP_IN_FILE);

	return fd < 0 ? -1 : fd;
}

static bool same_build(const struct ap_dso *dso, Elf *elf)
{
	const void *id;
	ssize_t n;

	if (!dso->build_id_size)
		return true;
	n = dwelf_elf_gnu_build_id(elf, &id);
	return n >= dso->build_id_size && !memcmp(id, dso->build_id, dso->build_id_size);
}

void ap_elf_build_id(struct ap_dso *dso, struct ap_elf *e)
{
	const void *id;
	ssize_t n = dso->build_id_size ? 0 : dwelf_elf_gnu_build_id(e->elf, &id);

	if (n > 0)
		ap_dso_set_build_id(dso, id, (u32)n);
}

bool ap_elf_open(struct ap_elf *e, const struct ap_dso *dso, const char *path)
{
	GElf_Ehdr eh;

	memset(e, 0, sizeof(*e));
	e->fd = -1;
	if (dso->kind == AP_DSO_VDSO) {
		e->elf = vdso_image();
	} else {
		e->fd = ap_open_regular(path);
		if (e->fd < 0)
			return false;
		e->elf = elf_begin(e->fd, ELF_C_READ_MMAP, NULL);
	}
	if (e->elf && elf_kind(e->elf) == ELF_K_ELF && gelf_getehdr(e->elf, &eh) &&
	    same_build(dso, e->elf)) {
		AP_PLANT("build_id", strstr(path, "debuginfod_client"));
		return true;
	}
	ap_elf_close(e);
	return false;
}

void ap_elf_close(struct ap_elf *e)
{
	if (e->elf)
		elf_end(e->elf);
	if (e->fd >= 0)
		close(e->fd);
	free(e->memory);
	memset(e, 0, sizeof(*e));
	e->fd = -1;
}

static Elf_Scn *find_section(Elf *elf, u32 type, const char *name, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *its;

		if (!gelf_getshdr(scn, sh) || (type && sh->sh_type != type))
			continue;
		its = name ? elf_strptr(elf, strings, sh->sh_name) : NULL;
		if (!name || (its && !strcmp(its, name)))
			return scn;
	}
	return NULL;
}

void ap_elf_segments(struct ap_dso *dso, struct ap_elf *e)
{
	size_t n, i;
	GElf_Phdr ph;

	if (dso->nseg || elf_getphdrnum(e->elf, &n))
		return;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(e->elf, (int)i, &ph) || ph.p_type != PT_LOAD || !ph.p_filesz)
			continue;
		dso->seg = ap_profile_realloc(dso->seg, dso->nseg + 1, sizeof(*dso->seg));
		dso->seg[dso->nseg++] = (struct ap_segment){ ph.p_offset, ph.p_vaddr, ph.p_memsz };
	}
}

/* An address of the file's own terms as a place; segments may be those of another file. */
static u64 to_place(const struct ap_dso *dso, u64 vaddr)
{
	u32 i;

	for (i = 0; i < dso->nseg; i++) {
		if (vaddr >= dso->seg[i].vaddr && vaddr - dso->seg[i].vaddr < dso->seg[i].size)
			return vaddr - dso->seg[i].vaddr + dso->seg[i].off;
	}
	return vaddr;
}

/* Functions and objects, and labels of code that assembler left without a type. */
static bool wanted(Elf *elf, const GElf_Sym *sym, const char *name)
{
	u32 type = GELF_ST_TYPE(sym->st_info), vis = GELF_ST_VISIBILITY(sym->st_other);
	const char *section;
	GElf_Shdr sh;
	Elf_Scn *scn;
	size_t strings;

	if (!name || !name[0] || sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS)
		return false;
	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT && type != STT_NOTYPE)
		return false;
	if (type == STT_NOTYPE && (vis == STV_HIDDEN || vis == STV_INTERNAL))
		return false;
	scn = sym->st_shndx < SHN_LORESERVE ? elf_getscn(elf, sym->st_shndx) : NULL;
	if (!scn || !gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC))
		return false;
	if (type != STT_NOTYPE)
		return true;
	if (elf_getshdrstrndx(elf, &strings))
		return false;
	section = elf_strptr(elf, strings, sh.sh_name);
	return section && (strstr(section, "text") || strstr(section, "data"));
}

static void read_table(struct ap_dso *dso, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh,
		       struct ap_symvec *vec)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t i, n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Sym sym;

	for (i = 0; i < n && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name = elf_strptr(elf, sh->sh_link, sym.st_name);
		struct ap_symbol s = { 0 };

		if (!wanted(elf, &sym, name))
			continue;
		s.start = to_place(dso, sym.st_value);
		s.end = s.start + sym.st_size;
		if (s.end < s.start)
			continue;
		s.type = GELF_ST_TYPE(sym.st_info);
		s.bind = GELF_ST_BIND(sym.st_info);
		s.name = ap_symbol_name(dso->symbols, name);
		ap_symvec_add(vec, &s);
	}
}

/* .gnu_debugdata: a small ELF file, packed by xz, that has what .symtab had. */
static bool debugdata(struct ap_dso *dso, struct ap_elf *e, struct ap_symvec *vec)
{
	struct ap_elf inner = { NULL, -1, NULL };
	u64 limit = MAX_UNPACKED;
	size_t in = 0, out = 0, cap;
	GElf_Shdr sh;
	Elf_Scn *scn = find_section(e->elf, 0, ".gnu_debugdata", &sh);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	lzma_ret r = LZMA_BUF_ERROR;
	bool ok;

	if (!data || !data->d_buf)
		return false;
	for (cap = data->d_size * 4 + 4096; cap < MAX_UNPACKED && r == LZMA_BUF_ERROR; cap *= 2) {
		free(inner.memory);
		inner.memory = ap_profile_realloc(NULL, cap, 1);
		in = out = 0;
		r = lzma_stream_buffer_decode(&limit, 0, NULL, data->d_buf, &in, data->d_size,
					      (u8 *)inner.memory, &out, cap);
	}
	inner.elf = r == LZMA_OK ? elf_memory(inner.memory, out) : NULL;
	ok = inner.elf && ap_elf_symbols(dso, &inner, false, vec);
	ap_elf_close(&inner);
	return ok;
}

bool ap_elf_symbols(struct ap_dso *dso, struct ap_elf *e, bool dynsym, struct ap_symvec *vec)
{
	GElf_Shdr sh;
	Elf_Scn *scn = find_section(e->elf, SHT_SYMTAB, NULL, &sh);

	if (!scn && !dynsym)
		return false;
	ap_elf_segments(dso, e);
	if (!scn && debugdata(dso, e, vec))
		return true;
	if (!scn)
		scn = find_section(e->elf, SHT_DYNSYM, NULL, &sh);
	if (!scn)
		return false;
	read_table(dso, e->elf, scn, &sh, vec);
	return true;
}

bool ap_elf_debuglink(struct ap_elf *e, char *buf, size_t size)
{
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(e->elf, &crc);

	return name && name[0] && (size_t)snprintf(buf, size, "%s", name) < size;
}

size_t ap_dso_code(struct ap_dso *dso, u64 place, u8 *buf, size_t size)
{
	char path[4096];
	ssize_t n = -1;
	int fd;

	if (dso->kind == AP_DSO_VDSO) {
		const u8 *p = (const u8 *)getauxval(AT_SYSINFO_EHDR);

		if (!p || place > 8192 || size > 8192 - place)
			return 0;
		memcpy(buf, p + place, size);
		return size;
	}
	if (dso->kind == AP_DSO_JIT && dso->jitdump)
		return ap_jitdump_code(dso, place, buf, size);
	if (dso->kind != AP_DSO_FILE)
		return 0;
	fd = ap_open_regular(ap_dso_file(dso, path, sizeof(path)));
	if (fd >= 0) {
		n = pread(fd, buf, size, (off_t)place);
		close(fd);
	}
	return n > 0 ? (size_t)n : 0;
}

size_t ap_dso_function(struct ap_dso *dso, const struct ap_symbol *sym, u8 *buf, size_t size)
{
	if (dso->kind == AP_DSO_JIT && dso->jitdump)
		return ap_jitdump_function(dso, sym, buf, size);
	return ap_dso_code(dso, sym->start, buf, size);
}
