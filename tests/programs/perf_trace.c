/* SPDX-License-Identifier: MIT */
/* FLAGS: -static */
/*
 * Tracepoints of children that do a known number of things.  Each case says what is to be counted;
 * natively, as root, the kernel is the judge of that: perf_trace kernel.  Without the argument ids
 * are those of a session.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

#define STACK 65536

static const struct {
	const char *name, *file;
	uint64_t id; /* in a session */
} points[] = {
	{ "enter", "raw_syscalls/sys_enter", 61441 },
	{ "exit", "raw_syscalls/sys_exit", 61442 },
	{ "deliver", "signal/signal_deliver", 61444 },
	{ "generate", "signal/signal_generate", 61443 },
	{ "fork", "sched/sched_process_fork", 61445 },
	{ "exec", "sched/sched_process_exec", 61446 },
	{ "end", "sched/sched_process_exit", 61447 },
#define CALL(name)                                                                                 \
	{ ">" #name, "syscalls/sys_enter_" #name, 62464 + SYS_##name * 2 },                        \
	{                                                                                          \
		"<" #name, "syscalls/sys_exit_" #name, 62465 + SYS_##name * 2                      \
	}
	CALL(getppid),
	CALL(read),
	CALL(pause),
	CALL(clone),
	CALL(vfork),
	CALL(fork),
	CALL(execve),
	CALL(rt_sigreturn),
	CALL(exit),
	CALL(exit_group),
};
#define NPOINTS (sizeof(points) / sizeof(points[0]))

static bool by_kernel;
static const char *self_path;
static int gate[2], gate2[2];
static struct shared {
	pid_t tid; /* of the child's thread */
	pid_t gone;
} * shared;

static long call(long nr, long a, long b, long c)
{
	long ret = nr;

	__asm__ volatile("syscall" : "+a"(ret) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
}

static long call4(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	long ret = nr;

	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
}

static uint64_t id_of(size_t i)
{
	unsigned long long id = 0;
	char path[256];
	FILE *f;

	if (!by_kernel)
		return points[i].id;
	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", points[i].file);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &id) != 1)
		exit(77);
	fclose(f);
	return id;
}

static int open_point(size_t i, pid_t pid, bool disabled, bool exclude_kernel)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };

	attr.config = id_of(i);
	attr.inherit = pid != 0;
	attr.disabled = disabled;
	attr.exclude_kernel = exclude_kernel;
	return perf_run_open(&attr, pid, -1, -1);
}

static void await_line(pid_t tid, const char *want)
{
	char path[64], line[128];

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	for (;;) {
		FILE *f = fopen(path, "r");
		bool there =
			f && fgets(line, sizeof(line), f) && !strncmp(line, want, strlen(want));

		if (f)
			fclose(f);
		if (there)
			return;
		usleep(500);
	}
}

/* Until the task waits in that call. */
static void await(pid_t tid, long nr)
{
	char want[32];

	snprintf(want, sizeof(want), "%ld ", nr);
	await_line(tid, want);
}

static void await_read(pid_t tid, int fd)
{
	char want[32];

	snprintf(want, sizeof(want), "0 0x%x ", (unsigned int)fd);
	await_line(tid, want);
}

static void await_thread(long nr)
{
	pid_t tid;

	while (!(tid = __atomic_load_n(&shared->tid, __ATOMIC_ACQUIRE)))
		usleep(500);
	await(tid, nr);
}

static void pass(const int *g)
{
	if (write(g[1], "", 1) != 1)
		abort();
}

/* --- what children do; raw calls, so that each can be seen here */

static void ask(long n)
{
	while (n--)
		call(SYS_getppid, 0, 0, 0);
}

static void many_calls(void)
{
	ask(10);
	call(9999, 0, 0, 0);
	call(-1, 0, 0, 0);
}

static int five_calls(void *arg)
{
	(void)arg;
	ask(5);
	return 0;
}

static int waits(void *arg)
{
	(void)arg;
	call(SYS_pause, 0, 0, 0);
	return 0;
}

static void start_thread(int (*f)(void *))
{
	static char stacks[4][STACK] __attribute__((aligned(16)));
	static int n;

	shared->gone = 1;
	clone(f, stacks[n++] + STACK,
	      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		      CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
	      NULL, &shared->tid, NULL, &shared->gone);
}

static void three_threads(void)
{
	for (int i = 0; i < 3; i++) {
		start_thread(five_calls);
		while (__atomic_load_n(&shared->gone, __ATOMIC_ACQUIRE))
			;
	}
}

static void forks(void)
{
	long pid = call(SYS_fork, 0, 0, 0);

	if (!pid) {
		ask(2);
		call(SYS_exit_group, 0, 0, 0);
	}
	call(SYS_wait4, pid, 0, 0);
	call(SYS_fork + 9000, 0, 0, 0);
}

static void vforks(void)
{
	pid_t pid = vfork();

	if (!pid) {
		call(SYS_getppid, 0, 0, 0);
		call(SYS_exit_group, 0, 0, 0);
	}
	call(SYS_wait4, pid, 0, 0);
}

/* The stack is in the way. */
static void fails_to_clone(void)
{
	call(SYS_clone, CLONE_THREAD, 0, 0);
	call(SYS_clone, CLONE_SIGHAND, 0, 0);
}

static void signals_itself(void)
{
	long pid = call(SYS_getpid, 0, 0, 0);

	for (int i = 0; i < 4; i++)
		call(SYS_kill, pid, SIGUSR1, 0);
}

static void pauses(void)
{
	call(SYS_pause, 0, 0, 0);
}

static void reads(void)
{
	char c;

	call(SYS_read, gate2[0], (long)&c, 1);
}

static void has_waiting_thread(void)
{
	start_thread(waits);
	reads();
}

static void faults(void)
{
	__asm__ volatile("movl $0, 0");
}

static void illegal(void)
{
	__asm__ volatile("ud2");
}

/* The second handler's frame has no stack. */
static void has_no_stack(void)
{
	long pid = call(SYS_getpid, 0, 0, 0);

	call(SYS_kill, pid, SIGUSR1, 0);
	__asm__ volatile("mov $8, %%rsp; syscall; ud2" ::"a"(SYS_kill), "D"(pid), "S"(SIGUSR1)
			 : "rcx", "r11", "memory");
}

static void is_refused_a_call(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgrp, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0);
	call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&prog);
	/* sends with the filter in place as well */
	call(SYS_kill, call(SYS_getpid, 0, 0, 0), SIGUSR1, 0);
	call(SYS_getpgrp, 0, 0, 0);
}

/* By each call, to who is there and who is not; 0 is none. */
static void sends(void)
{
	long pid = call(SYS_getpid, 0, 0, 0), fd = call(SYS_pidfd_open, pid, 0, 0);
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGWINCH;
	info.si_code = SI_QUEUE;
	call(SYS_kill, pid, SIGWINCH, 0);
	call(SYS_kill, pid, 0, 0);
	call(SYS_kill, pid, 99, 0);
	call(SYS_kill, 0x3ffffffe, SIGWINCH, 0);
	call(SYS_tkill, pid, SIGWINCH, 0);
	call(SYS_tgkill, pid, pid, SIGWINCH);
	call(SYS_tgkill, 1, pid, SIGWINCH);
	call(SYS_tgkill, pid, pid, 0);
	call(SYS_rt_sigqueueinfo, pid, SIGWINCH, (long)&info);
	call(SYS_rt_sigqueueinfo, pid, SIGWINCH, 8);
	call4(SYS_rt_tgsigqueueinfo, pid, pid, SIGWINCH, (long)&info);
	call4(SYS_pidfd_send_signal, fd, SIGWINCH, 0, 0);
	call4(SYS_pidfd_send_signal, -1, SIGWINCH, 0, 0);
}

/* A signal that is queued says so by EAGAIN where the queue is full: it was tried. */
static void fills_the_queue(void)
{
	const struct rlimit two = { 2, 2 };
	const uint64_t block = 1ULL << (SIGRTMIN - 1);
	long pid = call(SYS_getpid, 0, 0, 0);
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGRTMIN;
	info.si_code = SI_QUEUE;
	call(SYS_setrlimit, RLIMIT_SIGPENDING, (long)&two, 0);
	call4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&block, 0, 8);
	for (int i = 0; i < 5; i++)
		call(SYS_rt_sigqueueinfo, pid, SIGRTMIN, (long)&info);
}

/* To its group, of three processes of which one is a zombie. */
static void signals_its_group(void)
{
	long pid[2];

	call(SYS_setpgid, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		pid[i] = call(SYS_fork, 0, 0, 0);
		if (!pid[i]) {
			if (i)
				reads();
			call(SYS_exit_group, 0, 0, 0);
		}
	}
	call4(SYS_waitid, P_PID, pid[0], 0, WEXITED | WNOWAIT);
	call(SYS_kill, 0, SIGWINCH, 0);
	call(SYS_kill, -call(SYS_getpid, 0, 0, 0), SIGWINCH, 0);
	call(SYS_kill, -0x3ffffffe, SIGWINCH, 0);
	call(SYS_kill, 0, 0, 0);
	call(SYS_write, gate2[1], (long)"", 1);
	call(SYS_wait4, pid[0], 0, 0);
	call(SYS_wait4, pid[1], 0, 0);
}

static void kills_itself(void)
{
	call(SYS_kill, call(SYS_getpid, 0, 0, 0), SIGKILL, 0);
}

static void executes_at(const char *how)
{
	const char *argv[] = { self_path, how, NULL };

	ask(2);
	call(SYS_execve, (long)"/nowhere/at/all", (long)argv, (long)environ);
	call(SYS_execve, (long)self_path, (long)argv, (long)environ);
}

static void executes(void)
{
	executes_at("image");
}

static int executes_in_thread(void *arg)
{
	(void)arg;
	reads();
	executes();
	return 0;
}

static void leader_waits(void)
{
	start_thread(executes_in_thread);
	pauses();
}

/* --- what is done to them */

static void nothing(pid_t pid)
{
	(void)pid;
}

static void usr1_in_pause(pid_t pid)
{
	await(pid, SYS_pause);
	kill(pid, SIGUSR1);
}

static void usr2_in_read(pid_t pid)
{
	await_read(pid, gate2[0]);
	kill(pid, SIGUSR2);
}

static void term_in_pause(pid_t pid)
{
	await(pid, SYS_pause);
	kill(pid, SIGTERM);
}

static void kill_both(pid_t pid)
{
	await_read(pid, gate2[0]);
	await_thread(SYS_pause);
	kill(pid, SIGKILL);
}

static void let_leader_go(pid_t pid)
{
	(void)pid;
	await_thread(SYS_pause);
	pass(gate2);
}

static void let_thread_go(pid_t pid)
{
	await(pid, SYS_pause);
	await_thread(SYS_read);
	pass(gate2);
}

/* The gate's read is entered before anything is counted, and left after. */
static const struct test {
	const char *name;
	void (*act)(void);
	void (*meanwhile)(pid_t pid);
	bool libc_calls; /* how many calls it makes in all is not known */
	const char *want;
} tests[] = {
	{ "calls", many_calls, nothing, false,
	  "enter=13 exit=13 end=1 >getppid=10 <getppid=10 <read=1 >exit_group=1" },
	{ "threads", three_threads, nothing, false,
	  "enter=22 exit=22 fork=3 end=4 >getppid=15 <getppid=15 <read=1 >clone=3 <clone=6 "
	  ">exit=3 >exit_group=1" },
	{ "fork", forks, nothing, false,
	  "enter=7 exit=7 fork=1 end=2 >getppid=2 <getppid=2 <read=1 >fork=1 <fork=2 "
	  ">exit_group=2" },
	{ "vfork", vforks, nothing, false,
	  "enter=5 exit=5 fork=1 end=2 >getppid=1 <getppid=1 <read=1 >vfork=1 <vfork=2 "
	  ">exit_group=2" },
	{ "failing clones", fails_to_clone, nothing, false,
	  "enter=3 exit=3 end=1 <read=1 >clone=2 <clone=2 >exit_group=1" },
	{ "handlers", signals_itself, nothing, false,
	  "enter=10 exit=10 deliver=4 generate=4 end=1 <read=1 >rt_sigreturn=4 >exit_group=1" },
	{ "a call that ends with EINTR", pauses, usr1_in_pause, false,
	  "enter=3 exit=3 deliver=1 end=1 <read=1 >pause=1 <pause=1 >rt_sigreturn=1 "
	  ">exit_group=1" },
	{ "a call that is made again", reads, usr2_in_read, false,
	  "enter=5 exit=5 deliver=1 end=1 >read=2 <read=3 >rt_sigreturn=1 >exit_group=1" },
	{ "death by SIGTERM in a call", pauses, term_in_pause, false,
	  "enter=1 exit=2 deliver=1 end=1 <read=1 >pause=1 <pause=1" },
	{ "two threads killed in calls", has_waiting_thread, kill_both, false,
	  "enter=3 exit=5 deliver=2 fork=1 end=2 >read=1 <read=2 >pause=1 <pause=1 >clone=1 "
	  "<clone=2" },
	{ "exit_group with a thread in a call", has_waiting_thread, let_leader_go, false,
	  "enter=4 exit=5 deliver=1 fork=1 end=2 >read=1 <read=2 >pause=1 <pause=1 >clone=1 "
	  "<clone=2 >exit_group=1" },
	{ "death by a fault", faults, nothing, false, "exit=1 deliver=1 generate=1 end=1 <read=1" },
	{ "death by an illegal instruction", illegal, nothing, false,
	  "exit=1 deliver=1 generate=1 end=1 <read=1" },
	{ "a handler without a stack", has_no_stack, nothing, false,
	  "enter=4 exit=5 deliver=3 generate=3 end=1 <read=1 >rt_sigreturn=1" },
	{ "SIGSYS of a filter", is_refused_a_call, nothing, true,
	  "deliver=2 generate=2 end=1 <read=1 >rt_sigreturn=1" },
	{ "calls that send", sends, nothing, false,
	  "enter=16 exit=16 generate=6 end=1 <read=1 >exit_group=1" },
	{ "a queue that is full", fills_the_queue, nothing, false,
	  "enter=9 exit=9 generate=5 end=1 <read=1 >exit_group=1" },
	{ "a group of processes", signals_its_group, nothing, true,
	  "generate=6 fork=2 end=3 >read=1 <read=2 >fork=2 <fork=4 >exit_group=3" },
	{ "SIGKILL to oneself", kills_itself, nothing, false,
	  "enter=2 exit=3 deliver=1 generate=1 end=1 <read=1" },
	{ "exec", executes, nothing, true,
	  "exec=1 end=1 >getppid=5 <getppid=5 <read=1 >execve=2 <execve=2 >exit_group=1" },
	{ "exec by a thread", leader_waits, let_thread_go, true,
	  "deliver=1 fork=1 exec=1 end=2 >getppid=5 <getppid=5 >read=1 <read=2 >pause=1 <pause=1 "
	  ">clone=1 <clone=2 >execve=2 <execve=2 >exit_group=1" },
};

static void handle(int sig)
{
	if (sig == SIGUSR2)
		call(SYS_write, gate2[1], (long)"", 1);
}

static void child(const struct test *test)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	call(SYS_read, gate[0], (long)&c, 1);
	test->act();
	call(SYS_exit_group, 0, 0, 0);
}

static void try(const struct test *test)
{
	char got[512] = "";
	int fd[NPOINTS];
	pid_t pid;

	shared->tid = 0;
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(test);
	await_read(pid, gate[0]);
	for (size_t i = 0; i < NPOINTS; i++) {
		fd[i] = open_point(i, pid, false, false);
		if (fd[i] < 0) {
			perror(points[i].file);
			exit(77);
		}
	}
	pass(gate);
	test->meanwhile(pid);
	waitpid(pid, NULL, 0);
	for (size_t i = 0; i < NPOINTS; i++) {
		unsigned long long n = perf_run_read(fd[i]);
		size_t len = strlen(got);

		close(fd[i]);
		if (n && (i > 1 || !test->libc_calls))
			snprintf(got + len, sizeof(got) - len, "%s%s=%llu", len ? " " : "",
				 points[i].name, n);
	}
	if (strcmp(got, test->want))
		fprintf(stderr, "%s:\n got  %s\n want %s\n", test->name, got, test->want);
	CHECK(!strcmp(got, test->want), test->name);
}

/* The call that enables has its end counted, that which disables its beginning. */
static void oneself(void)
{
	int enter = open_point(0, 0, true, false), exit = open_point(1, 0, true, false);
	int user = open_point(0, 0, false, true), asked = open_point(7, 0, false, true);
	uint64_t n;

	call(SYS_ioctl, enter, PERF_EVENT_IOC_ENABLE, 0);
	call(SYS_ioctl, exit, PERF_EVENT_IOC_ENABLE, 0);
	ask(10);
	call(SYS_ioctl, exit, PERF_EVENT_IOC_DISABLE, 0);
	call(SYS_ioctl, enter, PERF_EVENT_IOC_DISABLE, 0);
	ask(3);
	n = perf_run_read(exit);
	CHECK(n == 11, "exits of oneself");
	n = perf_run_read(enter);
	CHECK(n == 13, "entries of oneself");
	CHECK(perf_run_read(user) == 0, "none with exclude_kernel");
	CHECK(perf_run_read(asked) == 13, "but those that have the program's registers");
	close(enter);
	close(exit);
	close(user);
	close(asked);
	exit = open_point(1, 0, false, false);
	n = perf_run_read(exit);
	CHECK(n == 1, "the end of the call that opens it");
	close(exit);
}

int main(int argc, char **argv)
{
	const struct rlimit none = { 0, 0 };
	struct sigaction sa = { .sa_handler = handle, .sa_flags = SA_RESTART };

	self_path = argv[0];
	if (argc > 1 && !strcmp(argv[1], "image")) {
		ask(3);
		call(SYS_exit_group, 0, 0, 0);
	}
	by_kernel = argc > 1;
	setrlimit(RLIMIT_CORE, &none);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe(gate) || pipe(gate2))
		return 2;
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		try(&tests[i]);
	oneself();
	return task_failed;
}
