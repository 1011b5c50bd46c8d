/* LIBS: -lpthread */
/* SPDX-License-Identifier: MIT */
/*
 * Programs that sample instructions: themselves, their threads, a child that is killed.  Everything
 * printed is known by reading the code.  The loop is two instructions; the event is enabled and
 * disabled around it, so that the samples are on one or the other in turn.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "sample.h"

#define RW (PROT_READ | PROT_WRITE)

extern char loop_dec[], loop_jnz[];

/* 2n instructions, and some before and after. */
__attribute__((noinline, noclone)) static void loop(uint64_t n)
{
	__asm__ volatile(".globl loop_dec, loop_jnz\n"
			 "loop_dec: dec %0\n"
			 "loop_jnz: jnz loop_dec"
			 : "+r"(n)
			 :
			 : "cc");
}

static struct perf_event_attr attr_of(uint64_t config, uint64_t period)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = config;
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.exclude_kernel = attr.exclude_hv = attr.disabled = 1;
	return attr;
}

static int open_or_die(struct perf_event_attr *attr, pid_t pid)
{
	int fd = sample_open(attr, pid, -1, -1);

	if (fd < 0) {
		printf("cannot open: %s\n", strerror(errno));
		exit(1);
	}
	return fd;
}

/* As many as the count says, and those within the loop in steps of the period. */
static void periods(void)
{
	static const uint64_t all[] = { 1, 2, 3, 7, 64, 1000, 99991 };
	uint64_t buf[64];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct perf_event_attr attr = attr_of(PERF_COUNT_HW_INSTRUCTIONS, all[i]);
		uint64_t n = 0, in_loop = 0, dec = 0, count;
		/* many samples where the thread only walks; else few, as under stress each takes many milliseconds */
		uint64_t rounds = all[i] < 64 ? 700 * all[i] : 5000 + 5 * all[i];
		struct ring r;

		map_or_die(&r, open_or_die(&attr, 0), 1024, RW);
		ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
		loop(rounds);
		ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
		count = sample_count(r.fd);
		while (sample_next(&r, buf, sizeof(buf))) {
			n++;
			dec += buf[1] == (uint64_t)(uintptr_t)loop_dec;
			in_loop += buf[1] == (uint64_t)(uintptr_t)loop_dec ||
				   buf[1] == (uint64_t)(uintptr_t)loop_jnz;
		}
		printf("period %lu: all %d, in the loop %d, on dec %d\n", (unsigned long)all[i],
		       n == count / all[i], in_loop + 1 >= 2 * rounds / all[i] && in_loop <= n,
		       all[i] % 2 ? dec + 1 >= in_loop / 2 && dec <= in_loop / 2 + 1
				  : !dec || dec == in_loop);
		sample_unmap(&r);
	}
}

static void branches(void)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 10);
	uint64_t buf[64], n = 0, jnz = 0, count;
	struct ring r;

	map_or_die(&r, open_or_die(&attr, 0), 64, RW);
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(10000);
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	count = sample_count(r.fd);
	while (sample_next(&r, buf, sizeof(buf))) {
		n++;
		jnz += buf[1] == (uint64_t)(uintptr_t)loop_jnz;
	}
	printf("branches: all %d, on jnz %d\n", n == count / 10, jnz >= 999 && jnz <= 1000);
	sample_unmap(&r);
}

/* --- two events at once */

static void two(void)
{
	struct perf_event_attr a = attr_of(PERF_COUNT_HW_INSTRUCTIONS, 21);
	struct perf_event_attr b = attr_of(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 4);
	uint64_t buf[64], na = 0, nb = 0, ids[2], ca, cb;
	struct ring r;
	int fd;

	a.sample_type = b.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ID;
	map_or_die(&r, open_or_die(&a, 0), 64, RW);
	fd = open_or_die(&b, 0);
	ids[0] = r.id;
	ids[1] = sample_id(fd);
	printf("set output %d\n", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r.fd));
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(5000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	ca = sample_count(r.fd);
	cb = sample_count(fd);
	while (sample_next(&r, buf, sizeof(buf))) {
		na += buf[2] == ids[0];
		nb += buf[2] == ids[1];
	}
	printf("both: %d %d\n", na == ca / 21, nb == cb / 4);
	close(fd);
	sample_unmap(&r);
}

/* A group whose leader samples: the counts of all at that very instruction. */
static void group(void)
{
	struct perf_event_attr a = attr_of(PERF_COUNT_HW_INSTRUCTIONS, 100);
	struct perf_event_attr b = attr_of(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0);
	uint64_t buf[64], n = 0, wrong = 0, last = 0;
	struct ring r;
	int fd;

	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ;
	a.read_format = b.read_format = PERF_FORMAT_GROUP;
	b.disabled = 0;
	map_or_die(&r, open_or_die(&a, 0), 64, RW);
	fd = sample_open(&b, 0, -1, r.fd);
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(5000);
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (sample_next(&r, buf, sizeof(buf))) {
		int in_loop = buf[1] == (uint64_t)(uintptr_t)loop_dec ||
			      buf[1] == (uint64_t)(uintptr_t)loop_jnz;

		n++;
		wrong += buf[2] != 2 || buf[3] != n * 100;
		/* 100 instructions of the loop are 50 branches */
		wrong += in_loop && n > 2 && last && buf[4] - last != 50;
		last = in_loop ? buf[4] : 0;
	}
	printf("group: %d, %lu wrong\n", n >= 99, (unsigned long)wrong);
	close(fd);
	sample_unmap(&r);
}

/* --- counters that come later than the samples, of what nobody has counted until then */

static uint64_t counted(int fd, uint64_t n)
{
	uint64_t from = sample_count(fd);

	loop(n);
	return sample_count(fd) - from;
}

/* What more rounds of the loop count: the calls around it count the same each time. */
static unsigned long more(int fd)
{
	uint64_t few = counted(fd, 1000);

	return (unsigned long)(counted(fd, 3000) - few);
}

static void later(void)
{
	struct perf_event_attr a = attr_of(PERF_COUNT_HW_INSTRUCTIONS, 1000);
	struct perf_event_attr b = attr_of(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0);
	uint64_t buf[64], n = 0;
	unsigned long before;
	struct ring r;
	int fd;

	a.sample_type = PERF_SAMPLE_IP;
	b.disabled = 0;
	map_or_die(&r, open_or_die(&a, 0), 64, RW);
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	sample_count(r.fd);
	before = more(r.fd);
	fd = open_or_die(&b, 0);
	sample_count(fd);
	printf("later: %lu %lu %lu", before, more(fd), more(r.fd));
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (sample_next(&r, buf, sizeof(buf)))
		n++;
	printf(", all %d\n", n == sample_count(r.fd) / 1000);
	close(fd);
	sample_unmap(&r);
}

/* --- signals */

static volatile int nsignals, in_order;

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	in_order += info->si_code == POLL_IN;
	nsignals++;
}

static void signals(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = attr_of(PERF_COUNT_HW_INSTRUCTIONS, 100003);
	uint64_t count;
	int fd;

	sigaction(SIGRTMIN, &sa, NULL);
	fd = open_or_die(&attr, 0);
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, SIGRTMIN);
	fcntl(fd, F_SETFL, O_ASYNC);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(5000000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	count = sample_count(fd);
	printf("signals: %d, all POLL_IN %d\n", (uint64_t)nsignals == count / 100003,
	       in_order == nsignals);
	close(fd);
}

/* --- registers and addresses */

static void data(void)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_HW_INSTRUCTIONS, 1);
	static uint64_t cell[4];
	uint64_t buf[64], found = 0, store = 0;
	struct ring r;

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_REGS_INTR;
	attr.sample_regs_intr = 1 << 0 | 1 << 8; /* ax, ip */
	map_or_die(&r, open_or_die(&attr, 0), 256, RW);
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	__asm__ volatile("mov $0x1234, %%eax\n"
			 "mov %%rax, 16(%0)\n"
			 "mov (%0), %%rax\n"
			 :
			 : "r"(cell)
			 : "rax", "memory");
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (sample_next(&r, buf, sizeof(buf))) {
		/* ip, addr, abi, ax, ip */
		if (buf[2] == (uint64_t)(uintptr_t)&cell[2]) {
			store++;
			found += buf[4] == 0x1234 && buf[5] == buf[1];
		}
		if (buf[2] == (uint64_t)(uintptr_t)&cell[0] && store == 1)
			found += buf[4] == 0;
	}
	printf("data: found %lu\n", (unsigned long)found);
	sample_unmap(&r);
}

/* --- threads and children, in one ring of a CPU */

static void *in_thread(void *arg)
{
	loop((uint64_t)(uintptr_t)arg);
	return NULL;
}

static void inherit(void)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_HW_INSTRUCTIONS, 1000);
	uint64_t buf[64], n = 0, of_child = 0, of_threads = 0;
	pthread_t threads[4];
	cpu_set_t set;
	struct ring r;
	pid_t child;
	int fd;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	attr.inherit = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	fd = sample_open(&attr, 0, sched_getcpu(), -1);
	map_or_die(&r, fd, 256, RW);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, in_thread, (void *)(uintptr_t)500000);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	child = fork();
	if (!child) {
		loop(500000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (sample_next(&r, buf, sizeof(buf))) {
		const uint32_t *id = (const uint32_t *)&buf[1];

		n++;
		of_child += id[0] == (uint32_t)child && id[1] == (uint32_t)child;
		of_threads += id[0] == (uint32_t)getpid() && id[1] != (uint32_t)getpid();
	}
	/* each leaves less than a period behind */
	printf("inherit: threads %d, child %d, sum %d\n", of_threads >= 4000 && of_threads < 4100,
	       of_child >= 1000 && of_child < 1100,
	       n <= sample_count(fd) / 1000 && n + 6 >= sample_count(fd) / 1000);
	sample_unmap(&r);
}

/* --- whoever is killed in the middle of a record leaves a ring that can be walked */

static void killed(int rounds)
{
	unsigned long bad = 0, total = 0;

	for (int i = 0; i < rounds; i++) {
		struct perf_event_attr attr = attr_of(PERF_COUNT_HW_INSTRUCTIONS, 50);
		struct perf_event_header *h;
		uint64_t buf[512];
		struct ring r;
		pid_t child = fork();
		int status;

		if (!child)
			for (;;)
				loop(1000);
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN;
		attr.disabled = 0;
		map_or_die(&r, open_or_die(&attr, child), 16, RW);
		while (__atomic_load_n(&r.page->data_head, __ATOMIC_ACQUIRE) <
		       (uint64_t)(1 + i) * 64)
			sched_yield();
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		while (sample_next(&r, buf, sizeof(buf))) {
			const uint32_t *id = (const uint32_t *)&buf[2];

			h = (void *)buf;
			total++;
			if (h->type == PERF_RECORD_LOST)
				continue;
			bad += h->type != PERF_RECORD_SAMPLE || id[0] != (uint32_t)child ||
			       h->size != 8 * (4 + buf[3]);
		}
		/* and the ring lives on: another one writes to it */
		sample_unmap(&r);
	}
	printf("killed: %d, %lu bad\n", total > 0, bad);
}

/* Two processes write to one ring; one of them is killed. */
static void survivors(void)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_HW_INSTRUCTIONS, 10007);
	unsigned long mine = 0, bad = 0;
	uint64_t buf[512];
	const struct perf_event_header *h = (void *)buf;
	const uint32_t *id = (const uint32_t *)&buf[1];
	cpu_set_t set;
	struct ring r;
	pid_t child;
	int fd;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	attr.inherit = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	fd = sample_open(&attr, 0, sched_getcpu(), -1);
	map_or_die(&r, fd, 16, RW);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int i = 0; i < 20; i++) {
		int status;

		child = fork();
		if (!child)
			for (;;)
				loop(1000);
		while (sample_next(&r, buf, sizeof(buf)))
			;
		for (int k = 0; k < 3; k++)
			sched_yield();
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		while (sample_next(&r, buf, sizeof(buf)))
			bad += h->type != PERF_RECORD_SAMPLE && h->type != PERF_RECORD_LOST;
		mine = 0;
		loop(200000);
		while (sample_next(&r, buf, sizeof(buf)))
			mine += id[0] == (uint32_t)getpid();
		bad += mine < 39;
	}
	printf("survivors: %lu bad\n", bad);
	sample_unmap(&r);
}

static void kills(void)
{
	killed(30);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = { { "periods", periods }, { "branches", branches }, { "two", two },
	      { "group", group },     { "signals", signals },	{ "data", data },
	      { "inherit", inherit }, { "killed", kills },	{ "survivors", survivors },
	      { "later", later } };

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc < 2 || !strcmp(argv[1], cases[i].name))
			cases[i].run();
	return 0;
}
