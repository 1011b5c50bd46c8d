/* SPDX-License-Identifier: MIT */
/*
 * Files that want their reader to take for ever, to run out of stack or of memory.  Each has so much in it that what is
 * done for each pair of its parts would not end within the minute of CPU that a test has here; what is done once for each
 * takes a second.
 */
#include <dwarf.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "elf_make.h"
#include "profile/symbols/symbol.h"
#include "tap/tap.h"

#define MANY 500000U

static struct ap_symbols all;
static char path[64];
static int file;

static void limit(void)
{
	struct rlimit cpu = { 60, 60 };

	REQUIRE(!setrlimit(RLIMIT_CPU, &cpu));
}

static struct ap_dso *begin(const struct bytes *b, enum ap_dso_kind kind)
{
	limit();
	file = bytes_file(b, path, sizeof(path));
	free(b->p);
	ap_symbols_init(&all);
	return ap_dso_get(&all, path, kind);
}

static void end(void)
{
	ap_symbols_fini(&all);
	close(file);
}

static const char *name_at(struct ap_dso *dso, uint64_t place)
{
	const struct ap_symbol *s = ap_dso_symbol(dso, place);

	return s ? s->name : "none";
}

/* --- jitdump */

static void jit_head(struct bytes *b)
{
	bytes_u32(b, 0x4a695444);
	bytes_u32(b, 1);
	bytes_u32(b, 40);
	for (int i = 0; i < 7; i++)
		bytes_u32(b, 0);
}

static void jit_record(struct bytes *b, uint32_t id, uint32_t size, uint64_t time)
{
	bytes_u32(b, id);
	bytes_u32(b, size);
	bytes_u64(b, time);
	bytes_u64(b, 1); /* pid, tid */
}

static void jit_load(struct bytes *b, uint64_t addr, uint64_t size, uint64_t index,
		     const char *name)
{
	jit_record(b, 0, (uint32_t)(56 + strlen(name) + 1), 0);
	bytes_u64(b, addr);
	bytes_u64(b, addr);
	bytes_u64(b, size);
	bytes_u64(b, index);
	bytes_add(b, name, strlen(name) + 1);
}

static void jit_move(struct bytes *b, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	jit_record(b, 1, 64, 1);
	bytes_u64(b, to);
	bytes_u64(b, from);
	bytes_u64(b, to);
	bytes_u64(b, size);
	bytes_u64(b, index);
}

static void moves_of_many_pieces_are_found_at_once(void)
{
	struct bytes b = { 0 };
	struct ap_dso *dso;

	jit_head(&b);
	for (uint32_t i = 0; i < MANY; i++)
		jit_load(&b, 0x100000 + 16ULL * i, 16, i, i ? "f" : "first");
	/* of the first, again and again, and of none */
	for (uint32_t i = 0; i < MANY; i++)
		jit_move(&b, 0x100000, 0x80000000 + 16ULL * i, 16, i % 2 ? 0 : MANY + i);
	dso = begin(&b, AP_DSO_JIT);
	dso->jitdump = path;
	EXPECT_STR(name_at(dso, 0x100000 + 16), "f");
	EXPECT_STR(name_at(dso, 0x80000000 + 16), "first");
	EXPECT_STR(name_at(dso, 0x80000000 + 32), "none");
	EXPECT_STR(name_at(dso, 0x80000000 + 16ULL * (MANY - 1)), "first");
	end();
}

/* Of one index and address what came last. */
static void the_newest_piece_moves(void)
{
	struct bytes b = { 0 };
	struct ap_dso *dso;

	jit_head(&b);
	jit_load(&b, 0x1000, 16, 7, "old");
	jit_load(&b, 0x1000, 16, 7, "new");
	jit_load(&b, 0x1000, 16, 8, "other");
	jit_move(&b, 0x1000, 0x2000, 16, 7);
	jit_move(&b, 0x2000, 0x3000, 16, 7);
	dso = begin(&b, AP_DSO_JIT);
	dso->jitdump = path;
	EXPECT_STR(name_at(dso, 0x3000), "new");
	EXPECT_STR(name_at(dso, 0x1000), "other");
	end();
}

/* --- maps */

static void names_that_double_stay_as_they_are(void)
{
	/* pair<pair<pair<...>, pair<...>>, ...>, forty deep, in the arguments of a template */
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct bytes b = { 0 };
	char name[2000] = "_Z1fISt4pairIiiE";
	struct ap_dso *dso;

	for (int i = 1; i <= 40; i++) {
		char ref[8], part[32];

		if (i <= 36)
			snprintf(ref, sizeof(ref), "S%c_", digits[i - 1]);
		else
			snprintf(ref, sizeof(ref), "S1%c_", digits[i - 37]);
		snprintf(part, sizeof(part), "S0_I%s%sE", ref, ref);
		strcat(name, part);
	}
	strcat(name, "Evv");
	bytes_add(&b, "1000 10 ", 8);
	bytes_add(&b, name, strlen(name));
	bytes_add(&b, "\n2000 10 _ZN1a1bEv\n3000 ffffffffffffffff over\n", 46);
	dso = begin(&b, AP_DSO_JIT);
	EXPECT(!strcmp(name_at(dso, 0x1000), name)); /* else megabytes would be said */
	EXPECT_STR(name_at(dso, 0x2000), "a::b");
	EXPECT_STR(name_at(dso, 0x3000), "none");
	end();
}

/* --- .eh_frame */

static void functions_of_many_cies_are_found_at_once(void)
{
	struct elf_make e = { 0 };
	unsigned int frames = elf_section(&e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0x100000);
	struct bytes *b = elf_data(&e, frames), made;
	struct ap_dso *dso;

	for (uint32_t i = 0; i < MANY; i++) {
		bytes_u32(b, 12);
		bytes_u32(b, 0);
		bytes_add(b, "\x01\0\x01\x78\x10\0\0\0", 8);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		bytes_u32(b, 20);
		bytes_u32(b, (uint32_t)b->n); /* of the first */
		bytes_u64(b, 0x10000000 + 16ULL * i);
		bytes_u64(b, 16);
	}
	bytes_u32(b, 0);
	made = elf_finish(&e);
	dso = begin(&made, AP_DSO_FILE);
	EXPECT_STR(name_at(dso, 0x10000000), "sub_10000000");
	EXPECT_STR(name_at(dso, 0x10000000 + 16 * (MANY - 1) + 15), "sub_107a11f0");
	EXPECT_STR(name_at(dso, 0x10000000 + 16 * MANY), "none");
	EXPECT_U64(dso->nsym, MANY);
	end();
}

/* Two sections have CIEs at the same places. */
static void functions_go_by_the_cies_of_their_section(void)
{
	struct elf_make e = { 0 };
	struct bytes *b, made;
	struct ap_dso *dso;

	for (int i = 0; i < 2; i++) {
		b = elf_data(&e, elf_section(&e, ".eh_frame", SHT_PROGBITS, SHF_ALLOC,
					     0x100000U + 0x1000U * (unsigned)i));
		bytes_u32(b, 16); /* pointers of 8 bytes, then of 4 */
		bytes_u32(b, 0);
		bytes_add(b,
			  i ? "\x01zR\0\x01\x78\x10\x01\x03\0\0\0"
			    : "\x01zR\0\x01\x78\x10\x01\0\0\0\0",
			  12);
		bytes_u32(b, i ? 16 : 24);
		bytes_u32(b, 24);
		if (i) {
			bytes_u32(b, 0x3000);
			bytes_u32(b, 0x20);
			bytes_u32(b, 0);
		} else {
			bytes_u64(b, 0x2000);
			bytes_u64(b, 0x10);
			bytes_u32(b, 0);
		}
		bytes_u32(b, 0);
	}
	made = elf_finish(&e);
	dso = begin(&made, AP_DSO_FILE);
	EXPECT_STR(name_at(dso, 0x200f), "sub_2000");
	EXPECT_STR(name_at(dso, 0x301f), "sub_3000");
	EXPECT_U64(dso->nsym, 2);
	end();
}

/* --- PLT */

static void resolvers_of_many_stubs_are_found_at_once(void)
{
	struct elf_make e = { 0 };
	unsigned int text =
		elf_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x10000000);
	unsigned int strings = elf_section(&e, ".strtab", SHT_STRTAB, 0, 0);
	unsigned int symbols = elf_section(&e, ".symtab", SHT_SYMTAB, 0, 0);
	unsigned int rela = elf_section(&e, ".rela.plt", SHT_RELA, SHF_ALLOC, 0x20000000);
	unsigned int plt =
		elf_section(&e, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x30000000);
	struct ap_dso *dso;
	struct bytes made;

	bytes_u8(elf_data(&e, text), 0xc3);
	bytes_add(elf_data(&e, strings), "\0longer\0name", 13);
	e.section[symbols - 1].sh.sh_link = strings;
	e.section[symbols - 1].sh.sh_entsize = sizeof(Elf64_Sym);
	e.section[rela - 1].sh.sh_entsize = sizeof(Elf64_Rela);
	e.section[plt - 1].sh.sh_entsize = 16;
	for (uint32_t i = 0; i < MANY; i++) {
		/* two names of each place, and the shorter one second */
		Elf64_Sym s = { .st_name = i % 2 ? 8 : 1,
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_shndx = (uint16_t)text,
				.st_value = 0x10000000 + 16ULL * (i / 2),
				.st_size = 16 };
		Elf64_Rela r = { 0x40000000 + 8ULL * i, ELF64_R_INFO(0, R_X86_64_IRELATIVE),
				 (int64_t)(0x10000000 + 16ULL * (i / 2)) };
		uint8_t stub[16] = { 0xff, 0x25 };
		int32_t off = (int32_t)(0x40000000 + 8ULL * i - (0x30000000 + 16ULL * i + 6));

		memcpy(stub + 2, &off, 4);
		bytes_add(elf_data(&e, symbols), &s, sizeof(s));
		bytes_add(elf_data(&e, rela), &r, sizeof(r));
		bytes_add(elf_data(&e, plt), stub, sizeof(stub));
	}
	made = elf_finish(&e);
	dso = begin(&made, AP_DSO_FILE);
	EXPECT_STR(name_at(dso, 0x30000000), "name@plt");
	EXPECT_STR(name_at(dso, 0x30000000 + 16 * (MANY - 1)), "name@plt");
	EXPECT_U64(dso->nsym, MANY / 2 + MANY);
	end();
}

/* --- DWARF */

static void scopes_in_scopes_end_somewhere(void)
{
	static const uint8_t abbrev[] = { 1,
					  DW_TAG_compile_unit,
					  1,
					  DW_AT_low_pc,
					  DW_FORM_addr,
					  DW_AT_high_pc,
					  DW_FORM_data4,
					  0,
					  0,
					  2,
					  DW_TAG_namespace,
					  1,
					  0,
					  0,
					  0 };
	enum { DEEP = 100000 };
	struct elf_make e = { 0 };
	struct bytes *info = elf_data(&e, elf_section(&e, ".debug_info", SHT_PROGBITS, 0, 0)), made;
	const struct ap_symbol *out[8], fn = { .start = 0x1000, .end = 0x2000, .name = "f" };
	const char *source;
	struct ap_dso *dso;
	uint32_t line;

	bytes_add(elf_data(&e, elf_section(&e, ".debug_abbrev", SHT_PROGBITS, 0, 0)), abbrev,
		  sizeof(abbrev));
	bytes_u32(info, 7 + 1 + 8 + 4 + DEEP + DEEP + 1);
	bytes_add(info, "\x04\0\0\0\0\0\x08\x01", 8);
	bytes_u64(info, 0x1000);
	bytes_u32(info, 0x1000);
	for (int i = 0; i < DEEP; i++)
		bytes_u8(info, 2);
	for (int i = 0; i < DEEP + 1; i++)
		bytes_u8(info, 0);
	made = elf_finish(&e);
	dso = begin(&made, AP_DSO_FILE);
	EXPECT_U64(ap_dso_inlines(dso, &fn, 0x1800, out, 8), 0);
	EXPECT(!ap_dso_line(dso, 0x1800, &source, &line));
	end();
}

/* --- .gnu_debugdata */

/* A file with it in it, packed; or one with a symbol. */
static struct bytes with_debugdata(const struct bytes *inner)
{
	struct elf_make e = { 0 };
	struct bytes *b;

	if (inner) {
		static uint8_t packed[65536];
		size_t n = 0;

		REQUIRE(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, inner->p, inner->n,
						packed, &n, sizeof(packed)) == LZMA_OK);
		free(inner->p);
		bytes_add(elf_data(&e, elf_section(&e, ".gnu_debugdata", SHT_PROGBITS, 0, 0)),
			  packed, n);
	} else {
		unsigned int text =
			elf_section(&e, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000);
		unsigned int strings = elf_section(&e, ".strtab", SHT_STRTAB, 0, 0);
		unsigned int symbols = elf_section(&e, ".symtab", SHT_SYMTAB, 0, 0);
		Elf64_Sym s = { .st_name = 1,
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_shndx = (uint16_t)text,
				.st_value = 0x1000,
				.st_size = 16 };

		bytes_u8(elf_data(&e, text), 0xc3);
		b = elf_data(&e, strings);
		bytes_add(b, "\0inner", 7);
		e.section[symbols - 1].sh.sh_link = strings;
		e.section[symbols - 1].sh.sh_entsize = sizeof(s);
		bytes_add(elf_data(&e, symbols), &s, sizeof(s));
	}
	return elf_finish(&e);
}

static void packed_files_are_not_in_packed_files(void)
{
	struct bytes plain = with_debugdata(NULL), once = with_debugdata(&plain), twice;
	struct ap_dso *dso = begin(&once, AP_DSO_FILE);

	EXPECT_STR(name_at(dso, 0x1000), "inner");
	end();
	plain = with_debugdata(NULL);
	once = with_debugdata(&plain);
	twice = with_debugdata(&once);
	dso = begin(&twice, AP_DSO_FILE);
	EXPECT_STR(name_at(dso, 0x1000), "none");
	end();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(moves_of_many_pieces_are_found_at_once),
		TAP(the_newest_piece_moves),
		TAP(names_that_double_stay_as_they_are),
		TAP(functions_of_many_cies_are_found_at_once),
		TAP(functions_go_by_the_cies_of_their_section),
		TAP(resolvers_of_many_stubs_are_found_at_once),
		TAP(scopes_in_scopes_end_somewhere),
		TAP(packed_files_are_not_in_packed_files),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
