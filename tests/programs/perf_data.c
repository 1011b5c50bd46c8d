/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -O1 -fno-stack-protector */
/*
 * Data breakpoints on memory that is accessed a known number of times; the kernel's debug registers
 * count the same natively.  What a CPU is free to do otherwise (iterations of rep, elements under a
 * mask that is not set) comes last, and only where an argument asks for it.
 */
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

static _Alignas(64) volatile uint64_t words[64];
#define AT(n) ((volatile uint8_t *)words + (n))

static int open_watch(const volatile void *at, unsigned len, unsigned type, pid_t pid, bool inherit)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr) };

	attr.bp_type = type;
	attr.bp_addr = (uintptr_t)at;
	attr.bp_len = len;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.inherit = inherit;
	return perf_run_open(&attr, pid, -1, -1);
}

static int writes(const volatile void *at, unsigned len)
{
	return open_watch(at, len, HW_BREAKPOINT_W, 0, false);
}

static int both(const volatile void *at, unsigned len)
{
	return open_watch(at, len, HW_BREAKPOINT_RW, 0, false);
}

/* Counts of a W and an RW watch on the same bytes, since the last call. */
static int w_fd, rw_fd;

static void begin(const volatile void *at, unsigned len)
{
	w_fd = writes(at, len);
	rw_fd = both(at, len);
	if (w_fd < 0 || rw_fd < 0) {
		perror("perf_event_open");
		exit(77);
	}
}

static void end(void)
{
	close(w_fd);
	close(rw_fd);
}

static bool counted(uint64_t w, uint64_t rw)
{
	uint64_t got_w = perf_run_read(w_fd), got_rw = perf_run_read(rw_fd);

	if (got_w != w || got_rw != rw)
		fprintf(stderr, "writes %llu of %llu, accesses %llu of %llu\n",
			(unsigned long long)got_w, (unsigned long long)w,
			(unsigned long long)got_rw, (unsigned long long)rw);
	ioctl(w_fd, PERF_EVENT_IOC_RESET, 0);
	ioctl(rw_fd, PERF_EVENT_IOC_RESET, 0);
	return got_w == w && got_rw == rw;
}

/* One instruction with words + 8 in rbx, 1000 times around. */
#define TIMES(insn)                                                                                \
	__asm__ volatile("mov $1000, %%r15d\n"                                                     \
			 "1: " insn "\n"                                                           \
			 "dec %%r15d\n"                                                            \
			 "jnz 1b\n"                                                                \
			 :                                                                         \
			 : "b"(&words[8]), "a"(0), "d"(0), "c"(1), "S"(&words[8]), "D"(&words[8])  \
			 : "memory", "cc", "r15", "r14", "r13", "r12", "xmm0", "xmm1")

static void plain(void)
{
	begin(&words[8], 8);
	CHECK(counted(0, 0), "nothing yet");
	TIMES("mov %%rax, (%%rbx)");
	CHECK(counted(1000, 1000), "stores");
	TIMES("mov (%%rbx), %%rax");
	CHECK(counted(0, 1000), "loads");
	TIMES("incq (%%rbx)");
	CHECK(counted(1000, 1000), "read and written is one access");
	TIMES("lea (%%rbx), %%r14; prefetcht0 (%%rbx); nopl (%%rbx)");
	CHECK(counted(0, 0), "addresses alone are none");
	TIMES("mov 64(%%rbx), %%rax; mov %%rax, -8(%%rbx); mov 8(%%rbx), %%rax");
	CHECK(counted(0, 0), "neighbours are none");
	TIMES("mov %%al, 7(%%rbx); mov -1(%%rbx), %%al; mov %%al, 8(%%rbx)");
	CHECK(counted(1000, 1000), "the last byte is one, those beside it are none");
	TIMES("mov -7(%%rbx), %%rax; mov %%rax, 7(%%rbx); mov -4(%%rbx), %%eax");
	CHECK(counted(1000, 2000), "unaligned ones that overlap by a byte");
	TIMES("movups -15(%%rbx), %%xmm0; movups %%xmm0, -16(%%rbx); movups %%xmm0, 7(%%rbx)");
	CHECK(counted(1000, 2000), "wide ones");
	TIMES("lock cmpxchg %%rdx, (%%rbx)");
	CHECK(counted(1000, 1000), "cmpxchg writes");
	TIMES("mov $-1, %%rax; lock cmpxchg %%rdx, (%%rbx)");
	CHECK(counted(1000, 1000), "also one that fails");
	TIMES("xchg %%rdx, (%%rbx); lock xadd %%rdx, (%%rbx); cmpq $0, (%%rbx)");
	CHECK(counted(2000, 3000), "exchanges and a comparison");
	end();
}

static void forms(void)
{
	static void (*volatile target)(void);

	begin(&words[8], 8);
	TIMES("mov $-3, %%r14; mov 24(%%rbx,%%r14,8), %%rax");
	CHECK(counted(0, 1000), "base and index");
	TIMES("mov %%rbx, %%rcx; mov (%%rcx), %%rcx");
	CHECK(counted(0, 1000), "the register that the check uses");
	TIMES("mov %%rbx, %%rdx; mov %%rdx, %%rcx; sub %%rdx, %%rcx; mov (%%rdx,%%rcx,4), %%edx");
	CHECK(counted(0, 1000), "both that it may use");
	TIMES("pushq (%%rbx); popq (%%rbx)");
	CHECK(counted(1000, 2000), "push and pop with an operand");
	TIMES("mov $7, %%r14d; bts %%r14, (%%rbx); mov $-64, %%r14; bt %%r14, 8(%%rbx)");
	CHECK(counted(1000, 2000), "bit strings");
	TIMES("mov $3, %%eax; xlat");
	CHECK(counted(0, 1000), "xlat");
	TIMES("movsq; mov %%rbx, %%rsi; mov %%rbx, %%rdi");
	CHECK(counted(1000, 1000), "movs onto itself");
	TIMES("lodsb; mov %%rbx, %%rsi");
	CHECK(counted(0, 1000), "lods");
	TIMES("cmpsb; mov %%rbx, %%rsi; mov %%rbx, %%rdi; stosq; mov %%rbx, %%rdi");
	CHECK(counted(1000, 2000), "cmps and stos");
	TIMES("fxsave -64(%%rbx)");
	CHECK(counted(1000, 1000), "fxsave");
	TIMES("fnstcw (%%rbx); fldcw (%%rbx); stmxcsr 4(%%rbx); ldmxcsr 4(%%rbx)");
	CHECK(counted(2000, 4000), "control words");
	TIMES("mov %%rsp, %%r14; lea 8(%%rbx), %%rsp; push %%rax; pop %%rcx; mov %%r14, %%rsp");
	CHECK(counted(1000, 2000), "a stack there");
	TIMES("mov %%rsp, %%r14; lea 8(%%rbx), %%rsp; call 2f; jmp 3f; 2: ret; 3: mov %%r14, %%rsp");
	CHECK(counted(1000, 2000), "call and ret");
	TIMES("mov %%rsp, %%r14; mov %%rbp, %%r13; lea 8(%%rbx), %%rsp; enter $0, $0; leave; "
	      "mov %%r13, %%rbp; mov %%r14, %%rsp");
	CHECK(counted(1000, 2000), "enter and leave");
	TIMES("lea 2f(%%rip), %%rax; mov %%rax, (%%rbx); jmp *(%%rbx); ud2; 2:");
	CHECK(counted(1000, 2000), "an indirect jump");
	TIMES("lea 2f(%%rip), %%rax; mov %%rax, (%%rbx); call *(%%rbx); jmp 3f; 2: ret; 3:");
	CHECK(counted(1000, 2000), "an indirect call");
	TIMES("movl $0, (%%rbx); mov $1, %%r14d; cmp $2, %%r14d; cmovl (%%rbx), %%eax; "
	      "cmovg (%%rbx), %%eax");
	CHECK(counted(1000, 3000), "cmov reads whatever the condition");
	end();
	begin(&target, 8);
	target = NULL;
	CHECK(target == NULL && counted(1, 2), "rip-relative");
	end();
}

/* The flags go through a check, and a jump that uses them behind. */
static void flags(void)
{
	uint64_t n;

	begin(&words[8], 4);
	__asm__ volatile("mov $1000, %%r15d\n"
			 "xor %0, %0\n"
			 "1: mov %%r15, %%r14\n"
			 "shr %%r14\n"
			 "mov (%%rbx), %%edx\n"
			 "adc $0, %0\n"
			 "dec %%r15d\n"
			 "jnz 1b\n"
			 : "=&r"(n)
			 : "b"(&words[8])
			 : "memory", "cc", "r14", "r15", "rdx");
	CHECK(n == 500, "flags survive");
	CHECK(counted(0, 1000), "while it is counted");
	end();
}

static __thread volatile uint32_t local;

static void lengths(void)
{
	static const unsigned len[] = { 1, 2, 4, 8 };

	for (unsigned k = 0; k < 4; k++) {
		unsigned hits = 0;

		begin(AT(128), len[k]);
		for (int at = 120; at < 140; at++) {
			*AT(at) = (uint8_t)at;
			hits += at >= 128 && at < 128 + (int)len[k];
		}
		CHECK(hits == len[k] && counted(hits, hits), "each byte of a watch");
		for (int at = 110; at < 150; at++)
			*(volatile uint64_t *)AT(at) = 1;
		CHECK(counted(7 + len[k], 7 + len[k]), "eight bytes at each place");
		end();
	}
	begin((const volatile void *)&local, 4);
	for (int k = 0; k < 100; k++)
		local = (uint32_t)k;
	CHECK(counted(100, 100), "thread-local memory");
	end();
}

/* Reads and writes of random sizes at random places; the program counts what must be hit. */
static void random_accesses(void)
{
	uint64_t seed = 88172645463325252ULL, w[2] = { 0 }, rw[2] = { 0 };
	const int at[2] = { 208, 260 }, len[2] = { 8, 2 };
	int fd[4];

	for (int k = 0; k < 2; k++) {
		fd[2 * k] = writes(AT(at[k]), (unsigned)len[k]);
		fd[2 * k + 1] = both(AT(at[k]), (unsigned)len[k]);
	}
	for (int n = 0; n < 20000; n++) {
		int size, where;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		size = 1 << (seed & 3);
		where = 180 + (int)(seed >> 8 & 127);
		switch (seed & 7) {
#define BOTH(k, type)                                                                              \
	case k:                                                                                    \
		*(volatile type *)AT(where) = (type)seed;                                          \
		break;                                                                             \
	case k + 4:                                                                                \
		(void)*(volatile type *)AT(where);                                                 \
		break;
			BOTH(0, uint8_t)
			BOTH(1, uint16_t)
			BOTH(2, uint32_t)
			BOTH(3, uint64_t)
		}
		for (int k = 0; k < 2; k++) {
			bool hit = where < at[k] + len[k] && at[k] < where + size;

			w[k] += hit && !(seed & 4);
			rw[k] += hit;
		}
	}
	CHECK(w[0] > 100 && w[1] > 100, "random accesses hit");
	for (int k = 0; k < 2; k++) {
		CHECK(perf_run_read(fd[2 * k]) == w[k], "random writes");
		CHECK(perf_run_read(fd[2 * k + 1]) == rw[k], "random accesses");
	}
	for (int k = 0; k < 4; k++)
		close(fd[k]);
}

static void control(void)
{
	int fd[5];

	for (int k = 0; k < 4; k++)
		fd[k] = writes(&words[k], 8);
	CHECK(fd[3] >= 0, "four registers");
	CHECK(writes(&words[4], 8) == -1 && errno == ENOSPC, "and no more");
	for (int n = 0; n < 10; n++)
		for (int k = 0; k < 4; k++)
			words[k] = (uint64_t)n;
	for (int k = 0; k < 4; k++)
		CHECK(perf_run_read(fd[k]) == 10, "each its own");
	ioctl(fd[1], PERF_EVENT_IOC_DISABLE, 0);
	words[0] = words[1] = 7;
	CHECK(perf_run_read(fd[0]) == 11 && perf_run_read(fd[1]) == 10, "not while disabled");
	ioctl(fd[1], PERF_EVENT_IOC_ENABLE, 0);
	words[1] = 8;
	CHECK(perf_run_read(fd[1]) == 11, "enabled again");
	for (int n = 0; n < 50; n++) {
		ioctl(fd[2], PERF_EVENT_IOC_DISABLE, 0);
		words[2] = 1;
		ioctl(fd[2], PERF_EVENT_IOC_ENABLE, 0);
		words[2] = 2;
	}
	CHECK(perf_run_read(fd[2]) == 60, "on and off again");
	for (int k = 0; k < 4; k++)
		close(fd[k]);
	fd[4] = writes(&words[5], 8);
	words[5] = 1;
	CHECK(fd[4] >= 0 && perf_run_read(fd[4]) == 1, "given back");
	close(fd[4]);
}

static void *store(void *arg)
{
	for (uintptr_t n = (uintptr_t)arg; n; n--)
		words[16] = n;
	return NULL;
}

static void others(void)
{
	int own = writes(&words[16], 8);
	int all = open_watch(&words[16], 8, HW_BREAKPOINT_W, 0, true);
	pthread_t thread[3];
	pid_t pid;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, store, (void *)(uintptr_t)5000);
	store((void *)7);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	pid = fork();
	if (!pid) {
		store((void *)300);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	CHECK(perf_run_read(own) == 7, "one thread's own");
	CHECK(perf_run_read(all) == 15307, "with its threads and children");
	close(own);
	close(all);
}

struct spin {
	_Alignas(64) volatile uint64_t turns;
	volatile bool stop;
	_Alignas(64) volatile uint64_t watched;
};

static void turn(struct spin *s)
{
	while (!s->stop) {
		s->watched = 1;
		s->turns = s->turns + 1;
	}
}

/* Another process that makes no system call: every store of it counts once the event is open. */
static void in_a_loop(void)
{
	struct spin *s =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t before, open, count;
	pid_t pid = fork();
	int fd;

	if (!pid) {
		turn(s);
		_exit(0);
	}
	while (s->turns < 1000)
		;
	before = s->turns;
	fd = open_watch(&s->watched, 8, HW_BREAKPOINT_W, pid, false);
	open = s->turns;
	while (s->turns < open + 5000)
		;
	s->stop = true;
	waitpid(pid, NULL, 0);
	count = perf_run_read(fd);
	/* the store of the turn under way when it was opened may have been before */
	CHECK(fd >= 0 && count + open + 1 >= s->turns && count + before <= s->turns,
	      "in a loop of another process");
	close(fd);
}

/* Watches of their own come and go in all threads, and so do the checks in everybody's code. */
static void *come_and_go(void *arg)
{
	volatile uint32_t *own = (volatile uint32_t *)arg;
	uintptr_t wrong = 0;

	for (uint32_t n = 0; n < 200; n++) {
		int w = writes(own, 4), rw = n % 3 ? -1 : both(own + 1, 4);

		for (uint32_t k = 0; k < n; k++) {
			own[0] = k;
			__asm__ volatile("incl %0" : "+m"(own[1]));
		}
		wrong += w < 0 || perf_run_read(w) != n;
		close(w);
		if (rw >= 0)
			wrong += perf_run_read(rw) != n;
		close(rw);
	}
	return (void *)wrong;
}

static void all_at_once(void)
{
	uintptr_t wrong = 0;
	pthread_t thread[4];
	void *one;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, come_and_go, (void *)&words[40 + 2 * i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], &one);
		wrong += (uintptr_t)one;
	}
	CHECK(wrong == 0, "threads that watch for themselves");
}

static volatile sig_atomic_t hits;
static volatile uint8_t *page;

static void handle(int sig)
{
	(void)sig;
	hits = hits + 1;
}

static void unprotect(int sig)
{
	(void)sig;
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

static void under_signals(void)
{
	int fd = writes(&words[16], 8);
	pid_t self = getpid(), pid;

	signal(SIGUSR1, handle);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 2000; i++)
			kill(self, SIGUSR1);
		_exit(0);
	}
	for (int i = 0; i < 100; i++)
		store((void *)500);
	waitpid(pid, NULL, 0);
	CHECK(perf_run_read(fd) == 50000, "every time once, whatever comes between");
	close(fd);
}

/* The store faults, is made possible by the handler, and is executed again. */
static void faults(void)
{
	int fd;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*page = 0;
	fd = writes(page, 1);
	signal(SIGSEGV, unprotect);
	for (int i = 0; i < 10; i++) {
		mprotect((void *)page, 4096, PROT_READ);
		*page = 1;
	}
	CHECK(perf_run_read(fd) == 10, "what faults has not accessed anything");
	if (read(-1, (void *)page, 1) == -1)
		*page = 2;
	CHECK(perf_run_read(fd) == 11, "a system call is not the program");
	close(fd);
}

static void iterations(void)
{
	begin(&words[8], 8);
	__asm__ volatile("rep stosb" : : "D"(&words[0]), "c"(200), "a"(0) : "memory");
	CHECK(counted(8, 8), "rep stosb by its bytes");
	__asm__ volatile("rep stosq" : : "D"(&words[0]), "c"(20), "a"(0) : "memory");
	CHECK(counted(1, 1), "rep stosq once");
	__asm__ volatile("rep stosq" : : "D"(&words[0]), "c"(8), "a"(0) : "memory");
	CHECK(counted(0, 0), "or not at all");
	__asm__ volatile("std; rep movsw; cld"
			 :
			 : "D"(AT(64 + 20)), "S"(AT(64 + 6)), "c"(20)
			 : "memory");
	CHECK(counted(4, 8), "rep movsw down, source and destination");
	__asm__ volatile("rep movsb" : : "D"(AT(65)), "S"(AT(64)), "c"(8) : "memory");
	CHECK(counted(7, 8), "an iteration that hits twice is one");
	__asm__ volatile("repe cmpsb" : : "D"(AT(64)), "S"(AT(300)), "c"(0) : "memory", "cc");
	CHECK(counted(0, 0), "none of none");
	*AT(67) = 5;
	counted(1, 1);
	__asm__ volatile("repne scasb" : : "D"(AT(60)), "c"(100), "a"(5) : "memory", "cc");
	CHECK(counted(0, 4), "up to where it stops");
	end();
}

static const _Alignas(64) int32_t index_of[16] = { 0,  4,  8,  12, 15, 16, 17, 18,
						   19, 20, 24, 28, 32, 36, 40, 44 };
static _Alignas(64) uint32_t select_of[16];

/* rbx: words, rsi: elements selected by their sign, rdx: indices. */
#define VECTOR(insn)                                                                               \
	__asm__ volatile(insn                                                                      \
			 :                                                                         \
			 : "b"(words), "S"(select_of), "d"(index_of), "D"(AT(60))                  \
			 : "memory", "cc", "rax", "xmm0", "xmm1", "xmm2", "mm0", "mm1")

static void selected(uint32_t bits)
{
	for (int k = 0; k < 16; k++)
		select_of[k] = bits >> k & 1 ? ~0U : 0;
}

/* Bytes 60 to 75 are the register's: four at 64 are its second element. */
static void masked(void)
{
	begin(&words[8], 4);
	for (uint32_t bits = 0; bits < 16; bits++) {
		selected(bits);
		VECTOR("movdqu (%%rsi), %%xmm1; maskmovdqu %%xmm1, %%xmm0");
		CHECK(counted(bits >> 1 & 1, bits >> 1 & 1), "maskmovdqu");
	}
	for (uint32_t bits = 0; bits < 4; bits++) {
		selected(bits);
		VECTOR("movq (%%rsi), %%mm1; maskmovq %%mm1, %%mm0; emms");
		CHECK(counted(bits >> 1, bits >> 1), "maskmovq");
	}
	end();
}

static void masked_avx2(void)
{
	begin(&words[8], 4);
	for (uint32_t bits = 0; bits < 256; bits += 3) {
		uint32_t hit = bits >> 4 & 1;

		selected(bits);
		VECTOR("vmovdqu (%%rsi), %%ymm1; vpmaskmovd %%ymm0, %%ymm1, 48(%%rbx); vzeroupper");
		CHECK(counted(hit, hit), "vpmaskmovd");
		VECTOR("vmovdqu (%%rsi), %%ymm1; vmaskmovps 48(%%rbx), %%ymm1, %%ymm0; vzeroupper");
		CHECK(counted(0, hit), "vmaskmovps");
		/* the sixth index is words + 64 */
		hit = bits >> 5 & 1;
		VECTOR("vmovdqu (%%rsi), %%ymm1; vmovdqu (%%rdx), %%ymm2;"
		       "vpgatherdd %%ymm1, (%%rbx,%%ymm2,4), %%ymm0; vzeroupper");
		CHECK(counted(0, hit), "vpgatherdd");
	}
	end();
}

static void masked_avx512(void)
{
	begin(&words[8], 4);
	for (uint32_t bits = 0; bits < 65536; bits += 1021) {
		uint32_t hit = bits >> 12 & 1, all = (uint32_t)__builtin_popcount(bits);

		*(volatile uint32_t *)select_of = bits;
		VECTOR("kmovw (%%rsi), %%k1; vmovdqu32 %%zmm0, 16(%%rbx)%{%%k1%}; vzeroupper");
		CHECK(counted(hit, hit), "vmovdqu32");
		hit = bits >> 5 & 1;
		VECTOR("kmovw (%%rsi), %%k1; vmovdqu32 (%%rdx), %%zmm17;"
		       "vpscatterdd %%zmm0, (%%rbx,%%zmm17,4)%{%%k1%}; vzeroupper");
		CHECK(counted(hit, hit), "vpscatterdd");
		VECTOR("kmovw (%%rsi), %%k1; vpcompressd %%zmm0, 48(%%rbx)%{%%k1%}; vzeroupper");
		CHECK(counted(all > 4, all > 4), "vpcompressd");
		VECTOR("kmovw (%%rsi), %%k1; vpaddd 64(%%rbx), %%zmm0, %%zmm1%{%%k1%}; vzeroupper");
		CHECK(counted(0, bits != 0), "under a mask of a sum");
	}
	end();
}

int main(int argc, char **argv)
{
	(void)argv;
	plain();
	forms();
	flags();
	lengths();
	random_accesses();
	control();
	others();
	in_a_loop();
	all_at_once();
	under_signals();
	faults();
	/* Intel's debug registers have an access of bytes that are not selected */
	if (argc > 1 || !__builtin_cpu_is("intel"))
		masked();
	if (argc == 1)
		return task_failed;
	iterations();
	if (__builtin_cpu_supports("avx2"))
		masked_avx2();
	if (__builtin_cpu_supports("avx512f"))
		masked_avx512();
	return task_failed;
}
