/* SPDX-License-Identifier: MIT */
/*
 * Translated code does what the program's code does, and counts what retires: each row runs natively, by single steps
 * and under the engine (rig/rig.h).  A row for each way in which a block ends, and for what the translator changes.
 */
#include <signal.h>

#include "rig/rig.h"
#include "tap/tap.h"

/* clang-format off */
RIG_SNIPPET(straight,
	"mov %rax, (%rbx); add %rcx, %rdx; sbb $3, %rsi; imul %rdi, %r8; shl $5, %r9\n"
	"push %r10; pop %r11; lea 5(%rcx,%rdx,4), %r12; xchg %r13, 8(%rbx); lock xadd %r14, 16(%rbx)\n"
	"cmovc %rax, %r15; setz %al; bswap %rcx; mul %rdx");

RIG_SNIPPET(jumps,
	"jmp 1f; ud2\n"
	"1: cmp %rax, %rcx; jb 2f; jae 3f\n"
	"2: inc %rdx; jmp 4f\n"
	"3: dec %rdx\n"
	"4: jmp 5f; .fill 200, 1, 0x0b\n"
	"5: xor %eax, %eax; jz 6f; ud2\n"
	"6: jnz 5b");

/* Each condition, taken and not, with the flags kept behind it. */
RIG_SNIPPET(conditions,
	"xor %esi, %esi; xor %edi, %edi\n"
	"1: mov %esi, %eax; shl $8, %eax; sahf\n"
	".irp cc, z, nz, c, nc, s, ns, p, np, be, a, l, ge, le, g, o, no\n"
	"	j\\cc 2f; inc %rdi; mov %eax, %eax\n"
	"2: pushf; pop %rcx; lea (%rdi,%rcx), %rdi\n"
	".endr\n"
	"add $7, %esi; cmp $256, %esi; jb 1b");

RIG_SNIPPET(loops,
	"mov $1000, %ecx; xor %eax, %eax\n"
	"1: add $3, %rax; test $7, %al; jz 2f; inc %rdx\n"
	"2: dec %ecx; jnz 1b\n"
	"mov $50, %ecx; 3: inc %rsi; loop 3b\n"
	"mov $50, %ecx; 4: inc %rsi; test $0x10, %sil; loopz 4b\n"
	"jrcxz 5f; mov $2, %ecx; 5: inc %rdi; dec %rcx; jrcxz 6f; jmp 5b; 6:");

RIG_SNIPPET(calls,
	"mov $8, %edi; call 1f; jmp 9f\n"
	"1: cmp $2, %rdi; jb 2f; push %rdi; dec %rdi; call 3f; pop %rdi; push %rax; sub $2, %rdi; call 1b\n"
	"pop %rcx; add %rcx, %rax; ret\n"
	"2: mov %rdi, %rax; ret\n"
	"3: push %rdi; call 1b; pop %rdi; ret $0\n"
	"9:");

RIG_SNIPPET(indirect,
	"lea 8f(%rip), %rax; mov %rax, (%rbx); lea 7f(%rip), %rax; mov %rax, 8(%rbx)\n"
	"mov $300, %ebp; xor %esi, %esi\n"
	"1: mov %ebp, %eax; and $1, %eax; call *(%rbx,%rax,8); call *%r12; mov (%rbx,%rax,8), %rdx; dec %ebp; jnz 1b\n"
	"lea 6f(%rip), %rax; jmp *%rax; ud2\n"
	"8: add $5, %rsi; lea 5f(%rip), %r12; ret\n"
	"7: add $9, %rsi; lea 4f(%rip), %r12; ret\n"
	"5: inc %rdi; ret\n"
	"4: pop %rcx; lea 1(%rdi), %rdi; push %rcx; ret\n"
	"6: lea 3f(%rip), %rax; mov %rax, 16(%rbx); push 16(%rbx); ret $16; 3:");

RIG_SNIPPET(strings,
	"lea 0x1000(%rbx), %rdi; mov %rbx, %rsi; mov $40, %ecx; rep movsb; rep movsq; mov $9, %ecx; rep stosw\n"
	"lea 2(%rbx), %rsi; lea 0x1002(%rbx), %rdi; mov $30, %ecx; repz cmpsb; mov $30, %ecx; repnz scasb\n"
	"std; lodsb; movsb; cld");

/* The same call from two places, and the program's return address to be read. */
RIG_SNIPPET(return_addresses,
	"call 1f; 1: pop %rax; sub %rax, %rbp; lea 1b(%rip), %rcx; sub %rcx, %rax\n"
	"mov 0x100(%rip), %rdx; push 0x40(%rip); pop %rsi; lea 2f(%rip), %rcx; push %rcx; ret; 2:");

RIG_SNIPPET(system_calls,
	"mov $39, %eax; mov $1, %edi; syscall; mov %rcx, %rdx; cmp $0, %rax; setg %al; movzx %al, %eax\n"
	"mov %rax, %rbp; mov $10000, %eax; syscall; mov $10, %esi; 1: mov $102, %eax; syscall; dec %esi; jnz 1b");

/* Comparisons that the engine would execute again for its counters. */
RIG_SNIPPET(live_flags,
	"mov $100, %esi; 1: mov (%rbx), %rax; cmp %rax, %rsi; mov 8(%rbx), %rcx; jb 2f; mov 16(%rbx), %rdx\n"
	"2: setb %al; adc $0, %rdi; and $6, %rcx; mov (%rbx), %r9; jnz 3f; inc %r8\n"
	"3: pushf; pop %r10; add %r10, %r11; sub $1, %rsi; mov (%rbx), %r12; jnz 1b");

RIG_SNIPPET(gs,
	"mov $158, %eax; mov $0x1001, %edi; mov %rbx, %rsi; syscall; mov %gs:8, %rax; mov $40, %ecx; mov %gs:(%rcx), %ecx\n"
	"addq $5, %gs:16; mov $3, %ecx; mov %gs:24(,%rcx,8), %rdx; lea 8(%rbx), %rsi; xor %esi, %esi; lodsq %gs:(%rsi)\n"
	/* REX where the CPU ignores it, before gs: lods, mov from an address and from a register's */
	"xor %esi, %esi; .byte 0x48, 0x65, 0xad; mov %eax, %r8d; xor %eax, %eax; .byte 0x48, 0x65, 0x8b, 0x04, 0x25, 8, 0, 0, 0\n"
	"add %rax, %r8; .byte 0x4c, 0x65, 0x8b, 0x0e; .byte 0x49, 0x65, 0xa1, 16, 0, 0, 0, 0, 0, 0, 0\n");

RIG_SNIPPET(serializing,
	"mov %rbx, %r9; xor %eax, %eax; cpuid; mov %r9, %rbx; mov %ss, %rax; push %rax; lea (%rsp), %rax; push %rax\n"
	"pushf; push $0x33; lea 1f(%rip), %rax; push %rax; iretq; ud2; 1: xor %eax, %eax; xor %ecx, %ecx; xor %edx, %edx");

/* Longer than a block, with more branches than one has. */
RIG_SNIPPET(long_code,
	"mov $7, %esi\n"
	"1: .rept 150; inc %rax; lea 1(%rcx,%rax), %rcx; .endr\n"
	".rept 40; test %esi, %esi; jz 9f; .endr\n"
	"dec %esi; jmp 1b; 9:");
/* clang-format on */

static const struct rig_run *run(const struct rig_code *code)
{
	const struct rig_run *r;

	rig_load(code);
	r = rig_compare();
	EXPECT_U64(r->status, 0);
	EXPECT_U64(r->result.by, 1);
	return r;
}

/* clang-format off */
#define ROW(name) static void name##_code_runs(void) { run(&name); }
/* clang-format on */
ROW(straight)
ROW(jumps)
ROW(conditions)
ROW(loops)
ROW(calls)
ROW(indirect)
ROW(strings)
ROW(return_addresses)
ROW(system_calls)
ROW(live_flags)
ROW(gs)
ROW(serializing)
ROW(long_code)

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(straight_code_runs),     TAP(jumps_code_runs),
		TAP(conditions_code_runs),   TAP(loops_code_runs),
		TAP(calls_code_runs),	     TAP(indirect_code_runs),
		TAP(strings_code_runs),	     TAP(return_addresses_code_runs),
		TAP(system_calls_code_runs), TAP(live_flags_code_runs),
		TAP(gs_code_runs),	     TAP(serializing_code_runs),
		TAP(long_code_code_runs),    { 0 },
	};

	return tap_main(tests, argc, argv);
}
