/* SPDX-License-Identifier: MIT */
/*
 * PAGE_FAULTS = PAGE_FAULTS_MIN + PAGE_FAULTS_MAJ + those that end in a signal: the kernel counts a fault where it begins,
 * and as minor or major only where it could be answered.  A program has as many of the last kind as it has SIGSEGVs of
 * its own, whatever faults the engine has meanwhile (full logs of models, writes to code).
 */
/* CASE: session -- */
/* CASE: session --model-sample 1 -- */
#include "check.h"
#define PAGES 40
#define PAGE  4096

static char *none;
static volatile int segvs;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	segvs++;
	mprotect((char *)((u64)info->si_addr & ~(u64)(PAGE - 1)), PAGE, RW);
}

static void touch(void)
{
	char *p = mmap(NULL, PAGES * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < PAGES; i++)
		p[i * PAGE] = 1;
	munmap(p, PAGES * PAGE);
}

static void signals(void)
{
	for (int i = 0; i < PAGES; i++)
		none[i * PAGE] = 1;
}

/* Each write takes the page's code away. */
static void write_code(void)
{
	static const unsigned char code[] = { 0xb8, 0, 0, 0, 0, 0xc3 }; /* mov $0, %eax; ret */
	unsigned char *p = mmap(NULL, PAGE, RW | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int wrong = 0;

	memcpy(p, code, sizeof(code));
	for (unsigned char i = 0; i < 50; i++) {
		p[1] = i;
		wrong += ((int (*)(void))p)() != i;
	}
	CHECK(!wrong, "code that was written");
	munmap(p, PAGE);
}

static void work(void)
{
	touch();
	spin(300000);
	write_code();
	signals();
	spin(300000);
}

static void count(const char *name, bool user)
{
	static const u64 config[] = { PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
				      PERF_COUNT_SW_PAGE_FAULTS_MAJ };
	u64 v[4] = { 0 };
	int fd[3], ret;

	mprotect(none, PAGES * PAGE, PROT_NONE);
	segvs = 0;
	for (int i = 0; i < 3; i++) {
		struct perf_event_attr a = A(PERF_TYPE_SOFTWARE, config[i]);

		a.read_format = PERF_FORMAT_GROUP;
		a.exclude_kernel = user;
		a.disabled = !i;
		fd[i] = xo(&a, 0, -1, i ? fd[0] : -1, 0);
	}
	EN(fd[0]);
	work();
	DIS(fd[0]);
	ret = (int)read(fd[0], v, sizeof(v));
	CHECK(ret == sizeof(v) && v[2] + v[3] >= PAGES && v[1] == v[2] + v[3] + PAGES &&
		      segvs == PAGES,
	      "%s: %llu of %llu + %llu and %d that end in a signal", name, (unsigned long long)v[1],
	      (unsigned long long)v[2], (unsigned long long)v[3], segvs);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	struct perf_event_attr cycles = A(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct perf_event_attr misses = A(PERF_TYPE_HW_CACHE, 0x10000);
	int model[2];

	sigaction(SIGSEGV, &sa, NULL);
	none = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	count("without models, of user mode", true);
	count("of all", false);
	cycles.disabled = misses.disabled = 0;
	model[0] = peo(&cycles, 0, -1, -1, 0);
	model[1] = peo(&misses, 0, -1, -1, 0);
	count("with models, of user mode", true);
	count("of all", false);
	for (int i = 0; i < 2; i++)
		if (model[i] >= 0)
			close(model[i]);
	return done();
}
