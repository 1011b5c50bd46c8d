/* SPDX-License-Identifier: MIT */
/*
 * Code of a JIT compiler with its unwinding tables, as an ELF file in memory that libdwfl takes.  A
 * jitdump's tables count from the code: .eh_frame lies behind it, at the next multiple of eight.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/symbols/symbol_internal.h"

static const char names[] = "\0.text\0.eh_frame\0.shstrtab";

struct head {
	Elf64_Ehdr eh;
	Elf64_Phdr text;
	Elf64_Shdr section[4];
	char names[sizeof(names)];
};

/*
 * Addresses begin with the code; only the code is a segment, because what lies behind it is other
 * code.
 */
static void fill(struct head *h, const struct ap_jit_code *c)
{
	u64 size = AP_ALIGN_UP(c->size, 8);

	memcpy(h->eh.e_ident, ELFMAG, SELFMAG);
	h->eh.e_ident[EI_CLASS] = ELFCLASS64;
	h->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	h->eh.e_ident[EI_VERSION] = EV_CURRENT;
	h->eh.e_type = ET_DYN;
	h->eh.e_machine = EM_X86_64;
	h->eh.e_version = EV_CURRENT;
	h->eh.e_ehsize = sizeof(h->eh);
	h->eh.e_phoff = offsetof(struct head, text);
	h->eh.e_phentsize = sizeof(Elf64_Phdr);
	h->eh.e_phnum = 1;
	h->eh.e_shoff = offsetof(struct head, section);
	h->eh.e_shentsize = sizeof(Elf64_Shdr);
	h->eh.e_shnum = AP_ARRAY_SIZE(h->section);
	h->eh.e_shstrndx = 3;
	h->text = (Elf64_Phdr){ .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = AP_ALIGN_UP(sizeof(*h), 8),
				.p_filesz = c->size,
				.p_memsz = c->size,
				.p_align = 1 };
	memcpy(h->names, names, sizeof(names));
	h->section[1] = (Elf64_Shdr){ .sh_name = 1,
				      .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				      .sh_offset = h->text.p_offset,
				      .sh_size = c->size,
				      .sh_addralign = 1 };
	h->section[2] = (Elf64_Shdr){ .sh_name = 7,
				      .sh_type = SHT_PROGBITS,
				      .sh_flags = SHF_ALLOC,
				      .sh_addr = size,
				      .sh_offset = h->text.p_offset + size,
				      .sh_size = c->unwind_size,
				      .sh_addralign = 8 };
	h->section[3] = (Elf64_Shdr){ .sh_name = 17,
				      .sh_type = SHT_STRTAB,
				      .sh_offset = offsetof(struct head, names),
				      .sh_size = sizeof(names),
				      .sh_addralign = 1 };
}

void *ap_jit_image(struct ap_dso *dso, const struct ap_jit_code *c, size_t *size)
{
	u64 code = AP_ALIGN_UP(sizeof(struct head), 8), tables = code + AP_ALIGN_UP(c->size, 8);
	int fd = ap_jit_open(dso, dso->jitdump);
	u8 *image = NULL;

	*size = (size_t)(tables + c->unwind_size);
	if (fd >= 0) {
		image = ap_profile_calloc(1, *size);
		fill((struct head *)image, c);
		if (pread(fd, image + code, (size_t)c->size, (off_t)c->off) != (ssize_t)c->size ||
		    pread(fd, image + tables, c->unwind_size, (off_t)c->unwind) !=
			    (ssize_t)c->unwind_size) {
			free(image);
			image = NULL;
		}
		close(fd);
	}
	return image;
}
