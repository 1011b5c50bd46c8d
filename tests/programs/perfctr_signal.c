/* SPDX-License-Identifier: MIT */
/* FLAGS: -Wall */
/*
 * Overflows, by perfctr 2.6's interface: a counter that interrupts each 25 instructions sends its signal with
 * si_code and mask, and stands still until iresume.  What it has counted in all says how many signals there
 * must have been.
 */
#include "perfctr26.h"
#include "seccomp.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <ucontext.h>

#define PERIOD 25

static int fd;
static const char *filter; /* when it is installed; NULL none */
static volatile unsigned nsignals, nbad, resumes = 1;
static uint32_t mask = 1; /* of the counter that interrupts */
static volatile uint64_t pcs[4096];

static volatile uint64_t lefts[4096];

/* Instructions of the loop that were done: what is left falls. */
static uint64_t place(unsigned i, uint64_t jump)
{
	return (pcs[i] == jump) - 2 * lefts[i];
}

static void handler(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	const uint32_t *words = (const uint32_t *)info;

	/* behind signo, errno and code the union of 64-bit machines begins at a multiple of 8 */
	if (signo != SIGIO || info->si_code != 'P' || info->si_errno || words[4] != mask)
		nbad++;
	if (nsignals < 4096) {
		pcs[nsignals] = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
		lefts[nsignals] = (uint64_t)uc->uc_mcontext.gregs[REG_RBX];
	}
	nsignals++;
	if (resumes && ioctl(fd, VPERFCTR_IRESUME, 0))
		nbad++;
}

/* Who makes any other call is killed: neither does the signal's sender make one in this process. */
static void narrow(void)
{
	static const int calls[] = {
		SYS_ioctl,     SYS_write,	 SYS_fstat,	      SYS_newfstatat,
		SYS_brk,       SYS_rt_sigreturn, SYS_rt_sigprocmask,  SYS_exit_group,
		SYS_getrandom, SYS_read,	 SYS_rt_sigtimedwait, -1
	};

	if (seccomp_allow(calls, SECCOMP_RET_KILL_PROCESS, 0))
		fail("seccomp");
}

static void begin(int period)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	struct control c, plain;

	if (sigaction(SIGIO, &sa, NULL))
		fail("sigaction");
	fd = creat_state(device());
	one_counter(&plain, 0);
	one_counter(&c, period);
	c.si_signo = SIGIO;
	if (filter && !strcmp(filter, "earlier"))
		narrow();
	if (set_control(fd, &c)) {
		if (!filter || errno != EPERM)
			fail("VPERFCTR_CONTROL");
		say("refused\n");
		if (!set_control(fd, &plain))
			say("and counts without\n");
		_exit(0);
	}
	if (filter && !strcmp(filter, "filtered"))
		narrow();
}

/* The count is what all counted, in the handler nothing did. */
static void periods(void)
{
	struct control off = { 0 };
	struct sum s;

	begin(PERIOD);
	work(5000);
	if (set_control(fd, &off) || read_sum(fd, &s))
		fail("stop");
	printf("%s, %u bad\n",
	       nsignals == s.pmc[0] / PERIOD ? "floor(count / 25)" : "another number", nbad);
	if (nsignals != s.pmc[0] / PERIOD || s.pmc[0] < 10000)
		printf("%u signals of %llu\n", nsignals, (unsigned long long)s.pmc[0]);
}

/*
 * How far the loop has come from one signal to the next: always the same, which is the period less what
 * the handler still does after iresume.
 */
static void places(void)
{
	uint64_t n = 500000, first, end;
	unsigned wrong = 0;

	begin(1001);
	__asm__ volatile("lea 1f(%%rip), %1\n\tlea 2f(%%rip), %2\n"
			 "1: dec %%rbx\n2: jnz 1b"
			 : "+b"(n), "=&r"(first), "=&r"(end)
			 :
			 : "cc");
	if (set_control(fd, &(struct control){ 0 }))
		fail("stop");
	for (unsigned i = 1; i < 500; i++) {
		if (pcs[i] != first && pcs[i] != end)
			wrong++;
		wrong += place(i + 1, end) - place(i, end) != place(2, end) - place(1, end);
	}
	printf("%u wrong places, %s\n", wrong,
	       place(2, end) - place(1, end) < 1001 ? "less than the period apart" : "too far");
}

static void once(void)
{
	struct control c;
	struct sum s, t;

	resumes = 0;
	one_counter(&c, 0); /* opens the device, which a filter may not allow */
	begin(1000);
	work(100000);
	if (read_sum(fd, &s))
		fail("read");
	printf("%u signal, %llu counted\n", nsignals, (unsigned long long)s.pmc[0]);
	work(100000);
	if (read_sum(fd, &t) || t.pmc[0] != s.pmc[0] || t.tsc <= s.tsc)
		fail("only the clock goes on");
	if (ioctl(fd, VPERFCTR_IRESUME, 0))
		fail("VPERFCTR_IRESUME");
	work(100000);
	printf("%u signals\n", nsignals);
	if (set_control(fd, &c) || (ioctl(fd, VPERFCTR_IRESUME, 0) != -1 || errno != EPERM))
		fail("nothing waits any more");
}

/* A signal that is blocked waits; the counters stand still meanwhile. */
static void blocked(void)
{
	sigset_t set;
	struct sum s;

	resumes = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigprocmask(SIG_BLOCK, &set, NULL);
	begin(1000);
	work(100000);
	printf("%u signals, ", nsignals);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	if (read_sum(fd, &s))
		fail("read");
	printf("%u signal, %u bad, %llu counted\n", nsignals, nbad, (unsigned long long)s.pmc[0]);
}

/* Signals that no handler takes say the same. */
static void taken(void)
{
	struct signalfd_siginfo read_info[2];
	siginfo_t info;
	sigset_t set;
	int sfd;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sfd = signalfd(-1, &set, 0);
	if (sfd < 0)
		fail("signalfd");
	begin(1000);
	for (int i = 0; i < 10; i++) {
		memset(&info, 0, sizeof(info));
		memset(read_info, 0, sizeof(read_info));
		work(1000);
		if (i % 2) {
			if (read(sfd, read_info, sizeof(read_info)) != sizeof(read_info[0]))
				fail("read");
			nbad += read_info[0].ssi_signo != SIGIO || read_info[0].ssi_code != 'P' ||
				read_info[0].ssi_errno || read_info[0].ssi_pid != mask ||
				read_info[0].ssi_uid || read_info[0].ssi_int ||
				read_info[0].ssi_ptr || read_info[1].ssi_signo;
		} else {
			if (sigwaitinfo(&set, &info) != SIGIO)
				fail("sigwaitinfo");
			nbad += info.si_signo != SIGIO || info.si_code != 'P' || info.si_errno ||
				((const uint32_t *)&info)[4] != mask;
		}
		if (ioctl(fd, VPERFCTR_IRESUME, 0))
			fail("VPERFCTR_IRESUME");
	}
	printf("%u handled, %u bad\n", nsignals, nbad);
}

/* Misses and cycles, which a model tells of: the signals come late, and may be fewer where periods are short. */
static void modelled(void)
{
	static const struct {
		uint32_t event;
		int period;
		const char *name;
	} rows[] = { { 0x41, 100, "misses" }, { 0x76, 20000, "cycles" } };
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	static volatile char area[1 << 22];

	if (sigaction(SIGIO, &sa, NULL))
		fail("sigaction");
	fd = creat_state(device());
	for (int i = 0; i < 2; i++) {
		struct control c;
		struct sum s;
		uint64_t periods;

		one_counter(&c, rows[i].period);
		c.cpu.evntsel[0] = (c.cpu.evntsel[0] & ~0xffffU) | rows[i].event;
		c.si_signo = SIGIO;
		nsignals = 0;
		if (set_control(fd, &c))
			fail("VPERFCTR_CONTROL");
		for (unsigned at = 0; at < 8 * sizeof(area); at += 64)
			area[at % sizeof(area)]++;
		if (set_control(fd, &(struct control){ 0 }) || read_sum(fd, &s))
			fail("stop");
		periods = s.pmc[0] / (uint64_t)rows[i].period;
		if (periods < 20 || nsignals > periods || nsignals < periods * 9 / 10)
			printf("%u signals of %llu periods\n", nsignals,
			       (unsigned long long)periods);
		printf("%s: %u bad\n", rows[i].name, nbad);
	}
}

/* The first one of all comes behind the filter. */
static void first(void)
{
	struct sum s;

	begin(10000000);
	work(8000000);
	if (read_sum(fd, &s))
		fail("read");
	printf("%u signal, %u bad, %llu millions\n", nsignals, nbad,
	       (unsigned long long)s.pmc[0] / 1000000);
}

/* 32 bits of a difference do not wrap: after 2^28 instructions the mapped page has new ones, without a call. */
static void marked(void)
{
	const volatile struct vperfctr_state *k;
	struct control c;
	uint32_t now;

	fd = creat_state(device());
	k = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (k == MAP_FAILED)
		fail("mmap");
	one_counter(&c, 0);
	if (filter)
		narrow();
	if (set_control(fd, &c))
		fail("VPERFCTR_CONTROL");
	work(100000000);
	printf("200 million instructions: %llu in the sum\n",
	       (unsigned long long)k->cpu_state.pmc[0].sum);
	work(50000000);
	rdpmcl(k->cpu_state.pmc[0].map, now);
	printf("300 million: %llu << 20, ", (unsigned long long)k->cpu_state.pmc[0].sum >> 20);
	printf("and %u million\n",
	       (unsigned)((k->cpu_state.pmc[0].sum + (now - k->cpu_state.pmc[0].start)) / 1000000));
}

/*
 * Reading by the page while the state changes beneath, by an overflow and iresume in the middle of a reading: what is
 * read never falls, and a call never gives less than a reading before it, nor more than one behind it.
 */
static void paged(void)
{
	const volatile struct vperfctr_state *k;
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	uint64_t last = 0, now;
	unsigned wrong = 0;
	struct control c;
	struct sum s;

	if (sigaction(SIGIO, &sa, NULL))
		fail("sigaction");
	mask = 2;
	fd = creat_state(device());
	k = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (k == MAP_FAILED)
		fail("mmap");
	one_counter(&c, 0);
	c.si_signo = SIGIO;
	c.cpu.nrictrs = 1;
	c.cpu.pmc_map[1] = 1;
	c.cpu.evntsel[1] = c.cpu.evntsel[0] | 0x100000;
	c.cpu.ireset[1] = -97;
	if (set_control(fd, &c))
		fail("VPERFCTR_CONTROL");
	for (unsigned i = 0; i < 20000; i++) {
		now = read_pmc(k, 0);
		wrong += now <= last;
		last = now;
		if (i % 64)
			continue;
		if (read_sum(fd, &s))
			fail("read");
		wrong += s.pmc[0] <= last;
		last = s.pmc[0];
	}
	if (set_control(fd, &(struct control){ 0 }) || read_sum(fd, &s))
		fail("stop");
	printf("%u wrong, %u bad, %s\n", wrong, nbad,
	       nsignals == s.pmc[1] / 97 ? "floor(count / 97) overflows"
					 : "another number of overflows");
}

int main(int argc, char **argv)
{
	static const struct named tests[] = { { "periods", periods },	{ "places", places },
					      { "once", once },		{ "blocked", blocked },
					      { "modelled", modelled }, { "first", first },
					      { "marked", marked },	{ "paged", paged },
					      { "taken", taken } };

	filter = argc > 2 ? argv[2] : NULL;
	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
