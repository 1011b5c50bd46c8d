/* SPDX-License-Identifier: MIT */
/*
 * A signal every 100 microseconds while the program computes: whatever instruction it meets,
 * registers, flags, vector state, strings, indirect jumps and system calls come out right.
 * With an argument: so many seconds (default 2).
 */
/* LIBS: -lm */
#include "sig_test.h"

#include <math.h>

static volatile unsigned long hits;

static void on_tick(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	hits++;
	__asm__ volatile("xor %%eax, %%eax\npxor %%xmm0, %%xmm0\npxor %%xmm1, %%xmm1" ::
				 : "rax", "xmm0", "xmm1", "cc");
}

static unsigned long mix(unsigned long h, unsigned long v)
{
	h ^= v + 0x9e3779b97f4a7c15UL + (h << 6) + (h >> 2);
	return h;
}

static unsigned long integers(void)
{
	unsigned long h = 1;

	for (unsigned long i = 1; i < 20000; i++) {
		h = mix(h, i * i);
		if (h & 1)
			h = h / i + i % 7;
		h ^= __builtin_bswap64(h) + (unsigned long)__builtin_popcountl(h);
	}
	return h;
}

static unsigned long floats(void)
{
	double x = 0.5, y = 0;
	unsigned long h;

	for (int i = 0; i < 3000; i++) {
		x = 3.9 * x * (1 - x);
		y += sin(x) * sqrt(x + i);
	}
	memcpy(&h, &y, sizeof(h));
	return h;
}

static unsigned long add(unsigned long a, unsigned long b)
{
	return a + b;
}
static unsigned long sub(unsigned long a, unsigned long b)
{
	return a * 3 - b;
}
static unsigned long rot(unsigned long a, unsigned long b)
{
	return (a << 13 | a >> 51) ^ b;
}

static unsigned long (*volatile const ops[3])(unsigned long, unsigned long) = { add, sub, rot };

static unsigned long calls(void)
{
	unsigned long h = 7;

	for (unsigned long i = 0; i < 10000; i++)
		h = ops[h % 3](h, i);
	return h;
}

static unsigned long fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static unsigned long switches(void)
{
	unsigned long h = 3;

	for (unsigned long i = 0; i < 10000; i++) {
		switch (h % 8) {
		case 0:
			h += i;
			break;
		case 1:
			h ^= i << 3;
			break;
		case 2:
			h = h * 5 + 1;
			break;
		case 3:
			h -= i * 3;
			break;
		case 4:
			h = ~h;
			break;
		case 5:
			h = h << 7 | h >> 57;
			break;
		case 6:
			h += h >> 5;
			break;
		default:
			h = mix(h, i);
		}
	}
	return h;
}

static unsigned long strings(void)
{
	static char a[5000], b[5000];
	unsigned long h = 1;
	void *d, *s;
	long n;

	for (int i = 0; i < 40; i++) {
		d = a;
		n = sizeof(a);
		__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(i) : "memory");
		a[i * 100] = 1 + (char)i;
		s = a;
		d = b;
		n = sizeof(a);
		__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
		h = mix(h, (unsigned long)memcmp(a, b, sizeof(a)) + (unsigned char)b[4999]);
		h = mix(h, strlen(b + 4900 - i));
	}
	return h;
}

/* Carry chains: flags live across many instructions and block ends. */
static unsigned long carries(void)
{
	unsigned long lo = 1, hi = 2, n = 5000;

	__asm__ volatile("clc\n"
			 "1: adc %1, %0\nadc %0, %1\nlea -1(%2), %2\n"
			 "inc %2\ndec %2\njrcxz 2f\njmp 1b\n2:\n"
			 "setc %%al\nmovzx %%al, %%eax\nadd %%rax, %0"
			 : "+r"(lo), "+r"(hi), "+c"(n)
			 :
			 : "rax", "cc");
	return mix(lo, hi);
}

static unsigned long pushed_flags(void)
{
	unsigned long h = 0, f;

	for (int i = 0; i < 3000; i++) {
		__asm__ volatile("cmp $1500, %1\npushfq\npop %0\npush %0\npopfq\nadc $0, %0"
				 : "=&r"(f)
				 : "r"(i)
				 : "cc");
		h = mix(h, f & 0xffff); /* a trap flag would show */
	}
	return h;
}

static unsigned long kernel(void)
{
	unsigned long h = 0;

	for (int i = 0; i < 300; i++)
		h = mix(h, (unsigned long)(getppid() != 0) + (syscall(SYS_getpid) == getpid()));
	return h;
}

static unsigned long fib_it(void)
{
	return fib(18);
}

static const struct {
	const char *name;
	unsigned long (*fn)(void);
} parts[] = {
	{ "integers", integers }, { "floats", floats },	     { "calls", calls },
	{ "fib", fib_it },	  { "switches", switches },  { "strings", strings },
	{ "carries", carries },	  { "flags", pushed_flags }, { "system calls", kernel },
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	double length = argc > 1 ? atof(argv[1]) : 2;
	struct itimerval tick = { { 0, 100 }, { 0, 100 } }, off = { 0 };
	unsigned long want[PARTS], rounds = 0;
	double end;

	for (unsigned i = 0; i < PARTS; i++)
		want[i] = parts[i].fn();
	catch_with(SIGALRM, on_tick, SA_RESTART);
	end = seconds() + length;
	setitimer(ITIMER_REAL, &tick, NULL);
	for (; seconds() < end; rounds++)
		for (unsigned i = 0; i < PARTS; i++)
			CHECK_EQ(parts[i].fn(), want[i]);
	setitimer(ITIMER_REAL, &off, NULL);
	CHECK(hits > 100);
	CHECK(rounds > 0);
	for (unsigned i = 0; i < PARTS; i++)
		done(parts[i].name);
	return verdict();
}
