/* SPDX-License-Identifier: MIT */
#include "elf_make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void bytes_add(struct bytes *b, const void *p, size_t n)
{
	if (b->cap - b->n < n) {
		while (b->cap - b->n < n)
			b->cap = b->cap ? 2 * b->cap : 4096;
		b->p = realloc(b->p, b->cap);
		if (!b->p)
			abort();
	}
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

void bytes_u8(struct bytes *b, uint8_t v)
{
	bytes_add(b, &v, sizeof(v));
}

void bytes_u32(struct bytes *b, uint32_t v)
{
	bytes_add(b, &v, sizeof(v));
}

void bytes_u64(struct bytes *b, uint64_t v)
{
	bytes_add(b, &v, sizeof(v));
}

unsigned int elf_section(struct elf_make *e, const char *name, uint32_t type, uint64_t flags,
			 uint64_t addr)
{
	if (e->n == ELF_MAKE_SECTIONS)
		abort();
	e->section[e->n].name = name;
	e->section[e->n].sh = (Elf64_Shdr){
		.sh_type = type, .sh_flags = flags, .sh_addr = addr, .sh_addralign = 1
	};
	return ++e->n;
}

struct bytes *elf_data(struct elf_make *e, unsigned int section)
{
	return &e->section[section - 1].data;
}

struct bytes elf_finish(struct elf_make *e)
{
	Elf64_Ehdr eh = { .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_ehsize = sizeof(eh),
			  .e_shentsize = sizeof(Elf64_Shdr) };
	unsigned int names = elf_section(e, ".shstrtab", SHT_STRTAB, 0, 0);
	struct bytes out = { 0 };
	Elf64_Shdr none = { 0 };

	bytes_u8(elf_data(e, names), 0);
	for (unsigned int i = 0; i < e->n; i++) {
		e->section[i].sh.sh_name = (uint32_t)elf_data(e, names)->n;
		bytes_add(elf_data(e, names), e->section[i].name, strlen(e->section[i].name) + 1);
	}
	bytes_add(&out, &eh, sizeof(eh));
	for (unsigned int i = 0; i < e->n; i++) {
		while (out.n % 8)
			bytes_u8(&out, 0);
		e->section[i].sh.sh_offset = out.n;
		e->section[i].sh.sh_size = e->section[i].data.n;
		bytes_add(&out, e->section[i].data.p ? (void *)e->section[i].data.p : "",
			  e->section[i].data.n);
		free(e->section[i].data.p);
	}
	while (out.n % 8)
		bytes_u8(&out, 0);
	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	eh.e_shoff = out.n;
	eh.e_shnum = (uint16_t)(e->n + 1);
	eh.e_shstrndx = (uint16_t)names;
	memcpy(out.p, &eh, sizeof(eh));
	bytes_add(&out, &none, sizeof(none));
	for (unsigned int i = 0; i < e->n; i++)
		bytes_add(&out, &e->section[i].sh, sizeof(none));
	memset(e, 0, sizeof(*e));
	return out;
}

int bytes_file(const struct bytes *b, char *path, size_t size)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC);
	size_t at = 0;

	while (fd >= 0 && at < b->n) {
		ssize_t n = write(fd, b->p + at, b->n - at);

		if (n <= 0)
			abort();
		at += (size_t)n;
	}
	snprintf(path, size, "/proc/self/fd/%d", fd);
	return fd;
}
