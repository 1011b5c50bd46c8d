/* SPDX-License-Identifier: MIT */
/* Where a program's own file has what is mapped: for probes in it. */
#ifndef ELF_OFFSET_H
#define ELF_OFFSET_H

#include <elf.h>
#include <stdint.h>

/* Of an address of the program's: the offset in its file, by the segment that has it; 0: none has. */
static inline uint64_t offset_of(const void *at)
{
	extern const Elf64_Ehdr __ehdr_start;
	const Elf64_Phdr *p = (const void *)((const char *)&__ehdr_start + __ehdr_start.e_phoff);

	for (int i = 0; i < __ehdr_start.e_phnum; i++, p++)
		if (p->p_type == PT_LOAD && (uintptr_t)at - p->p_vaddr < p->p_filesz)
			return (uintptr_t)at - p->p_vaddr + p->p_offset;
	return 0;
}

#endif
