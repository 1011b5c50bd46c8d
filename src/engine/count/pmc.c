/* SPDX-License-Identifier: MIT */
/*
 * The CPU and its counters: what CPUID says, as far as the engine or the session wants to know; and the code that reads a counter in the
 * place of rdpmc.  What that code does not know the dispatcher does (dispatch/emulate.c).
 */
#include "engine/count/pmc.h"

static struct ap_cpuid ask_cpu(u32 leaf, u32 subleaf)
{
	struct ap_cpuid r;

	__asm__ volatile("cpuid"
			 : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
			 : "a"(leaf), "c"(subleaf));
	return r;
}

struct ap_cpuid ap_cpu_ask(u32 leaf, u32 subleaf)
{
	const struct ap_session *s = ap_proc.session;
	const struct ap_cpuid *known = ap_cpuid_find(
		s->cpuid, __atomic_load_n(&s->ncpuid, __ATOMIC_ACQUIRE), leaf, subleaf);

	return known ? *known : ask_cpu(leaf, subleaf);
}

enum ap_cpu ap_cpu_this(void)
{
	static u32 known; /* enum ap_cpu + 1 */
	u32 cpu = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!cpu) {
		const struct ap_cpu_id *id = &ap_proc.session->cpu_id;
		struct ap_cpuid leaf0 = ap_cpu_ask(0, 0), leaf1 = ask_cpu(1, 0);

		if (id->signature) {
			ap_cpuid_as(id, 0, 0, ask_cpu, &leaf0);
			ap_cpuid_as(id, 1, 0, ask_cpu, &leaf1);
		}
		cpu = (u32)ap_cpu_of(&leaf0, leaf1.eax) + 1;
		__atomic_store_n(&known, cpu, __ATOMIC_RELAXED);
	}
	return (enum ap_cpu)(cpu - 1);
}

#define FEATURES	 1
#define EXTENDED	 7
#define RDRAND		 (1U << 30) /* ecx of FEATURES */
#define RDSEED		 (1U << 18) /* ebx of EXTENDED */
#define RTM		 (1U << 11) /* ebx */
#define RTM_ALWAYS_ABORT (1U << 11) /* edx: xbegin is no longer enumerated, yet it executes */
#define ASKED		 (1U << 31)

bool ap_pmc_has(u32 feature)
{
	static u32 known; /* threads that race find the same */
	u32 has = __atomic_load_n(&known, __ATOMIC_RELAXED);
	struct ap_cpuid r;

	if (!has) {
		r = ask_cpu(EXTENDED, 0);
		has = ASKED | (r.ebx & RDSEED ? AP_CPU_RDSEED : 0) |
		      (r.ebx & RTM || r.edx & RTM_ALWAYS_ABORT ? AP_CPU_XBEGIN : 0) |
		      (ask_cpu(FEATURES, 0).ecx & RDRAND ? AP_CPU_RDRAND : 0);
		__atomic_store_n(&known, has, __ATOMIC_RELAXED);
	}
	return has & feature;
}

void ap_pmc_ask(void)
{
	(void)ap_cpu_this();
	(void)ap_pmc_has(0);
}

/* --- in translated code */

#define AT(field) (AP_T_PMC + (u32)offsetof(struct ap_pmc, field))
#define JNE	  5
#define JC	  2

/* An instruction whose operand is at gs:[rax + disp] or gs:[disp]. */
static void emit_at(struct ap_emit *e, const void *bytes, u32 n, u32 disp)
{
	ap_emit_bytes(e, bytes, n);
	ap_emit32(e, disp);
}

static void emit_slow(struct ap_emit *e, u8 cond, struct ap_pmc_jumps *slow)
{
	slow->site[slow->n++] = ap_emit_jcc32(e, cond);
}

/* rax is where the counter's entry is, or the dispatcher knows it. */
static void emit_find(struct ap_emit *e, struct ap_pmc_jumps *slow)
{
	static const u8 place[] = {
		0x89, 0xc8,		 /* mov eax, ecx */
		0xc1, 0xe8, 28,		 /* shr eax, 28 */
		0x01, 0xc8,		 /* add eax, ecx */
		0x83, 0xe0, AP_PMCS - 1, /* and eax, AP_PMCS - 1 */
		0xc1, 0xe0, 5,		 /* shl eax, 5 */
	};
	static const u8 cmp_ecx[] = { 0x65, 0x3b, 0x88 };	/* cmp ecx, gs:[rax + d] */
	static const u8 mov_rdx[] = { 0x65, 0x48, 0x8b, 0x90 }; /* mov rdx, gs:[rax + d] */
	static const u8 mov_edx_at_rdx[] = { 0x8b, 0x12 };	/* mov edx, [rdx] */
	static const u8 cmp_edx[] = { 0x65, 0x3b, 0x90 };	/* cmp edx, gs:[rax + d] */

	ap_emit_bytes(e, place, sizeof(place));
	emit_at(e, cmp_ecx, sizeof(cmp_ecx), AT(counter));
	emit_slow(e, JNE, slow);
	emit_at(e, mov_rdx, sizeof(mov_rdx), AT(seq_at));
	ap_emit_bytes(e, mov_edx_at_rdx, sizeof(mov_edx_at_rdx));
	emit_at(e, cmp_edx, sizeof(cmp_edx), AT(seq));
	emit_slow(e, JNE, slow);
}

/* A word that was kicked is far below 0, which takes the sum beyond what any counter has. */
static void emit_carried(struct ap_emit *e, struct ap_pmc_jumps *slow)
{
	static const u8 cmp_0[] = { 0x65, 0x83, 0xb8 };		      /* cmp gs:[rax + d], 0 */
	static const u8 add_rdx[] = { 0x65, 0x48, 0x03, 0x14, 0x25 }; /* add rdx, gs:[d] */
	static const u8 sub_rdx[] = { 0x65, 0x48, 0x2b, 0x14, 0x25 }; /* sub rdx, gs:[d] */
	static const u8 bt_rdx[] = { 0x48, 0x0f, 0xba, 0xe2 };
	const u32 words = AP_T_SLOT_OFF + offsetof(struct ap_slot, budget) +
			  (ap_proc.carry - 1) * AP_LANE_WORDS * 8;
	u8 *over;

	emit_at(e, cmp_0, sizeof(cmp_0), AT(is_carried));
	ap_emit8(e, 0);
	ap_emit8(e, 0x74); /* je */
	ap_emit8(e, 0);
	over = e->p - 1;
	emit_at(e, add_rdx, sizeof(add_rdx), AP_T_SLOT_OFF + offsetof(struct ap_slot, carry_base));
	for (u32 j = 0; j < AP_LANE_WORDS; j++)
		emit_at(e, sub_rdx, sizeof(sub_rdx), words + j * 8);
	/* one of them, or both */
	for (u8 bit = AP_BUDGET_KICK_BIT; bit < AP_BUDGET_KICK_BIT + AP_LANE_WORDS; bit++) {
		ap_emit_bytes(e, bt_rdx, sizeof(bt_rdx));
		ap_emit8(e, bit);
		emit_slow(e, JC, slow);
	}
	if (!e->full)
		*over = (u8)(e->p - (over + 1));
}

static void emit_save(struct ap_emit *e, bool keep_flags)
{
	static const u8 flags_to_rax[] = { 0x9f, 0x0f, 0x90, 0xc0 }; /* lahf; seto al */

	ap_emit_gs_store(e, AP_RAX, AP_T_SPILL_A);
	ap_emit_gs_store(e, AP_RDX, AP_T_SPILL_B);
	if (!keep_flags)
		return;
	ap_emit_bytes(e, flags_to_rax, sizeof(flags_to_rax));
	ap_emit_gs_store(e, AP_RAX, AP_T_PMC_FLAGS);
}

static void emit_flags_back(struct ap_emit *e)
{
	static const u8 rax_to_flags[] = { 0x04, 0x7f, 0x9e }; /* add al, 127; sahf */

	ap_emit_gs_load(e, AP_RAX, AP_T_PMC_FLAGS);
	ap_emit_bytes(e, rax_to_flags, sizeof(rax_to_flags));
}

/* The result in rdx to edx:eax. */
static void emit_split(struct ap_emit *e, bool keep_flags)
{
	static const u8 split[] = { 0x89, 0xd0, 0x48, 0xc1, 0xea, 32 }; /* eax, edx = rdx */
	static const u8 mov_eax[] = { 0x65, 0x8b, 0x04, 0x25 };
	static const u8 mov_edx[] = { 0x65, 0x8b, 0x14, 0x25 };

	if (!keep_flags) {
		ap_emit_bytes(e, split, sizeof(split));
		return;
	}
	ap_emit_gs_store(e, AP_RDX, AP_T_SPILL_B);
	emit_flags_back(e);
	emit_at(e, mov_eax, sizeof(mov_eax), AP_T_SPILL_B);
	emit_at(e, mov_edx, sizeof(mov_edx), AP_T_SPILL_B + 4);
}

/*
 * The thread's table says what the counter is, as long as the event stands as it did: else out to the
 * dispatcher, with all registers as they were.
 */
void ap_pmc_emit(struct ap_emit *e, bool keep_flags, struct ap_pmc_jumps *slow)
{
	static const u8 mov_edx[] = { 0x65, 0x8b, 0x90 };	     /* mov edx, gs:[rax + d] */
	static const u8 mov_rdx_cell[] = { 0x65, 0x48, 0x8b, 0x12 }; /* mov rdx, gs:[rdx] */
	static const u8 add_rdx[] = { 0x65, 0x48, 0x03, 0x90 };	     /* add rdx, gs:[rax + d] */

	slow->n = 0;
	emit_save(e, keep_flags);
	emit_find(e, slow);
	emit_at(e, mov_edx, sizeof(mov_edx), AT(cell));
	ap_emit_bytes(e, mov_rdx_cell, sizeof(mov_rdx_cell));
	emit_at(e, add_rdx, sizeof(add_rdx), AT(plus));
	if (ap_proc.carry)
		emit_carried(e, slow);
	emit_split(e, keep_flags);
}

void ap_pmc_emit_slow(struct ap_emit *e, bool keep_flags, const struct ap_pmc_jumps *slow)
{
	u8 *here = e->p;

	if (keep_flags)
		emit_flags_back(e);
	ap_emit_gs_load(e, AP_RAX, AP_T_SPILL_A);
	ap_emit_gs_load(e, AP_RDX, AP_T_SPILL_B);
	for (u32 k = 0; !e->full && k < slow->n; k++)
		ap_patch_rel32(slow->site[k], here);
}
