/* SPDX-License-Identifier: MIT */
/* Children that the test traces, and what it counts of one that it steps through. */
#include "child.h"

#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap/tap.h"

#define TRAP_IS_INT3  0x80 /* SI_KERNEL */
#define FLAG_TF	      0x100ULL
#define TRAP_IS_FRAME 5 /* SIGTRAP: a handler's frame was made */

struct mailbox {
	u64 rip;
};

/* What the test's own program has of signals is no concern of the code's; sanitizers install handlers. */
static void forget_signals(void)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	sigaltstack(&none, NULL);
}

pid_t rig_child_new(u64 (*entry)(void *arg), void *arg)
{
	struct mailbox *box =
		mmap(NULL, sizeof(*box), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ap_regs regs = rig.regs;
	int status;
	pid_t pid;

	REQUIRE(box != MAP_FAILED);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		forget_signals();
		box->rip = entry(arg);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			syscall(SYS_kill, getpid(),
				SIGSTOP); /* raise() would block signals meanwhile */
		_exit(98);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	REQUIRE(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	REQUIRE(!ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_EXITKILL));
	regs.rip = box->rip;
	rig_child_set(pid, &regs);
	munmap(box, sizeof(*box));
	return pid;
}

/* Places of gpr[] in the kernel's struct. */
static void copy(struct user_regs_struct *u, struct ap_regs *r, bool to_kernel)
{
	unsigned long long *at[] = { &u->rax, &u->rcx, &u->rdx, &u->rbx, &u->rsp, &u->rbp,
				     &u->rsi, &u->rdi, &u->r8,	&u->r9,	 &u->r10, &u->r11,
				     &u->r12, &u->r13, &u->r14, &u->r15, &u->rip, &u->eflags };
	u64 *own = r->gpr;

	for (u32 k = 0; k < AP_ARRAY_SIZE(at); k++) {
		if (k == 16)
			own = &r->rip - 16;
		if (to_kernel)
			*at[k] = own[k];
		else
			own[k] = *at[k];
	}
}

void rig_child_regs(pid_t pid, struct ap_regs *regs)
{
	struct user_regs_struct u;

	REQUIRE(!ptrace(PTRACE_GETREGS, pid, NULL, &u));
	copy(&u, regs, false);
}

void rig_child_set(pid_t pid, const struct ap_regs *regs)
{
	struct user_regs_struct u;
	struct ap_regs r = *regs;

	REQUIRE(!ptrace(PTRACE_GETREGS, pid, NULL, &u));
	copy(&u, &r, true);
	u.orig_rax = (u64)-1; /* it is in no call any more that would be restarted */
	REQUIRE(!ptrace(PTRACE_SETREGS, pid, NULL, &u));
}

static int wait_for(pid_t pid, int *status)
{
	siginfo_t info;

	REQUIRE(waitpid(pid, status, 0) == pid);
	if (!WIFSTOPPED(*status))
		return RIG_ENDED;
	if (WSTOPSIG(*status) != SIGTRAP || ptrace(PTRACE_GETSIGINFO, pid, NULL, &info))
		return WSTOPSIG(*status);
	if (info.si_code == TRAP_IS_FRAME)
		return RIG_ENTERED;
	return info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT ? RIG_STEPPED : SIGTRAP;
}

/* What shows TF: pushf on the stack, a system call in r11. */
static void wipe_step(pid_t pid, u16 code)
{
	struct ap_regs regs;
	long word;

	if ((code & 0xff) != 0x9c && code != 0x050f)
		return;
	rig_child_regs(pid, &regs);
	if (code == 0x050f) {
		regs.gpr[11] &= ~FLAG_TF;
		rig_child_set(pid, &regs);
		return;
	}
	word = ptrace(PTRACE_PEEKDATA, pid, (void *)regs.gpr[4], NULL);
	REQUIRE(!ptrace(PTRACE_POKEDATA, pid, (void *)regs.gpr[4],
			(void *)(word & ~(long)FLAG_TF)));
}

int rig_child_step(pid_t pid, int sig, int *status)
{
	struct ap_regs regs;
	long code;
	int ret;

	rig_child_regs(pid, &regs);
	code = ptrace(PTRACE_PEEKTEXT, pid, (void *)regs.rip, NULL); /* -1 where nothing is */
	REQUIRE(!ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)sig));
	ret = wait_for(pid, status);
	if (ret == RIG_STEPPED)
		wipe_step(pid, (u16)code);
	return ret;
}

/* A step trap is one of its own here: the engine steps, too. */
int rig_child_go(pid_t pid, int sig, int *status)
{
	int ret;

	REQUIRE(!ptrace(PTRACE_CONT, pid, NULL, (void *)(long)sig));
	ret = wait_for(pid, status);
	return ret == RIG_STEPPED ? SIGTRAP : ret;
}

/* Behind a popf that was stepped the kernel takes its TF for the program's, and leaves it. */
void rig_child_end_steps(pid_t pid)
{
	struct ap_regs regs;

	rig_child_regs(pid, &regs);
	if (!(regs.rflags & FLAG_TF))
		return;
	regs.rflags &= ~FLAG_TF;
	rig_child_set(pid, &regs);
}

int rig_child_finish(pid_t pid, int sig)
{
	int status;

	rig_child_end_steps(pid);

	while ((sig = rig_child_go(pid, sig, &status)) != RIG_ENDED)
		;
	return status;
}

u8 rig_child_poke(pid_t pid, u64 at, u8 byte)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);
	REQUIRE(!errno);
	REQUIRE(!ptrace(PTRACE_POKETEXT, pid, (void *)at, (void *)((word & ~0xffL) | byte)));
	return (u8)word;
}

/* --- what retires, by a table of its own */

struct insn {
	u8 code[15];
	u32 n;	 /* bytes that could be read */
	u32 len; /* of a conditional branch */
	bool is_cpuid, is_rep, is_syscall, is_cond, is_jump, is_call, is_ret, is_indirect;
};

static void read_code(pid_t pid, u64 pc, struct insn *i)
{
	u64 here = 4096 - (pc & 4095);
	struct iovec to = { i->code, sizeof(i->code) }, from = { (void *)pc, sizeof(i->code) };
	ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);

	if (n < 0 && here < sizeof(i->code)) {
		to.iov_len = from.iov_len = here;
		n = process_vm_readv(pid, &to, 1, &from, 1, 0);
	}
	i->n = n < 0 ? 0 : (u32)n;
}

static void classify_ff(struct insn *i, u8 modrm)
{
	u8 op = modrm >> 3 & 7;

	i->is_call = op == 2;
	i->is_jump = op == 4;
	i->is_indirect = i->is_call || i->is_jump;
}

/* Of the code that tests here are made of: prefixes, then one or two bytes. */
static void classify(struct insn *i)
{
	const u8 *c = i->code;
	u32 k = 0;

	while (k < 4 && (c[k] == 0x66 || c[k] == 0xf2 || c[k] == 0xf3 || c[k] == 0x2e ||
			 c[k] == 0x3e || (c[k] & 0xf0) == 0x40))
		i->is_rep |= (c[k++] & 0xfe) == 0xf2;
	i->is_cpuid = c[k] == 0x0f && c[k + 1] == 0xa2;
	i->is_syscall = c[k] == 0x0f && c[k + 1] == 0x05;
	i->is_cond = (c[k] & 0xf0) == 0x70 || (c[k] & 0xfc) == 0xe0 ||
		     (c[k] == 0x0f && (c[k + 1] & 0xf0) == 0x80);
	i->len = k + (c[k] == 0x0f ? 6 : 2);
	i->is_jump = c[k] == 0xe9 || c[k] == 0xeb;
	i->is_call = c[k] == 0xe8;
	i->is_ret = c[k] == 0xc3 || c[k] == 0xc2;
	if (c[k] == 0xff)
		classify_ff(i, c[k + 1]);
}

/* A stop: nothing more has retired by it than by the last one. */
static struct rig_step *add_stop(struct rig_trace *t, const struct ap_regs *regs)
{
	struct rig_step *stop;

	if (!(t->n & (t->n - 1))) {
		t->step = realloc(t->step, (t->n ? 2 * t->n : 1) * sizeof(*t->step));
		REQUIRE(t->step != NULL);
	}
	stop = &t->step[t->n++];
	if (t->n > 1)
		memcpy(stop->sum, stop[-1].sum, sizeof(stop->sum));
	else
		memset(stop->sum, 0, sizeof(stop->sum));
	stop->regs = *regs;
	stop->memory = rig_memory_sum((u8 *)RIG_DATA, (u8 *)RIG_STACK, regs->gpr[4]);
	return stop;
}

static void retire(u64 *sum, const struct insn *i, u64 pc, u64 next)
{
	sum[AP_KIND_INSTR]++;
	sum[AP_KIND_SYSCALL] += i->is_syscall;
	if (!i->is_cond && !i->is_jump && !i->is_call && !i->is_ret)
		return;
	sum[AP_KIND_BRANCH]++;
	sum[AP_KIND_COND] += i->is_cond;
	sum[AP_KIND_TAKEN] += !i->is_cond || next != pc + i->len;
	sum[AP_KIND_CALL] += i->is_call;
	sum[AP_KIND_RET] += i->is_ret;
	sum[AP_KIND_IND] += i->is_indirect;
}

/*
 * cpuid leaves a virtual machine for its host, and some of those forget the step trap when they go on behind it: so it is not stepped,
 * but done here.
 */
static int step(pid_t pid, int sig, const struct insn *i, struct ap_regs *regs, int *status)
{
	u32 a, b, c, d;
	int ret;

	if (i->is_cpuid && sig <= 0) {
		__cpuid_count((u32)regs->gpr[0], (u32)regs->gpr[1], a, b, c, d);
		regs->gpr[0] = a;
		regs->gpr[1] = c;
		regs->gpr[2] = d;
		regs->gpr[3] = b;
		regs->rip += 2;
		rig_child_set(pid, regs);
		return RIG_STEPPED;
	}
	ret = rig_child_step(pid, sig > 0 ? sig : 0, status);
	if (ret != RIG_ENDED)
		rig_child_regs(pid, regs);
	return ret;
}

int rig_child_trace(pid_t pid, struct rig_trace *t)
{
	int sig = 0, status, was;
	struct ap_regs regs;
	u64 pc;

	rig_child_regs(pid, &regs);
	add_stop(t, &regs);
	for (;;) {
		struct insn i = { 0 };
		bool has_retired;

		read_code(pid, regs.rip, &i);
		classify(&i);
		pc = regs.rip;
		was = sig;
		sig = step(pid, sig, &i, &regs, &status);
		has_retired = (sig == RIG_STEPPED && !(i.is_rep && pc == regs.rip)) ||
			      sig == SIGTRAP; /* int3 */
		if (sig == RIG_ENDED && (was > 0 || !i.is_syscall))
			return status;
		add_stop(t, &regs);
		if (has_retired || sig == RIG_ENDED)
			retire(t->step[t->n - 1].sum, &i, pc, regs.rip);
		if (sig == RIG_ENDED)
			return status;
	}
}
