/* SPDX-License-Identifier: MIT */
/*
 * The status flags that comparisons and arithmetic of every form and width leave, seen behind a
 * conditional branch that goes either way: by the frame of a fault there, and by pushf behind it,
 * behind an indirect jump and behind a call. An engine that updates counters in between may
 * clobber the flags if it can make them again. Prints a hash of what each form shows.
 */
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

#define STATUS 0x8d5 /* CF PF AF ZF SF OF */

static unsigned long seen;

static void note(unsigned long v)
{
	seen = (seen ^ v) * 0x9e3779b97f4a7c15UL;
	seen ^= seen >> 29;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	static const int shown[] = { REG_RAX, REG_RCX, REG_RDX, REG_R9, REG_R13 };
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)info;
	note((unsigned long)sig);
	note((unsigned long)g[REG_EFL] & STATUS);
	for (unsigned int k = 0; k < sizeof(shown) / sizeof(*shown); k++)
		note((unsigned long)g[shown[k]]);
	g[REG_RIP] += 3;
}

#define FAULT "mov %%rdi, %%r8\nmov (%%rdi), %%r8\n"
#define JUMP  "lea 9f(%%rip), %%r8\njmp *%%r8\n9:\n"
#define CALL  "mov %%rdi, %%r8\ncall 9f\n9: pop %%r8\n"

/* insn on the registers a, c, d, r9, r13 and memory, the branch, and the same tail on both ways */
#define TRY(insn, cond, tail)                                                                      \
	do {                                                                                       \
		register unsigned long r9 __asm__("r9") = b, r13 __asm__("r13") = a;               \
		unsigned long rax = a, rcx = b, rdx = a, rdi = 0, flags, memory = b;               \
                                                                                                   \
		__asm__ volatile("lea -256(%%rsp), %%rsp\nstc\n" insn "\nj" cond " 1f\n" tail      \
				 "jmp 2f\n1: " tail "2: pushf\npop %[flags]\n"                     \
				 "lea 256(%%rsp), %%rsp\n"                                         \
				 : "+a"(rax), "+c"(rcx), "+d"(rdx), "+r"(r9),                      \
				   "+r"(r13), [flags] "=b"(flags)                                  \
				 : [mem] "S"(&memory), "D"(rdi)                                    \
				 : "r8", "cc", "memory");                                          \
		note(flags &STATUS);                                                               \
		note(rax ^ rcx * 3 ^ rdx * 5 ^ r9 * 7 ^ r13 * 11);                                 \
	} while (0)

#define TAILS(insn, cond)                                                                          \
	do {                                                                                       \
		TRY(insn, cond, FAULT);                                                            \
		TRY(insn, cond, JUMP);                                                             \
		TRY(insn, cond, CALL);                                                             \
	} while (0)

#define FORM(insn)                                                                                 \
	do {                                                                                       \
		seen = 0;                                                                          \
		for (unsigned int k = 0; k < N * N; k++) {                                         \
			unsigned long a = values[k / N], b = values[k % N];                        \
                                                                                                   \
			TAILS(insn, "z");                                                          \
			TAILS(insn, "b");                                                          \
			TAILS(insn, "ns");                                                         \
			TAILS(insn, "o");                                                          \
		}                                                                                  \
		printf("%016lx %s\n", seen, insn);                                                 \
	} while (0)

static const unsigned long values[] = {
	0,
	1,
	0x80,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x7fffffffffffffff,
	0x8000000000000000,
	0x0123456789abcdef,
};
#define N (sizeof(values) / sizeof(*values))

static void compare(void)
{
	FORM("test %%rax, %%rcx");
	FORM("test %%eax, %%eax");
	FORM("test %%ax, %%r9w");
	FORM("test %%ah, %%cl");
	FORM("test %%r13b, %%r13b");
	FORM("test $0x80, %%al");
	FORM("test $0x8001, %%ax");
	FORM("test $0x80000001, %%eax");
	FORM("test $1, %%r13b");
	FORM("test $-2, %%r9");
	FORM("cmp %%rax, %%rcx");
	FORM("cmp %%ecx, %%r13d");
	FORM("cmp %%ch, %%dl");
	FORM("cmp $-128, %%r9b");
	FORM("cmp $1, %%edx");
	FORM("cmp $0x7fffffff, %%rax");
	FORM("cmp $0x1234, %%cx");
	FORM("cmp (%[mem]), %%rax");
	FORM("cmpl $0, (%[mem])\nmovq $3, (%[mem])");
}

static void logic(void)
{
	FORM("and %%rax, %%rcx");
	FORM("and $0xf0, %%al");
	FORM("and $1, %%r13d");
	FORM("and %%ah, %%ch");
	FORM("and (%[mem]), %%r9");
	FORM("and %%cx, %%ax");
	FORM("or %%eax, %%r9d");
	FORM("or $0x80, %%ah");
	FORM("or (%[mem]), %%cx");
	FORM("or %%rax, (%[mem])");
	FORM("xor %%eax, %%eax");
	FORM("xor %%r9, %%rax");
	FORM("xor $0x81, %%r9b");
	FORM("xor (%[mem]), %%r13b");
}

static void arithmetic(void)
{
	FORM("add $1, %%eax");
	FORM("add $-128, %%r13");
	FORM("add $-0x80000000, %%rcx");
	FORM("add $0x7fffffff, %%r9d");
	FORM("add $1, %%al");
	FORM("add %%rax, %%rcx");
	FORM("sub $1, %%rax");
	FORM("sub $0x12345678, %%r13d");
	FORM("sub $-0x80000000, %%r9");
	FORM("sub %%rcx, %%rax");
	FORM("sub %%eax, %%r9d");
	FORM("sub %%r9, %%r13");
	FORM("sub %%r13, %%rdx");
	FORM("sub %%rax, %%rax");
	FORM("sub (%[mem]), %%rcx");
	FORM("sub %%cx, %%ax");
	FORM("adc %%rcx, %%rax");
	FORM("sbb %%rax, %%rax");
	FORM("inc %%rax");
	FORM("dec %%ecx");
	FORM("neg %%r9");
	FORM("imul %%rcx, %%rdx");
	FORM("shl $3, %%eax");
	FORM("shr %%cl, %%rdx");
}

/* Between the comparison and the branch: what changes its registers, or the flags after all. */
static void in_between(void)
{
	FORM("cmp %%rax, %%rcx\nmov %%rdx, %%r9");
	FORM("cmp %%rax, %%rcx\nmov $7, %%eax");
	FORM("cmp %%rax, %%rcx\nmovzx %%cl, %%ecx");
	FORM("test %%rax, %%rax\ncmovz %%rcx, %%rax");
	FORM("test %%rax, %%rax\nsetz %%r9b");
	FORM("test %%eax, %%eax\nmov %%ecx, %%eax\nmov %%edx, %%eax");
	FORM("cmp $5, %%rax\nmov (%[mem]), %%rax");
	FORM("and $6, %%eax\nmov %%eax, %%ecx");
	FORM("and $6, %%eax\nlea 1(%%rax), %%eax");
	FORM("and %%rcx, %%rax\nmov %%rdx, %%rcx");
	FORM("sub %%rcx, %%rax\nmov %%rdx, %%rcx");
	FORM("sub $1, %%rax\nxchg %%rax, %%rcx");
	FORM("sub $1, %%rax\nmov %%rax, (%[mem])");
	FORM("cmp %%rax, %%rcx\nshl %%cl, %%rdx");
	FORM("cmp %%rax, %%rcx\ncmc");
	FORM("cmp %%rax, %%rcx\ninc %%r13");
	FORM("cmp %%rax, %%rcx\nbt %%rax, %%rdx");
	FORM("cmp %%rax, %%rcx\npush %%rax\npop %%rcx");
	FORM("cmp %%rax, %%rcx\nstc\nmov %%rcx, %%r9");
	FORM("cmp %%rax, %%rcx\njg 3f\nmov %%rax, %%r9\n3:");
	FORM("cmp %%rax, %%rcx\njmp 3f\nud2\n3:");
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &sa, NULL);
	compare();
	logic();
	arithmetic();
	in_between();
	return 0;
}
