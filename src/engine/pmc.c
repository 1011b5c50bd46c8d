/* SPDX-License-Identifier: MIT */
/*
 * Instructions that ask for the CPU's counters, in sessions that have a PMU of their own: rdpmc reads
 * the thread's, and cpuid describes them.  Both end a block and come here.
 */
#include "abi/cpuid.h"
#include "engine/emit.h"
#include "engine/engine.h"
#include "engine/sb.h"
#include "service/service.h"

static struct ap_cpuid ask_cpu(u32 leaf, u32 subleaf)
{
	struct ap_cpuid r;

	__asm__ volatile("cpuid"
			 : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
			 : "a"(leaf), "c"(subleaf));
	return r;
}

static enum ap_cpu this_cpu(void)
{
	static u32 known; /* enum ap_cpu + 1 */
	u32 cpu = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!cpu) {
		struct ap_cpuid leaf0 = ask_cpu(0, 0);

		cpu = (u32)ap_cpu_of(&leaf0, ask_cpu(1, 0).eax) + 1;
		__atomic_store_n(&known, cpu, __ATOMIC_RELAXED);
	}
	return (enum ap_cpu)(cpu - 1);
}

/* Past the instruction at pc; stays before it where it is gone meanwhile. */
static void step_over(struct ap_thread *t, u64 pc)
{
	struct ap_insn i;
	u8 buf[16];
	u32 avail;

	ap_lock_take(&ap_proc.lock);
	avail = ap_sb_fetch(pc, buf);
	ap_lock_drop(&ap_proc.lock);
	t->regs.rip = pc;
	if (avail && !ap_insn_decode(&i, buf, avail))
		t->regs.rip += i.len;
}

void ap_pmc_cpuid(struct ap_thread *t, u64 pc)
{
	u64 *gpr = t->regs.gpr;
	u32 leaf = (u32)gpr[AP_RAX], subleaf = (u32)gpr[AP_RCX];
	struct ap_cpuid r = ask_cpu(leaf, subleaf);

	if (!subleaf || leaf & 0x80000000)
		ap_cpuid_pmu(this_cpu(), ap_proc.session->counters, leaf, &r);
	gpr[AP_RAX] = r.eax;
	gpr[AP_RBX] = r.ebx;
	gpr[AP_RCX] = r.ecx;
	gpr[AP_RDX] = r.edx;
	step_over(t, pc);
}

/* A few readings are cheaper than a flush of the code. */
#define READS_MANY 8

/* Lets translated code read the counter by itself, where it counts one kind. */
static void remember(struct ap_thread *t, u32 counter, const struct ap_service_pmc *pmc)
{
	u64 direct = ap_direct_kinds(t) | AP_KIND_BIT(AP_KIND_REP_ITER);
	struct ap_pmc *e = &t->pmc[counter % AP_PMCS];
	u32 kind = pmc->kinds ? (u32)__builtin_ctzll(pmc->kinds) : 0;
	u64 cell = AP_T_SLOT_OFF + offsetof(struct ap_slot, extra) + kind * 8ULL;

	/* models have to read what is in the log first; what a lane carries is in several words */
	if (!pmc->kinds || pmc->kinds & (pmc->kinds - 1) || kind == AP_KIND_SYSCALL ||
	    kind >= AP_KIND_CYCLES || (kind == AP_KIND_INSTR && ap_proc.carry))
		return;
	if (!(direct & pmc->kinds)) {
		if (++t->pmc_reads >= READS_MANY)
			ap_direct_want(pmc->kinds);
		return;
	}
	e->seq_at = pmc->seq_at;
	e->seq = pmc->seq;
	e->cell = cell;
	/* The instruction itself was counted on the way here; translated code reads before it is. */
	e->plus = pmc->value - *(const u64 *)((const char *)t + cell) +
		  (kind == AP_KIND_INSTR ? 1 : 0);
	e->counter = counter;
}

void ap_pmc_read(struct ap_thread *t, u64 pc)
{
	u64 *gpr = t->regs.gpr;
	u32 counter = (u32)gpr[AP_RCX];
	struct ap_service_pmc pmc;

	if (!ap_service_pmc(counter, &pmc)) {
		if (ap_proc.flags & AP_F_COUNT)
			ap_count_kind(t, AP_KIND_INSTR, -1);
		t->regs.rip = pc;
		ap_signal_general_protection(t);
	}
	remember(t, counter, &pmc);
	gpr[AP_RAX] = (u32)pmc.value;
	gpr[AP_RDX] = pmc.value >> 32;
	step_over(t, pc);
}

/*
 * The thread's table says what the counter is, as long as the event stands as it did: else out to the
 * dispatcher, at the rel32 in slow[].  Takes the flags, which are dead here; rax
 * and rdx are the result.
 */
void ap_pmc_emit(struct ap_emit *e, u8 *slow[2])
{
	static const u8 entry_to_eax[] = { 0x89, 0xc8, 0x83, 0xe0, AP_PMCS - 1, 0xc1, 0xe0, 5 };
	static const u8 cmp_ecx[] = { 0x65, 0x3b, 0x88 };		/* cmp ecx, gs:[rax + d] */
	static const u8 mov_rdx[] = { 0x65, 0x48, 0x8b, 0x90 };		/* mov rdx, gs:[rax + d] */
	static const u8 mov_edx_at_rdx[] = { 0x8b, 0x12 };		/* mov edx, [rdx] */
	static const u8 cmp_edx[] = { 0x65, 0x3b, 0x90 };		/* cmp edx, gs:[rax + d] */
	static const u8 mov_rdx_cell[] = { 0x65, 0x48, 0x8b, 0x12 };	/* mov rdx, gs:[rdx] */
	static const u8 add_rdx[] = { 0x65, 0x48, 0x03, 0x90 };		/* add rdx, gs:[rax + d] */
	static const u8 split[] = { 0x89, 0xd0, 0x48, 0xc1, 0xea, 32 }; /* eax, edx = rdx */

	ap_emit_bytes(e, entry_to_eax, sizeof(entry_to_eax));
	ap_emit_bytes(e, cmp_ecx, sizeof(cmp_ecx));
	ap_emit32(e, AP_T_PMC + offsetof(struct ap_pmc, counter));
	slow[0] = ap_emit_jcc32(e, 5);
	ap_emit_bytes(e, mov_rdx, sizeof(mov_rdx));
	ap_emit32(e, AP_T_PMC + offsetof(struct ap_pmc, seq_at));
	ap_emit_bytes(e, mov_edx_at_rdx, sizeof(mov_edx_at_rdx));
	ap_emit_bytes(e, cmp_edx, sizeof(cmp_edx));
	ap_emit32(e, AP_T_PMC + offsetof(struct ap_pmc, seq));
	slow[1] = ap_emit_jcc32(e, 5);
	ap_emit_bytes(e, mov_rdx, sizeof(mov_rdx));
	ap_emit32(e, AP_T_PMC + offsetof(struct ap_pmc, cell));
	ap_emit_bytes(e, mov_rdx_cell, sizeof(mov_rdx_cell));
	ap_emit_bytes(e, add_rdx, sizeof(add_rdx));
	ap_emit32(e, AP_T_PMC + offsetof(struct ap_pmc, plus));
	ap_emit_bytes(e, split, sizeof(split));
}
