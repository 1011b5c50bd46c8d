/* SPDX-License-Identifier: MIT */
/*
 * Runs a piece of machine code under the hosted engine, and natively, and says what became of both.
 *
 * The code stands in memory of its own at a fixed address, with data, a stack and a page for its results, which the
 * test shares with its children.  Each run is a child of the test:
 *   - rig_native(): the CPU runs the code at full speed;
 *   - rig_trace(): the CPU runs it by single steps (PTRACE_SINGLESTEP), and the test counts what retires.  That
 *     shares no code with the engine;
 *   - rig_engine(): the child starts the engine, by its own entry (gate.S) and a boot page as an injector fills it,
 *     with a session file of the test's.  The engine's signal handler, its system calls, its memory are the real ones.
 * So a test compares how programs end and what was counted, and does not depend on the names of the engine's parts.
 *
 * The hosted engine is compiled with vector registers, as all hosted code is: code that is run here leaves them alone.
 */
#ifndef AP_TESTS_ENGINE_RIG_H
#define AP_TESTS_ENGINE_RIG_H

#include <sys/types.h>

#include "abi/boot.h"
#include "abi/session.h"

#define RIG_BASE      0x200000000000ULL
#define RIG_CODE      RIG_BASE /* private */
#define RIG_CODE_SIZE 0x10000ULL
#define RIG_END	      (RIG_CODE + 0xe000) /* code that stores the registers and ends the process */
#define RIG_HANDLER                                                                                \
	(RIG_CODE + 0xf000) /* of signals: stores the frame's registers and ends the process */
#define RIG_HANDLER_INSNS 8
#define RIG_RESTORER	  (RIG_CODE + 0xf800)	/* rt_sigreturn */
#define RIG_DATA	  (RIG_BASE + 0x100000) /* shared, like the next two */
#define RIG_DATA_SIZE	  0x4000ULL
#define RIG_STACK	  (RIG_BASE + 0x200000)
#define RIG_STACK_SIZE	  0x4000ULL
#define RIG_RESULT	  (RIG_BASE + 0x300000)
/* In the data: struct ap_sigaction of RIG_HANDLER, and where the code says that it has come so far. */
#define RIG_ACTION (RIG_DATA + 0x3000)
#define RIG_MARK   (RIG_DATA + 0x3100)

/* One instruction in .rodata; RIG_SNIPPET(name, "text") makes it a piece of code, &name. */
struct rig_code {
	const u8 *begin, *end;
};
#define RIG_SNIPPET(name, text)                                                                    \
	__asm__(".pushsection .rodata\n" #name "_begin:\n" text "\n" #name                         \
		"_end:\n.popsection\n");                                                           \
	extern const u8 name##_begin[] __attribute__((visibility("hidden")));                      \
	extern const u8 name##_end[] __attribute__((visibility("hidden")));                        \
	static const struct rig_code name = { name##_begin, name##_end }

/* The program's call: RIG_HANDLER is the handler of this signal. */
#define RIG_SIGACTION(sig)                                                                         \
	"mov $13, %eax; mov $" #sig ", %edi; movabs $0x200000103000, %rsi\n"                       \
	"xor %edx, %edx; mov $8, %r10d; syscall\n"
#define RIG_SET_MARK "movabs $0x200000103100, %rax; movq $1, (%rax)\n"

/* Where gpr[], rip and the flags stand in what RIG_END and RIG_HANDLER have stored. */
struct rig_result {
	u64 by; /* 0 nobody, 1 RIG_END, 2 RIG_HANDLER */
	struct ap_regs regs;
};

struct rig_run {
	int status;  /* as wait() gives it */
	u32 entries; /* how often the engine went into its code cache */
	struct rig_result result;
	u8 data[RIG_DATA_SIZE], stack[RIG_STACK_SIZE];
	u64 counts[AP_RAW_N];
};

/* The kinds that tests compare: the base ones; that of FLOPS among them stays 0. */
#define RIG_KINDS (AP_KIND_SYSCALL + 1)

/*
 * What the CPU did, by single steps: the program's state at each stop, of which there are n, and what it had counted by then.  A stop
 * is behind each instruction, in front of a handler's first one, and behind each iteration of a rep instruction.
 */
struct rig_step {
	struct ap_regs regs;
	u64 memory; /* rig_memory_sum() */
	u64 sum[RIG_KINDS];
};
struct rig_trace {
	struct rig_run run;
	u32 n;
	struct rig_step *step;
};

/* session.c: the session of one run, which the child gets by its descriptors. */
struct rig_session {
	int head_fd, party_fd;
	struct ap_session *head;
	char *party;
};
/* The code, the registers that it begins with, and what the session is like; by rig_load(), then as the test wants it. */
struct rig {
	struct ap_regs regs;
	u64 cache_limit;
	u64 hidden_flags;				    /* that rig_find() does not compare */
	bool is_writable;				    /* the code */
	void (*fill)(struct ap_session *head, void *party); /* more of the session's files */
	void (*look)(const struct rig_session *s);	    /* at the end of an engine's run */
	void (*prepare)(void); /* in each child, before it runs the code */
};
extern struct rig rig;

void rig_load(const struct rig_code *code);
/* So many bytes of the test's own, at this place of the code. */
void rig_put(u64 at, const void *bytes, u64 size);
void rig_native(struct rig_run *run);
void rig_trace(struct rig_trace *trace);
void rig_engine(struct rig_run *run);

/* Both ways, and what must be equal: how it ended, registers, memory, and what was counted.  Returns the engine's run. */
const struct rig_run *rig_compare(void);

/*
 * The engine's run with a signal in its midst: once RIG_MARK is set, at the n-th place (from 0) that the child comes to by single
 * steps in translated code and in the gate. False: it has ended before.
 */
bool rig_engine_signal(struct rig_run *run, int sig, u32 n);

/* Of the data and of the stack, as they are or as a run has left them. */
u64 rig_memory_sum(const u8 *data, const u8 *stack, u64 sp);
/* The first stop from stop `from` on with these registers and this memory; trace->n: none. */
u32 rig_find(const struct rig_trace *trace, u32 from, const struct rig_run *run);
/* Says what differs. */
bool rig_same_regs(const struct ap_regs *is, const struct ap_regs *want);
bool rig_same_counts(const u64 *is, const u64 *want); /* of RIG_KINDS */

void rig_session_make(struct rig_session *s);
void rig_session_end(struct rig_session *s);
void rig_session_sum(const struct rig_session *s, u64 counts[AP_RAW_N]);
/* In the child: fills the boot page.  Returns where the engine begins. */
u64 rig_session_boot(const struct rig_session *s);

#endif
