/* SPDX-License-Identifier: MIT */
/*
 * Memory accesses by hand, from the manuals: those that Zydis does not spell out, and one of each
 * shape.  The opcode space is compared with Zydis by zydis_test, sizes with the CPU by cpu_test.
 */
/* LIBS: -lZydis */
#include <string.h>

#include "tap/tap.h"
#include "x86/access.h"

#define R AP_ACCESS_READ
#define W AP_ACCESS_WRITE
#define M AP_ACCESS_MASKED
#define S AP_ACCESS_STRING
#define V AP_ACCESS_VSIB
#define O AP_ACCESS_OPEN

/* rax 0x10007f, rcx 0x20000, rdx -65, rbx 0x40000, rsp 0x50000, rbp 0x60000, rsi, rdi, r8.. */
static const u64 gpr[16] = { 0x10007f, 0x20000, (u64)-65, 0x40000, 0x50000, 0x60000,
			     0x70000,  0x80000, 0x90000,  0xa0000, 0xb0000, 0xc0000,
			     0xd0000,  0xe0000, 0xf0000,  0x100000 };
static const u64 seg_base[3] = { 0, 0x1000000, 0x2000000 };

#define NEXT 0x3000000

static struct ap_access list[AP_ACCESS_MAX];

static u32 enumerate(const char *code)
{
	struct ap_insn i;
	u8 bytes[16] = { 0 };

	memcpy(bytes, code, strlen(code) < 15 ? 15 : 16);
	REQUIRE(!ap_insn_decode(&i, bytes, 15));
	return ap_insn_accesses(&i, bytes, list);
}

/* code has no NUL but behind its end. */
#define EXPECT_N(code, n) EXPECT_U64(enumerate(code "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), n)
#define EXPECT_AT(k, where, bytes, how)                                                            \
	do {                                                                                       \
		EXPECT_U64(ap_access_address(&list[k], gpr, NEXT, seg_base), where);               \
		EXPECT_U64(list[k].size, bytes);                                                   \
		EXPECT_U64(list[k].flags, how);                                                    \
	} while (0)

static void plain_operands(void)
{
	EXPECT_N("\x8b\x04\x8b", 1); /* mov eax, [rbx + rcx*4] */
	EXPECT_AT(0, 0xc0000, 4, R);
	EXPECT_N("\x48\x89\x45\xf8", 1); /* mov [rbp - 8], rax */
	EXPECT_AT(0, 0x5fff8, 8, W);
	EXPECT_N("\x48\x01\x05\x10\x01\x01\x01", 1); /* add [rip + 0x1010110], rax */
	EXPECT_AT(0, NEXT + 0x1010110, 8, R | W);
	EXPECT_N("\x64\x66\x43\x8b\x04\x3e", 1); /* mov ax, fs:[r14 + r15] */
	EXPECT_AT(0, 0x11f0000, 2, R);
	EXPECT_N("\x67\x8a\x02", 1); /* mov al, [edx] */
	EXPECT_AT(0, 0xffffffbf, 1, R | AP_ACCESS_ADDR32);
	EXPECT_N("\xf0\x48\x0f\xc7\x0b", 1); /* lock cmpxchg16b [rbx] */
	EXPECT_AT(0, 0x40000, 16, R | W);
	EXPECT_N("\xd9\x33", 1); /* fnstenv [rbx] */
	EXPECT_AT(0, 0x40000, 28, W);
	EXPECT_N("\x0f\xae\x03", 1); /* fxsave [rbx] */
	EXPECT_AT(0, 0x40000, 512, W);
	EXPECT_N("\x0f\xae\x23", 1); /* xsave [rbx] */
	EXPECT_AT(0, 0x40000, 576, R | W | O);
}

static void no_access(void)
{
	EXPECT_N("\x48\x8d\x04\x8b", 0); /* lea */
	EXPECT_N("\x0f\x18\x0b", 0);	 /* prefetcht0 */
	EXPECT_N("\x0f\x1f\x40\x11", 0); /* nop [rax + 17] */
	EXPECT_N("\x0f\xae\x3b", 0);	 /* clflush */
	EXPECT_N("\x48\x01\xd8", 0);	 /* add rax, rbx */
	EXPECT_N("\x0f\x05", 0);	 /* syscall */
	EXPECT_N("\x66\x0f\x1b\x08", 0); /* bndmov: a nop */
}

static enum ap_flush flush_of(const char *code)
{
	struct ap_insn i;
	u8 bytes[16] = { 0 };

	memcpy(bytes, code, strlen(code) < 15 ? strlen(code) : 15);
	REQUIRE(!ap_insn_decode(&i, bytes, 15));
	EXPECT_U64(ap_insn_accesses(&i, bytes, list), 0);
	return ap_insn_flush(&i, bytes, list);
}

static void lines_that_are_flushed(void)
{
	EXPECT_U64(flush_of("\x0f\xae\x3b"), AP_FLUSH_DROPS); /* clflush [rbx] */
	EXPECT_AT(0, 0x40000, 1, 0);
	EXPECT_U64(flush_of("\x66\x41\x0f\xae\x7c\x88\x11"),
		   AP_FLUSH_DROPS); /* clflushopt [r8 + rcx * 4 + 17] */
	EXPECT_AT(0, 0x90000 + 4 * 0x20000 + 17, 1, 0);
	EXPECT_U64(flush_of("\x64\x66\x0f\xae\x33"), AP_FLUSH_KEEPS); /* clwb fs:[rbx] */
	EXPECT_AT(0, 0x1040000, 1, 0);
	EXPECT_U64(flush_of("\x67\x66\x0f\xae\x32"), AP_FLUSH_KEEPS); /* clwb [edx] */
	EXPECT_AT(0, 0xffffffbf, 1, AP_ACCESS_ADDR32);
	EXPECT_U64(flush_of("\x0f\xae\xf8"), AP_FLUSH_NONE);	 /* sfence */
	EXPECT_U64(flush_of("\x0f\xae\xf0"), AP_FLUSH_NONE);	 /* mfence */
	EXPECT_U64(flush_of("\x66\x0f\xae\xf1"), AP_FLUSH_NONE); /* tpause */
	EXPECT_U64(flush_of("\xf3\x0f\xae\xf1"), AP_FLUSH_NONE); /* umonitor */
	EXPECT_U64(flush_of("\x0f\x1c\x03"), AP_FLUSH_NONE);	 /* cldemote */
	EXPECT_U64(flush_of("\x0f\x18\x0b"), AP_FLUSH_NONE);	 /* prefetcht0 */
	EXPECT_U64(flush_of("\x48\x8d\x04\x8b"), AP_FLUSH_NONE); /* lea */
}

static void the_stack(void)
{
	EXPECT_N("\x50", 1); /* push rax */
	EXPECT_AT(0, 0x4fff8, 8, W);
	EXPECT_N("\x66\x50", 1); /* push ax */
	EXPECT_AT(0, 0x4fffe, 2, W);
	EXPECT_N("\x5b", 1); /* pop rbx */
	EXPECT_AT(0, 0x50000, 8, R);
	EXPECT_N("\xff\x74\x24\x10", 2); /* push [rsp + 16] */
	EXPECT_AT(0, 0x50010, 8, R);
	EXPECT_AT(1, 0x4fff8, 8, W);
	EXPECT_N("\x8f\x44\x24\x10", 2); /* pop [rsp + 16], of the new rsp */
	EXPECT_AT(0, 0x50000, 8, R);
	EXPECT_AT(1, 0x50018, 8, W);
	EXPECT_N("\xff\x54\x24\x10", 2); /* call [rsp + 16] */
	EXPECT_AT(0, 0x50010, 8, R);
	EXPECT_AT(1, 0x4fff8, 8, W);
	EXPECT_N("\xe8\x01\x01\x01\x01", 1);
	EXPECT_AT(0, 0x4fff8, 8, W);
	EXPECT_N("\xc3", 1);
	EXPECT_AT(0, 0x50000, 8, R);
	EXPECT_N("\xc9", 1); /* leave */
	EXPECT_AT(0, 0x60000, 8, R);
	EXPECT_N("\x9c", 1); /* pushfq */
	EXPECT_AT(0, 0x4fff8, 8, W);
	EXPECT_N("\x48\xcf", 1); /* iretq */
	EXPECT_AT(0, 0x50000, 40, R);
}

static void enter_and_its_frames(void)
{
	EXPECT_N("\xc8\x10\x01\x01", 1); /* enter 0x110, 1: rbp and the new frame's pointer */
	EXPECT_AT(0, 0x4fff0, 16, W);
	EXPECT_N("\xc8\x10\x01\x04", 2);
	EXPECT_AT(0, 0x5ffe8, 24, R);
	EXPECT_AT(1, 0x4ffd8, 40, W);
	EXPECT_N("\xc8\x10\x01", 1); /* level 0 */
	EXPECT_AT(0, 0x4fff8, 8, W);
}

static void strings(void)
{
	EXPECT_N("\xf3\x48\xa5", 2); /* rep movsq */
	EXPECT_AT(0, 0x70000, 8, R | S);
	EXPECT_AT(1, 0x80000, 8, W | S);
	EXPECT_N("\x64\xa4", 2); /* movsb from fs */
	EXPECT_AT(0, 0x1070000, 1, R | S);
	EXPECT_AT(1, 0x80000, 1, W | S);
	EXPECT_N("\xaa", 1);
	EXPECT_AT(0, 0x80000, 1, W | S);
	EXPECT_N("\x66\xad", 1);
	EXPECT_AT(0, 0x70000, 2, R | S);
	EXPECT_N("\xa7", 2);
	EXPECT_AT(0, 0x70000, 4, R | S);
	EXPECT_AT(1, 0x80000, 4, R | S);
	EXPECT_N("\xd7", 1); /* xlat: rbx + al */
	EXPECT_AT(0, 0x4007f, 1, R);
}

static void bit_strings(void)
{
	EXPECT_N("\x48\x0f\xa3\x13", 1); /* bt [rbx], rdx: bit -65 is two words below */
	EXPECT_AT(0, 0x40000 - 16, 8, R);
	EXPECT_N("\x0f\xab\x13", 1); /* bts [rbx], edx */
	EXPECT_AT(0, 0x40000 - 12, 4, R | W);
	EXPECT_N("\x0f\xba\x2b\x7f", 1); /* bts [rbx], 127: of the operand, bit 31 */
	EXPECT_AT(0, 0x40000, 4, R | W);
}

static void vectors(void)
{
	EXPECT_N("\xc5\xfe\x6f\x03", 1); /* vmovdqu ymm0, [rbx] */
	EXPECT_AT(0, 0x40000, 32, R);
	EXPECT_N("\x62\xf1\x7c\x58\x58\x43\x01", 1); /* vaddps zmm0, zmm0, [rbx + 4]{1to16} */
	EXPECT_AT(0, 0x40004, 4, R);
	EXPECT_N("\x62\xf1\x7d\x49\x7f\x43\x01", 1); /* vmovdqa32 [rbx + 64]{k1}, zmm0 */
	EXPECT_AT(0, 0x40040, 64, W | M);
	EXPECT_U64(list[0].element, 4);
	EXPECT_N("\xc4\xe2\x75\x8e\x03", 1); /* vpmaskmovd [rbx], ymm1, ymm0 */
	EXPECT_AT(0, 0x40000, 32, W | M);
	EXPECT_U64(list[0].element, 4);
	EXPECT_N("\xc4\xe2\xe9\x92\x04\x0b", 1); /* vgatherdpd xmm0, [rbx + xmm1], xmm2 */
	EXPECT_AT(0, 0x40000, 8, R | M | V);
	EXPECT_U64(list[0].elements, 2);
	EXPECT_U64(list[0].index, 1);
	EXPECT_N("\x62\xf2\x7d\x41\x90\x44\x0b\x01", 1); /* vpgatherdd zmm0{k1}, [rbx+zmm17+4] */
	EXPECT_AT(0, 0x40004, 4, R | M | V);
	EXPECT_U64(list[0].elements, 16);
	EXPECT_U64(list[0].index, 17);
	EXPECT_N("\x66\x0f\xf7\xc1", 1); /* maskmovdqu xmm0, xmm1 */
	EXPECT_AT(0, 0x80000, 16, W | M);
	EXPECT_U64(list[0].element, 1);
}

static void whole_lines(void)
{
	EXPECT_N("\x0f\x01\xfc", 1); /* clzero: of the line around rax */
	EXPECT_AT(0, 0x100040, 64, W | AP_ACCESS_LINE);
	EXPECT_N("\x66\x0f\x38\xf8\x33", 2); /* movdir64b rsi, [rbx] */
	EXPECT_AT(0, 0x40000, 64, R);
	EXPECT_AT(1, 0x70000, 64, W);
}

/* Every iteration, byte by byte. */
static u64 by_hand(const struct ap_access_string *s, u32 count, u64 n, u64 addr, u32 len, bool both)
{
	u64 hits = 0;

	for (u64 k = 0; k < n; k++) {
		bool hit = false;

		for (u32 p = 0; p < count; p++) {
			u64 at = s[p].down ? s[p].at - k * s[p].size : s[p].at + k * s[p].size;

			for (u32 b = 0; b < s[p].size && (both || s[p].is_write); b++)
				hit |= at + b >= addr && at + b < addr + len;
		}
		hits += hit;
	}
	return hits;
}

static void iterations(void)
{
	const u64 base = 0x7fffffff0000;
	u64 seed = 1, total = 0, wrong = 0;

	for (u32 k = 0; k < 200000; k++) {
		struct ap_access_string s[2];
		u32 count, len;
		u64 n, got, want;
		bool both;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		s[0] = (struct ap_access_string){ base + (seed & 127), 1u << (seed >> 8 & 3),
						  seed & 1 << 10, false };
		s[1] = (struct ap_access_string){ base + (seed >> 16 & 127), s[0].size, s[0].down,
						  true };
		count = seed & 1 << 24 ? 2 : 1;
		len = 1u << (seed >> 25 & 3);
		n = seed >> 30 & 31;
		both = seed & 1 << 29;
		want = by_hand(s, count, n, base + 64, len, both);
		got = ap_access_iterations(s, count, n, base + 64, len, both);
		total += want;
		wrong += got != want;
	}
	EXPECT_U64(wrong, 0);
	EXPECT(total > 10000);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(plain_operands),
		TAP(no_access),
		TAP(lines_that_are_flushed),
		TAP(the_stack),
		TAP(strings),
		TAP(bit_strings),
		TAP(vectors),
		TAP(whole_lines),
		TAP(enter_and_its_frames),
		TAP(iterations),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
