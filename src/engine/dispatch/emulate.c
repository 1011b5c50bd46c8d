/* SPDX-License-Identifier: MIT */
/*
 * Instructions that end a block, and that the dispatcher does in the program's place.
 *
 * rdpmc reads the thread's counters, in sessions that have a PMU of their own, and cpuid describes them, as those of the CPU that
 * the session is of; cpuid in all sessions, as it is a trip to the hypervisor in a virtual machine, and most answers are known.
 *
 * Random numbers (--deterministic) and the time stamp counter (--deterministic=time) are alike in each run.  A random number is one
 * of those that getrandom gives (random.c).  Whether the CPU has the instruction stays its own business: where it has not, the
 * instruction faults as it does natively.
 *
 * The time stamp counter tells instructions: it grows by what a thread has retired since it last asked, and by one.
 * So it never goes back, also between threads.  Code of the vdso has the CPU's, since the clocks that it tells are the kernel's.
 */
#include "engine/dispatch/emulate.h"

#include "abi/cpuid.h"
#include "abi/slot_sum.h"
#include "abi/switches.h"
#include "engine/count/lane.h"
#include "engine/count/pmc.h"
#include "engine/translate/sb.h"
#include "engine/transparency/transparency.h"
#include "service/service.h"

#define TSC_BEGIN      (1ULL << 40)
#define STATUS_FLAGS   0x8d5ULL /* OF SF ZF AF PF CF */
#define CARRY	       1ULL
#define CPUNODE_SEG    0x7b
#define PR_GET_TSC     25
#define PR_TSC_SIGSEGV 2U

/* Past the instruction at pc, which *i is then; false, and before it, where it is gone meanwhile. */
static bool step_over_insn(struct ap_thread *t, u64 pc, struct ap_insn *i)
{
	u8 buf[16];
	u32 avail;

	ap_lock_take(&ap_proc.lock);
	avail = ap_sb_fetch(pc, buf);
	ap_lock_drop(&ap_proc.lock);
	t->regs.rip = pc;
	if (!avail || ap_insn_decode(i, buf, avail))
		return false;
	t->regs.rip += i->len;
	return true;
}

void ap_emulate_cpuid(struct ap_thread *t, u64 pc)
{
	u64 *gpr = t->regs.gpr;
	u32 leaf = (u32)gpr[AP_RAX], subleaf = (u32)gpr[AP_RCX];
	struct ap_cpuid r = ap_cpu_ask(leaf, subleaf);
	bool serves = ap_proc.session->flags & AP_F_SERVE;
	struct ap_insn i;

	if (serves && ap_proc.session->cpu_id.signature)
		ap_cpuid_as(&ap_proc.session->cpu_id, leaf, subleaf, ap_cpu_ask, &r);
	if (serves && (!subleaf || leaf & 0x80000000))
		ap_cpuid_pmu(ap_cpu_this(), ap_proc.session->counters, leaf, &r);
	gpr[AP_RAX] = r.eax;
	gpr[AP_RBX] = r.ebx;
	gpr[AP_RCX] = r.ecx;
	gpr[AP_RDX] = r.edx;
	(void)step_over_insn(t, pc, &i);
}

/* A few readings are cheaper than a flush of the code. */
#define READS_MANY 8

/*
 * Lets translated code read the counter by itself, where it counts one kind.  Who is here goes on in code of
 * today, which knows the carry.
 */
static void remember_counter(struct ap_thread *t, u32 counter, const struct ap_service_pmc *pmc)
{
	u64 direct = ap_direct_kinds(t) | AP_KIND_BIT(AP_KIND_REP_ITER);
	struct ap_pmc *e = &t->pmc[ap_pmc_place(counter)];
	u32 kind = pmc->kinds ? (u32)__builtin_ctzll(pmc->kinds) : 0;
	bool is_carried = kind == AP_KIND_INSTR && ap_proc.carry;
	u64 cell = AP_T_SLOT_OFF + offsetof(struct ap_slot, extra) + kind * 8ULL, counted;

	/* translated code gives all 64 bits */
	if (ap_is_stressed(ap_proc.session, AP_STRESS_NARROW))
		return;
	/* models have to read what is in the log first */
	if (!pmc->kinds || pmc->kinds & (pmc->kinds - 1) || kind == AP_KIND_SYSCALL ||
	    kind >= AP_KIND_CYCLES || (is_carried && !ap_lanes_carry(t)))
		return;
	if (!(direct & pmc->kinds)) {
		if (++t->pmc_reads >= READS_MANY)
			ap_direct_want(pmc->kinds);
		return;
	}
	counted = ap_slot_apart(ap_thread_slot(t), ap_proc.carry, kind);
	e->seq_at = pmc->seq_at;
	e->seq = pmc->seq;
	e->cell = (u32)cell;
	e->is_carried = is_carried;
	/* The instruction itself was counted on the way here; translated code reads before it is. */
	e->plus = pmc->value - counted + (kind == AP_KIND_INSTR ? 1 : 0);
	e->counter = counter;
}

void ap_emulate_rdpmc(struct ap_thread *t, u64 pc)
{
	u64 *gpr = t->regs.gpr;
	u32 counter = (u32)gpr[AP_RCX];
	struct ap_service_pmc pmc;
	struct ap_insn i;

	if (!ap_service_pmc(counter, &pmc)) {
		if (ap_proc.flags & AP_F_COUNT)
			ap_count_insn(t, pc, -1);
		t->regs.rip = pc;
		ap_signal_general_protection(t);
	}
	remember_counter(t, counter, &pmc);
	gpr[AP_RAX] = (u32)pmc.value;
	gpr[AP_RDX] = pmc.value >> 32;
	(void)step_over_insn(t, pc, &i);
}

static u64 tsc; /* beyond TSC_BEGIN; atomic */

/* As rdtscp gives them.  Linux has them in a segment's limit as well, which a thread may ask for in any case. */
static u64 cpu_and_node(void)
{
	u32 limit = 0;

	__asm__ volatile("lsl %1, %0" : "+r"(limit) : "r"(CPUNODE_SEG) : "cc");
	return limit;
}

void ap_emulate_random(struct ap_thread *t, u64 pc)
{
	struct ap_insn i;
	u64 *reg, n;

	if (!step_over_insn(t, pc, &i))
		return;
	n = ap_random_next();
	reg = &t->regs.gpr[(i.modrm & 7) | (i.rex & 1) << 3];
	if (i.rex & 8)
		*reg = n;
	else if (i.flags & AP_INSN_OPSIZE)
		*reg = (*reg & ~0xffffULL) | (n & 0xffff);
	else
		*reg = (u32)n;
	t->regs.rflags = (t->regs.rflags & ~STATUS_FLAGS) | CARRY;
}

/* The thread has it so by prctl; an image or a parent before it may have. */
static bool is_forbidden(void)
{
	u32 how = 0;

	return !ap_sys2(AP_NR_prctl, PR_GET_TSC, (u64)&how) && how == PR_TSC_SIGSEGV;
}

void ap_emulate_tsc(struct ap_thread *t, u64 pc)
{
	u64 retired = ap_lane_sum(t, AP_KIND_BIT(AP_KIND_INSTR)), now;
	struct ap_insn i;

	if (is_forbidden()) {
		if (ap_proc.flags & AP_F_COUNT)
			ap_count_insn(t, pc, -1);
		t->regs.rip = pc;
		ap_signal_general_protection(t);
	}
	if (!step_over_insn(t, pc, &i))
		return;
	if (retired < t->tsc_seen) /* a fork's child begins with none */
		t->tsc_seen = 0;
	now = TSC_BEGIN + __atomic_add_fetch(&tsc, retired - t->tsc_seen + 1, __ATOMIC_RELAXED);
	t->tsc_seen = retired;
	t->regs.gpr[AP_RAX] = (u32)now;
	t->regs.gpr[AP_RDX] = now >> 32;
	if (i.opcode == 0x01)
		t->regs.gpr[AP_RCX] = cpu_and_node();
}
