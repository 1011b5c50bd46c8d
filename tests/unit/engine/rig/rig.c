/* SPDX-License-Identifier: MIT */
/*
 * The memory that code runs in, and its runs.
 *
 * Data, stack and results are shared with the children, so the test sets them before each run and reads them behind
 * it.  The code is private: a child that changes it changes its own.
 */
#include "rig.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "engine/runtime/engine.h"
#include "tap/tap.h"

#define SHOWN_FLAGS (~0x10100ULL) /* but TF and RF, which steps leave */
#define INT3	    0xcc

struct rig rig;

/* clang-format off */
RIG_SNIPPET(end_code,
	"movabs %rax, 0x200000300008\n"
	"movabs $0x200000300008, %rax\n"
	"mov %rcx, 8(%rax); mov %rdx, 16(%rax); mov %rbx, 24(%rax); mov %rsp, 32(%rax)\n"
	"mov %rbp, 40(%rax); mov %rsi, 48(%rax); mov %rdi, 56(%rax); mov %r8, 64(%rax)\n"
	"mov %r9, 72(%rax); mov %r10, 80(%rax); mov %r11, 88(%rax); mov %r12, 96(%rax)\n"
	"mov %r13, 104(%rax); mov %r14, 112(%rax); mov %r15, 120(%rax)\n"
	"pushf; popq 136(%rax)\n"
	"movq $1, -8(%rax)\n"
	"xor %edi, %edi; mov $231, %eax; syscall");
/* The frame's registers, in the order of greg[]; RIG_HANDLER_INSNS. */
RIG_SNIPPET(handler_code,
	"movabs $0x200000300100, %rdi; lea 40(%rdx), %rsi; mov $18, %ecx; cld; rep movsq\n"
	"xor %edi, %edi; mov $231, %eax; syscall");
RIG_SNIPPET(restorer_code, "mov $15, %eax; syscall");
/* clang-format on */

#define GREGS (RIG_RESULT + 0x100)

static void map_at(u64 at, u64 size, int flags)
{
	void *p = mmap((void *)at, size, PROT_READ | PROT_WRITE,
		       flags | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	REQUIRE(p == (void *)at);
}

void rig_put(u64 at, const void *bytes, u64 size)
{
	REQUIRE(!mprotect((void *)RIG_CODE, RIG_CODE_SIZE, PROT_READ | PROT_WRITE));
	memcpy((void *)at, bytes, size);
}

static void put_code(u64 at, const struct rig_code *code)
{
	rig_put(at, code->begin, (u64)(code->end - code->begin));
}

static void set_regs(void)
{
	for (u32 k = 0; k < 16; k++)
		rig.regs.gpr[k] = 0x1122334455660000ULL + 0x1111 * k;
	rig.regs.gpr[3] = RIG_DATA;
	rig.regs.gpr[4] = RIG_STACK + RIG_STACK_SIZE - 256;
	rig.regs.rip = RIG_CODE;
	rig.regs.rflags = 0x202;
}

void rig_load(const struct rig_code *code)
{
	const u64 size = (u64)(code->end - code->begin);
	u8 jump[5] = { 0xe9 };
	s32 rel = (s32)(RIG_END - (RIG_CODE + size + sizeof(jump)));

#ifdef __SANITIZE_THREAD__
	tap_lack("the thread sanitizer knows no memory where the engine has it");
#endif
#ifdef __SANITIZE_ADDRESS__
	tap_lack("frames that the dispatcher never returns to stay poisoned on the engine's stack");
#endif
	if (!rig.cache_limit) {
		map_at(RIG_CODE, RIG_CODE_SIZE, MAP_PRIVATE);
		map_at(RIG_DATA, RIG_DATA_SIZE, MAP_SHARED);
		map_at(RIG_STACK, RIG_STACK_SIZE, MAP_SHARED);
		map_at(RIG_RESULT, 4096, MAP_SHARED);
	}
	put_code(RIG_END, &end_code);
	put_code(RIG_HANDLER, &handler_code);
	put_code(RIG_RESTORER, &restorer_code);
	put_code(RIG_CODE, code);
	memcpy(jump + 1, &rel, sizeof(rel));
	rig_put(RIG_CODE + size, jump, sizeof(jump));
	set_regs();
	rig.cache_limit = 16ULL << 20;
}

/* As each run finds it. */
static void clear(void)
{
	struct ap_sigaction *sa = (struct ap_sigaction *)RIG_ACTION;

	memset((void *)RIG_STACK, 0, RIG_STACK_SIZE);
	memset((void *)RIG_RESULT, 0, 4096);
	for (u64 k = 0; k < RIG_DATA_SIZE / 8; k++)
		((u64 *)RIG_DATA)[k] = k * 0x9e3779b97f4a7c15ULL;
	*(u64 *)RIG_MARK = 0;
	sa->handler = RIG_HANDLER;
	sa->flags = SA_SIGINFO | 0x04000000 /* SA_RESTORER */;
	sa->restorer = RIG_RESTORER;
	sa->mask = 0;
	REQUIRE(!mprotect((void *)RIG_CODE, RIG_CODE_SIZE,
			  PROT_READ | PROT_EXEC | (rig.is_writable ? PROT_WRITE : 0)));
}

/* greg[] has them in the kernel's order. */
static void read_handler(struct ap_regs *regs)
{
	static const u8 at[16] = { 13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7 };
	const u64 *greg = (const u64 *)GREGS;

	for (u32 k = 0; k < 16; k++)
		regs->gpr[k] = greg[at[k]];
	regs->rip = greg[16];
	regs->rflags = greg[17];
}

static void read_end(struct rig_run *run, int status)
{
	struct rig_result *r = &run->result;

	run->status = status;
	memcpy(r, (void *)RIG_RESULT, sizeof(*r));
	if (*(u64 *)GREGS || ((u64 *)GREGS)[16]) {
		r->by = 2;
		read_handler(&r->regs);
	}
	r->regs.rflags &= SHOWN_FLAGS;
	memcpy(run->data, (void *)RIG_DATA, RIG_DATA_SIZE);
	memcpy(run->stack, (void *)RIG_STACK, RIG_STACK_SIZE);
}

static u64 enter_native(void *arg)
{
	(void)arg;
	if (rig.prepare)
		rig.prepare();
	return rig.regs.rip;
}

void rig_native(struct rig_run *run)
{
	memset(run, 0, sizeof(*run));
	clear();
	read_end(run, rig_child_finish(rig_child_new(enter_native, NULL), 0));
}

void rig_trace(struct rig_trace *t)
{
	int status;

	memset(t, 0, sizeof(*t));
	clear();
	status = rig_child_trace(rig_child_new(enter_native, NULL), t);
	read_end(&t->run, status);
	memcpy(t->run.counts, t->step[t->n - 1].sum, sizeof(t->step->sum));
}

static u64 enter_engine(void *arg)
{
	if (rig.prepare)
		rig.prepare();
	return rig_session_boot(arg);
}

/* At the gate's first instruction, which was a breakpoint. */
static void pass_gate(pid_t pid, u8 byte, struct rig_run *run)
{
	struct ap_regs regs;

	run->entries++;
	rig_child_regs(pid, &regs);
	regs.rip--;
	rig_child_set(pid, &regs);
	rig_child_poke(pid, regs.rip, byte);
}

static bool is_at_gate(pid_t pid, int sig)
{
	struct ap_regs regs;

	if (sig != SIGTRAP)
		return false;
	rig_child_regs(pid, &regs);
	return regs.rip == (u64)ap_gate_enter + 1;
}

/* To the gate, and past its breakpoint; false: it has ended. */
static bool go_to_gate(pid_t pid, struct rig_run *run, int *status)
{
	u8 byte = rig_child_poke(pid, (u64)ap_gate_enter, INT3);
	int sig = 0;

	rig_child_end_steps(pid);
	do {
		sig = rig_child_go(pid, sig > 0 ? sig : 0, status);
		if (sig == RIG_ENDED)
			return false;
	} while (!is_at_gate(pid, sig));
	pass_gate(pid, byte, run);
	return true;
}

void rig_engine(struct rig_run *run)
{
	struct rig_session s;
	int status, sig;
	pid_t pid;

	memset(run, 0, sizeof(*run));
	clear();
	rig_session_make(&s);
	pid = rig_child_new(enter_engine, &s);
	while (go_to_gate(pid, run, &status)) {
		sig = rig_child_step(pid, 0, &status);
		if (sig !=
		    RIG_STEPPED) /* it is about to get one: that is dealt with as without us */
			tap_note("signal %d in the gate", sig);
	}
	read_end(run, status);
	rig_session_sum(&s, run->counts);
	if (rig.look)
		rig.look(&s);
	rig_session_end(&s);
}

/* --- signals */

enum place { IN_CODE, IN_GATE, ELSEWHERE };

extern const char __executable_start[], _end[];

/* The rest of the test's program, and shared libraries, are ELSEWHERE. */
static enum place place_of(u64 pc)
{
	if (pc >= (u64)ap_gate_exit && pc < (u64)ap_gate_enter_end)
		return IN_GATE;
	if (pc >= (u64)__executable_start && pc < (u64)_end)
		return ELSEWHERE;
	return IN_CODE;
}

/* One step on, over what is elsewhere. False: it has ended. */
static bool step_on(pid_t pid, struct rig_run *run, int *status)
{
	struct ap_regs regs;
	int sig = rig_child_step(pid, 0, status);

	while (sig > 0)
		sig = rig_child_step(pid, sig, status);
	if (sig == RIG_ENDED)
		return false;
	rig_child_regs(pid, &regs);
	return place_of(regs.rip) != ELSEWHERE || go_to_gate(pid, run, status);
}

bool rig_engine_signal(struct rig_run *run, int sig, u32 n)
{
	struct rig_session s;
	bool is_sent = false;
	int status;
	pid_t pid;

	memset(run, 0, sizeof(*run));
	clear();
	rig_session_make(&s);
	pid = rig_child_new(enter_engine, &s);
	if (go_to_gate(pid, run, &status)) {
		do {
			is_sent = *(volatile u64 *)RIG_MARK == 1 && !n--;
		} while (!is_sent && step_on(pid, run, &status));
	}
	if (is_sent)
		status = rig_child_finish(pid, sig);
	read_end(run, status);
	rig_session_sum(&s, run->counts);
	if (rig.look)
		rig.look(&s);
	rig_session_end(&s);
	return is_sent;
}

/* --- comparing */

/* What lies below the stack pointer is nobody's; frames of signals are there. */
static void compare_memory(const struct rig_run *is, const struct rig_run *want)
{
	u64 low = want->result.regs.gpr[4] - RIG_STACK;

	EXPECT_MEM(is->data, want->data, RIG_DATA_SIZE);
	if (want->result.by && low <= RIG_STACK_SIZE)
		EXPECT_MEM(is->stack + low, want->stack + low, RIG_STACK_SIZE - low);
}

u64 rig_memory_sum(const u8 *data, const u8 *stack, u64 sp)
{
	u64 sum = 0, low = sp - RIG_STACK;

	for (u32 k = 0; k < 512; k++)
		sum = (sum ^ ((const u64 *)data)[k]) * 0x100000001b3ULL;
	for (low &= ~7ULL; low < RIG_STACK_SIZE; low += 8)
		sum = (sum ^ *(const u64 *)(stack + low)) * 0x100000001b3ULL;
	return sum;
}

u32 rig_find(const struct rig_trace *trace, u32 from, const struct rig_run *run)
{
	const struct ap_regs *is = &run->result.regs;
	u64 memory = rig_memory_sum(run->data, run->stack, is->gpr[4]);

	for (; from < trace->n; from++) {
		const struct rig_step *step = &trace->step[from];

		if (step->regs.rip == is->rip && step->memory == memory &&
		    !((step->regs.rflags ^ is->rflags) & SHOWN_FLAGS & ~rig.hidden_flags) &&
		    !memcmp(step->regs.gpr, is->gpr, sizeof(is->gpr)))
			break;
	}
	return from;
}

bool rig_same_regs(const struct ap_regs *is, const struct ap_regs *want)
{
	static const char *names[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
				       "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15" };
	bool ok = EXPECT_U64(is->rip, want->rip);

	ok &= EXPECT_U64(is->rflags & SHOWN_FLAGS, want->rflags & SHOWN_FLAGS);
	for (u32 k = 0; k < 16; k++) {
		if (!EXPECT_U64(is->gpr[k], want->gpr[k])) {
			tap_note("that is %s", names[k]);
			ok = false;
		}
	}
	return ok;
}

bool rig_same_counts(const u64 *is, const u64 *want)
{
	static const char *names[RIG_KINDS] = { "instructions", "conditional", "taken",	   "calls",
						"returns",	"indirect",    "branches", "",
						"system calls" };
	bool ok = true;

	for (u32 k = 0; k < RIG_KINDS; k++) {
		if (!EXPECT_U64(is[k], want[k])) {
			tap_note("that is %s", names[k]);
			ok = false;
		}
	}
	return ok;
}

const struct rig_run *rig_compare(void)
{
	static struct rig_run native, engine;
	struct rig_trace trace;

	rig_native(&native);
	rig_trace(&trace);
	rig_engine(&engine);
	EXPECT(native.result.by || WIFSIGNALED(native.status));
	EXPECT_U64(trace.run.status, native.status);
	EXPECT_U64(engine.status, native.status);
	EXPECT_U64(engine.result.by, native.result.by);
	rig_same_regs(&engine.result.regs, &native.result.regs);
	compare_memory(&engine, &native);
	rig_same_counts(engine.counts, trace.run.counts);
	free(trace.step);
	return &engine;
}
