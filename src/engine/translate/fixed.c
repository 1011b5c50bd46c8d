/* SPDX-License-Identifier: MIT */
/*
 * What a program asks the CPU that is another each time, answered alike in each run: random numbers
 * (--deterministic) and the time stamp counter (--deterministic=time).  These instructions end a block and come here.
 *
 * A random number is one of those that getrandom gives (random.c).  Whether the CPU has the instruction stays its own
 * business: where it has not, the instruction faults as it does natively.
 *
 * The time stamp counter tells instructions: it grows by what a thread has retired since it last asked, and by one.
 * So it never goes back, also between threads.  Code of the vdso has the CPU's, since the clocks that it tells are the kernel's.
 */
#include "engine/translate/fixed.h"
#include "engine/emit/emit.h"
#include "engine/runtime/engine.h"
#include "engine/sample/lane.h"
#include "engine/task/task.h"

#define TSC_BEGIN      (1ULL << 40)
#define VDSO_SIZE      (4 * AP_PAGE_SIZE)
#define STATUS_FLAGS   0x8d5ULL /* OF SF ZF AF PF CF */
#define CARRY	       1ULL
#define CPUNODE_SEG    0x7b
#define PR_GET_TSC     25
#define PR_TSC_SIGSEGV 2U

static u64 tsc; /* beyond TSC_BEGIN; atomic */

/* As rdtscp gives them.  Linux has them in a segment's limit as well, which a thread may ask for in any case. */
static u64 cpu_and_node(void)
{
	u32 limit = 0;

	__asm__ volatile("lsl %1, %0" : "+r"(limit) : "r"(CPUNODE_SEG) : "cc");
	return limit;
}

static bool has_prefix(const struct ap_insn *i, const u8 *bytes, u8 which)
{
	for (u32 k = 0; k < i->nprefix; k++) {
		if (bytes[k] == which)
			return true;
	}
	return false;
}

/* rdrand and rdseed: 0f c7 /6 and /7 of a register; rep makes others of them. */
static bool is_random(const struct ap_insn *i, const u8 *bytes)
{
	return i->opcode == 0xc7 && i->modrm >= 0xf0 && !has_prefix(i, bytes, 0xf3) &&
	       ap_pmc_has(i->modrm >= 0xf8 ? AP_CPU_RDSEED : AP_CPU_RDRAND);
}

/* 0f 31, and 0f 01 f9. */
static bool is_tsc(const struct ap_insn *i, u64 pc)
{
	if (i->opcode != 0x31 && !(i->opcode == 0x01 && i->modrm == 0xf9))
		return false;
	return pc - ap_proc.boot->vdso >= VDSO_SIZE;
}

enum ap_special ap_fixed_special(const struct ap_insn *i, const u8 *bytes, u64 pc)
{
	const u32 flags = ap_proc.session->flags;

	if (flags & AP_F_DETERMINISTIC && is_random(i, bytes))
		return AP_SPECIAL_RANDOM;
	return flags & AP_F_FIXED_TSC && is_tsc(i, pc) ? AP_SPECIAL_TSC : AP_SPECIAL_NONE;
}

void ap_fixed_random(struct ap_thread *t, u64 pc)
{
	struct ap_insn i;
	u64 *reg, n;

	if (!ap_pmc_step_over(t, pc, &i))
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

void ap_fixed_tsc(struct ap_thread *t, u64 pc)
{
	u64 retired = ap_lane_sum(t, AP_KIND_BIT(AP_KIND_INSTR)), now;
	struct ap_insn i;

	if (is_forbidden()) {
		if (ap_proc.flags & AP_F_COUNT)
			ap_count_kind(t, AP_KIND_INSTR, -1);
		t->regs.rip = pc;
		ap_signal_general_protection(t);
	}
	if (!ap_pmc_step_over(t, pc, &i))
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
