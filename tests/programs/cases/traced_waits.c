/* SPDX-License-Identifier: MIT */
/*
 * A signal that comes while a task stands at the entry of a call that waits: the call ends as if it had come in the middle of it, and one
 * that need not wait does what it does.  A signal that the tracer takes away has the call go on waiting.
 * Of many signals that come there, each is told and handled, and the call ends once.
 */
/* CASE: counted -- */
/* CASE: session -- */
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/user.h>

#include "check.h"

#define RESTART	   219
#define FIRST_WAIT 6 /* of calls */

static volatile int handled;
static int tube[2], ready[2], pair[2], heard, ep, sem, box, held;
static struct {
	u64 set, size;
} mask, usr1_mask;
static struct timespec long_time = { .tv_sec = 1000 };
static char byte;
static u32 word;
static struct sembuf down = { .sem_op = -1 };
static struct {
	long type;
	char text[8];
} message;
static struct flock all_of_it = { .l_type = F_WRLCK };
static u64 usr1 = 1UL << (SIGUSR1 - 1), usr2_set = 1UL << (SIGUSR2 - 1), nobody;
static struct pollfd is_ready;
static struct epoll_event event;
static int *current; /* in shared memory */

struct call {
	const char *name;
	long nr, a[6];
};

static struct call calls[40];
static int ncalls;

static void add(const char *name, long nr, long a, long b, long c, long d, long e, long f)
{
	calls[ncalls++] = (struct call){ name, nr, { a, b, c, d, e, f } };
}

#define P(x) ((long)&(x))

static void prepare(void)
{
	struct sockaddr_un_ {
		short family;
		char path[8];
	} any = { .family = AF_UNIX };
	char name[] = "/tmp/anyperf_waits_XXXXXX";

	if (pipe(tube) || pipe(ready) || write(ready[1], "abcdefgh", 8) != 8 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		exit(3);
	heard = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(heard, (void *)&any, 2);
	listen(heard, 1);
	ep = epoll_create1(0);
	sem = semget(IPC_PRIVATE, 1, 0600);
	box = msgget(IPC_PRIVATE, 0600);
	held = mkstemp(name);
	unlink(name);
	fcntl(held, F_SETLK, &all_of_it); /* the child does not have it */
	flock(held, LOCK_EX);
	is_ready = (struct pollfd){ .fd = ready[0], .events = POLLIN };
	mask.set = (u64)&nobody;
	usr1_mask.set = (u64)&usr1;
	mask.size = usr1_mask.size = 8;
	/* no wait at all */
	add("umask", SYS_umask, 022, 0, 0, 0, 0, 0);
	add("read of what is there", SYS_read, ready[0], P(byte), 1, 0, 0, 0);
	add("poll of it", SYS_poll, P(is_ready), 1, -1, 0, 0, 0);
	add("ppoll of it", SYS_ppoll, P(is_ready), 1, 0, P(nobody), 8, 0);
	add("ppoll that blocks it", SYS_ppoll, P(is_ready), 1, 0, P(usr1), 8, 0);
	add("rt_sigprocmask", SYS_rt_sigprocmask, SIG_BLOCK, P(nobody), 0, 8, 0, 0);
	/* waits */
	add("rt_sigsuspend", SYS_rt_sigsuspend, P(nobody), 8, 0, 0, 0, 0);
	add("rt_sigtimedwait", SYS_rt_sigtimedwait, P(usr2_set), 0, P(long_time), 8, 0, 0);
	add("poll", SYS_poll, 0, 0, -1, 0, 0, 0);
	add("ppoll", SYS_ppoll, 0, 0, 0, P(nobody), 8, 0);
	add("ppoll without a mask", SYS_ppoll, 0, 0, P(long_time), 0, 8, 0);
	add("select", SYS_select, 0, 0, 0, 0, 0, 0);
	add("pselect6", SYS_pselect6, 0, 0, 0, 0, 0, P(mask));
	add("epoll_wait", SYS_epoll_wait, ep, P(event), 1, -1, 0, 0);
	add("epoll_pwait", SYS_epoll_pwait, ep, P(event), 1, -1, P(nobody), 8);
	add("epoll_pwait2", SYS_epoll_pwait2, ep, P(event), 1, P(long_time), P(nobody), 8);
	add("nanosleep", SYS_nanosleep, P(long_time), 0, 0, 0, 0, 0);
	add("clock_nanosleep", SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, P(long_time), 0, 0, 0);
	add("read", SYS_read, tube[0], P(byte), 1, 0, 0, 0);
	add("recvfrom", SYS_recvfrom, pair[0], P(byte), 1, 0, 0, 0);
	add("accept", SYS_accept, heard, 0, 0, 0, 0, 0);
	add("futex", SYS_futex, P(word), FUTEX_WAIT, 0, 0, 0, 0);
	add("futex with a time", SYS_futex, P(word), FUTEX_WAIT, 0, P(long_time), 0, 0);
	add("semop", SYS_semop, sem, P(down), 1, 0, 0, 0);
	add("msgrcv", SYS_msgrcv, box, P(message), 8, 0, 0, 0);
	add("a lock", SYS_fcntl, held, F_SETLKW, P(all_of_it), 0, 0, 0);
	add("pause", SYS_pause, 0, 0, 0, 0, 0, 0);
}

static void on(int sig)
{
	handled += sig;
}

/* Each without SA_RESTART. */
static void child(void)
{
	struct sigaction a = { .sa_handler = on };
	long ret;

	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGUSR2, &a, NULL);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	for (int k = 0; k < ncalls; k++) {
		const long *v = calls[k].a;

		handled = 0;
		*current = k;
		ret = syscall(calls[k].nr, v[0], v[1], v[2], v[3], v[4], v[5]);
		printf("%s: %ld%s, handled %d\n", calls[k].name, ret,
		       ret < 0 ? strerror(errno) : "", handled);
		fflush(stdout);
	}
	_exit(0);
}

static bool is_tried(const struct user_regs_struct *r)
{
	return (long)r->orig_rax == calls[*current].nr || r->orig_rax == RESTART;
}

/* What the tracer sees of the calls: their exits, and signals. */
static void show_exit(pid_t pid)
{
	struct user_regs_struct r;

	ptrace(PTRACE_GETREGS, pid, 0, &r);
	if (!is_tried(&r))
		return;
	printf("  exit %lld\n", (long long)r.rax);
	fflush(stdout);
}

/* A signal for a task that stands at the entry of what it is about to try; at most two for one try. */
static void disturb(pid_t pid, bool takes)
{
	static int seen, sent;
	struct user_regs_struct r;

	ptrace(PTRACE_GETREGS, pid, 0, &r);
	if (seen != *current)
		sent = takes && *current >= FIRST_WAIT ? 0 : 1;
	seen = *current;
	if (sent < 2 && is_tried(&r))
		kill(pid, sent++ ? SIGUSR1 : SIGUSR2);
}

/* takes: the first signal is taken away from those that wait. */
static int run(bool takes)
{
	int st, in = 0, sig = 0;
	pid_t pid;

	*current = -1;
	pid = fork();
	if (!pid)
		child();
	waitpid(pid, &st, 0);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, 0, sig);
		sig = 0;
		if (waitpid(pid, &st, 0) != pid || !WIFSTOPPED(st))
			return st;
		if (st != W_STOPCODE(SIGTRAP | 0x80)) {
			printf("  signal %d\n", WSTOPSIG(st));
			fflush(stdout);
			sig = WSTOPSIG(st) == SIGUSR2 ? 0 : WSTOPSIG(st);
			continue;
		}
		in = !in;
		if (*current >= 0 && in)
			disturb(pid, takes);
		else if (*current >= 0)
			show_exit(pid);
	}
}

static const int many[] = { SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGURG, SIGTSTP, SIGTTIN };

static void many_child(void)
{
	struct sigaction a = { .sa_handler = on };
	long ret;

	for (size_t k = 0; k < sizeof(many) / sizeof(*many); k++)
		sigaction(many[k], &a, NULL);
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	ret = syscall(SYS_read, tube[0], &byte, 1);
	printf("read: %ld%s, handled %d\n", ret, ret < 0 ? strerror(errno) : "", handled);
	fflush(stdout);
	_exit(0);
}

/* All of them for a task that stands at the entry of a read that waits. */
static int run_many(void)
{
	int st, in = 0, sig = 0, sent = 0;
	struct user_regs_struct r;
	pid_t pid = fork();

	if (!pid)
		many_child();
	waitpid(pid, &st, 0);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (;;) {
		ptrace(PTRACE_SYSCALL, pid, 0, sig);
		sig = 0;
		if (waitpid(pid, &st, 0) != pid || !WIFSTOPPED(st))
			return st;
		if (st != W_STOPCODE(SIGTRAP | 0x80)) {
			sig = WSTOPSIG(st);
			printf("  signal %d\n", sig);
			fflush(stdout);
			continue;
		}
		in = !in;
		ptrace(PTRACE_GETREGS, pid, 0, &r);
		if (r.orig_rax != SYS_read)
			continue;
		printf("  %s %lld\n", in ? "entry" : "exit", (long long)r.rax);
		fflush(stdout);
		for (size_t k = 0; in && !sent && k < sizeof(many) / sizeof(*many); k++)
			kill(pid, many[k]);
		sent |= in;
	}
}

int main(void)
{
	current = mmap(NULL, 4096, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	prepare();
	CHECK(!run(false), "each call ends");
	CHECK(!run(true), "each call ends by the second signal, where the first is taken away");
	CHECK(!run_many(), "a call ends by many signals that come at its entry");
	semctl(sem, 0, IPC_RMID);
	msgctl(box, IPC_RMID, NULL);
	return done();
}
