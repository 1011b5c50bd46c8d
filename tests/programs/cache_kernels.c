/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fno-pie -no-pie */
/*
 * Kernels whose references are the same wherever they run: no libc that chooses code by CPUID, no system call but exit,
 * arrays at fixed addresses, and a stack of their own among them.  So two simulators of one cache see one stream.
 *
 *	cache_kernels LETTER
 */
#include <stdint.h>

#define STACK 65536
#define N     64	  /* of matrices */
#define BIG   (10u << 20) /* more than the last level of 8 MB */

static char stack[STACK] __attribute__((aligned(4096), used));
static double a[N][N] __attribute__((aligned(4096)));
static double b[N][N] __attribute__((aligned(4096)));
static double c[N][N] __attribute__((aligned(4096)));
static uint8_t bytes[BIG] __attribute__((aligned(4096)));
static uint32_t words[1 << 16] __attribute__((aligned(4096)));
static float grid[2][192][192] __attribute__((aligned(4096)));

static struct node {
	struct node *next;
	uint64_t value[3];
} nodes[8192] __attribute__((aligned(4096)));

static uint32_t next_random(uint32_t *x)
{
	return *x = *x * 1664525 + 1013904223;
}

static void matmul_ijk(void)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			for (int k = 0; k < N; k++)
				c[i][j] += a[i][k] * b[k][j];
}

static void matmul_ikj(void)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			for (int j = 0; j < N; j++)
				c[i][j] += a[i][k] * b[k][j];
}

static void matmul_jki(void)
{
	for (int j = 0; j < N; j++)
		for (int k = 0; k < N; k++)
			for (int i = 0; i < N; i++)
				c[i][j] += a[i][k] * b[k][j];
}

static void strides(void)
{
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < BIG; i += 128)
			bytes[i]++;
}

static void chase(void)
{
	uint32_t at = 0, n = 1 << 16;

	for (uint32_t i = 0; i < n; i++)
		words[i] = (i * 1664525 + 1013904223) & (n - 1);
	for (uint32_t i = 0; i < n; i++)
		at = words[at];
	bytes[0] = (uint8_t)at;
}

static void sort(uint32_t *from, uint32_t *to)
{
	uint32_t *low = from, *high = to, pivot;

	if (to - from < 1)
		return;
	pivot = from[(to - from) / 2];
	while (low <= high) {
		while (*low < pivot)
			low++;
		while (*high > pivot)
			high--;
		if (low <= high) {
			uint32_t t = *low;

			*low++ = *high;
			*high-- = t;
		}
	}
	sort(from, high);
	sort(low, to);
}

static void quicksort(void)
{
	uint32_t x = 1, n = 1 << 14;

	for (uint32_t i = 0; i < n; i++)
		words[i] = next_random(&x);
	sort(words, words + n - 1);
}

static void sieve(void)
{
	uint32_t n = 200000;

	for (uint32_t i = 2; i * i < n; i++)
		for (uint32_t k = i * i; !bytes[i] && k < n; k += i)
			bytes[k] = 1;
}

static void hash_table(void)
{
	uint32_t x = 1;

	for (uint32_t i = 0; i < 30000; i++) {
		uint32_t key = next_random(&x) | 1, at = key >> 16;

		while (words[at] && words[at] != key)
			at = (at + 1) & 0xffff;
		words[at] = key;
	}
}

static void stencil(void)
{
	for (int y = 1; y < 191; y++)
		for (int x = 1; x < 191; x++)
			grid[1][y][x] = grid[0][y - 1][x] + grid[0][y + 1][x] + grid[0][y][x - 1] +
					grid[0][y][x + 1];
}

static void list(void)
{
	struct node *first = 0;
	uint32_t at = 0;

	for (int i = 0; i < 8192; i++) {
		at = (at + 4099) & 8191;
		nodes[at].next = first;
		first = &nodes[at];
	}
	for (int round = 0; round < 4; round++)
		for (struct node *n = first; n; n = n->next)
			n->value[0] += n->value[2];
}

static void histogram(void)
{
	uint32_t x = 1;

	for (uint32_t i = 0; i < 100000; i++)
		bytes[i] = (uint8_t)(next_random(&x) >> 24);
	for (uint32_t i = 0; i < 100000; i++)
		words[bytes[i]]++;
}

static int place(int row, uint32_t columns, uint32_t left, uint32_t right)
{
	int n = 0;

	if (row == 7)
		return 1;
	for (uint32_t free = ~(columns | left | right) & 0x7f; free; free &= free - 1) {
		uint32_t bit = free & -free;

		n += place(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
	}
	return n;
}

static void queens(void)
{
	words[0] = (uint32_t)place(0, 0, 0, 0);
}

static void (*const kernels[])(void) = { matmul_ijk, matmul_ikj, matmul_jki, strides,
					 chase,	     quicksort,	 sieve,	     hash_table,
					 stencil,    list,	 histogram,  queens };

/* The first word's first letter. */
__attribute__((used, noreturn)) static void run(const char *word)
{
	void (*kernel)(void) = kernels[(*word - 'a') % (int)(sizeof(kernels) / sizeof(kernels[0]))];

	/* not by a call that reads the table itself: that loads one place and stores to another */
	__asm__ volatile("" : "+r"(kernel));
	kernel();
	__asm__ volatile("syscall" ::"a"(231), "D"(0) : "rcx", "r11", "memory");
	__builtin_unreachable();
}

__asm__(".globl _start\n_start:\n"
	"	mov	16(%rsp), %rdi\n"
	"	lea	stack+65536(%rip), %rsp\n"
	"	xor	%ebp, %ebp\n"
	"	call	run\n");
