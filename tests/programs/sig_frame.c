/* SPDX-License-Identifier: MIT */
/*
 * Extended state and signals: what the frame shows, what a handler changes in it, what a handler
 * clobbers without effect, and with what state it starts; x87, SSE, AVX, MXCSR and the red zone.
 */
#include "sig_test.h"

#include <cpuid.h>

#define MAGIC1 0x46505853U
#define MAGIC2 0x46505845U

static volatile int caught;
static unsigned char seen_xmm[16][16];
static unsigned seen_mxcsr, start_mxcsr, start_fcw, seen_cwd;
static unsigned long frame_features, frame_size;
static unsigned char start_xmm[16], ymm_high[16], change_xmm[16], zero[16];
static int magic_ok, has_avx;

static void clobber(void)
{
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\nmovaps %%xmm0, %%xmm7\nmovaps %%xmm0, %%xmm15\n"
			 "fninit\nfldpi\nfldpi\nfldpi\nstd\ncld" ::
				 : "xmm0", "xmm7", "xmm15");
	if (has_avx)
		__asm__ volatile("vcmptrueps %%ymm0, %%ymm0, %%ymm0\nvmovaps %%ymm0, %%ymm3\n"
				 "vmovaps %%ymm0, %%ymm12" ::
					 : "xmm0", "xmm3", "xmm12");
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;
	const unsigned *sw = (const unsigned *)((const char *)fp + 464);

	__asm__ volatile("movups %%xmm5, %0\nstmxcsr %1\nfnstcw %2"
			 : "=m"(start_xmm), "=m"(start_mxcsr), "=m"(start_fcw));
	(void)sig;
	(void)info;
	caught++;
	memcpy(seen_xmm, fp->_xmm, sizeof(seen_xmm));
	seen_mxcsr = fp->mxcsr;
	seen_cwd = fp->cwd;
	magic_ok = 1;
	if (uc->uc_flags & 1) {
		frame_features = ((unsigned long)sw[3] << 32) | sw[2];
		frame_size = sw[4];
		magic_ok = sw[0] == MAGIC1 && sw[1] == sw[4] + 4 &&
			   *(const unsigned *)((const char *)fp + sw[4]) == MAGIC2;
		memcpy(ymm_high, (const char *)fp + 576 + 5 * 16, 16);
	}
	memcpy(&fp->_xmm[9], change_xmm, 16);
	fp->mxcsr ^= 0x2000; /* rounding */
	clobber();
}

/* xmm registers hold their number in each byte, across the instruction that faults. */
static void vector_state(void)
{
	static unsigned char in[16][16], out[16][16];
	unsigned before = 0x1f80, after, cw = 0x27f;

	for (int i = 0; i < 16; i++)
		memset(in[i], i + 1, 16);
	memset(change_xmm, 0xee, 16);
	caught = 0;
	__asm__ volatile("ldmxcsr %2\nfldcw %3\nmov %0, %%rax\n"
			 ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
			 "movups 16*\\n(%%rax), %%xmm\\n\n.endr\n"
			 "ud2\n"
			 "mov %1, %%rax\n"
			 ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
			 "movups %%xmm\\n, 16*\\n(%%rax)\n.endr\n"
			 "stmxcsr %4\nldmxcsr %2\n"
			 :
			 : "r"(in), "r"(out), "m"(before), "m"(cw), "m"(after)
			 : "rax", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
			   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
			   "xmm15");
	CHECK_EQ(caught, 1);
	CHECK(memcmp(seen_xmm, in, sizeof(in)) == 0);
	CHECK_EQ(seen_mxcsr, 0x1f80);
	CHECK_EQ(seen_cwd, 0x27f);
	memset(in[9], 0xee, 16);
	CHECK(memcmp(out, in, sizeof(in)) == 0);
	CHECK_EQ(after, 0x3f80);
	CHECK(magic_ok);
	CHECK(memcmp(start_xmm, zero, 16) == 0);
	CHECK_EQ(start_mxcsr, 0x1f80);
	CHECK_EQ(start_fcw & 0xffff, 0x37f);
	done("xmm, mxcsr and control word");
}

/* ud2 is two bytes long; the handler of the tests below steps over it. */
static void on_illegal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	on_signal(sig, info, context);
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void wide_state(void)
{
	static unsigned char in[32], out[32];
	unsigned a, b, c, d, lo, hi;

	__cpuid(1, a, b, c, d);
	has_avx = (c & bit_AVX) && (c & bit_OSXSAVE);
	if (has_avx) {
		memset(in, 0x5a, 32);
		__asm__ volatile("vmovups %1, %%ymm5\nvmovups %1, %%ymm12\nud2\n"
				 "vmovups %%ymm12, %0\n"
				 "vzeroupper"
				 : "=m"(out)
				 : "m"(in)
				 : "xmm5", "xmm12");
		CHECK(memcmp(in, out, 32) == 0);
		CHECK(memcmp(ymm_high, in, 16) == 0);
		__asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
		__cpuid_count(0xd, 0, a, b, c, d);
		CHECK_EQ(frame_features & ~(3UL << 17), lo & ~(3UL << 17));
		CHECK(frame_size <= b);
	}
	done("ymm");
}

static void x87_stack(void)
{
	long double in = 1.0L / 3.0L, out;
	double depth;

	__asm__ volatile("fninit\nfld1\nfldt %2\nud2\nfstpt %0\nfstpl %1"
			 : "=m"(out), "=m"(depth)
			 : "m"(in)
			 : "st", "st(1)");
	CHECK(memcmp(&in, &out, 10) == 0);
	CHECK(depth == 1.0);
	done("x87 stack");
}

static int red_zone_of(void)
{
	int wrong;

	__asm__ volatile("mov $16, %%ecx\n"
			 "1: mov %%rcx, -128-8(%%rsp,%%rcx,8)\ndec %%ecx\njnz 1b\n"
			 "ud2\n"
			 "xor %0, %0\nmov $16, %%ecx\n"
			 "2: cmp %%rcx, -128-8(%%rsp,%%rcx,8)\nje 3f\ninc %0\n"
			 "3: dec %%ecx\njnz 2b\n"
			 : "=&r"(wrong)
			 :
			 : "rcx", "memory", "cc");
	return wrong;
}

static volatile int reg_changes;

static void on_change(int sig, siginfo_t *info, void *context)
{
	long *g = (long *)((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	g[REG_RIP] += 2;
	g[REG_RBX] = 0x1111;
	g[REG_R12] = 0x2222;
	g[REG_R11] = 0x3333;
	g[REG_EFL] |= 1;
	reg_changes++;
}

static void general_registers(void)
{
	long b, c, d;
	char carry;

	catch_with(SIGILL, on_change, 0);
	__asm__ volatile("xor %%ebx, %%ebx\nxor %%r12d, %%r12d\nxor %%r11d, %%r11d\n"
			 "ud2\n"
			 "setc %3\nmov %%rbx, %0\nmov %%r12, %1\nmov %%r11, %2\n"
			 : "=&r"(b), "=&r"(c), "=&r"(d), "=m"(carry)
			 :
			 : "rbx", "r12", "r11", "cc");
	CHECK_EQ(reg_changes, 1);
	CHECK_EQ(b, 0x1111);
	CHECK_EQ(c, 0x2222);
	CHECK_EQ(d, 0x3333);
	CHECK_EQ(carry, 1);
	done("registers and flags changed by the handler");
}

static sigjmp_buf out_of_it;

static void on_bad_frame(int sig, siginfo_t *info, void *context)
{
	(void)context;
	CHECK_EQ(sig, SIGSEGV);
	CHECK_EQ(info->si_code, SI_KERNEL);
	siglongjmp(out_of_it, 1);
}

/* rt_sigreturn on a frame that cannot be read is SIGSEGV. */
static void bad_frame(void)
{
	volatile int back = 0;

	catch_with(SIGSEGV, on_bad_frame, SA_ONSTACK);
	if (sigsetjmp(out_of_it, 1) == 0)
		__asm__ volatile("mov $15, %%eax\nmov $8, %%esp\nsyscall" ::: "rax", "rcx", "r11");
	else
		back = 1;
	CHECK_EQ(back, 1);
	done("unreadable frame");
}

static void on_bad_state(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
	((ucontext_t *)context)->uc_mcontext.fpregs = (void *)64;
}

static void bad_state(void)
{
	volatile int back = 0;

	catch_with(SIGILL, on_bad_state, 0);
	if (sigsetjmp(out_of_it, 1) == 0)
		__asm__ volatile("ud2");
	else
		back = 1;
	CHECK_EQ(back, 1);
	done("unreadable extended state");
}

int main(void)
{
	static char stack[65536];
	stack_t ss = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&ss, NULL);
	catch_with(SIGILL, on_illegal, 0);
	vector_state();
	wide_state();
	x87_stack();
	CHECK_EQ(red_zone_of(), 0);
	done("red zone");
	general_registers();
	bad_frame();
	bad_state();
	return verdict();
}
