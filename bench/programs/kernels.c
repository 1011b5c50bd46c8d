/* SPDX-License-Identifier: MIT */
/*
 * kernels NAME: a small piece of work of one kind, for cycles.sh.  Prints the nanoseconds of CPU time that the kernel took;
 * "none" does nothing, and what it takes is taken from the others' cycles.
 *
 * The kernel's work for first touches is not the model's: memory is there before the clock starts.
 *
 * Built twice, with and without optimization: kernels of C are two.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static volatile uint64_t sink;
static volatile double fsink;

/* --- chains and rates of single instructions */

static void none(void)
{
}

#define LOOP(n, body, ...)                                                                         \
	do {                                                                                       \
		uint64_t left = (n);                                                               \
		__asm__ volatile("1:\n" body "dec %0\njnz 1b\n" : "+r"(left) : __VA_ARGS__);       \
	} while (0)
#define FOUR(x)	   x x x x
#define SIXTEEN(x) FOUR(FOUR(x))

/* Not of immediates: from Golden Cove on Intel's rename those away. */
static void adds(void)
{
	LOOP(2000000, SIXTEEN("add %%rdx, %%rax\n"), : "rax", "rdx", "cc");
}

static void adds4(void)
{
	LOOP(2000000,
	     FOUR("add %%rdi, %%rax\nadd %%rdi, %%rcx\nadd %%rdi, %%rdx\n"
		  "add %%rdi, %%rsi\n"),
	     : "rax", "rcx", "rdx", "rsi", "rdi", "cc");
}

static void imul(void)
{
	LOOP(2000000, FOUR("imul %%rax, %%rax\nimul %%rax, %%rax\n"), : "rax", "cc");
}

static void fadd(void)
{
	LOOP(2000000, FOUR("addsd %%xmm1, %%xmm0\naddsd %%xmm1, %%xmm0\n"), : "xmm0", "xmm1", "cc");
}

static void fmul(void)
{
	LOOP(2000000, FOUR("mulsd %%xmm1, %%xmm0\nmulsd %%xmm1, %%xmm0\n"), : "xmm0", "xmm1", "cc");
}

static void fdiv(void)
{
	__asm__ volatile("mov $0x3ff0000000000000, %%rax\nmovq %%rax, %%xmm0\nmovq %%rax, %%xmm1\n"
			 :
			 :
			 : "rax", "xmm0", "xmm1");
	LOOP(2000000, FOUR("divsd %%xmm1, %%xmm0\n"), : "xmm0", "xmm1", "cc");
}

static void div64(void)
{
	LOOP(1000000, FOUR("xor %%edx, %%edx\nmov $1000003, %%eax\nmov $7, %%ecx\ndiv %%rcx\n"),
	     : "rax", "rcx", "rdx", "cc");
}

static void decjnz(void)
{
	LOOP(10000000, "", : "cc");
}

static void stack(void)
{
	uint64_t word = 0;

	LOOP(3000000, "addq $1, (%1)\n", "r"(&word) : "memory", "cc");
	sink = word;
}

static void shuffles(void)
{
	LOOP(4000000, FOUR("pshufd $0x1b, %%xmm0, %%xmm0\n"), : "xmm0", "cc");
}

/* --- memory */

static uint64_t state = 88172645463325252ULL;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* One cycle through n slots of 64 bytes, in random order (Sattolo). */
static void walk(size_t n, size_t steps)
{
	char *area = aligned_alloc(64, n * 64);
	uint32_t *order = malloc(n * sizeof(*order));
	void **at;

	if (!area || !order)
		exit(1);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i; i--) {
		size_t k = draw() % i;
		uint32_t t = order[i];

		order[i] = order[k];
		order[k] = t;
	}
	for (size_t i = 0; i < n; i++)
		*(void **)(area + 64 * (size_t)order[i]) =
			area + 64 * (size_t)order[i + 1 == n ? 0 : i + 1];
	at = (void **)area;
	for (size_t i = 0; i < steps; i++)
		at = *at;
	sink = (uint64_t)(uintptr_t)at;
	free(order);
	free(area);
}

static void chase(void)
{
	walk(256, 4000000);
}

static void chase_l2(void)
{
	walk(4096, 2000000);
}

static void chase_big(void)
{
	walk(1 << 20, 1000000);
}

static void independent(void)
{
	size_t n = (64UL << 20) / 8;
	uint64_t *area = malloc(n * 8), sum = 0;

	if (!area)
		exit(1);
	memset(area, 1, n * 8);
	for (size_t i = 0; i < 4000000; i++)
		sum += area[draw() & (n - 1)];
	sink = sum;
	free(area);
}

static void stream(void)
{
	size_t n = (16UL << 20) / 8;
	uint64_t *area = calloc(n, 8), sum = 0;

	if (!area)
		exit(1);
	for (int k = 0; k < 4; k++)
		for (size_t i = 0; i < n; i++)
			sum += area[i] ^= i;
	sink = sum;
	free(area);
}

/* --- small programs */

static void sieve(void)
{
	static uint8_t composite[1 << 20];
	uint64_t primes = 0;

	for (uint32_t i = 2; i < 1 << 20; i++) {
		if (composite[i])
			continue;
		primes++;
		for (uint32_t k = 2 * i; k < 1 << 20; k += i)
			composite[k] = 1;
	}
	sink = primes;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sorts(void)
{
	static uint64_t v[65536];

	for (size_t i = 0; i < 65536; i++)
		v[i] = draw();
	qsort(v, 65536, 8, by_value);
	sink = v[77];
}

static void crc(void)
{
	uint32_t table[256], c = ~0U;

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t x = i;

		for (int k = 0; k < 8; k++)
			x = x & 1 ? x >> 1 ^ 0xedb88320U : x >> 1;
		table[i] = x;
	}
	for (uint32_t i = 0; i < 4000000; i++)
		c = table[(c ^ i) & 0xff] ^ c >> 8;
	sink = c;
}

__attribute__((noinline)) static uint64_t fibonacci(uint64_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void fib(void)
{
	sink = fibonacci(27);
}

#define M 160
static double ma[M][M], mb[M][M], mc[M][M];

static void fill(void)
{
	for (int i = 0; i < M; i++)
		for (int k = 0; k < M; k++) {
			ma[i][k] = i + k;
			mb[i][k] = i - k;
			mc[i][k] = 0;
		}
}

static void mm(void)
{
	fill();
	for (int i = 0; i < M; i++)
		for (int k = 0; k < M; k++) {
			double sum = 0;

			for (int j = 0; j < M; j++)
				sum += ma[i][j] * mb[j][k];
			mc[i][k] = sum;
		}
	__asm__ volatile("" : : "r"(mc) : "memory");
}

static void mm_rows(void)
{
	fill();
	for (int i = 0; i < M; i++)
		for (int j = 0; j < M; j++)
			for (int k = 0; k < M; k++)
				mc[i][k] += ma[i][j] * mb[j][k];
	__asm__ volatile("" : : "r"(mc) : "memory");
}

static void bubble(void)
{
	static int32_t v[2000];

	for (size_t i = 0; i < 2000; i++)
		v[i] = (int32_t)draw();
	for (size_t n = 2000; n > 1; n--)
		for (size_t i = 1; i < n; i++)
			if (v[i - 1] > v[i]) {
				int32_t t = v[i];

				v[i] = v[i - 1];
				v[i - 1] = t;
			}
	sink = (uint64_t)v[5];
}

static void histogram(void)
{
	static uint32_t bin[256];
	static uint8_t text[65536];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)draw();
	for (int k = 0; k < 40; k++)
		for (size_t i = 0; i < sizeof(text); i++)
			bin[text[i]]++;
	sink = bin[3];
}

static void fnv(void)
{
	uint64_t h = 14695981039346656037ULL;

	for (uint32_t i = 0; i < 3000000; i++)
		h = (h ^ (i & 0xff)) * 1099511628211ULL;
	sink = h;
}

static void lcs(void)
{
	enum { N = 1500 };
	static uint16_t row[2][N + 1];
	static uint8_t a[N], b[N];

	for (size_t i = 0; i < N; i++) {
		a[i] = draw() & 3;
		b[i] = draw() & 3;
	}
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < N; k++) {
			uint16_t up = row[~i & 1][k + 1], left = row[i & 1][k];

			row[i & 1][k + 1] = a[i] == b[k] ? row[~i & 1][k] + 1
					    : up > left	 ? up
							 : left;
		}
	sink = row[1][N];
}

static void collatz(void)
{
	uint64_t steps = 0;

	for (uint64_t i = 1; i < 30000; i++)
		for (uint64_t n = i; n != 1; steps++)
			n = n & 1 ? 3 * n + 1 : n / 2;
	sink = steps;
}

static void bodies(void)
{
	enum { N = 5 };
	double x[N][3], v[N][3] = { { 0 } };

	for (int i = 0; i < N; i++)
		for (int d = 0; d < 3; d++)
			x[i][d] = i * 3 + d * d + 1;
	for (int step = 0; step < 40000; step++) {
		for (int i = 0; i < N; i++)
			for (int k = i + 1; k < N; k++) {
				double r2 = 0.01, d[3];

				for (int c = 0; c < 3; c++) {
					d[c] = x[i][c] - x[k][c];
					r2 += d[c] * d[c];
				}
				for (int c = 0; c < 3; c++) {
					v[i][c] -= d[c] * (0.001 / r2);
					v[k][c] += d[c] * (0.001 / r2);
				}
			}
		for (int i = 0; i < N; i++)
			for (int c = 0; c < 3; c++)
				x[i][c] += 0.001 * v[i][c];
	}
	fsink = x[2][1];
}

static void branches(void)
{
	uint64_t odd = 0;

	for (uint32_t i = 0; i < 1000000; i++) {
		if (draw() & 1)
			odd += i;
		else
			odd ^= i;
		__asm__ volatile("" : "+r"(odd));
	}
	sink = odd;
}

static void copies(void)
{
	static char from[8192], to[8192];

	for (int i = 0; i < 20000; i++) {
		memcpy(to, from, sizeof(to) - (size_t)(i & 63));
		__asm__ volatile("" : : "r"(to), "r"(from) : "memory");
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} kernels[] = {
	{ "none", none },
	{ "adds", adds },
	{ "adds4", adds4 },
	{ "imul", imul },
	{ "fadd", fadd },
	{ "fmul", fmul },
	{ "fdiv", fdiv },
	{ "div64", div64 },
	{ "decjnz", decjnz },
	{ "stack", stack },
	{ "shuffles", shuffles },
	{ "chase", chase },
	{ "chase-l2", chase_l2 },
	{ "chase-big", chase_big },
	{ "independent", independent },
	{ "stream", stream },
	{ "sieve", sieve },
	{ "sorts", sorts },
	{ "crc", crc },
	{ "fib", fib },
	{ "mm", mm },
	{ "mm-rows", mm_rows },
	{ "bubble", bubble },
	{ "histogram", histogram },
	{ "fnv", fnv },
	{ "lcs", lcs },
	{ "collatz", collatz },
	{ "bodies", bodies },
	{ "branches", branches },
	{ "copies", copies },
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

#define HEAP (192 << 20) /* more than any kernel has */

static void populate(char *from, char *to)
{
	char *page = (char *)((uintptr_t)from & ~(uintptr_t)4095);

	if (madvise(page, (size_t)(to - page), MADV_POPULATE_WRITE))
		perror("madvise");
}

/* What is given back to malloc stays, and is what the kernels get. */
static void settle_memory(void)
{
	extern char __bss_start[], _end[];
	char *heap;

	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	heap = malloc(HEAP);
	if (!heap)
		exit(1);
	populate(heap, heap + HEAP);
	free(heap);
	populate(__bss_start, _end);
}

int main(int argc, char **argv)
{
	settle_memory();
	now(); /* its own code and the vdso's data */
	for (size_t i = 0; argc == 2 && i < sizeof(kernels) / sizeof(kernels[0]); i++) {
		uint64_t start;

		if (strcmp(argv[1], kernels[i].name))
			continue;
		start = now();
		kernels[i].run();
		printf("%llu\n", (unsigned long long)(now() - start));
		return 0;
	}
	fprintf(stderr, "usage: kernels NAME\n");
	return 2;
}
