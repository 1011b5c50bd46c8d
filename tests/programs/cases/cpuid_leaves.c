/* SPDX-License-Identifier: MIT */
/* CASE: counted -- */
/*
 * CPUID says the same as natively, leaf by leaf on one CPU, whatever ecx holds where it chooses nothing; and once the
 * program has forbidden it (ARCH_SET_CPUID, where there is that), it faults on the instruction itself.
 */
#include <cpuid.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012
#define JUNK	       0xdead0000U

static volatile int faults;

/* Over the instruction, which is two bytes long. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	faults++;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static void show(unsigned int leaf, unsigned int subleaf)
{
	unsigned int a, b, c, d;

	__cpuid_count(leaf, subleaf, a, b, c, d);
	printf("%x.%x: %x %x %x %x\n", leaf, subleaf, a, b, c, d);
}

int main(void)
{
	static const unsigned int plain[] = { 0,	  1,	      2,	  0x80000000,
					      0x80000001, 0x80000002, 0x80000005, 0x80000006,
					      0x80000007, 0x80000008 };
	static const unsigned int many[] = { 4, 7, 0xd, 0x14, 0x8000001d };
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	cpu_set_t first;
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		CPU_ZERO(&first);
		CPU_SET(cpu, &first);
		if (!sched_setaffinity(0, sizeof(first), &first))
			break;
	}
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < sizeof(plain) / sizeof(*plain); i++)
			show(plain[i], round ? JUNK + i : 0);
		for (unsigned int i = 0; i < sizeof(many) / sizeof(*many); i++)
			for (unsigned int k = 0; k < 12; k++)
				show(many[i], k);
	}
	sigaction(SIGSEGV, &sa, NULL);
	if (!syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0UL)) {
		unsigned int a, b, c, d;

		__cpuid_count(0, 0, a, b, c, d);
		__cpuid_count(7, 0, a, b, c, d);
		printf("forbidden: %d faults\n", faults);
		printf("allowed again: %ld\n", syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1UL));
		show(7, 0);
	}
	printf("%d faults\n", faults);
	return 0;
}
