/* SPDX-License-Identifier: MIT */
/*
 * Registers that a task reads of a thread it shares memory with, and has stopped by ptrace: LeakSanitizer and collectors
 * do so, to find what is reachable.  The thread may be anywhere in the engine or in translated code; told are
 * those of the program, which the thread's area has or a pc in the cache explains.  No lock: the thread may hold it.
 */
#include "engine/cache/cache.h"
#include "engine/task/task.h"

#define PTRACE_GETREGS	 12
#define PTRACE_GETREGSET 0x4204
#define NT_PRSTATUS	 1
#define SYSCALL_LEN	 2
#define RCX		 1
#define R11		 11

/* struct user_regs_struct, in words. */
enum { ORIG_RAX = 15, RIP, CS, EFLAGS, RSP, GS_BASE = 22, WORDS = 27 };
/* Where it has rax rcx rdx rbx rsp rbp rsi rdi r8..r15. */
static const u8 word_of[16] = { 10, 11, 12, 5, RSP, 4, 13, 14, 9, 8, 7, 6, 3, 2, 1, 0 };

static struct ap_thread *find(u32 tid)
{
	struct ap_thread *o = __atomic_load_n(&ap_proc.threads, __ATOMIC_ACQUIRE);

	while (o && o->tid != tid)
		o = __atomic_load_n(&o->next, __ATOMIC_ACQUIRE);
	return o;
}

static bool is_within(u64 pc, const u8 *start, const u8 *end)
{
	return pc >= (u64)start && pc < (u64)end;
}

/* In translated code, or on the way out of it: they are in the CPU, but for what a sequence has spilled. */
static void from_cache(struct ap_thread *o, u64 *r)
{
	struct ap_where w;
	u64 gpr[16];

	if (!ap_cache_locate(r[RIP], &w))
		return;
	for (u32 k = 0; k < 16; k++)
		gpr[k] = r[word_of[k]];
	if (!w.clean)
		ap_cache_fix_regs(o, &w, gpr);
	for (u32 k = 0; k < 16; k++)
		r[word_of[k]] = gpr[k];
	r[RIP] = w.app_pc;
}

/* In the engine, where the thread's area has them; in a call of the program's the kernel has changed what it does. */
static void from_area(const struct ap_thread *o, u64 *r)
{
	bool in_call = is_within(r[RIP], ap_syscall_insn, ap_syscall_insn + SYSCALL_LEN + 1);
	u64 rax = r[word_of[0]], after = r[RIP] - (u64)ap_syscall_insn;

	for (u32 k = 0; k < 16; k++)
		r[word_of[k]] = o->regs.gpr[k];
	r[RIP] = o->regs.rip;
	r[EFLAGS] = o->regs.rflags;
	if (!in_call) {
		r[ORIG_RAX] = UINT64_MAX;
		return;
	}
	r[word_of[0]] = rax;
	r[RIP] += after;
	r[word_of[RCX]] = o->regs.rip + SYSCALL_LEN;
	r[word_of[R11]] = o->regs.rflags;
}

static void explain(struct ap_thread *o, u64 *r)
{
	u64 pc = r[RIP];

	if (ap_cache_contains(pc) || is_within(pc, ap_gate_exit, ap_gate_exit_saved))
		from_cache(o, r);
	else if (pc >= ap_proc.blob_lo && pc < ap_proc.blob_hi)
		from_area(o, r);
	r[GS_BASE] = o->app_gs_base;
}

void ap_peek_registers(const struct ap_call *c)
{
	u64 iov[2] = { c->a[3], sizeof(u64) * WORDS }, r[WORDS];
	struct ap_thread *o;

	if (c->a[0] == PTRACE_GETREGSET && c->a[2] == NT_PRSTATUS) {
		if (ap_safe_copy(iov, (const void *)c->a[3], sizeof(iov)))
			return;
	} else if (c->a[0] != PTRACE_GETREGS) {
		return;
	}
	o = find((u32)c->a[1]);
	if (!o || iov[1] != sizeof(r) || ap_safe_copy(r, (const void *)iov[0], sizeof(r)) ||
	    r[GS_BASE] != (u64)o)
		return;
	explain(o, r);
	(void)!ap_safe_copy((void *)iov[0], r, sizeof(r));
}
