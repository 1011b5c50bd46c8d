/* SPDX-License-Identifier: MIT */
/*
 * The decoder against Zydis: all of real programs' code, random bytes, and (--exhaustive) the
 * whole opcode space.  See oracle.h for what is compared.
 */
/* LIBS: -lZydis */
/* LONG: --exhaustive */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oracle.h"
#include "random.h"
#include "tap/tap.h"

/* Code to sweep in one test at most; longer files are sampled. */
#define SWEEP_BYTES (6u << 20)
#define SWEEP_CHUNK 4096

static void expect_no_mismatch(void)
{
	tap_note("%llu checked, %llu valid", (unsigned long long)oracle_count.checked,
		 (unsigned long long)oracle_count.valid);
	EXPECT_U64(oracle_count.wrong, 0);
	EXPECT(oracle_count.valid > 1000);
}

static void sweep(const u8 *code, size_t size)
{
	size_t stride = size > SWEEP_BYTES ? size / (SWEEP_BYTES / SWEEP_CHUNK) : SWEEP_CHUNK;
	size_t start, pos;

	if (tap_option("--exhaustive"))
		stride = SWEEP_CHUNK;
	for (start = 0; start + 32 < size; start += stride)
		for (pos = start; pos < start + SWEEP_CHUNK && pos + 16 < size;)
			pos += oracle_check(code + pos);
}

static bool sweep_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const Elf64_Ehdr *ehdr;
	const Elf64_Shdr *shdr;
	struct stat st;
	unsigned n;
	u8 *map;

	if (fd < 0 || fstat(fd, &st))
		return false;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	REQUIRE(map != MAP_FAILED);
	ehdr = (const Elf64_Ehdr *)map;
	REQUIRE(!memcmp(ehdr->e_ident, ELFMAG, SELFMAG));
	shdr = (const Elf64_Shdr *)(map + ehdr->e_shoff);
	for (n = 0; n < ehdr->e_shnum; n++)
		if (shdr[n].sh_type == SHT_PROGBITS && (shdr[n].sh_flags & SHF_EXECINSTR))
			sweep(map + shdr[n].sh_offset, shdr[n].sh_size);
	munmap(map, st.st_size);
	return true;
}

static void sweep_first_of(const char *const *paths)
{
	for (; *paths; paths++) {
		if (sweep_text(*paths)) {
			tap_note("%s", *paths);
			expect_no_mismatch();
			return;
		}
	}
	tap_skip("no such file here");
}

#define LIB "/usr/lib/x86_64-linux-gnu/"

static void agrees_on_libc(void)
{
	static const char *const paths[] = { LIB "libc.so.6", NULL };

	sweep_first_of(paths);
}

static void agrees_on_libstdcxx(void)
{
	static const char *const paths[] = { LIB "libstdc++.so.6", NULL };

	sweep_first_of(paths);
}

static void agrees_on_libcrypto(void)
{
	static const char *const paths[] = { LIB "libcrypto.so.3", LIB "libcrypto.so.1.1", NULL };

	sweep_first_of(paths);
}

static void agrees_on_python(void)
{
	static const char *const paths[] = { "/usr/bin/python3.11", "/usr/bin/python3", NULL };

	sweep_first_of(paths);
}

static void agrees_on_node_or_a_compiler(void)
{
	static const char *const paths[] = { "/usr/bin/node", "/usr/local/bin/node",
					     "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", NULL };

	sweep_first_of(paths);
}

static void agrees_on_random_bytes(void)
{
	u64 count = tap_option("--exhaustive") ? 100000000 : 3000000;
	u8 code[16];

	for (random_seed(0x9e3779b97f4a7c15); count; count--) {
		random_code(code);
		oracle_check(code);
	}
	expect_no_mismatch();
}

/* The operand bytes of the exhaustive walk: every ModRM with a few SIBs. */
static void every_modrm(u8 *code, unsigned n)
{
	static const u8 sibs[] = { 0x08, 0x25, 0x65, 0xff, 0x51 };
	unsigned modrm, k;

	memset(code + n, 0x9e, 16 - n);
	for (modrm = 0; modrm < 256; modrm++) {
		code[n] = modrm;
		for (k = 0; k < (modrm < 0xc0 && (modrm & 7) == 4 ? sizeof(sibs) : 1); k++) {
			code[n + 1] = sibs[k];
			oracle_check(code);
		}
	}
}

static void every_legacy_form(void)
{
	static const u8 before[] = { 0, 0x66, 0xf2, 0xf3, 0xf0, 0x67, 0x65 };
	static const u8 rexes[] = { 0, 0x40, 0x41, 0x42, 0x44, 0x48, 0x4f };
	static const u8 maps[4][2] = { { 0 }, { 0x0f }, { 0x0f, 0x38 }, { 0x0f, 0x3a } };
	unsigned p, q, r, m, opcode;
	u8 code[16];

	for (p = 0; p < sizeof(before); p++)
		for (q = 0; q < sizeof(before); q++)
			for (r = 0; r < sizeof(rexes); r++)
				for (m = 0; m < 4; m++)
					for (opcode = 0; opcode < 256; opcode++) {
						unsigned n = 0;

						if (before[p])
							code[n++] = before[p];
						if (before[q])
							code[n++] = before[q];
						if (rexes[r])
							code[n++] = rexes[r];
						if (m)
							code[n++] = maps[m][0];
						if (m > 1)
							code[n++] = maps[m][1];
						code[n++] = opcode;
						every_modrm(code, n);
					}
}

/* Second and third bytes of VEX and XOP: all of the third, all register extensions. */
static void every_vex_form(u8 escape, u8 first_map)
{
	unsigned map, rxb, third, opcode;
	u8 code[16] = { escape };

	for (map = first_map; map < first_map + 3u; map++)
		for (rxb = 0; rxb < 8; rxb += rxb == 0 ? 4 : 3)
			for (third = 0; third < 256; third++)
				for (opcode = 0; opcode < 256; opcode++) {
					code[1] = rxb << 5 | map;
					code[2] = third;
					code[3] = opcode;
					every_modrm(code, 4);
				}
}

static void every_evex_form(void)
{
	static const u8 vvvv[] = { 0x78, 0x40, 0x10 }, last[] = { 0x08, 0x0a, 0x88, 0x8b, 0x02 };
	unsigned map, wpp, v, len, k, opcode;
	u8 code[16] = { 0x62 };

	for (map = 1; map < 7; map++)
		for (wpp = 0; wpp < 8; wpp++)
			for (v = 0; v < sizeof(vvvv); v++)
				for (len = 0; len < 8; len++)
					for (k = 0; k < sizeof(last); k++)
						for (opcode = 0; opcode < 256; opcode++) {
							code[1] = 0xf0 | map;
							code[2] = (wpp & 4) << 5 | vvvv[v] | 4 |
								  (wpp & 3);
							code[3] = last[k] | len << 4;
							code[4] = opcode;
							every_modrm(code, 5);
						}
}

static void agrees_on_every_legacy_form(void)
{
	if (!tap_option("--exhaustive"))
		tap_lack("only with --exhaustive");
	every_legacy_form();
	expect_no_mismatch();
}

static void agrees_on_every_vex_and_xop_form(void)
{
	if (!tap_option("--exhaustive"))
		tap_lack("only with --exhaustive");
	every_vex_form(0xc4, 1);
	every_vex_form(0x8f, 8);
	expect_no_mismatch();
}

static void agrees_on_every_evex_form(void)
{
	if (!tap_option("--exhaustive"))
		tap_lack("only with --exhaustive");
	every_evex_form();
	expect_no_mismatch();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(agrees_on_libc),
		TAP(agrees_on_libstdcxx),
		TAP(agrees_on_libcrypto),
		TAP(agrees_on_python),
		TAP(agrees_on_node_or_a_compiler),
		TAP(agrees_on_random_bytes),
		TAP(agrees_on_every_legacy_form),
		TAP(agrees_on_every_vex_and_xop_form),
		TAP(agrees_on_every_evex_form),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
