/* SPDX-License-Identifier: MIT */
/*
 * Synchronous signals: every register, the pc, siginfo and the fault's own fields in the frame are
 * what they are at the faulting instruction, for plain instructions and for those that an engine
 * has to rewrite; and where the handler sends the program, it goes on, with the registers that
 * the handler chose.
 */
#include "sig_test.h"

#include <asm/prctl.h>
#include <fcntl.h>
#include <sys/syscall.h>

#define CANARY(n) (0x0101010101010101UL * (n))

/*
 * name(): all registers but rsp hold CANARY(number + 1), then setup, then the instruction; the
 * handler goes on at name_after, where rax is kept for the caller.
 */
#define CASE(name, setup, insn)                                                                    \
	extern unsigned long name(void);                                                           \
	extern const char name##_at[], name##_after[];                                             \
	__asm__(".text\n.globl " #name "\n" #name ":\n"                                            \
		"push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"               \
		"mov %rsp, saved_sp(%rip)\n"                                                       \
		"movabs $0x0101010101010101, %rax\nmovabs $0x0202020202020202, %rcx\n"             \
		"movabs $0x0303030303030303, %rdx\nmovabs $0x0404040404040404, %rbx\n"             \
		"movabs $0x0606060606060606, %rbp\nmovabs $0x0707070707070707, %rsi\n"             \
		"movabs $0x0808080808080808, %rdi\nmovabs $0x0909090909090909, %r8\n"              \
		"movabs $0x0a0a0a0a0a0a0a0a, %r9\nmovabs $0x0b0b0b0b0b0b0b0b, %r10\n"              \
		"movabs $0x0c0c0c0c0c0c0c0c, %r11\nmovabs $0x0d0d0d0d0d0d0d0d, %r12\n"             \
		"movabs $0x0e0e0e0e0e0e0e0e, %r13\nmovabs $0x0f0f0f0f0f0f0f0f, %r14\n"             \
		"movabs $0x1010101010101010, %r15\n"                                               \
		"cmp %rcx, %rcx\nstc\n" setup "\n" #name "_at:\n" insn "\n" #name "_after:\n"      \
		"mov saved_sp(%rip), %rsp\ncld\n"                                                  \
		"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n")

unsigned long saved_sp, bad_pointer, bad_code;
unsigned long wild[] = { 0x8000000000000000UL, 0x33, 0x202, 0, 0x2b }; /* a frame of iretq too */
char *bad_page, *short_file;
char guard[3 * 4096] __attribute__((aligned(4096)));

CASE(load, "mov bad_page(%rip), %rsi", "mov (%rsi), %rax");
CASE(store, "mov bad_page(%rip), %rdi", "movl $1, 8(%rdi)");
CASE(load_rip, "", "mov guard+4096(%rip), %rax");
CASE(add_rip, "", "add %rax, guard+4104(%rip)");
CASE(sse_rip, "", "movups guard+4096(%rip), %xmm1");
CASE(string, "mov bad_page(%rip), %rdi\nmov $64, %ecx\nsub $16, %rdi", "rep stosb");
CASE(call_mem, "mov bad_page(%rip), %rbx", "call *16(%rbx)");
CASE(call_rip, "", "call *guard+4096(%rip)");
CASE(jump_mem, "mov bad_page(%rip), %rcx", "jmp *8(%rcx)");
CASE(jump_index, "mov bad_page(%rip), %rdx\nxor %ecx, %ecx", "jmp *8(%rdx,%rcx,8)");
CASE(return_bad, "mov bad_page(%rip), %rsp", "ret");
CASE(push_bad, "mov bad_page(%rip), %rsp\nadd $8, %rsp", "push %rax");
CASE(call_bad, "mov bad_page(%rip), %rsp\nadd $8, %rsp", "call load");
CASE(noncanonical, "mov wild(%rip), %rdx", "mov (%rdx), %rax");
CASE(divide, "xor %edx, %edx\nxor %ebx, %ebx", "div %rbx");
CASE(divide_rip, "xor %edx, %edx", "divq bad_pointer(%rip)");
CASE(undefined, "", "ud2");
CASE(breakpoint, "", "int3");
CASE(beyond_eof, "mov short_file(%rip), %r15", "mov 4096(%r15), %al");
/* bad_page is the base of %gs */
CASE(gs_load, "xor %ebx, %ebx", "mov %gs:16(%rbx), %r12");
CASE(gs_add, "xor %eax, %eax", "add %rcx, %gs:8(%rax)");
CASE(gs_disp, "", "mov %gs:24, %rdx");
CASE(gs_moffs, "", "movabs %gs:16, %rax");
CASE(gs_movs, "mov $-16, %rsi\nlea guard(%rip), %rdi\nmov $64, %ecx",
     "rep movsb %gs:(%rsi), (%rdi)");
CASE(gs_cmps, "xor %esi, %esi\nlea guard(%rip), %rdi", "cmpsq (%rdi), %gs:(%rsi)");
CASE(gs_xlat, "xor %ebx, %ebx\nxor %eax, %eax", "xlat %gs:(%rbx)");
CASE(gs_jump, "xor %ecx, %ecx", "jmp *%gs:8(%rcx)");
CASE(gs_call, "xor %edx, %edx", "call *%gs:8(%rdx)");
/* no addresses: the branch itself faults */
CASE(jump_nowhere, "mov wild(%rip), %rcx", "jmp *%rcx");
CASE(jump_rip_nowhere, "", "jmp *wild(%rip)");
CASE(call_nowhere, "mov wild(%rip), %rdx", "call *%rdx");
CASE(call_rip_nowhere, "", "call *wild(%rip)");
CASE(return_nowhere, "lea wild(%rip), %rsp", "ret");
CASE(return_16_nowhere, "lea wild(%rip), %rsp", "ret $16");
CASE(iret_nowhere, "lea wild(%rip), %rsp", "iretq");
CASE(fetch_jump, "mov bad_code(%rip), %r11", "jmp *%r11");
CASE(fetch_call, "mov bad_code(%rip), %r11", "call *%r11");
CASE(privileged, "", "hlt");

static const int order[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,	 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

static volatile int caught;
static int last_sig;
static siginfo_t last_info;
static ucontext_t last;
static const char *go_on;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	caught++;
	last_sig = sig;
	last_info = *info;
	last = *uc;
	uc->uc_mcontext.gregs[REG_RIP] = (long)go_on;
	uc->uc_mcontext.gregs[REG_RAX] = 0x5ca1ab1e;
}

/* Registers in set (bit per number) were changed on purpose. */
static void run(unsigned long (*fn)(void), const char *at, const char *after, int sig, int code,
		const void *addr, unsigned set)
{
	unsigned long result;

	go_on = after;
	caught = 0;
	result = fn();
	CHECK_EQ(caught, 1);
	CHECK_EQ(result, 0x5ca1ab1e);
	CHECK_EQ(last_sig, sig);
	CHECK_EQ(last_info.si_signo, sig);
	CHECK_EQ(last_info.si_code, code);
	CHECK_EQ(last_info.si_addr, addr);
	CHECK_EQ(last.uc_mcontext.gregs[REG_RIP], at);
	for (unsigned n = 0; n < 16; n++)
		if (n != 4 && !(set & 1U << n))
			CHECK_EQ(last.uc_mcontext.gregs[order[n]], CANARY(n + 1));
	if (!(set & 1U << 4))
		CHECK_EQ(last.uc_mcontext.gregs[REG_RSP], saved_sp);
}

#define RUN(name, sig, code, addr, set)                                                            \
	do {                                                                                       \
		run(name, name##_at, name##_after, sig, code, addr, set);                          \
		done(#name);                                                                       \
	} while (0)

static long greg(int n)
{
	return last.uc_mcontext.gregs[n];
}

static void flags_are(long want)
{
	CHECK_EQ(greg(REG_EFL) & 0x8d5, want);
}

static void data_faults(void)
{
	RUN(load, SIGSEGV, SEGV_ACCERR, bad_page, 1U << 6);
	CHECK_EQ(greg(REG_TRAPNO), 14);
	CHECK_EQ(greg(REG_ERR), 4); /* user, read, not present */
	CHECK_EQ(greg(REG_CR2), bad_page);
	flags_are(0x45); /* ZF PF CF */
	RUN(store, SIGSEGV, SEGV_ACCERR, bad_page + 8, 1U << 7);
	CHECK_EQ(greg(REG_ERR), 6);
	RUN(load_rip, SIGSEGV, SEGV_ACCERR, guard + 4096, 0);
	RUN(add_rip, SIGSEGV, SEGV_ACCERR, guard + 4104, 0);
	RUN(sse_rip, SIGSEGV, SEGV_ACCERR, guard + 4096, 0);
	RUN(string, SIGSEGV, SEGV_ACCERR, bad_page, 1U << 7 | 1U << 1);
	CHECK_EQ(greg(REG_RDI), bad_page);
	CHECK_EQ(greg(REG_RCX), 48);
	RUN(noncanonical, SIGSEGV, SI_KERNEL, NULL, 1U << 2);
	CHECK_EQ(greg(REG_TRAPNO), 13);
	RUN(beyond_eof, SIGBUS, BUS_ADRERR, short_file + 4096, 1U << 15);
	RUN(privileged, SIGSEGV, SI_KERNEL, NULL, 0);
}

static void gs_faults(void)
{
	CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, bad_page) == 0);
	RUN(gs_load, SIGSEGV, SEGV_ACCERR, bad_page + 16, 1U << 3);
	CHECK_EQ(greg(REG_RBX), 0);
	RUN(gs_add, SIGSEGV, SEGV_ACCERR, bad_page + 8, 1U << 0);
	CHECK_EQ(greg(REG_RAX), 0);
	RUN(gs_disp, SIGSEGV, SEGV_ACCERR, bad_page + 24, 0);
	RUN(gs_moffs, SIGSEGV, SEGV_ACCERR, bad_page + 16, 0);
	RUN(gs_cmps, SIGSEGV, SEGV_ACCERR, bad_page, 1U << 6 | 1U << 7);
	CHECK_EQ(greg(REG_RSI), 0);
	CHECK_EQ(greg(REG_RDI), guard);
	RUN(gs_movs, SIGSEGV, SEGV_ACCERR, bad_page, 1U << 1 | 1U << 6 | 1U << 7);
	CHECK_EQ(greg(REG_RSI), 0);
	CHECK_EQ(greg(REG_RDI), guard + 16);
	CHECK_EQ(greg(REG_RCX), 48);
	RUN(gs_xlat, SIGSEGV, SEGV_ACCERR, bad_page, 1U << 3 | 1U << 0);
	CHECK_EQ(greg(REG_RBX), 0);
	CHECK_EQ(greg(REG_RAX), 0);
	RUN(gs_jump, SIGSEGV, SEGV_ACCERR, bad_page + 8, 1U << 1);
	CHECK_EQ(greg(REG_RCX), 0);
	RUN(gs_call, SIGSEGV, SEGV_ACCERR, bad_page + 8, 1U << 2);
	CHECK_EQ(greg(REG_RDX), 0);
	CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, 0) == 0);
}

static void transfers_to_nowhere(void)
{
	for (int again = 0; again < 3; again++) {
		RUN(jump_nowhere, SIGSEGV, SI_KERNEL, NULL, 1U << 1);
		CHECK_EQ(greg(REG_RCX), wild[0]);
		CHECK_EQ(greg(REG_TRAPNO), 13);
		CHECK_EQ(greg(REG_ERR), 0);
		flags_are(0x45);
		RUN(jump_rip_nowhere, SIGSEGV, SI_KERNEL, NULL, 0);
		RUN(call_nowhere, SIGSEGV, SI_KERNEL, NULL, 1U << 2);
		CHECK_EQ(greg(REG_RDX), wild[0]);
		RUN(call_rip_nowhere, SIGSEGV, SI_KERNEL, NULL, 0);
		RUN(return_nowhere, SIGSEGV, SI_KERNEL, NULL, 1U << 4);
		CHECK_EQ(greg(REG_RSP), wild);
		RUN(return_16_nowhere, SIGSEGV, SI_KERNEL, NULL, 1U << 4);
		CHECK_EQ(greg(REG_RSP), wild);
		RUN(iret_nowhere, SIGSEGV, SI_KERNEL, NULL, 1U << 4);
		CHECK_EQ(greg(REG_RSP), wild);
	}
}

static void transfer_faults(void)
{
	RUN(call_mem, SIGSEGV, SEGV_ACCERR, bad_page + 16, 1U << 3);
	RUN(call_rip, SIGSEGV, SEGV_ACCERR, guard + 4096, 0);
	RUN(jump_mem, SIGSEGV, SEGV_ACCERR, bad_page + 8, 1U << 1);
	CHECK_EQ(greg(REG_RCX), bad_page);
	RUN(jump_index, SIGSEGV, SEGV_ACCERR, bad_page + 8, 1U << 1 | 1U << 2);
	CHECK_EQ(greg(REG_RCX), 0);
	CHECK_EQ(greg(REG_RDX), bad_page);
	flags_are(0x44); /* the xor's */
	RUN(return_bad, SIGSEGV, SEGV_ACCERR, bad_page, 1U << 4);
	CHECK_EQ(greg(REG_RSP), bad_page);
	RUN(push_bad, SIGSEGV, SEGV_ACCERR, bad_page, 1U << 4);
	CHECK_EQ(greg(REG_RSP), bad_page + 8);
	RUN(call_bad, SIGSEGV, SEGV_ACCERR, bad_page, 1U << 4);
	CHECK_EQ(greg(REG_RSP), bad_page + 8);
}

/* The pc is the one that could not be fetched. */
static void fetch_faults(void)
{
	run(fetch_jump, (char *)bad_code, fetch_jump_after, SIGSEGV, SEGV_ACCERR, (void *)bad_code,
	    1U << 11);
	CHECK_EQ(greg(REG_ERR), 0x15);
	done("fetch_jump");
	run(fetch_call, (char *)bad_code, fetch_call_after, SIGSEGV, SEGV_ACCERR, (void *)bad_code,
	    1U << 11 | 1U << 4);
	CHECK_EQ(greg(REG_RSP), saved_sp - 8);
	done("fetch_call");
	munmap((void *)bad_code, 4096);
	run(fetch_jump, (char *)bad_code, fetch_jump_after, SIGSEGV, SEGV_MAPERR, (void *)bad_code,
	    1U << 11);
	CHECK_EQ(greg(REG_ERR), 0x14);
	done("fetch from nowhere");
}

static void exceptions(void)
{
	RUN(divide, SIGFPE, FPE_INTDIV, divide_at, 1U << 2 | 1U << 3);
	CHECK_EQ(greg(REG_TRAPNO), 0);
	RUN(divide_rip, SIGFPE, FPE_INTDIV, divide_rip_at, 1U << 2);
	RUN(undefined, SIGILL, ILL_ILLOPN, undefined_at, 0);
	CHECK_EQ(greg(REG_TRAPNO), 6);
	run(breakpoint, breakpoint_after, breakpoint_after, SIGTRAP, SI_KERNEL, NULL, 0);
	CHECK_EQ(greg(REG_TRAPNO), 3);
	done("breakpoint");
}

int main(void)
{
	static char stack[65536];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };
	int fd = memfd_create("short", 0);

	bad_page = (char *)mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0) +
		   4096;
	mprotect(bad_page, 4096, PROT_NONE);
	mprotect(guard + 4096, 4096, PROT_NONE);
	bad_code = (unsigned long)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(volatile char *)bad_code = 1;
	CHECK(ftruncate(fd, 4096) == 0);
	short_file = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(sigaltstack(&ss, NULL) == 0);
	catch_with(SIGSEGV, on_fault, SA_ONSTACK);
	catch_with(SIGBUS, on_fault, SA_ONSTACK);
	catch_with(SIGFPE, on_fault, SA_ONSTACK);
	catch_with(SIGILL, on_fault, SA_ONSTACK);
	catch_with(SIGTRAP, on_fault, SA_ONSTACK);
	data_faults();
	gs_faults();
	transfer_faults();
	transfers_to_nowhere();
	exceptions();
	fetch_faults();
	return verdict();
}
