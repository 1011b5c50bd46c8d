/* SPDX-License-Identifier: MIT */
/*
 * The state that random_code.c starts its code with, and stores when the code is done.
 */
#ifndef RANDOM_STATE_H
#define RANDOM_STATE_H

#include <stddef.h>
#include <stdint.h>

struct state {
	uint64_t gpr[16], flags, code, host_rsp;
	uint32_t mxcsr, pad;
	uint64_t k[8];
	uint8_t vec[32][64] __attribute__((aligned(64)));
};

struct state state __attribute__((aligned(64)));
void random_code_run(void);

/* offsets of struct state */
#define O_FLAGS 128
#define O_CODE	136
#define O_HOST	144
#define O_MXCSR 152
#define O_K	160
#define O_VEC	256

_Static_assert(offsetof(struct state, flags) == O_FLAGS && offsetof(struct state, code) == O_CODE &&
		       offsetof(struct state, host_rsp) == O_HOST &&
		       offsetof(struct state, mxcsr) == O_MXCSR &&
		       offsetof(struct state, k) == O_K && offsetof(struct state, vec) == O_VEC,
	       "the assembler's offsets");

int random_code_vectors;	/* 0 SSE, 1 AVX, 2 AVX-512 */
extern char random_code_land[]; /* where the code jumps when it is done */

/* clang-format off */
#define STR_(x) #x
#define STR(x)	STR_(x)
#define AT(o)	"state+" STR(o)
#define ZMM(op)	".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26," \
		"27,28,29,30,31\n" op "\n.endr\n"
#define XMM(op)	".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n" op "\n.endr\n"
#define KS(op)	".irp n,0,1,2,3,4,5,6,7\n" op "\n.endr\n"
#define GPRS(op) ".set off, 0\n" \
		 ".irp r,rax,rcx,rdx,rbx,rsp,rbp,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15\n" op \
		 "\n.set off, off+8\n.endr\n"

__asm__(".text\n"
	".globl random_code_run, random_code_land\n"
	"random_code_run:\n"
	"push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
	"mov %rsp, " AT(O_HOST) "(%rip)\n"
	"ldmxcsr " AT(O_MXCSR) "(%rip)\n"
	"cmpl $1, random_code_vectors(%rip)\n"
	"jb 1f\n"
	"je 2f\n"
	ZMM("vmovdqa64 " AT(O_VEC) "+64*\\n(%rip), %zmm\\n")
	KS("kmovq " AT(O_K) "+8*\\n(%rip), %k\\n")
	"jmp 3f\n"
	"1:\n"
	XMM("movaps " AT(O_VEC) "+64*\\n(%rip), %xmm\\n")
	"jmp 3f\n"
	"2:\n"
	XMM("vmovaps " AT(O_VEC) "+64*\\n(%rip), %ymm\\n")
	"3:\n"
	"push " AT(O_FLAGS) "(%rip)\n"
	"popfq\n"
	GPRS("mov state+off(%rip), %\\r")
	"jmp *" AT(O_CODE) "(%rip)\n"
	"random_code_land:\n"
	GPRS("mov %\\r, state+off(%rip)")
	"mov " AT(O_HOST) "(%rip), %rsp\n"
	"pushfq\n"
	"pop " AT(O_FLAGS) "(%rip)\n"
	"cld\n"
	"stmxcsr " AT(O_MXCSR) "(%rip)\n"
	"movl $0x1f80, -8(%rsp)\n"
	"ldmxcsr -8(%rsp)\n"
	"cmpl $1, random_code_vectors(%rip)\n"
	"jb 1f\n"
	"je 2f\n"
	ZMM("vmovdqa64 %zmm\\n, " AT(O_VEC) "+64*\\n(%rip)")
	KS("kmovq %k\\n, " AT(O_K) "+8*\\n(%rip)")
	"jmp 3f\n"
	"1:\n"
	XMM("movaps %xmm\\n, " AT(O_VEC) "+64*\\n(%rip)")
	"jmp 4f\n"
	"2:\n"
	XMM("vmovaps %ymm\\n, " AT(O_VEC) "+64*\\n(%rip)")
	"3:\n"
	"vzeroupper\n"
	"4:\n"
	"pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\n"
	"ret\n");
/* clang-format on */

#endif
