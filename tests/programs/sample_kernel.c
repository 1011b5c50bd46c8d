/* FLAGS: -O1 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls */
/* LIBS: -lpthread */
/* SPDX-License-Identifier: MIT */
/*
 * Sampling of what the kernel sees: page faults, at the instructions that take them.  What is printed
 * has to be the same natively and in a session.  77: the kernel permits no such event.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "sample.h"

#define RW (PROT_READ | PROT_WRITE)
#define N  210UL

static volatile char sink;
static volatile sig_atomic_t signals;

/* One page fault for each page. */
__attribute__((noinline, noclone, aligned(64))) static void touch(char *p, unsigned long n)
{
	sink = (char)(uintptr_t)__builtin_frame_address(0); /* it has one */
	for (unsigned long i = 0; i < n; i++)
		p[i * PAGE] = 1;
}

__attribute__((noinline, noclone)) static void caller(char *p, unsigned long n)
{
	touch(p, n);
	sink++;
}

/* A sequence that is not copied as it is: the engine guards an indirect call. */
__attribute__((noinline, noclone)) static void through_memory(void (**p)(void), unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		__asm__ volatile("cmpq $0, (%0)\n\t"
				 "jne 1f\n\t"
				 "add $1, %%rax\n"
				 "1:"
				 :
				 : "r"((char *)p + i * PAGE)
				 : "rax", "cc", "memory");
}

static char *fresh(unsigned long n)
{
	char *p = mmap(NULL, n * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || madvise(p, n * PAGE, MADV_NOHUGEPAGE)) {
		printf("no memory\n");
		exit(1);
	}
	return p;
}

static struct perf_event_attr attr_of(uint64_t config, uint64_t period)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = config;
	attr.sample_period = period;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	attr.disabled = 1;
	attr.exclude_kernel = attr.exclude_hv = 1;
	attr.wakeup_events = 1;
	return attr;
}

static void open_ring_on(struct ring *r, struct perf_event_attr *attr, int cpu)
{
	int fd = sample_open(attr, 0, cpu, -1), ret;

	if (fd < 0) {
		printf("cannot open: %s\n", strerror(errno));
		exit(errno == EACCES || errno == EPERM || errno == EOPNOTSUPP ? 77 : 1);
	}
	ret = sample_map(r, fd, 8, RW);
	if (ret) {
		printf("cannot map: %s\n", strerror(-ret));
		exit(1);
	}
}

static void open_ring(struct ring *r, struct perf_event_attr *attr)
{
	open_ring_on(r, attr, -1);
}

struct fault {
	struct perf_event_header h;
	uint64_t ip, addr;
};

static int is_in(uint64_t ip, const void *f)
{
	return ip - (uint64_t)(uintptr_t)f < 64;
}

/* Samples of what was touched, whether each is where it must be, and in order. */
static void print(const char *what, struct ring *r, const char *p, uint64_t period, const void *f)
{
	unsigned long n = 0, wrong = 0, at = 0;
	char buf[4096];

	while (sample_next(r, buf, sizeof(buf))) {
		const struct fault *s = (void *)buf;

		if (s->h.type != PERF_RECORD_SAMPLE)
			continue;
		n++;
		at += period;
		wrong += s->addr != (uint64_t)(uintptr_t)p + (at - 1) * PAGE || !is_in(s->ip, f) ||
			 (s->h.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER;
	}
	printf("%s, each %lu: %lu samples, %lu wrong\n", what, (unsigned long)period, n, wrong);
}

static void periods(void)
{
	static const uint64_t p[] = { 1, 2, 7, 100 };

	for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++) {
		struct perf_event_attr attr = attr_of(PERF_COUNT_SW_PAGE_FAULTS, p[i]);
		char *mem = fresh(N), *warm = fresh(1);
		struct ring r;

		open_ring(&r, &attr);
		caller(warm, 1);
		ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
		caller(mem, N);
		ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
		print("page-faults", &r, mem, p[i], (void *)touch);
		sample_unmap(&r);
	}
}

/* In code that is new when it faults, and in code that has run. */
static void reads(void)
{
	for (int i = 0; i < 2; i++) {
		struct perf_event_attr attr = attr_of(PERF_COUNT_SW_PAGE_FAULTS_MIN, 1);
		char *mem = fresh(N);
		struct ring r;

		open_ring(&r, &attr);
		ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
		through_memory((void (**)(void))(void *)mem, N);
		ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
		print("minor-faults", &r, mem, 1, (void *)through_memory);
		sample_unmap(&r);
	}
}

/* Several events tell of the same fault. */
static void several(void)
{
	struct perf_event_attr any = attr_of(PERF_COUNT_SW_PAGE_FAULTS, 3);
	struct perf_event_attr min = attr_of(PERF_COUNT_SW_PAGE_FAULTS_MIN, 2);
	struct perf_event_attr maj = attr_of(PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1);
	char *mem = fresh(N), *warm = fresh(1);
	struct ring a, b, c;

	open_ring(&a, &any);
	open_ring(&b, &min);
	open_ring(&c, &maj);
	caller(warm, 1);
	ioctl(a.fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(b.fd, PERF_EVENT_IOC_ENABLE, 0);
	ioctl(c.fd, PERF_EVENT_IOC_ENABLE, 0);
	caller(mem, N);
	ioctl(c.fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(b.fd, PERF_EVENT_IOC_DISABLE, 0);
	ioctl(a.fd, PERF_EVENT_IOC_DISABLE, 0);
	print("page-faults", &a, mem, 3, (void *)touch);
	print("minor-faults", &b, mem, 2, (void *)touch);
	print("major-faults", &c, mem, 1, (void *)touch);
	sample_unmap(&a);
	sample_unmap(&b);
	sample_unmap(&c);
}

/* Who was called by whom, and with which registers. */
static void contents(void)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_PAGE_FAULTS, 50);
	char *mem = fresh(N), *warm = fresh(1);
	uint64_t buf[512];
	struct ring r;

	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR |
			   PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER;
	attr.sample_regs_user = 1 << 8 | 1 << 7; /* ip, sp */
	attr.sample_max_stack = 3;
	open_ring(&r, &attr);
	caller(warm, 1);
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	caller(mem, N);
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (sample_next(&r, buf, sizeof(buf))) {
		const uint64_t *w = buf + 1;
		uint64_t ip = *w++, nr, sp;
		const uint32_t *tid = (const uint32_t *)w++;

		printf("touch %d tid %d", is_in(ip, (void *)touch), tid[1] == (uint32_t)gettid());
		printf(" page %lu", (unsigned long)(*w++ - (uint64_t)(uintptr_t)mem) / PAGE);
		nr = *w++;
		printf(" chain %d", w[0] == PERF_CONTEXT_USER && w[1] == ip);
		printf(" caller %d", is_in(w[2], (void *)caller));
		w += nr;
		printf(" abi %lu", (unsigned long)*w++);
		sp = *w++;
		printf(" sp %d ip %d\n", sp - (uint64_t)(uintptr_t)&sp + 4096 < 8192, *w == ip);
	}
	sample_unmap(&r);
}

static void on_signal(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	signals += si->si_code == POLL_IN;
}

static void by_signal(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_PAGE_FAULTS, 10);
	char *mem = fresh(N), *warm = fresh(1);
	struct ring r;

	sigaction(SIGRTMIN, &sa, NULL);
	open_ring(&r, &attr);
	fcntl(r.fd, F_SETSIG, SIGRTMIN);
	fcntl(r.fd, F_SETOWN, getpid());
	fcntl(r.fd, F_SETFL, O_ASYNC);
	raise(SIGRTMIN);
	signals = 0;
	caller(warm, 1);
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	caller(mem, N);
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	printf("signals %d\n", (int)signals);
	sample_unmap(&r);
}

/* The program's own SIGTRAPs, blocked or not, and faults that are real. */
static void on_trap(int sig, siginfo_t *si, void *uc)
{
	(void)uc;
	printf("signal %d code %d\n", sig, si->si_code);
	if (sig == SIGSEGV) {
		mprotect(si->si_addr, PAGE, RW);
		sink++;
	}
}

static void with_traps(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_PAGE_FAULTS, 1);
	char *mem = fresh(N);
	sigset_t set;
	struct ring r;

	sigaction(SIGTRAP, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	open_ring(&r, &attr);
	mprotect(mem, PAGE, PROT_NONE);
	ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
	caller(mem, 20);
	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGTRAP);
	caller(mem + 20 * PAGE, 20);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	__asm__ volatile("int3");
	signal(SIGTRAP, SIG_DFL);
	caller(mem + 40 * PAGE, 20);
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	sample_unmap(&r);
}

static void *thread(void *mem)
{
	caller(mem, N);
	return NULL;
}

/* Of another thread, which is there already. */
static void of_thread(void)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_PAGE_FAULTS, 1);
	unsigned long n = 0;
	char *mem = fresh(N), buf[4096];
	struct ring r;
	pthread_t id;

	attr.disabled = 0;
	open_ring(&r, &attr);
	pthread_create(&id, NULL, thread, mem);
	pthread_join(id, NULL);
	while (sample_next(&r, buf, sizeof(buf))) {
		const struct fault *s = (void *)buf;

		n += s->addr - (uint64_t)(uintptr_t)mem < N * PAGE;
	}
	printf("of another thread without inherit: %lu\n", n);
	sample_unmap(&r);
}

#define CPUS 64

static void run_child(char *mem, int is_thread)
{
	pthread_t id;
	int pid;

	if (is_thread) {
		pthread_create(&id, NULL, thread, mem);
		pthread_join(id, NULL);
		return;
	}
	pid = fork();
	if (!pid) {
		caller(mem, N);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* The kernel maps a buffer of events that are inherited only where they are of one CPU each. */
static void descendant(int is_thread)
{
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_PAGE_FAULTS, 1);
	int ncpus = (int)sysconf(_SC_NPROCESSORS_CONF);
	unsigned long n = 0;
	char *mem = fresh(N), buf[4096];
	struct ring r[CPUS];

	attr.disabled = 0;
	attr.inherit = 1;
	for (int i = 0; i < ncpus && i < CPUS; i++)
		open_ring_on(&r[i], &attr, i);
	run_child(mem, is_thread);
	for (int i = 0; i < ncpus && i < CPUS; i++) {
		while (sample_next(&r[i], buf, sizeof(buf))) {
			const struct fault *s = (void *)buf;

			n += s->h.type == PERF_RECORD_SAMPLE && is_in(s->ip, (void *)touch) &&
			     s->addr - (uint64_t)(uintptr_t)mem < N * PAGE;
		}
		sample_unmap(&r[i]);
	}
	printf("of a %s: %lu\n", is_thread ? "thread" : "child", n);
}

static void inherit(void)
{
	descendant(1);
	descendant(0);
}

/* When the program is on a CPU: in turn, and in order. */
static void switches(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						       PERF_SAMPLE_CPU,
					.sample_id_all = 1,
					.context_switch = 1,
					.exclude_kernel = 1 };
	const struct timespec ms = { .tv_nsec = 1000000 };
	unsigned long outs = 0, slept = 0, wrong = 0;
	int was_out = -1; /* it may have been off while the buffer was made */
	uint64_t last = 0;
	struct ring r;
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, res;
	} s;

	open_ring(&r, &attr);
	for (int i = 0; i < 50; i++)
		nanosleep(&ms, NULL);
	ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
	while (sample_next(&r, &s, sizeof(s))) {
		int out = !!(s.h.misc & PERF_RECORD_MISC_SWITCH_OUT);

		outs += out;
		slept += out && !(s.h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
		wrong += s.h.type != PERF_RECORD_SWITCH || s.h.size != sizeof(s) ||
			 out == was_out || s.time < last || s.tid != (uint32_t)gettid() ||
			 s.cpu >= (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
		was_out = out;
		last = s.time;
	}
	printf("switches %s, sleeps %s, %lu wrong\n", outs >= 50 ? "all" : "missing",
	       slept >= 50 ? "all" : "missing", wrong);
	sample_unmap(&r);
}

/* Samples inside the kernel: one for each time the program goes to sleep, at least, and of the kernel's code. */
static void sleeps(void)
{
	static const uint64_t periods[] = { 1, 5 };
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CONTEXT_SWITCHES, periods[i]);
		unsigned long n = 0, wrong = 0, count;
		uint64_t buf[512], last = 0;
		struct ring r;

		attr.exclude_kernel = 0;
		attr.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
		attr.exclude_callchain_user = 1;
		open_ring(&r, &attr);
		ioctl(r.fd, PERF_EVENT_IOC_ENABLE, 0);
		for (int k = 0; k < 50; k++)
			nanosleep(&ms, NULL);
		ioctl(r.fd, PERF_EVENT_IOC_DISABLE, 0);
		count = sample_count(r.fd);
		while (sample_next(&r, buf, sizeof(buf))) {
			const struct perf_event_header *h = (void *)buf;
			const uint32_t *tid = (const uint32_t *)&buf[2];

			n++;
			wrong += h->type != PERF_RECORD_SAMPLE || (int64_t)buf[1] >= 0 ||
				 buf[3] < last || tid[1] != (uint32_t)gettid() ||
				 buf[5] != PERF_CONTEXT_KERNEL ||
				 (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) !=
					 PERF_RECORD_MISC_KERNEL;
			last = buf[3];
		}
		printf("each %lu: %s, %lu wrong, count %s\n", (unsigned long)periods[i],
		       n >= 50 / periods[i] ? "all" : "missing", wrong,
		       count >= 50 ? "all" : "missing");
		sample_unmap(&r);
	}
}

static int next_cpu(const cpu_set_t *set, int cpu)
{
	while (++cpu < CPU_SETSIZE && !CPU_ISSET(cpu, set))
		;
	return cpu;
}

/* Sleeps on one of two CPUs, in a group whose leader is sampled by the program itself. */
static void open_on_cpu(struct ring *r, int cpu)
{
	struct perf_event_attr clock = attr_of(PERF_COUNT_SW_TASK_CLOCK, 10000000000ULL);
	struct perf_event_attr attr = attr_of(PERF_COUNT_SW_CONTEXT_SWITCHES, 1);
	int leader, fd;

	clock.disabled = attr.disabled = 0;
	attr.exclude_kernel = 0;
	attr.sample_type = PERF_SAMPLE_CPU;
	leader = sample_open(&clock, 0, cpu, -1);
	fd = leader < 0 ? -1 : sample_open(&attr, 0, cpu, leader);
	if (fd < 0) {
		printf("cannot open: %s\n", strerror(errno));
		exit(77);
	}
	map_or_die(r, fd, 8, RW);
}

/* The same on two CPUs in turn, each with events of its own. */
static void moves(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	unsigned long n = 0, wrong = 0;
	struct ring r[2];
	cpu_set_t set;
	int cpu[2];

	sched_getaffinity(0, sizeof(set), &set);
	cpu[0] = next_cpu(&set, -1);
	cpu[1] = next_cpu(&set, cpu[0]);
	if (cpu[1] >= CPU_SETSIZE) {
		printf("one CPU\n");
		exit(77);
	}
	for (int i = 0; i < 2; i++)
		open_on_cpu(&r[i], cpu[i]);
	for (int i = 0; i < 60; i++) {
		CPU_ZERO(&set);
		CPU_SET(cpu[i / 3 % 2], &set);
		sched_setaffinity(0, sizeof(set), &set);
		nanosleep(&ms, NULL);
	}
	for (int i = 0; i < 2; i++) {
		struct {
			struct perf_event_header h;
			uint32_t cpu, reserved;
		} s;

		(void)sample_count(r[i].fd);
		for (; sample_next(&r[i], &s, sizeof(s)); n++)
			wrong += s.h.type != PERF_RECORD_SAMPLE || s.cpu != (uint32_t)cpu[i];
		sample_unmap(&r[i]);
	}
	printf("sleeps %s, %lu wrong\n", n >= 60 ? "all" : "missing", wrong);
}

/* Where a child begins, and whoever goes elsewhere: the links of /proc/PID/ns. */
static void namespaces(void)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.sample_type = PERF_SAMPLE_TID,
					.namespaces = 1,
					.exclude_kernel = 1 };
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t nr, link[7][2];
	} s;
	struct ring r;
	int uts = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	open_ring(&r, &attr);
	printf("unshare %d\n", unshare(CLONE_NEWUTS));
	printf("setns %d\n", setns(uts, CLONE_NEWUTS));
	printf("unshare nothing %d\n", unshare(0));
	while (sample_next(&r, &s, sizeof(s))) {
		printf("record %u size %u own %d:", s.h.type, s.h.size,
		       s.tid == (uint32_t)gettid());
		for (unsigned int i = 0; i < 7 && s.h.type == PERF_RECORD_NAMESPACES; i++) {
			char path[64];
			struct stat st;

			snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
			printf(" %d", !stat(path, &st) && st.st_ino == s.link[i][1] &&
					      st.st_dev == s.link[i][0]);
		}
		printf("\n");
	}
	close(uts);
	sample_unmap(&r);
}

/* Faults and clocks go on while the program leaves the engine, or may not return from a handler any more. */
static void busy(int clock)
{
	struct perf_event_attr attr = attr_of(
		clock ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_PAGE_FAULTS, clock ? 100000 : 1);
	struct ring r;

	attr.disabled = 0;
	open_ring(&r, &attr);
}

static void work(void)
{
	struct timespec t;

	caller(fresh(N), N);
	do {
		for (int i = 0; i < 100000; i++)
			sink++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < 50000000);
}

static void native(void)
{
	long pid = 20; /* getpid */

	busy(0);
	busy(1);
	__asm__ volatile("int $0x80" : "+a"(pid) : : "memory", "r8", "r9", "r10", "r11");
	work();
	printf("still there\n");
}

static void filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = 4, .filter = code };

	busy(0);
	busy(1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		printf("no filter\n");
		return;
	}
	work();
	printf("still there\n");
}

static const struct sample_case cases[] = {
	{ "periods", periods },	      { "reads", reads },	{ "several", several },
	{ "contents", contents },     { "signals", by_signal }, { "traps", with_traps },
	{ "thread", of_thread },      { "inherit", inherit },	{ "switches", switches },
	{ "namespaces", namespaces }, { "sleeps", sleeps },	{ "moves", moves },
	{ "native", native },	      { "filtered", filtered }, { 0 }
};

int main(int argc, char **argv)
{
	return sample_main(cases, argc, argv);
}
