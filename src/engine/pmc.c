/* SPDX-License-Identifier: MIT */
/*
 * Instructions that ask for the CPU's counters, in sessions that have a PMU of their own: rdpmc reads
 * the thread's, and cpuid describes them.  Both end a block and come here.
 */
#include "abi/cpuid.h"
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

void ap_pmc_read(struct ap_thread *t, u64 pc)
{
	u64 *gpr = t->regs.gpr, value;

	if (!ap_service_pmc((u32)gpr[AP_RCX], &value)) {
		if (ap_proc.flags & AP_F_COUNT)
			ap_thread_slot(t)->extra[AP_KIND_INSTR]--;
		t->regs.rip = pc;
		ap_signal_general_protection(t);
	}
	gpr[AP_RAX] = (u32)value;
	gpr[AP_RDX] = value >> 32;
	step_over(t, pc);
}
