// SPDX-License-Identifier: MIT
/*
 * Single-stepping a tree of processes, and deciding at each stop what has been executed.
 *
 * Before a thread is resumed, `prepare` notes the one instruction the step will execute (struct
 * pending). The stop that follows says what became of it:
 *
 *  - a step trap (SIGTRAP, TRAP_TRACE; TRAP_BRKPT from a system call's exit): it has retired,
 *    unless it is a rep string instruction whose rip has not moved, which iterates still. With it
 *    may have retired the next one: mov ss holds the trap off, and the kernel, when it emulates an
 *    instruction (UMIP), forgets it;
 *  - SIGTRAP with si_code SIGTRAP: a handler's frame was just made; nothing was executed;
 *  - any other signal: it comes before the instruction, or the instruction has faulted. Only int3
 *    and its like have retired by then: they trap with rip behind them;
 *  - PTRACE_EVENT_FORK, _VFORK, _CLONE, _EXEC: in the middle of the system call, whose step trap
 *    is still to come; so the pending instruction stays;
 *  - PTRACE_EVENT_STOP: a new thread's first stop, or a group-stop. A step trap may be queued
 *    behind it, so the pending instruction stays as well;
 *  - PTRACE_EVENT_EXIT: the last look at a thread. A system call that it is in has retired.
 *
 * Two instructions are done here and not stepped: rseq, which the engine refuses, and cpuid, which leaves a
 * virtual machine for its host, and some of those forget the step trap when they go on behind it.
 *
 * Where single-stepping shows, its traces are wiped: TF in what pushf stored and in r11 after a
 * system call. Known to remain: a step forces SIGTRAP, and if the program has that blocked, the
 * kernel unblocks it and forgets its handler. At the entry of a SIGTRAP handler we unblock it
 * first; a program that blocks it by a system call and also handles it cannot be counted, nor can
 * one that sets TF itself.
 */
#include "step.h"

#include <cpuid.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define RFLAGS_TF   (1ull << 8)
#define CS_64BIT    0x33
#define SYSCALL_LEN 2

/* Kernel-internal results of an interrupted system call, visible to tracers only. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

static bool will_restart(const struct user_regs_struct *regs)
{
	if ((int)regs->orig_rax == -1)
		return false;
	switch (-(long)regs->rax) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
		return true;
	default:
		return false;
	}
}

/* The pending instruction has retired, and the one behind it too if @rip is past that. */
static void retire(struct stepper *s, struct thread *t, uint64_t rip)
{
	struct pending *p = &t->pending;

	p->valid = false;
	if (p->insn.class == INSN_SYSCALL && t->is_quiet_restart) {
		t->is_quiet_restart = false;
		return;
	}
	tally_retire(s->tally, t->tid, p->pc, &p->insn, insn_is_taken(&p->insn, &p->flags));
	if (t->is_new_image)
		samples_restart(&s->tally->samples, t->tid);
	t->is_new_image = false;
	if (p->has_shadowed && rip != p->shadowed_pc)
		tally_retire(s->tally, t->tid, p->shadowed_pc, &p->shadowed,
			     insn_is_taken(&p->shadowed, &p->flags));
}

static void classify_at(pid_t tid, uint64_t pc, struct insn *insn)
{
	uint8_t bytes[INSN_MAX_LEN];
	size_t n = thread_read_code(tid, pc, bytes, sizeof(bytes));

	insn_classify(bytes, n, insn);
	access_classify(bytes, n, &insn->access);
}

/* A step of a rep string instruction is one iteration; or none, where it faults or rcx is 0. */
static void count_iterations(struct stepper *s, const struct pending *p, uint64_t rcx)
{
	uint64_t done = p->flags.rcx - rcx;

	if (p->insn.class == INSN_REP_STRING)
		tally_iterate(s->tally, p->insn.address32 ? (uint32_t)done : done);
}

/* rseq(2) is refused by the engine, so it is refused here. */
static void refuse_rseq(struct user_regs_struct *regs)
{
	regs->rax = -(uint64_t)ENOSYS;
	regs->rcx = regs->rip;
	regs->r11 = regs->eflags;
	regs->orig_rax = -1;
}

/* Who is to see one CPU's answers runs the oracle on that one. */
static void answer_cpuid(struct user_regs_struct *regs)
{
	uint32_t a, b, c, d;

	__cpuid_count((uint32_t)regs->rax, (uint32_t)regs->rcx, a, b, c, d);
	regs->rax = a;
	regs->rbx = b;
	regs->rcx = c;
	regs->rdx = d;
}

/* Does what is pending without a step, and counts it, if it is one of those. */
static bool do_without_step(struct stepper *s, struct thread *t, struct user_regs_struct *regs)
{
	const struct insn *insn = &t->pending.insn;
	bool is_rseq =
		insn->class == INSN_SYSCALL && !t->pending.is_restart && regs->rax == SYS_rseq;

	if (!is_rseq && insn->class != INSN_CPUID)
		return false;
	regs->rip += insn->len;
	if (is_rseq)
		refuse_rseq(regs);
	else
		answer_cpuid(regs);
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, regs) < 0)
		return false;
	retire(s, t, regs->rip);
	return true;
}

/* Notes what the next step executes, given the registers of the present stop. */
static void prepare(struct stepper *s, struct thread *t, struct user_regs_struct *regs, int sig)
{
	struct pending *p = &t->pending;

	do {
		*p = (struct pending){ .valid = true,
				       .pc = regs->rip,
				       .is_restart = will_restart(regs),
				       .with_signal = sig != 0,
				       .flags = { .rflags = regs->eflags, .rcx = regs->rcx } };
		if (p->is_restart)
			p->pc -= SYSCALL_LEN;
		classify_at(t->tid, p->pc, &p->insn);
		if (p->insn.class == INSN_NO_TRAP) {
			p->has_shadowed = true;
			p->shadowed_pc = p->pc + p->insn.len;
			classify_at(t->tid, p->shadowed_pc, &p->shadowed);
		}
	} while (sig == 0 && do_without_step(s, t, regs));
}

static void step(struct stepper *s, struct thread *t, int sig)
{
	s->steps++;
	if (ptrace(PTRACE_SINGLESTEP, t->tid, NULL, (void *)(long)sig) < 0 && errno != ESRCH) {
		fprintf(stderr, "oracle: cannot step %d: %s\n", t->tid, strerror(errno));
		exit(125);
	}
}

/* Takes the trap flag, which is ours, out of what the instruction has made of rflags. */
static void hide_trap_flag(struct thread *t, struct user_regs_struct *regs)
{
	const struct pending *p = &t->pending;
	uint64_t word;

	if (p->insn.class == INSN_PUSHF) {
		if (thread_read_word(t->tid, regs->rsp, &word) == 0 && (word & RFLAGS_TF))
			thread_write_word(t->tid, regs->rsp, word & ~RFLAGS_TF);
	} else if (p->insn.class == INSN_SYSCALL && regs->rip == p->pc + p->insn.len &&
		   regs->rcx == regs->rip && (regs->r11 & RFLAGS_TF)) {
		regs->r11 &= ~RFLAGS_TF;
		ptrace(PTRACE_SETREGS, t->tid, NULL, regs);
	}
}

static void check_branch(const struct pending *p, uint64_t new_rip)
{
	uint64_t next = p->pc + p->insn.len;

	if (!insn_is_cond_branch(&p->insn) || p->insn.operand16)
		return;
	if (new_rip != next && !insn_is_taken(&p->insn, &p->flags)) {
		fprintf(stderr, "oracle: branch at %" PRIx64 " went to %" PRIx64 " unforeseen\n",
			p->pc, new_rip);
		exit(125);
	}
}

static void on_step_trap(struct stepper *s, struct thread *t, struct user_regs_struct *regs)
{
	struct pending *p = &t->pending;
	int sig = 0;

	if (p->valid) {
		hide_trap_flag(t, regs);
		check_branch(p, regs->rip);
		count_iterations(s, p, regs->rcx);
		if (p->insn.class == INSN_SOFT_INT)
			sig = SIGTRAP; /* int1: its own trap and the step's are one */
		if (p->insn.class != INSN_REP_STRING || regs->rip != p->pc)
			retire(s, t, regs->rip);
	}
	prepare(s, t, regs, sig);
	step(s, t, sig);
}

static void on_signal(struct stepper *s, struct thread *t, struct user_regs_struct *regs, int sig)
{
	struct pending *p = &t->pending;

	if (p->valid && (p->insn.class == INSN_SOFT_INT || p->insn.class == INSN_NO_TRAP) &&
	    regs->rip == p->pc + p->insn.len)
		retire(s, t, regs->rip);
	if (thread_ignores_signal(t->tid, sig)) {
		/* Without a tracer it would not even have been queued. */
		t->is_quiet_restart |= will_restart(regs);
		sig = 0;
	}
	prepare(s, t, regs, sig);
	step(s, t, sig);
}

static void on_plain_stop(struct stepper *s, struct thread *t, int sig)
{
	struct user_regs_struct regs;
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) < 0 ||
	    thread_get_regs(t->tid, &regs) < 0)
		return;
	if (sig == SIGTRAP && info.si_code == SIGTRAP) { /* handler entry */
		t->is_quiet_restart = false;
		thread_unblock_signal(t->tid, SIGTRAP);
		prepare(s, t, &regs, 0);
		step(s, t, 0);
	} else if (sig == SIGTRAP && (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT)) {
		on_step_trap(s, t, &regs);
	} else {
		on_signal(s, t, &regs, sig);
	}
}

static void on_exec(struct stepper *s, struct thread *t)
{
	struct user_regs_struct regs;
	unsigned long former = 0;

	ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &former);
	if ((pid_t)former != t->tid && thread_find(&s->threads, (pid_t)former) != NULL) {
		/*
		 * Another thread than the leader called execve, and takes the leader's id: the call
		 * is still its own.
		 */
		if (thread_find(&s->threads, (pid_t)former)->pending.valid)
			retire(s, thread_find(&s->threads, (pid_t)former), 0);
		t->pending.valid = false;
		samples_restart(&s->tally->samples, t->tid);
		samples_restart(&s->tally->samples, (pid_t)former);
		thread_remove(&s->threads, (pid_t)former);
		t = thread_find(&s->threads, t->tid);
	}
	s->is_counting = true;
	t->is_new_image = t->pending.valid;
	if (thread_get_regs(t->tid, &regs) == 0 && regs.cs != CS_64BIT) {
		fprintf(stderr, "oracle: %d: not counted: 32-bit program\n", t->tid);
		if (t->pending.valid)
			retire(s, t, regs.rip);
		ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
		return;
	}
	if (thread_fix_at_random(t->tid) < 0)
		fprintf(stderr, "oracle: %d: AT_RANDOM not found\n", t->tid);
	step(s, t, 0);
}

static bool has_retired_at_exit(const struct pending *p, const struct user_regs_struct *regs)
{
	if (!p->valid || p->with_signal)
		return false;
	if (p->insn.class == INSN_SYSCALL)
		return regs->rip == p->pc + p->insn.len &&
		       (!p->is_restart || regs->rax == -(uint64_t)ENOSYS);
	return regs->rip != p->pc;
}

static void on_exit_event(struct stepper *s, struct thread *t)
{
	struct user_regs_struct regs;

	if (thread_get_regs(t->tid, &regs) == 0 && has_retired_at_exit(&t->pending, &regs))
		retire(s, t, regs.rip);
	t->pending.valid = false;
	ptrace(PTRACE_CONT, t->tid, NULL, NULL);
}

static void on_event_stop(struct stepper *s, struct thread *t, int sig)
{
	struct user_regs_struct regs;

	if (sig != SIGTRAP) { /* group-stop: stay stopped until SIGCONT */
		ptrace(PTRACE_LISTEN, t->tid, NULL, NULL);
		return;
	}
	if (!t->pending.valid) {
		if (thread_get_regs(t->tid, &regs) < 0)
			return;
		prepare(s, t, &regs, 0);
	}
	step(s, t, 0);
}

static void on_stop(struct stepper *s, struct thread *t, int status)
{
	int sig = WSTOPSIG(status);

	switch (status >> 16) {
	case 0:
		if (s->is_counting)
			on_plain_stop(s, t, sig);
		else
			ptrace(PTRACE_CONT, t->tid, NULL, (void *)(long)sig);
		break;
	case PTRACE_EVENT_EXEC:
		on_exec(s, t);
		break;
	case PTRACE_EVENT_EXIT:
		on_exit_event(s, t);
		break;
	case PTRACE_EVENT_STOP:
		on_event_stop(s, t, sig);
		break;
	default:
		step(s, t, 0);
		break;
	}
}

static void on_end(struct stepper *s, pid_t tid, int status)
{
	struct thread *t = thread_find(&s->threads, tid);

	if (t != NULL && t->pending.valid) {
		/* Killed so fast that there was no exit stop. */
		fprintf(stderr, "oracle: %d ended without a last look, at %" PRIx64 "\n", tid,
			t->pending.pc);
	}
	thread_remove(&s->threads, tid);
	samples_restart(&s->tally->samples, tid);
	if (tid == s->command)
		s->command_status = status;
}

int stepper_seize(struct stepper *stepper, pid_t command)
{
	long options = PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;

	stepper->command = command;
	return ptrace(PTRACE_SEIZE, command, NULL, (void *)options) < 0 ? -errno : 0;
}

int stepper_run(struct stepper *stepper)
{
	int status;
	pid_t tid;

	for (;;) {
		tid = waitpid(-1, &status, __WALL);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			return errno == ECHILD ? 0 : -errno;
		if (WIFSTOPPED(status))
			on_stop(stepper, thread_find_or_add(&stepper->threads, tid), status);
		else
			on_end(stepper, tid, status);
		if (stepper->max_steps != 0 && stepper->steps > stepper->max_steps)
			return -ETIME;
	}
}
