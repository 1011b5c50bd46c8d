/* SPDX-License-Identifier: MIT */
/*
 * Which elements a masked access, gather or scatter touches.  Vector and mask registers are the
 * program's at all times, so they are saved aside and looked at; the CPU's stay as they are.
 */
#include "engine/runtime/engine.h"
#include "engine/watch/data.h"

#define LEGACY_MMX 32
#define LEGACY_XMM 160
#define AVX	   2
#define OPMASK	   5
#define ZMM_HI	   6
#define HI_ZMM	   7
#define COMPONENTS 0xe7ULL /* x87, SSE, AVX, AVX-512 */
#define OSXSAVE	   (1U << 27)
#define MAP_0F	   1
#define MAP_0F38   2

/* All of them lie below, whichever of the others a CPU has in between. */
struct state {
	u8 area[4096] __attribute__((aligned(64)));
};

/* Of each component.  It is asked for once, a virtual machine's host answers in some 20 us; threads that race find the same. */
static u32 offsets[8];

static void cpuid(u32 leaf, u32 sub, u32 r[4])
{
	__asm__ volatile("cpuid"
			 : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
			 : "a"(leaf), "c"(sub));
}

static bool has_xsave(void)
{
	static u32 known; /* 1 no, 2 yes */
	u32 r[4], has = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!has) {
		cpuid(1, 0, r);
		has = r[2] & OSXSAVE ? 2 : 1;
		__atomic_store_n(&known, has, __ATOMIC_RELAXED);
	}
	return has == 2;
}

static void save(struct state *s)
{
	u32 r[4], lo, hi;

	if (!has_xsave()) {
		__asm__ volatile("fxsave64 %0" : "=m"(s->area));
		return;
	}
	__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
	memset(s->area + 512, 0, 64); /* the header: xsave reads it */
	__asm__ volatile("xsave64 %0" : "+m"(s->area) : "a"(lo & (u32)COMPONENTS), "d"(0));
	for (u32 k = AVX; k <= HI_ZMM; k++) {
		if (!(lo & COMPONENTS & 1U << k) || offsets[k])
			continue;
		cpuid(0xd, k, r);
		__atomic_store_n(&offsets[k], r[1], __ATOMIC_RELAXED);
	}
}

void ap_vector_ask(void)
{
	struct state s;

	save(&s);
}

/* Up to 8 bytes of vector register n from a byte on. */
static u64 vector_bytes(const struct state *s, u32 n, u32 from, u32 size)
{
	const u8 *p = s->area + LEGACY_XMM + 16UL * n + from;
	u64 v = 0;

	if (n >= 16)
		p = s->area + offsets[HI_ZMM] + 64UL * (n - 16) + from;
	else if (from >= 32)
		p = s->area + offsets[ZMM_HI] + 32UL * n + (from - 32);
	else if (from >= 16)
		p = s->area + offsets[AVX] + 16UL * n + (from - 16);
	for (u32 k = 0; k < size; k++)
		v |= (u64)p[k] << (8 * k);
	return v;
}

static u8 vvvv_of(const struct ap_insn *i, const u8 *code)
{
	return (u8)(~(code[i->opcode_off - 1] >> 3) & 15);
}

/* The sign bits of count elements of a register. */
static u64 sign_bits(const struct state *s, u32 reg, u32 size, u32 count)
{
	u64 mask = 0;

	for (u32 k = 0; k < count; k++)
		mask |= (vector_bytes(s, reg, k * size + size - 1, 1) >> 7) << k;
	return mask;
}

/* maskmovq, maskmovdqu: the register in ModRM.rm. */
static u64 maskmov_bits(const struct state *s, const struct ap_access *a, const struct ap_insn *i,
			const u8 *code)
{
	u32 rm = i->modrm & 7;
	u64 mask = 0;

	if (a->size == 8) {
		for (u32 k = 0; k < 8; k++)
			mask |= (u64)(s->area[LEGACY_MMX + 16UL * rm + k] >> 7) << k;
		return mask;
	}
	if (i->rex & 1 || (i->flags & AP_INSN_VEX && code[i->opcode_off - 2] != 0xc5 &&
			   !(code[i->opcode_off - 2] & 0x20)))
		rm |= 8;
	return sign_bits(s, rm, 1, 16);
}

/* A bit for each element that is accessed. */
static u64 mask_of(const struct state *s, const struct ap_access *a, const struct ap_insn *i,
		   const u8 *code, u32 count)
{
	u64 mask = ~0ULL;
	u32 k;

	if (i->flags & AP_INSN_EVEX) {
		k = code[i->opcode_off - 1] & 7;
		if (k)
			memcpy(&mask, s->area + offsets[OPMASK] + 8UL * k, sizeof(mask));
	} else if (i->map == MAP_0F) {
		mask = maskmov_bits(s, a, i, code);
	} else {
		mask = sign_bits(s, vvvv_of(i, code), a->element, count);
	}
	return count < 64 ? mask & ((1ULL << count) - 1) : mask;
}

/* What moves each element under a bit of its own. */
static bool is_move(const struct ap_insn *i)
{
	if (!(i->flags & AP_INSN_EVEX))
		return true;
	return i->map == MAP_0F && (i->opcode <= 0x11 || i->opcode == 0x28 || i->opcode == 0x29 ||
				    i->opcode == 0x6f || i->opcode == 0x7f);
}

/* vcompress, vexpand: the elements that are left over lie side by side. */
static bool is_dense(const struct ap_insn *i)
{
	return i->flags & AP_INSN_EVEX && i->map == MAP_0F38 &&
	       ((i->opcode >= 0x88 && i->opcode <= 0x8b) || i->opcode == 0x62 || i->opcode == 0x63);
}

static u32 vector_size(const struct ap_insn *i, const u8 *code)
{
	return 16U << (code[i->opcode_off - 1] >> 5 & 3);
}

static u32 ones(u64 v)
{
	u32 n = 0;

	for (; v; v &= v - 1)
		n++;
	return n;
}

static void note_elements(struct ap_thread *t, const struct ap_access *a, u64 at, u64 mask)
{
	for (u32 k = 0; k < 64 && mask >> k; k++)
		if (mask >> k & 1)
			ap_data_note(t, a, at + (u64)k * a->element, a->element);
}

static void note_gathered(struct ap_thread *t, const struct state *s, const struct ap_access *a,
			  const struct ap_insn *i, u64 at, u64 mask)
{
	u32 size = i->opcode & 1 ? 8 : 4;

	for (u32 k = 0; k < a->elements; k++) {
		u64 index = vector_bytes(s, a->index, k * size, size);

		if (size == 4)
			index = (u64)(s64)(s32)index;
		if (mask >> k & 1)
			ap_data_note(t, a, at + (index << a->scale), a->size);
	}
}

void ap_data_look_vector(struct ap_thread *t, const struct ap_access *a, const struct ap_insn *i,
			 const u8 *code, u64 at)
{
	struct state s;
	u64 mask;

	save(&s);
	if (a->flags & AP_ACCESS_VSIB) {
		mask = mask_of(&s, a, i, code, a->elements);
		note_gathered(t, &s, a, i, at, mask);
	} else if (is_dense(i)) {
		mask = mask_of(&s, a, i, code, vector_size(i, code) / a->element);
		if (mask)
			ap_data_note(t, a, at, ones(mask) * a->element);
	} else if (is_move(i)) {
		mask = mask_of(&s, a, i, code, a->size / a->element);
		note_elements(t, a, at, mask);
	} else if (mask_of(&s, a, i, code, vector_size(i, code) / a->element)) {
		ap_data_note(t, a, at, a->size);
	}
}
