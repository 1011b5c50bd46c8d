/* SPDX-License-Identifier: MIT */
#include "profile/symbols/buildid.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "files/in.h"

/* Whole notes one after the other, as segments and /sys/kernel/notes have them. */
static size_t find_in_notes(Elf_Data *notes, u8 *id)
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while ((at = gelf_getnote(notes, at, &note, &name, &desc)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof("GNU") ||
		    memcmp((char *)notes->d_buf + name, "GNU", sizeof("GNU")))
			continue;
		if (!note.n_descsz || note.n_descsz > AP_BUILD_ID_MAX)
			continue;
		memcpy(id, (char *)notes->d_buf + desc, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

static size_t find_in_elf(Elf *elf, u8 *id)
{
	size_t n, size = 0;
	GElf_Phdr ph;

	if (!elf || elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; i < n && !size; i++) {
		Elf_Data *notes;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_NOTE)
			continue;
		notes = elf_getdata_rawchunk(elf, (s64)ph.p_offset, ph.p_filesz,
					     ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (notes)
			size = find_in_notes(notes, id);
	}
	return size;
}

size_t ap_build_id_of_file(const char *path, u8 id[AP_BUILD_ID_MAX])
{
	int fd = ap_in_open(path, AP_IN_FILE);
	size_t size = 0;
	Elf *elf;

	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		size = find_in_elf(elf, id);
	elf_end(elf);
	close(fd);
	return size;
}

/* Everybody's is ours: the kernel has one. */
static size_t id_of_vdso(u8 *id)
{
	char *image = (char *)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr *head = (Elf64_Ehdr *)image;
	size_t size;
	Elf *elf;

	if (!image)
		return 0;
	elf_version(EV_CURRENT);
	/* the section headers are the image's end */
	elf = elf_memory(image, head->e_shoff + (size_t)head->e_shnum * head->e_shentsize);
	size = find_in_elf(elf, id);
	elf_end(elf);
	return size;
}

size_t ap_build_id_of_mapping(pid_t pid, const char *name, u8 id[AP_BUILD_ID_MAX])
{
	char path[4096 + 32];

	if (!strcmp(name, "[vdso]"))
		return id_of_vdso(id);
	if (name[0] != '/' || name[1] == '/')
		return 0;
	if (!pid)
		return ap_build_id_of_file(name, id);
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, name);
	return ap_build_id_of_file(path, id);
}

size_t ap_build_id_of_kernel(u8 id[AP_BUILD_ID_MAX])
{
	char bytes[8192] __attribute__((aligned(8)));
	int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
	Elf_Data notes = { .d_buf = bytes, .d_type = ELF_T_NHDR, .d_version = EV_CURRENT };
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, bytes, sizeof(bytes));
	close(fd);
	if (n <= 0)
		return 0;
	notes.d_size = (size_t)n;
	return find_in_notes(&notes, id);
}
