/* FLAGS: -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls */
/* LIBS: -lpthread */
/* SPDX-License-Identifier: MIT */
/*
 * Sampling, by the one kind of event that both the kernel and a session count exactly: execution
 * breakpoints.  All that is printed has to be the same on both.  77: no breakpoints here.
 */
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/wait.h>

#include "sample.h"

static volatile long sink;
int main(int argc, char **argv);

__attribute__((noinline, noclone)) static void target(long a, long b)
{
	sink += a - b;
}

__attribute__((noinline, noclone)) static void other(long a)
{
	sink -= a;
}

__attribute__((noinline, noclone)) static void caller(long n)
{
	for (long i = 0; i < n; i++) {
		target(i, 7);
		sink++;
	}
	sink++;
}

static struct perf_event_attr attr_of(void *what, uint64_t period)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_BREAKPOINT;
	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = (uint64_t)(uintptr_t)what;
	attr.bp_len = sizeof(long);
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP;
	attr.exclude_kernel = attr.exclude_hv = 1;
	attr.wakeup_events = 1;
	return attr;
}

static int open_or_die(struct perf_event_attr *attr)
{
	int fd = sample_open(attr, 0, -1, -1);

	if (fd < 0) {
		printf("cannot open: %s\n", strerror(errno));
		exit(errno == EACCES || errno == EPERM || errno == ENOSYS || errno == ENOSPC ||
				     errno == EOPNOTSUPP
			     ? 77
			     : 1);
	}
	return fd;
}

#define RW (PROT_READ | PROT_WRITE)

struct ip_sample {
	struct perf_event_header h;
	uint64_t ip;
};

/* --- */

static void counts(void)
{
	static const uint64_t periods[] = { 1, 2, 3, 7, 100, 1000 };
	char buf[4096];

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		struct perf_event_attr attr = attr_of(target, periods[i]);
		struct ring r;
		unsigned int n = 0, wrong = 0;

		map_or_die(&r, open_or_die(&attr), 8, RW);
		caller(1000);
		while (sample_next(&r, buf, sizeof(buf))) {
			const struct ip_sample *s = (void *)buf;

			n += s->h.type == PERF_RECORD_SAMPLE;
			wrong += s->ip != (uint64_t)(uintptr_t)target ||
				 (s->h.misc & PERF_RECORD_MISC_CPUMODE_MASK) !=
					 PERF_RECORD_MISC_USER ||
				 s->h.size != sizeof(*s);
		}
		printf("period %lu: %u samples of %lu, %u wrong\n", (unsigned long)periods[i], n,
		       (unsigned long)sample_count(r.fd), wrong);
		sample_unmap(&r);
	}
}

static long rel(uint64_t addr)
{
	return (long)(addr - (uint64_t)(uintptr_t)main);
}

__attribute__((noinline, noclone)) static void deep(long n)
{
	if (n)
		deep(n - 1);
	else
		target(1, 2);
	sink++;
}

static void chain_of(struct perf_event_attr *attr, const char *what)
{
	uint64_t buf[512];
	struct ring r;

	map_or_die(&r, open_or_die(attr), 8, RW);
	deep(300);
	while (sample_next(&r, buf, sizeof(buf))) {
		uint64_t nr = buf[2], same = 0;

		for (uint64_t i = 4; i < nr; i++)
			same += buf[3 + i] == buf[3 + 3];
		printf("%s: chain of %lu", what, (unsigned long)nr);
		if (nr)
			printf(" user %d callee %d", buf[3] == PERF_CONTEXT_USER,
			       buf[4] == (uint64_t)(uintptr_t)target);
		printf(" %lu times\n", (unsigned long)same);
	}
	sample_unmap(&r);
}

/* Cut at a depth that was asked for, or at the system's; without what is not wanted. */
static void chains(void)
{
	static const unsigned short depths[] = { 0, 1, 2, 30, 127 };
	struct perf_event_attr attr = attr_of(target, 1);
	char what[32];

	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		attr.sample_max_stack = depths[i];
		snprintf(what, sizeof(what), "depth %u", depths[i]);
		chain_of(&attr, what);
	}
	attr.sample_max_stack = 9;
	attr.exclude_callchain_kernel = 1;
	chain_of(&attr, "of the user");
	attr.exclude_callchain_user = 1;
	chain_of(&attr, "of nobody");
	attr.exclude_callchain_kernel = 0;
	chain_of(&attr, "of the kernel");
}

static void contents(void)
{
	struct perf_event_attr attr = attr_of(target, 5);
	uint64_t buf[512];
	struct ring r;

	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			   PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
			   PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			   PERF_SAMPLE_STACK_USER;
	attr.read_format = PERF_FORMAT_ID;
	attr.sample_regs_user = 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8; /* si, di, sp, ip */
	attr.sample_stack_user = 64;
	attr.sample_max_stack = 3;
	map_or_die(&r, open_or_die(&attr), 8, RW);
	caller(10);
	while (sample_next(&r, buf, sizeof(buf))) {
		const uint64_t *w = buf + 1, *end;
		const uint32_t *tid;
		uint64_t sp;

		printf("identifier %d", *w++ == r.id);
		printf(" ip %ld", rel(*w++) - rel((uint64_t)(uintptr_t)target));
		tid = (const uint32_t *)w++;
		printf(" tid %d %d", tid[0] == (uint32_t)getpid(), tid[1] == (uint32_t)gettid());
		printf(" addr %ld", rel(*w++) - rel((uint64_t)(uintptr_t)target));
		printf(" id %d", *w++ == r.id);
		printf(" stream %d", *w++ == r.id);
		printf(" read %lu", (unsigned long)*w++);
		printf(" %d\n", *w++ == r.id);
		end = w + 1 + *w;
		if (*w > 16) {
			printf("FAILED: a chain of %lu\n", (unsigned long)*w);
			break;
		}
		printf("chain of %lu:", (unsigned long)*w++);
		if (w < end && *w++ == PERF_CONTEXT_USER)
			printf(" user");
		while (w < end)
			printf(" %ld", rel(*w++));
		printf("\nregs abi %lu", (unsigned long)*w++);
		printf(" si %lu", (unsigned long)*w++);
		printf(" di %lu", (unsigned long)*w++);
		sp = *w++;
		printf(" ip %ld", rel(*w++) - rel((uint64_t)(uintptr_t)target));
		printf("\nstack %lu", (unsigned long)*w++);
		printf(" returns to %ld", rel(*w));
		printf(" above %d", sp > (uint64_t)(uintptr_t)buf - (1 << 20));
		w += 8;
		printf(" dyn %lu\n", (unsigned long)*w++);
		printf("rest %ld\n",
		       (long)((char *)w - (char *)buf) - ((struct perf_event_header *)buf)->size);
	}
	sample_unmap(&r);
}

/* With the period in the sample each event has one, of its own. */
static void with_period(void)
{
	struct perf_event_attr attr = attr_of(target, 5);
	uint64_t buf[64];
	struct ring r;

	attr.sample_type |= PERF_SAMPLE_PERIOD;
	map_or_die(&r, open_or_die(&attr), 1, RW);
	caller(7);
	while (sample_next(&r, buf, sizeof(buf)))
		printf("period %lu\n", (unsigned long)buf[2]);
	sample_unmap(&r);
}

/* A reader that stalls: how many fit, and what LOST says. */
static void lost(void)
{
	struct perf_event_attr attr = attr_of(target, 1);
	uint64_t buf[512], v[2] = { 0 };
	struct ring r;

	attr.sample_type |= PERF_SAMPLE_ID;
	attr.read_format = PERF_FORMAT_LOST;
	attr.sample_id_all = 1;
	map_or_die(&r, open_or_die(&attr), 1, RW);
	for (int round = 0; round < 3; round++) {
		unsigned int n = 0;

		caller(300 + round);
		while (sample_next(&r, buf, sizeof(buf))) {
			const struct perf_event_header *h = (void *)buf;

			if (h->type == PERF_RECORD_SAMPLE)
				n++;
			else if (h->type == PERF_RECORD_LOST)
				printf("LOST id %d lost %lu trailer %d size %u\n", buf[1] == r.id,
				       (unsigned long)buf[2], buf[3] == r.id, h->size);
			else
				printf("record %u\n", h->type);
		}
		printf("round %d: %u samples\n", round, n);
	}
	if (read(r.fd, v, sizeof(v)) == sizeof(v))
		printf("count %lu lost %lu\n", (unsigned long)v[0], (unsigned long)v[1]);
	sample_unmap(&r);
}

/* After which calls poll says POLLIN. */
static void wakeups(struct perf_event_attr *attr, const char *what)
{
	struct ring r;

	map_or_die(&r, open_or_die(attr), 1, RW);
	printf("%s:", what);
	for (int i = 1; i <= 200; i++) {
		target(i, 1);
		if (sample_polls(r.fd) & POLLIN)
			printf(" %d%s", i, sample_polls(r.fd) & POLLIN ? "twice" : "");
	}
	printf("\n");
	sample_unmap(&r);
}

static void all_wakeups(void)
{
	struct perf_event_attr attr = attr_of(target, 1);

	attr.wakeup_events = 40;
	wakeups(&attr, "each 40 events");
	attr.wakeup_events = 0;
	wakeups(&attr, "half of the buffer");
	attr.watermark = 1;
	attr.wakeup_watermark = 1000;
	wakeups(&attr, "each 1000 bytes");
	attr = attr_of(target, 50);
	wakeups(&attr, "each sample of 50");
}

static void waiters(void)
{
	struct perf_event_attr attr = attr_of(target, 1);
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 0x1234567890 };
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct timeval tv = { 0 };
	struct ring r;
	fd_set set;
	int got[2];

	map_or_die(&r, open_or_die(&attr), 1, RW);
	target(1, 1);
	for (int i = 0; i < 2; i++) {
		FD_ZERO(&set);
		FD_SET(r.fd, &set);
		tv = (struct timeval){ 0 };
		got[i] = select(r.fd + 1, &set, NULL, NULL, &tv);
	}
	printf("select %d %d\n", got[0], got[1]);
	printf("epoll_ctl %d\n", epoll_ctl(ep, EPOLL_CTL_ADD, r.fd, &ev));
	target(1, 1);
	for (int i = 0; i < 2; i++)
		got[i] = epoll_wait(ep, &ev, 1, 0);
	printf("epoll %d %d\n", got[0], got[1]);
	close(ep);
	sample_unmap(&r);
	attr = attr_of(target, 1);
	r.fd = open_or_die(&attr);
	printf("without a buffer %#x\n", sample_polls(r.fd));
	close(r.fd);
}

/* --- signals */

static volatile int nsignals, codes[64], bands[64], fds_seen;
static int sig_fd;

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	if (nsignals < 64) {
		codes[nsignals] = info->si_code;
		bands[nsignals] = (int)info->si_band;
	}
	fds_seen += info->si_fd == sig_fd;
	nsignals++;
}

static void catch_signals(int fd, int sig)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaction(sig, &sa, NULL);
	nsignals = fds_seen = 0;
	sig_fd = fd;
	fcntl(fd, F_SETOWN, getpid());
	fcntl(fd, F_SETSIG, sig);
	fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK);
}

static void signals(void)
{
	struct perf_event_attr attr = attr_of(target, 3);
	int fd;

	attr.disabled = 1;
	fd = open_or_die(&attr);
	catch_signals(fd, SIGRTMIN + 1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	caller(100);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	printf("%d signals, %d of the descriptor, first %d %#x\n", nsignals, fds_seen, codes[0],
	       bands[0]);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	nsignals = 0;
	caller(2); /* 1 is left of the former */
	printf("then %d\n", nsignals);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	caller(30);
	printf("without O_ASYNC %d\n", nsignals);
	close(fd);
}

static volatile pid_t taken_by;

static void on_owned(int sig)
{
	(void)sig;
	taken_by = gettid();
	nsignals++;
}

static volatile int owner_state;

/* Takes the signals of an event that counts in the first thread. */
static void *owner(void *arg)
{
	int fd = *(int *)arg;
	struct f_owner_ex own = { F_OWNER_TID, gettid() };

	fcntl(fd, F_SETOWN_EX, &own);
	__atomic_store_n(&owner_state, 1, __ATOMIC_RELEASE);
	while (nsignals < 10)
		sched_yield();
	printf("taken by the owner %d\n", taken_by == gettid());
	return NULL;
}

static void owners(void)
{
	struct perf_event_attr attr = attr_of(target, 5);
	pthread_t thread;
	int fd;

	attr.disabled = 1;
	fd = open_or_die(&attr);
	signal(SIGRTMIN + 3, on_owned);
	nsignals = 0;
	fcntl(fd, F_SETSIG, SIGRTMIN + 3);
	pthread_create(&thread, NULL, owner, &fd);
	while (!__atomic_load_n(&owner_state, __ATOMIC_ACQUIRE))
		sched_yield();
	fcntl(fd, F_SETFL, O_ASYNC);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	caller(50);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	pthread_join(thread, NULL);
	printf("%d signals\n", nsignals);
	close(fd);
}

static void refresh(int limit)
{
	struct perf_event_attr attr = attr_of(target, 2);
	char buf[4096];
	struct ring r;
	int n = 0;

	attr.disabled = 1;
	map_or_die(&r, open_or_die(&attr), 1, RW);
	catch_signals(r.fd, SIGRTMIN + 2);
	ioctl(r.fd, PERF_EVENT_IOC_REFRESH, limit);
	caller(20);
	printf("refresh %d: %d signals:", limit, nsignals);
	for (int i = 0; i < nsignals && i < 64; i++)
		printf(" %d/%#x", codes[i], bands[i]);
	while (sample_next(&r, buf, sizeof(buf)))
		n++;
	printf(", count %lu, %d records\n", (unsigned long)sample_count(r.fd), n);
	sample_unmap(&r);
}

static void refreshes(void)
{
	for (int limit = 1; limit <= 4; limit++)
		refresh(limit);
}

static volatile int traps;
static volatile long trap_addr, trap_data, trap_type;

static void on_trap(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	traps++;
	trap_addr = (long)((uintptr_t)info->si_addr - (uintptr_t)target);
	trap_data = *(long *)((char *)info + 24);
	trap_type = *(int *)((char *)info + 32);
	printf("trap %d code %d\n", traps, info->si_code);
}

static void sigtrap(void)
{
	struct perf_event_attr attr = attr_of(target, 4);
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	int fd;

	attr.sigtrap = attr.remove_on_exec = 1;
	attr.sig_data = 0x1122334455667788;
	sigaction(SIGTRAP, &sa, NULL);
	fd = open_or_die(&attr);
	for (int i = 1; i <= 12; i++) {
		target(i, 1);
		printf("call %d\n", i);
	}
	printf("addr %ld data %lx type %ld\n", trap_addr, trap_data, trap_type);
	close(fd);
}

/* --- modes of the buffer */

struct read_sample {
	struct perf_event_header h;
	uint64_t value;
};

static void overwrite(void)
{
	struct perf_event_attr attr = attr_of(target, 1);
	uint64_t head, first = 0, last = 0, n = 0;
	struct read_sample s;
	struct ring r;

	attr.sample_type = PERF_SAMPLE_READ;
	attr.write_backward = 1;
	map_or_die(&r, open_or_die(&attr), 1, PROT_READ);
	caller(1000);
	printf("pause %d\n", ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
	caller(10);
	head = __atomic_load_n(&r.page->data_head, __ATOMIC_ACQUIRE);
	printf("head %ld\n", (long)head);
	/* from the newest on */
	for (uint64_t at = head; at - head < r.size; at += s.h.size) {
		for (uint64_t i = 0; i < sizeof(s); i++)
			((char *)&s)[i] = r.data[(at + i) % r.size];
		if (s.h.size != sizeof(s) || s.h.type != PERF_RECORD_SAMPLE)
			break;
		if (!n++)
			first = s.value;
		last = s.value;
	}
	printf("%lu records, newest %lu, oldest %lu\n", (unsigned long)n, (unsigned long)first,
	       (unsigned long)last);
	ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	caller(1);
	printf("moved %ld\n", (long)(head - r.page->data_head));
	sample_unmap(&r);
}

static void overwrite_forward(void)
{
	struct perf_event_attr attr = attr_of(target, 1);
	struct ring r;

	map_or_die(&r, open_or_die(&attr), 1, PROT_READ);
	caller(1000);
	printf("forward: head %lu\n", (unsigned long)r.page->data_head);
	sample_unmap(&r);
}

static void paused(void)
{
	struct perf_event_attr attr = attr_of(target, 1);
	char buf[4096];
	struct ring r;
	int n = 0;

	map_or_die(&r, open_or_die(&attr), 1, RW);
	caller(3);
	ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
	caller(5);
	ioctl(r.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	caller(2);
	while (sample_next(&r, buf, sizeof(buf)))
		printf("%s%u", n++ ? " " : "records ", ((struct perf_event_header *)buf)->type);
	printf("\n");
	sample_unmap(&r);
}

static void set_output(void)
{
	struct perf_event_attr a = attr_of(target, 1), b = attr_of(other, 2);
	uint64_t buf[64], id;
	struct ring r;
	int fd;

	a.sample_type = b.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ID;
	map_or_die(&r, open_or_die(&a), 1, RW);
	fd = open_or_die(&b);
	printf("set output %d\n", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r.fd));
	id = sample_id(fd);
	for (int i = 0; i < 4; i++) {
		target(1, 1);
		other(2);
	}
	while (sample_next(&r, buf, sizeof(buf)))
		printf("%s%s ",
		       buf[2] == r.id ? "a"
		       : buf[2] == id ? "b"
				      : "?",
		       buf[1] == (uint64_t)(uintptr_t)(buf[2] == id ? other : (void *)target)
			       ? ""
			       : "wrong");
	printf("\nback %d\n", ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1));
	other(1);
	other(1);
	printf("rest %d\n", sample_next(&r, buf, sizeof(buf)));
	close(fd);
	sample_unmap(&r);
}

/* --- tasks */

static void *in_thread(void *arg)
{
	caller((long)(intptr_t)arg);
	return NULL;
}

static void stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void inherit(void)
{
	struct perf_event_attr attr = attr_of(target, 10);
	unsigned int mine = 0, of_process = 0, others = 0;
	uint64_t buf[64];
	pthread_t thread;
	struct ring r;
	pid_t child;
	int fd;

	stay_here();
	attr.inherit = 1;
	attr.sample_type = PERF_SAMPLE_TID;
	fd = sample_open(&attr, 0, sched_getcpu(), -1);
	if (fd < 0)
		exit(77);
	map_or_die(&r, fd, 4, RW);
	caller(55);
	pthread_create(&thread, NULL, in_thread, (void *)(intptr_t)101);
	pthread_join(thread, NULL);
	child = fork();
	if (!child) {
		caller(33);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	while (sample_next(&r, buf, sizeof(buf))) {
		const uint32_t *id = (const uint32_t *)&buf[1];

		if (id[0] == (uint32_t)getpid() && id[1] == (uint32_t)gettid())
			mine++;
		else if (id[0] == (uint32_t)getpid())
			of_process++;
		else if (id[0] == (uint32_t)child && id[1] == (uint32_t)child)
			others++;
	}
	printf("own %u, thread %u, child %u, count %lu\n", mine, of_process, others,
	       (unsigned long)sample_count(fd));
	sample_unmap(&r);
}

/* --- what else is told */

static uint32_t thread_tid;

static void *note_tid(void *unused)
{
	thread_tid = (uint32_t)gettid();
	return unused;
}

static const char *who(uint32_t pid, uint32_t child)
{
	if (pid && pid == thread_tid)
		return "thread";
	return pid == (uint32_t)getpid() ? "me" : pid == child ? "child" : pid ? "other" : "0";
}

static void print_mmap(const uint64_t *buf)
{
	const struct perf_event_header *h = (const void *)buf;
	const char *name = (const char *)(buf + 9), *base = strrchr(name, '/');
	const uint32_t *prot = (const uint32_t *)&buf[8];

	printf("MMAP2 misc %#x len %lu pgoff %ld prot %u flags %u %s ino %d\n", h->misc,
	       (unsigned long)buf[3], buf[4] == buf[2] ? -1L : (long)buf[4], prot[0], prot[1],
	       base ? base + 1 : name, buf[6] != 0);
}

static void sideband(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1,
					.mmap = 1,
					.mmap2 = 1,
					.comm = 1,
					.task = 1,
					.sample_id_all = 1,
					.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME };
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = open_or_die(&attr), child;
	uint64_t buf[512], last = 0;
	pthread_t thread;
	struct ring r;
	void *p;

	map_or_die(&r, fd, 8, RW);
	prctl(PR_SET_NAME, "renamed");
	pthread_create(&thread, NULL, note_tid, NULL);
	pthread_join(thread, NULL);
	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, PAGE);
	mprotect(p, PAGE, PROT_READ);
	munmap(p, 2 * PAGE);
	p = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(p, PAGE, PROT_READ | PROT_EXEC);
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	while (sample_next(&r, buf, sizeof(buf))) {
		const struct perf_event_header *h = (void *)buf;
		const uint32_t *w = (const uint32_t *)&buf[1];
		const uint64_t *end = (const uint64_t *)((char *)buf + h->size);

		if (h->type == PERF_RECORD_COMM)
			printf("COMM %s misc %#x\n", (const char *)&buf[2], h->misc);
		else if (h->type == PERF_RECORD_MMAP2)
			print_mmap(buf);
		else if (h->type == PERF_RECORD_FORK || h->type == PERF_RECORD_EXIT)
			printf("%s pid %s ppid %s tid %s ptid %s\n",
			       h->type == PERF_RECORD_FORK ? "FORK" : "EXIT",
			       who(w[0], (uint32_t)child), who(w[1], (uint32_t)child),
			       who(w[2], (uint32_t)child), who(w[3], (uint32_t)child));
		else
			printf("record %u\n", h->type);
		if (end[-1] < last)
			printf("FAILED: out of order\n");
		last = end[-1];
	}
	sample_unmap(&r);
	close(self);
}

static const struct sample_case cases[] = { { "counts", counts },
					    { "contents", contents },
					    { "chains", chains },
					    { "period", with_period },
					    { "lost", lost },
					    { "wakeups", all_wakeups },
					    { "waiters", waiters },
					    { "signals", signals },
					    { "owner", owners },
					    { "refresh", refreshes },
					    { "sigtrap", sigtrap },
					    { "overwrite", overwrite },
					    { "forward", overwrite_forward },
					    { "paused", paused },
					    { "output", set_output },
					    { "inherit", inherit },
					    { "sideband", sideband },
					    { 0 } };

int main(int argc, char **argv)
{
	return sample_main(cases, argc, argv);
}
