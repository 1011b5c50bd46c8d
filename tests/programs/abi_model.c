/* SPDX-License-Identifier: MIT */
/*
 * The events that a machine's model answers, opened by a program on itself, and raw codes of a CPU that was asked for.  Options say
 * which machine: Zen 4, whose figures are AMD's.  What is counted is what more work adds, so that the calls around it do not
 * matter.  Exact events have one right value; modelled ones have bounds that follow from what the work is.
 */
#include "../tests/programs/abi.h"

/* --- work */

/* n times three cycles: each product waits for the one before it. */
static void products(uint64_t n)
{
	uint64_t v = 3;

	__asm__ volatile("1: imul %0, %0\n"
			 "dec %1\n"
			 "jnz 1b"
			 : "+r"(v), "+r"(n)
			 :
			 : "cc");
}

/* n branches of which nobody knows the next: bits of a generator whose upper ones are random enough. */
static void guesses(uint64_t n)
{
	uint64_t v = 1;

	__asm__ volatile("1: imul %2, %0\n"
			 "add $1442695, %0\n"
			 "test %0, %0\n"
			 "js 2f\n"
			 "nop\n"
			 "2: dec %1\n"
			 "jnz 1b"
			 : "+r"(v), "+r"(n)
			 : "r"(6364136223846793005)
			 : "cc");
}

/* n loads from anywhere in 512 MiB, each of whose places depends on the last value. */
static void wanderings(uint64_t n)
{
	static char *room;
	uint64_t v = 1, at;

	if (!room)
		room = mmap(NULL, 1 << 29, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
	for (uint64_t i = 0; i < n; i++) {
		v = v * 6364136223846793005 + 1442695;
		at = v >> 35; /* 29 bits */
		__asm__ volatile("movzbl (%1,%0), %k0\n"
				 "add %0, %2"
				 : "+r"(at), "+r"(room), "+r"(v)
				 :
				 : "cc");
	}
}

enum { PRODUCTS, GUESSES, WANDERINGS };

static void work(long which, uint64_t n)
{
	if (which == PRODUCTS)
		products(n);
	else if (which == GUESSES)
		guesses(n);
	else
		wanderings(n);
}

static __attribute__((noinline)) uint64_t counted(long fd, long which, uint64_t n)
{
	uint64_t from = abi_count(fd);

	work(which, n);
	return abi_count(fd) - from;
}

/*
 * a: event, b: work and bounds of the rate, in hundredths of one for each round of it.  0 is within them; else the rate, or what
 * open says.
 */
#define ROUNDS(work, low, high) ((work) | (long)(low) << 8 | (long)(high) << 32)

static long rate(const struct abi_case *c, uint32_t type)
{
	struct perf_event_attr attr = abi_attr(type, (uint64_t)c->a);
	long fd = abi_open(&attr, -1), work = c->b & 255, got;
	uint64_t few;

	if (fd < 0)
		return fd;
	counted(fd, work, 1000);
	few = counted(fd, work, 1000);
	got = (long)(counted(fd, work, 21000) - few) / 200;
	return got >= (c->b >> 8 & 0xffffff) && got <= c->b >> 32 ? 0 : got ? got : -1;
}

static long generic(const struct abi_case *c)
{
	return rate(c, PERF_TYPE_HARDWARE);
}

static long cache(const struct abi_case *c)
{
	return rate(c, PERF_TYPE_HW_CACHE);
}

static long raw(const struct abi_case *c)
{
	return rate(c, PERF_TYPE_RAW);
}

static long raw_open(const struct abi_case *c)
{
	struct perf_event_attr attr = abi_attr(PERF_TYPE_RAW, (uint64_t)c->a);

	return abi_try(&attr, 0, -1, -1, 0);
}

/* A page walk less or a line more now and then: a hundredth or two. */
static const struct abi_case cases[] = {
	{ "B-010", "three cycles for a product", generic, O, 0, 0, ROUNDS(PRODUCTS, 298, 303) },
	{ "B-010", "more than 10000 for 100 loads of memory", generic, O, 0, 0,
	  ROUNDS(WANDERINGS, 10000, 100000) },
	{ "B-011", "three instructions, exactly", generic, O, 0, 1, ROUNDS(PRODUCTS, 300, 300) },
	{ "B-012", "each load asks the last cache", generic, O, 0, 2, ROUNDS(WANDERINGS, 97, 103) },
	{ "B-012", "products ask nobody", generic, O, 0, 2, ROUNDS(PRODUCTS, 0, 0) },
	{ "B-013", "which has none of 512 MiB", generic, O, 0, 3, ROUNDS(WANDERINGS, 94, 103) },
	{ "B-013", "products miss nothing", generic, O, 0, 3, ROUNDS(PRODUCTS, 0, 0) },
	{ "B-014", "two branches, exactly", generic, S | O, 0, 4, ROUNDS(GUESSES, 200, 200) },
	{ "B-015", "half of the guesses are wrong", generic, O, 0, 5, ROUNDS(GUESSES, 40, 60) },
	{ "B-015", "none of a loop's", generic, O, 0, 5, ROUNDS(PRODUCTS, 0, 1) },
	{ "B-016", "a bus of 100 MHz beside 3 to 6 GHz", generic, O, 0, 6,
	  ROUNDS(PRODUCTS, 4, 11) },
	{ "B-017", "a wrong guess waits for instructions", generic, O, 0, 7,
	  ROUNDS(GUESSES, 300, 1500) },
	{ "B-017", "a loop does not", generic, O, 0, 7, ROUNDS(PRODUCTS, 0, 3) },
	{ "B-018", "a product waits for the last one", generic, O, 0, 8,
	  ROUNDS(PRODUCTS, 150, 300) },
	{ "B-018", "a load for memory", generic, O, 0, 8, ROUNDS(WANDERINGS, 10000, 100000) },
	{ "B-019", "cycles of a clock that stays", generic, O, 0, 9, ROUNDS(PRODUCTS, 298, 303) },
	{ "B-030", "0 is L1D, read, accesses: loads", cache, S | O, 0, 0,
	  ROUNDS(WANDERINGS, 100, 100) },
	{ "B-030", "products have none", cache, S | O, 0, 0, ROUNDS(PRODUCTS, 0, 0) },
	{ "B-033", "with 1 << 16 misses", cache, O, 0, 1 << 16, ROUNDS(WANDERINGS, 97, 103) },
	{ "B-034", "3 | 1 << 16: pages that no TLB has", cache, O, 0, 3 | 1 << 16,
	  ROUNDS(WANDERINGS, 90, 103) },
	{ "X-43", "what a machine calls otherwise has one name", generic, O, 0, 5,
	  ROUNDS(GUESSES, 40, 60) },
	{ "B-007", "Zen's 0xc0: instructions", raw, O, 0, 0xc0, ROUNDS(PRODUCTS, 300, 300) },
	{ "B-007", "0xc2: branches", raw, O, 0, 0xc2, ROUNDS(GUESSES, 200, 200) },
	{ "B-007", "0xc3: wrong ones", raw, O, 0, 0xc3, ROUNDS(GUESSES, 40, 60) },
	{ "B-007", "0x76: cycles", raw, O, 0, 0x76, ROUNDS(PRODUCTS, 298, 303) },
	{ "B-007", "Intel's 0x3c is not Zen's", raw_open, O, -ENOENT, 0x3c, 0 },
	{ 0 },
};

int main(int argc, char **argv)
{
	return abi_main(cases, "zen4 --machine=zen4 --cpu-id=zen4\n", argc, argv);
}
