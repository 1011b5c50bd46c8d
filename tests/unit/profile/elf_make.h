/* SPDX-License-Identifier: MIT */
/*
 * ELF files of a test's own making, of sections that it names and fills.
 */
#ifndef AP_TESTS_PROFILE_ELF_MAKE_H
#define AP_TESTS_PROFILE_ELF_MAKE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_MAKE_SECTIONS 12

struct bytes {
	uint8_t *p;
	size_t n, cap;
};

struct elf_make {
	struct {
		const char *name;
		Elf64_Shdr sh; /* type, flags, address, link, entsize; the rest is filled in */
		struct bytes data;
	} section[ELF_MAKE_SECTIONS];
	unsigned int n; /* without the empty one, which is number 0 */
};

void bytes_add(struct bytes *b, const void *p, size_t n);
void bytes_u8(struct bytes *b, uint8_t v);
void bytes_u32(struct bytes *b, uint32_t v);
void bytes_u64(struct bytes *b, uint64_t v);

/* Its number.  What is in it follows in .data. */
unsigned int elf_section(struct elf_make *e, const char *name, uint32_t type, uint64_t flags,
			 uint64_t addr);
struct bytes *elf_data(struct elf_make *e, unsigned int section);
/* The file, at an address that is its place, to be freed; e is over then. */
struct bytes elf_finish(struct elf_make *e);

/* A file without a name that has them, as a path under /proc/self/fd; to be closed. */
int bytes_file(const struct bytes *b, char *path, size_t size);

#endif
