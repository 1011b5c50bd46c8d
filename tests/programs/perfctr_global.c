/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Global counters by perfctr 2.6's interface: what its calls answer, and that the sum over CPUs is what all
 * processes of the session have counted.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "perfctr26.h"

static unsigned ncpus;

static void say(const char *what, int ret)
{
	if (ret < 0)
		printf("%s: %s\n", what, strerror(errno));
	else
		printf("%s: %d\n", what, ret);
}

static int control(int dev, unsigned cpu, const struct cpu_control *c)
{
	struct buf b = { 0 };

	add(&b, 15, 0, cpu);
	add_cpu_control(&b, c);
	return ioctl(dev, GPERFCTR_CONTROL, &b);
}

static void take_word(const struct buf *b, unsigned at, struct cpu_control *c)
{
	unsigned i = b->words[at] >> 1 & 0x7fff;

	switch (b->words[at] >> 16) {
	case 20:
		break;
	case 32:
		c->tsc_on = b->words[at + 1];
		break;
	case 33:
		c->nractrs = b->words[at + 1];
		break;
	case 35:
		c->pmc_map[i] = b->words[at + 1];
		break;
	case 36:
		c->evntsel[i] = b->words[at + 1];
		break;
	case 38:
		c->escr[i] = b->words[at + 1];
		break;
	default:
		fail("a state that is none");
	}
}

static int ask(int dev, unsigned cpu, struct buf *b)
{
	memset(b, 0, sizeof(*b));
	b->wrsize = 256;
	add(b, 20, 0, cpu);
	return ioctl(dev, GPERFCTR_READ, b);
}

static void decode(const struct buf *b, struct cpu_control *c, struct sum *s)
{
	memset(c, 0, sizeof(*c));
	memset(s, 0, sizeof(*s));
	for (unsigned at = 0; at < b->rdsize; at += b->words[at] & 1 ? 3 : 2) {
		uint64_t v = b->words[at + 1];

		if (b->words[at] & 1)
			v |= (uint64_t)b->words[at + 2] << 32;
		if (b->words[at] == (48 << 16 | 1))
			s->tsc = v;
		else if (b->words[at] & 1)
			s->pmc[b->words[at] >> 1 & 0x7fff] = v;
		else
			take_word(b, at, c);
	}
}

static int read_cpu(int dev, unsigned cpu, struct cpu_control *c, struct sum *s)
{
	struct buf b;
	int ret = ask(dev, cpu, &b);

	decode(&b, c, s);
	return ret;
}

/* Of all CPUs; how many words there are depends on what is 0, so they are looked at later. */
static void look(int dev, struct buf *all)
{
	for (unsigned cpu = 0; cpu < ncpus; cpu++)
		if (ask(dev, cpu, &all[cpu]))
			fail("GPERFCTR_READ");
}

static void add_up(const struct buf *all, struct sum *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (unsigned cpu = 0; cpu < ncpus; cpu++) {
		struct cpu_control c;
		struct sum s;

		decode(&all[cpu], &c, &s);
		sum->tsc += s.tsc;
		for (int i = 0; i < 18; i++)
			sum->pmc[i] += s.pmc[i];
	}
}

static struct buf *new_look(void)
{
	struct buf *all = calloc(ncpus, sizeof(*all));

	if (!all)
		fail("calloc");
	return all;
}

static int counting(int interval)
{
	struct control c;
	int dev = device();

	two_counters(&c);
	for (unsigned cpu = 0; cpu < ncpus; cpu++)
		if (control(dev, cpu, &c.cpu) != (int)cpu + 1)
			fail("GPERFCTR_CONTROL");
	if (ioctl(dev, GPERFCTR_START, interval) != (int)ncpus)
		fail("GPERFCTR_START");
	return dev;
}

static void calls(void)
{
	int dev = device();
	struct control c;
	struct cpu_control back;
	struct sum s;
	struct buf none = { .rdsize = 2, .wrsize = 256, .words = { 21 << 16, 1 } };

	say("start of nothing", ioctl(dev, GPERFCTR_START, 10000));
	say("stop of nothing", ioctl(dev, GPERFCTR_STOP, 0));
	say("often", ioctl(dev, GPERFCTR_START, 9999));
	two_counters(&c);
	say("no such CPU", control(dev, 100000, &c.cpu));
	say("nor to read", read_cpu(dev, 100000, &back, &s));
	say("an unknown tag", ioctl(dev, GPERFCTR_READ, &none));
	c.cpu.nrictrs = 1;
	say("one that interrupts", control(dev, 0, &c.cpu));
	c.cpu.nrictrs = 0;
	c.cpu.evntsel[0] |= 1 << 21;
	say("a reserved bit", control(dev, 0, &c.cpu));
	two_counters(&c);
	say("control", control(dev, 0, &c.cpu));
	say("the same again", control(dev, 0, &c.cpu));
	say("start", ioctl(dev, GPERFCTR_START, 0));
	say("while it counts", control(dev, 0, &c.cpu));
	say("again", ioctl(dev, GPERFCTR_START, 10000));
	say("read", read_cpu(dev, 0, &back, &s));
	puts(memcmp(&back, &c.cpu, sizeof(back)) ? "the control differs"
						 : "the control comes back");
	say("on a state", ioctl(creat_state(dev), GPERFCTR_STOP, 0));
	say("stop", ioctl(dev, GPERFCTR_STOP, 0));
	say("start", ioctl(dev, GPERFCTR_START, 0));
	if (read_cpu(dev, 0, &back, &s) || !s.tsc)
		fail("stopped");
	say("control", control(dev, 0, &c.cpu));
	if (read_cpu(dev, 0, &back, &s) || s.tsc || s.pmc[0])
		fail("not zeroed");
	puts("kept, zeroed");
}

static void print_more(const char *what, const struct sum s[3])
{
	uint64_t n[2];

	for (int i = 0; i < 2; i++)
		n[i] = s[2].pmc[i] - s[1].pmc[i] - (s[1].pmc[i] - s[0].pmc[i]);
	printf("%s: %llu instructions, %llu branches more\n", what, (unsigned long long)n[0],
	       (unsigned long long)n[1]);
}

static void run_on(unsigned long cpus)
{
	cpu_set_t set;

	memset(&set, 0, sizeof(set));
	memcpy(&set, &cpus, sizeof(cpus));
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("sched_setaffinity");
}

static void *run(void *arg)
{
	work(*(const uint64_t *)arg);
	return NULL;
}

static void in_threads(uint64_t n)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, run, &n))
			fail("pthread_create");
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void in_children(uint64_t n)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid) {
			run_on(~0UL);
			work(n);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			fail("fork");
	}
}

static void here(uint64_t n)
{
	work(n);
}

static void sums(void)
{
	static void (*const where[])(uint64_t n) = { here, in_children };
	static const char *const names[] = { "one", "children" };
	struct buf *at[] = { new_look(), new_look(), new_look() };
	static const uint64_t n[] = { 1000, 1000, 1001000 };
	int dev = counting(10000);
	struct sum s[3];

	/* what it does between the reads of two CPUs is then always of the same one */
	run_on(1);
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 3; k++) {
			where[i](n[k]);
			look(dev, at[k]);
		}
		for (int k = 0; k < 3; k++)
			add_up(at[k], &s[k]);
		print_more(names[i], s);
	}
	if (ioctl(dev, GPERFCTR_STOP, 0))
		fail("GPERFCTR_STOP");
	look(dev, at[0]);
	work(1000);
	look(dev, at[1]);
	add_up(at[0], &s[0]);
	add_up(at[1], &s[1]);
	puts(memcmp(&s[0], &s[1], sizeof(s[0])) ? "it goes on" : "stopped, and kept");
}

/* Threads make as many system calls as they wait: what they did is a bound. */
static void threads(void)
{
	struct buf *at[] = { new_look(), new_look() };
	int dev = counting(0);
	struct sum from, to;
	uint64_t n;

	look(dev, at[0]);
	in_threads(1000000);
	look(dev, at[1]);
	add_up(at[0], &from);
	add_up(at[1], &to);
	n = to.pmc[0] - from.pmc[0];
	printf("threads: %s\n", n >= 8000000 && n < 8100000 ? "all of them" : "not all, or more");
}

/* Goes from nothing to counters that count and back, and says where it is: at each letter it may be killed. */
static void own(int out)
{
	struct buf *at = new_look();
	int dev = device();
	struct control c;

	two_counters(&c);
	for (;;) {
		if (write(out, "s", 1) != 1 || ioctl(dev, GPERFCTR_STOP, 0))
			break;
		for (unsigned cpu = 0; cpu < ncpus; cpu++)
			if (write(out, "c", 1) != 1 || control(dev, cpu, &c.cpu) != (int)cpu + 1)
				fail("GPERFCTR_CONTROL");
		if (write(out, "b", 1) != 1 || ioctl(dev, GPERFCTR_START, 10000) != (int)ncpus)
			fail("GPERFCTR_START");
		if (write(out, "r", 1) != 1)
			break;
		look(dev, at);
		work(100);
	}
	_exit(1);
}

/* Killed after so many letters, and some instructions later. */
static void kill_owner(unsigned letters, uint64_t later)
{
	int fds[2], status;
	char letter;
	pid_t pid;

	if (pipe(fds))
		fail("pipe");
	pid = fork();
	if (!pid) {
		close(fds[0]);
		own(fds[1]);
	}
	close(fds[1]);
	for (unsigned i = 0; i < letters; i++)
		if (read(fds[0], &letter, 1) != 1)
			fail("the owner has ended");
	work(1 + later);
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		fail("the owner was not killed");
	close(fds[0]);
}

/* What is counted while this works, and looks. */
static void count_work(int dev, uint64_t n, struct sum *more)
{
	struct buf *at[] = { new_look(), new_look() };
	struct sum s[2];

	look(dev, at[0]);
	work(n);
	look(dev, at[1]);
	for (int k = 0; k < 2; k++) {
		add_up(at[k], &s[k]);
		free(at[k]);
	}
	for (int i = 0; i < 2; i++)
		more->pmc[i] = s[1].pmc[i] - s[0].pmc[i];
}

/* Is what it counts of itself right?  One code for both, so that they differ by n alone. */
static int is_exact(int dev)
{
	static void (*volatile const count)(int dev, uint64_t n, struct sum *more) = count_work;
	struct sum a, b;

	count(dev, 1000, &a);
	count(dev, 11000, &b);
	return b.pmc[0] - a.pmc[0] == 20000 && b.pmc[1] - a.pmc[1] == 10000;
}

static uint64_t count_own_work(int fd, uint64_t n)
{
	struct sum s[2];

	if (read_sum(fd, &s[0]))
		return 0;
	work(n);
	return read_sum(fd, &s[1]) ? 0 : s[1].pmc[0] - s[0].pmc[0];
}

/* Until it is killed; what it counts of itself goes on beside. */
static pid_t start_other(int *out)
{
	static uint64_t (*volatile const own_work)(int fd, uint64_t n) = count_own_work;
	struct control c;
	int fds[2], fd;
	char bad = 0;
	pid_t pid;

	if (pipe(fds))
		fail("pipe");
	pid = fork();
	*out = fds[0];
	if (pid) {
		close(fds[1]);
		return pid;
	}
	fd = creat_state(device());
	one_counter(&c, 0);
	if (set_control(fd, &c))
		fail("VPERFCTR_CONTROL");
	do {
		bad |= own_work(fd, 2000) - own_work(fd, 1000) != 2000;
	} while (write(fds[1], &bad, 1) == 1);
	_exit(1);
}

/* Whoever had them is killed at any time; they are the device's, so the next one stops them and has them. */
static void kills(void)
{
	unsigned taken = 0, exact = 0, other = 0;
	int out, dev;
	pid_t pid;
	char bad;

	run_on(1);
	for (unsigned i = 0; i < 60; i++) {
		kill_owner(1 + i % (2 * (ncpus + 3)), i * 37 % 50 * 200);
		dev = device();
		taken += !ioctl(dev, GPERFCTR_STOP, 0);
		close(dev);
		dev = counting(i & 1 ? 10000 : 0);
		exact += is_exact(dev);
		if (i & 2)
			taken += !ioctl(dev, GPERFCTR_STOP, 0);
		else
			taken++; /* the next one finds them counting */
		close(dev);
	}
	printf("%u of 120 taken, %u of 60 exact\n", taken, exact);
	pid = start_other(&out);
	for (unsigned i = 0; i < 40; i++) {
		kill_owner(1 + i % (2 * (ncpus + 3)), i * 41 % 50 * 200);
		if (read(out, &bad, 1) != 1)
			fail("the other one has ended");
		other += !bad;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	dev = device();
	if (ioctl(dev, GPERFCTR_STOP, 0))
		fail("GPERFCTR_STOP");
	close(dev);
	printf("the other one: %u of 40 right, then %s\n", other,
	       is_exact(counting(0)) ? "exact" : "not exact");
}

int main(int argc, char **argv)
{
	static const struct named tests[] = {
		{ "calls", calls }, { "kills", kills }, { "sums", sums }, { "threads", threads }
	};

	ncpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
