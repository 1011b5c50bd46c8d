/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Reads counters by rdpmc.  "counts": the instructions between two of them, which are known; "often":
 * so many times that an engine may choose another way in the middle; "index": one that names no counter;
 * "gone": one whose page is not mapped any more; "cpuid": what the CPU says of its counters, and of
 * the rest.
 */
#include <cpuid.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
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

static void print_steps(const char *what)
{
	unsigned long first = values[1] - values[0], others = 0;

	for (int i = 1; i < OFTEN; i++)
		others += values[i] - values[i - 1] != first;
	printf("%s: steps of %lu, others %lu\n", what, first, others);
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

	printf("signal %d, code %d, trap %lld, at rdpmc %d\n", sig, info->si_code,
	       uc->uc_mcontext.gregs[REG_TRAPNO],
	       !memcmp((void *)uc->uc_mcontext.gregs[REG_RIP], "\x0f\x33", 2));
	exit(0);
}

static void wrong_index(void)
{
	struct sigaction sa = { .sa_sigaction = caught, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &sa, NULL);
	printf("%lu\n", rdpmc(77));
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
	rdpmc_often(counter);
	printf("%lu\n", values[1]);
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
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "counts"))
		counts();
	else if (!strcmp(argv[1], "often"))
		often();
	else if (!strcmp(argv[1], "index"))
		wrong_index();
	else if (!strcmp(argv[1], "gone"))
		gone();
	else
		cpuid();
	return 0;
}
