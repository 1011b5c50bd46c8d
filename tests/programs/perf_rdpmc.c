/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Reads counters by rdpmc.  "counts": the instructions between two of them, which are known; "often":
 * so many times that an engine may choose another way in the middle; "index": one that names no counter; "none": more of those;
 * "gone": one whose page is not mapped any more; "flops": operations on elements; "flags": what rdpmc leaves alone, while nobody samples and
 * while somebody does; "cpuid": what the CPU says of its counters, and of
 * the rest.
 */
#include <cpuid.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static struct perf_event_attr attr = {
	.type = PERF_TYPE_HARDWARE,
	.size = sizeof(attr),
	.config = PERF_COUNT_HW_INSTRUCTIONS,
	.exclude_kernel = 1,
	.exclude_hv = 1,
};

static struct perf_event_mmap_page *open_page(unsigned long config, int *fd)
{
	void *page;

	attr.config = config;
	*fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (*fd < 0) {
		perror("perf_event_open");
		exit(1);
	}
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, *fd, 0);
	if (page == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return page;
}

static unsigned long rdpmc(unsigned int counter)
{
	unsigned int lo, hi;

	__asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(counter));
	return lo | (unsigned long)hi << 32;
}

/* As the header tells readers to do it. */
static unsigned long read_page(volatile struct perf_event_mmap_page *page)
{
	unsigned long count;
	unsigned int seq;

	do {
		seq = page->lock;
		__asm__ volatile("" ::: "memory");
		count = (unsigned long)page->offset;
		if (page->index)
			count += rdpmc(page->index - 1);
		__asm__ volatile("" ::: "memory");
	} while (page->lock != seq);
	return count;
}

/*
 * From the first rdpmc up to the second: itself, two moves, three instructions per round with one
 * branch, and what stands before the second.
 */
static unsigned long between(unsigned int counter, unsigned long rounds)
{
	unsigned long a, b;

	__asm__ volatile("rdpmc\n\t"
			 "mov %%eax, %%esi\n\t"
			 "mov %%edx, %%edi\n"
			 "1:\n\t"
			 "nop\n\t"
			 "dec %[n]\n\t"
			 "jnz 1b\n\t"
			 "rdpmc\n\t"
			 "shl $32, %%rdi\n\t"
			 "or %%rdi, %%rsi\n\t"
			 "shl $32, %%rdx\n\t"
			 "or %%rdx, %%rax\n\t"
			 : "=a"(b), "=S"(a), [n] "+r"(rounds)
			 : "c"(counter)
			 : "rdx", "rdi", "cc");
	return b - a;
}

static void counts(void)
{
	int fd, branches_fd;
	struct perf_event_mmap_page *page = open_page(PERF_COUNT_HW_INSTRUCTIONS, &fd);
	struct perf_event_mmap_page *branches =
		open_page(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, &branches_fd);
	unsigned long before, after, value;

	printf("rdpmc %d, width %d\n", (int)page->cap_user_rdpmc, page->pmc_width > 0);
	for (unsigned long n = 1; n <= 1000000; n *= 1000)
		printf("%lu rounds: %lu instructions, %lu branches\n", n,
		       between(page->index - 1, n), between(branches->index - 1, n));
	before = read_page(page);
	if (read(fd, &value, 8) != 8)
		perror("read");
	after = read_page(page);
	printf("in order %d\n", before < value && value < after && after - before < 1000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &value, 8) != 8)
		perror("read");
	printf("stopped: index %u, equal %d\n", page->index, read_page(page) == value);
}

#define OFTEN 3000

static unsigned long values[OFTEN];

/* Seven instructions per round, one of them a branch and one a store. */
static void rdpmc_often(unsigned int counter)
{
	unsigned long *to = values, n = OFTEN;

	__asm__ volatile("1:\n\t"
			 "rdpmc\n\t"
			 "shl $32, %%rdx\n\t"
			 "or %%rdx, %%rax\n\t"
			 "mov %%rax, (%[to])\n\t"
			 "add $8, %[to]\n\t"
			 "dec %[n]\n\t"
			 "jnz 1b\n\t"
			 : [to] "+r"(to), [n] "+r"(n)
			 : "c"(counter)
			 : "rax", "rdx", "cc", "memory");
}

/* Eleven instructions per round, three of them branches. */
static void read_often(int fd)
{
	unsigned long *to = values, n = OFTEN;

	__asm__ volatile("1:\n\t"
			 "xor %%eax, %%eax\n\t"
			 "mov %[to], %%rsi\n\t"
			 "mov $8, %%edx\n\t"
			 "syscall\n\t"
			 "cmp $8, %%rax\n\t"
			 "jne 2f\n\t"
			 "add $8, %[to]\n\t"
			 "jmp 2f\n\t"
			 "2:\n\t"
			 "nop\n\t"
			 "dec %[n]\n\t"
			 "jnz 1b\n\t"
			 : [to] "+r"(to), [n] "+r"(n)
			 : "D"(fd)
			 : "rax", "rdx", "rsi", "rcx", "r11", "cc", "memory");
}

/* Reads with a scalar operation, one on four floats and one on two doubles between them: 7 of them, of 3 instructions. */
static void read_flops_often(int fd, bool is_page, volatile struct perf_event_mmap_page *page)
{
	for (int i = 0; i < OFTEN; i++) {
		__asm__ volatile("addsd %%xmm0, %%xmm0\n\t"
				 "mulps %%xmm1, %%xmm1\n\t"
				 "divpd %%xmm2, %%xmm2\n\t" ::
					 : "xmm0", "xmm1", "xmm2");
		if (is_page)
			values[i] = read_page(page);
		else if (read(fd, &values[i], 8) != 8)
			perror("read");
	}
}

static void print_steps(const char *what)
{
	unsigned long first = values[1] - values[0], others = 0;

	for (int i = 1; i < OFTEN; i++)
		others += values[i] - values[i - 1] != first;
	printf("%s: steps of %lu, others %lu\n", what, first, others);
}

/* The six status flags; bit 1 is always set. */
#define FLAGS 0x8d5UL

#define ROUNDS 64

/* Each round is of the same instructions, before which the flags are `flags`. */
static unsigned long flags_often(unsigned int counter, unsigned long flags, unsigned long *others)
{
	static unsigned long after[ROUNDS];
	unsigned long wrong = 0, *to = values, *at = after, n = ROUNDS;

	__asm__ volatile("sub $128, %%rsp\n"
			 "1:\n\t"
			 "push %[flags]\n\t"
			 "popf\n\t"
			 "rdpmc\n\t"
			 "mov (%%rsp), %%bl\n\t"
			 "pushf\n\t"
			 "pop (%[at])\n\t"
			 "shl $32, %%rdx\n\t"
			 "or %%rdx, %%rax\n\t"
			 "mov %%rax, (%[to])\n\t"
			 "add $8, %[to]\n\t"
			 "add $8, %[at]\n\t"
			 "dec %[n]\n\t"
			 "jnz 1b\n\t"
			 "add $128, %%rsp\n\t"
			 : [to] "+r"(to), [at] "+r"(at), [n] "+r"(n)
			 : "c"(counter), [flags] "r"(flags | 0x202)
			 : "rax", "rdx", "rbx", "cc", "memory");
	for (int i = 0; i < ROUNDS; i++)
		wrong += (after[i] & FLAGS) != flags;
	for (int i = 2; i < ROUNDS; i++)
		*others += values[i] - values[i - 1] != values[1] - values[0];
	return wrong;
}

static void all_flags(unsigned int counter, const char *what)
{
	static const unsigned long bit[] = { 0x1, 0x4, 0x10, 0x40, 0x80, 0x800 };
	unsigned long wrong = 0, others = 0;

	for (unsigned int set = 0; set < 64; set++) {
		unsigned long flags = 0;

		for (unsigned int i = 0; i < 6; i++)
			flags |= set >> i & 1 ? bit[i] : 0;
		wrong += flags_often(counter, flags, &others);
	}
	printf("%s: flags wrong %lu, steps of %lu, others %lu\n", what, wrong,
	       values[1] - values[0], others);
}

/* Operations on elements come of instructions by their width, whichever of these is read often, and when. */
static void flops(void)
{
	struct perf_event_mmap_page *page, *narrow;
	int fd, narrow_fd;

	attr.type = PERF_TYPE_RAW;
	attr.config1 = 57; /* flops */
	page = open_page(0, &fd);
	attr.config1 = 17; /* fp-128-double */
	narrow = open_page(0, &narrow_fd);
	read_flops_often(narrow_fd, false, NULL);
	print_steps("fp-128-double by read");
	read_flops_often(0, true, narrow);
	print_steps("fp-128-double");
	read_flops_often(fd, false, NULL);
	print_steps("flops by read");
	read_flops_often(0, true, page);
	print_steps("flops");
	printf("in all %lu, %lu\n", values[OFTEN - 1], read_page(narrow));
}

static void flags(void)
{
	struct perf_event_mmap_page *page, *branches;
	int fd, branches_fd, sampler;

	page = open_page(PERF_COUNT_HW_INSTRUCTIONS, &fd);
	branches = open_page(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, &branches_fd);
	all_flags(page->index - 1, "instructions");
	all_flags(branches->index - 1, "branches");
	attr.config = PERF_COUNT_HW_INSTRUCTIONS;
	attr.sample_period = 3001;
	sampler = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	attr.sample_period = 0;
	if (sampler < 0)
		perror("perf_event_open");
	all_flags(page->index - 1, "instructions while sampled");
	rdpmc_often(page->index - 1);
	print_steps("instructions while sampled");
	all_flags(branches->index - 1, "branches while sampled");
}

static void *often_in_thread(void *unused)
{
	struct perf_event_mmap_page *page;
	int fd;

	(void)unused;
	page = open_page(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, &fd);
	rdpmc_often(page->index - 1);
	print_steps("branches of a thread");
	return NULL;
}

static void often(void)
{
	struct perf_event_mmap_page *page, *branches;
	int fd, branches_fd;
	pthread_t t;

	page = open_page(PERF_COUNT_HW_INSTRUCTIONS, &fd);
	branches = open_page(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, &branches_fd);
	read_often(branches_fd);
	print_steps("branches by read");
	rdpmc_often(page->index - 1);
	print_steps("instructions");
	rdpmc_often(branches->index - 1);
	print_steps("branches");
	rdpmc_often(page->index - 1);
	print_steps("instructions again");
	read_often(fd);
	print_steps("instructions by read");
	pthread_create(&t, NULL, often_in_thread, NULL);
	pthread_join(t, NULL);
}

static void caught(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	printf("signal %d, code %d, trap %lld, at rdpmc %d, rax %llx, rdx %llx\n", sig,
	       info->si_code, uc->uc_mcontext.gregs[REG_TRAPNO],
	       !memcmp((void *)uc->uc_mcontext.gregs[REG_RIP], "\x0f\x33", 2),
	       uc->uc_mcontext.gregs[REG_RAX], uc->uc_mcontext.gregs[REG_RDX]);
	exit(0);
}

static void wrong_index(void)
{
	struct sigaction sa = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &sa, NULL);
	printf("%lu\n", rdpmc(77));
}

static sigjmp_buf back;

static void note_code(int sig, siginfo_t *info, void *context)
{
	(void)context;
	printf(" %d/%d", sig, info->si_code);
	siglongjmp(back, 1);
}

/* None is read at first: there is no page yet, or one is, and its counter has been read. */
static void none(bool reads)
{
	static const unsigned int numbers[] = { 0xffffffff, 0xfffffff7, 0x7fffffff, 0x80000000,
						0x90000001, 0x5fffffff, 0x00000100 };
	struct sigaction sa = { .sa_sigaction = note_code, .sa_flags = SA_SIGINFO };
	int fd;

	if (reads)
		rdpmc_often(open_page(PERF_COUNT_HW_INSTRUCTIONS, &fd)->index - 1);
	sigaction(SIGSEGV, &sa, NULL);
	for (unsigned int i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		printf("%x:", numbers[i]);
		for (volatile int turn = 0; turn < 2; turn++)
			if (!sigsetjmp(back, 1))
				printf(" read as %lu", rdpmc(numbers[i]));
		puts("");
	}
}

static void gone(void)
{
	struct sigaction sa = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO };
	struct perf_event_mmap_page *page;
	unsigned int counter;
	int fd;

	sigaction(SIGSEGV, &sa, NULL);
	page = open_page(PERF_COUNT_HW_INSTRUCTIONS, &fd);
	counter = page->index - 1;
	rdpmc_often(counter);
	munmap(page, 4096);
	__asm__ volatile("rdpmc" : : "a"(0x123456789aUL), "d"(0xfedcba9876UL), "c"(counter));
	puts("no fault");
}

static void cpuid(void)
{
	const unsigned int leaves[] = { 0, 1, 7, 0xd, 0x80000000, 0x80000008, 0xa, 0x80000022 };
	unsigned int a, b, c, d;

	for (unsigned int i = 0; i < sizeof(leaves) / sizeof(*leaves); i++) {
		__cpuid_count(leaves[i], 0, a, b, c, d);
		if (leaves[i] == 1)
			b &= 0xffffff; /* the rest names the CPU that runs this */
		printf("%x: %x %x %x %x\n", leaves[i], a, b, c, d);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "counts"))
		counts();
	else if (!strcmp(argv[1], "often"))
		often();
	else if (!strcmp(argv[1], "index"))
		wrong_index();
	else if (!strcmp(argv[1], "none"))
		none(argc == 3 && *argv[2] == '1');
	else if (!strcmp(argv[1], "gone"))
		gone();
	else if (!strcmp(argv[1], "flops"))
		flops();
	else if (!strcmp(argv[1], "flags"))
		flags();
	else
		cpuid();
	return 0;
}
