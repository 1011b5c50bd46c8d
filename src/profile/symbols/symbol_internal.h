/* SPDX-License-Identifier: MIT */
/*
 * Between dso.c (which files to ask), elf.c (symbol tables), elf_code.c (code without names),
 * debug.c (DWARF), jit.c and kallsyms.c.
 */
#ifndef AP_PROFILE_SYMBOL_INTERNAL_H
#define AP_PROFILE_SYMBOL_INTERNAL_H

#include <libelf.h>

#include "profile/symbols/symbol.h"

/* Symbols as they are found. */
struct ap_symvec {
	struct ap_symbol *v;
	u32 n, cap;
};

void ap_symvec_add(struct ap_symvec *vec, const struct ap_symbol *sym);
/* Name as it is shown: demangled if it is to be. */
const char *ap_symbol_name(struct ap_symbols *s, const char *name);

/* An open ELF file. */
struct ap_elf {
	Elf *elf;
	int fd;
	char *memory; /* of an unpacked one */
};

/*
 * A profile names whatever it likes: only files are opened, never a pipe to wait for or a device.
 * The descriptor, or -1.
 */
int ap_open_regular(const char *path);
/* A perf map or a jitdump of dso: only where it can be believed. */
int ap_jit_open(struct ap_dso *dso, const char *path);

/* The file if it is ELF and, where the DSO has a build-id, of that build. */
bool ap_elf_open(struct ap_elf *e, const struct ap_dso *dso, const char *path);
void ap_elf_close(struct ap_elf *e);
/* Whatever tables the file has: .symtab, else .dynsym, else .gnu_debugdata; false: none. */
bool ap_elf_symbols(struct ap_dso *dso, struct ap_elf *e, bool dynsym, struct ap_symvec *vec);
/* Stubs through which other files' functions are called: name@plt. */
void ap_elf_plt(struct ap_dso *dso, struct ap_elf *e, struct ap_symvec *vec);
/* Functions that are in none of the tables, called by their address: sub_1139. */
void ap_elf_unnamed(struct ap_dso *dso, struct ap_elf *e, struct ap_symvec *vec);
/* Where the DSO has none from the profile. */
void ap_elf_build_id(struct ap_dso *dso, struct ap_elf *e);
void ap_elf_segments(struct ap_dso *dso, struct ap_elf *e);
/* file by its .gnu_debuglink, into buf; false: has none */
bool ap_elf_debuglink(struct ap_elf *e, char *buf, size_t size);

/* What a JIT compiler wrote beside its map: names and addresses of code. */
void ap_jitdump_load(struct ap_dso *dso);
void ap_jit_free(struct ap_jit *jit);
const struct ap_symbol *ap_jit_symbol(const struct ap_dso *dso, u64 place);
/* Code of it at an address, or of a function; how much there is. */
size_t ap_jitdump_code(struct ap_dso *dso, u64 place, u8 *buf, size_t size);
size_t ap_jitdump_function(struct ap_dso *dso, const struct ap_symbol *sym, u8 *buf, size_t size);
/* The code that is at an address, or NULL. */
const struct ap_jit_code *ap_jit_code_at(struct ap_dso *dso, u64 place);
/*
 * It and its unwinding tables as an ELF file (jit_image.c), to be freed; NULL: it cannot be read.
 */
void *ap_jit_image(struct ap_dso *dso, const struct ap_jit_code *code, size_t *size);
void ap_jit_symbols(struct ap_dso *dso, struct ap_symvec *vec);
void ap_kernel_symbols(struct ap_dso *dso, struct ap_symvec *vec);

/*
 * Each file that may have the DSO's symbols or debug information, best first, until fn is content.
 */
typedef bool ap_candidate_fn(struct ap_dso *dso, const char *path, void *arg);
bool ap_dso_candidates(struct ap_dso *dso, ap_candidate_fn *fn, void *arg);
/* Where the code itself is. */
const char *ap_dso_file(struct ap_dso *dso, char *buf, size_t size);

void ap_debug_close(struct ap_debug *d);

#endif
