/* SPDX-License-Identifier: MIT */
/*
 * Who looks at a thread that waits in a system call finds the registers with which the program made it: the kernel
 * keeps all but rax, rcx and r11.  LeakSanitizer looks for pointers in them, debuggers unwind by them.  A
 * child traces the thread here, in each of many calls that wait; vm: one that shares memory with it, as
 * LeakSanitizer's does, finds the instruction pointer behind the call, too.
 */
/* CASE: counted -- */
/* CASE: counted -- vm */
#include "check.h"

#include <linux/futex.h>
#include <stdbool.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/user.h>

/* What the tracer and the thread share: the stack pointer that the call is made with, and who is to be woken. */
struct meeting {
	volatile u64 rsp;
	volatile u32 word;
	volatile int tid, done;
};
static struct meeting *meet;
static bool is_vm;
static const struct wait *tried;

#define VALUE(n) (0x1122334455660000ULL + (n))

/* Makes a call with known values in rbx, rbp, r12 to r15, and notes rsp. */
long call_with(volatile u64 *rsp, long nr, const u64 args[6]);
extern const char behind_call[];
__asm__("call_with:\n"
	"push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
	"mov %rsi, %rax\n mov %rdx, %r11\n mov %rsp, (%rdi)\n"
	"mov (%r11), %rdi\n mov 8(%r11), %rsi\n mov 16(%r11), %rdx\n"
	"mov 24(%r11), %r10\n mov 32(%r11), %r8\n mov 40(%r11), %r9\n"
	"movabs $0x1122334455660003, %rbx\n movabs $0x1122334455660005, %rbp\n"
	"movabs $0x112233445566000c, %r12\n movabs $0x112233445566000d, %r13\n"
	"movabs $0x112233445566000e, %r14\n movabs $0x112233445566000f, %r15\n"
	"syscall\n"
	"behind_call:\n"
	"pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
	"ret\n");

/* Stops the thread until it is found in this call. */
static void find_in(int tid, const char *name, u64 nr, u64 arg0)
{
	struct user_regs_struct r;
	int st;

	do {
		sched_yield();
		if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) || waitpid(tid, &st, __WALL) != tid ||
		    !WIFSTOPPED(st) || ptrace(PTRACE_GETREGS, tid, 0, &r)) {
			perror("ptrace");
			_exit(1);
		}
		if (r.orig_rax == nr && r.rdi == arg0)
			break;
		ptrace(PTRACE_CONT, tid, 0, st >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(st));
	} while (1);
	CHECK(r.rbx == VALUE(3) && r.rbp == VALUE(5), "%s: rbx, rbp", name);
	CHECK(r.r12 == VALUE(12) && r.r13 == VALUE(13) && r.r14 == VALUE(14) && r.r15 == VALUE(15),
	      "%s: r12 to r15", name);
	CHECK(r.rsp == meet->rsp, "%s: rsp", name);
	if (is_vm)
		CHECK(r.rip == (u64)behind_call && r.rcx == r.rip, "%s: rip, rcx", name);
	ptrace(PTRACE_CONT, tid, 0, 0);
}

/* One call that waits, what it is given, and how it is ended. */
struct wait {
	const char *name;
	long nr;
	u64 args[6];
};

static int pipe_fd[2];
static struct timespec age = { .tv_sec = 1000000 };
static u64 no_mask;
static struct pollfd poll_fd;
static fd_set fds;
static struct epoll_event event;
static char buf[4096];

static void on_signal(int sig)
{
	(void)sig;
}

static void *waiter(void *arg)
{
	const struct wait *w = arg;

	meet->tid = (int)syscall(SYS_gettid);
	call_with(&meet->rsp, w->nr, w->args);
	meet->done = 1;
	return NULL;
}

static int tracer(void *arg)
{
	(void)arg;
	if (ptrace(PTRACE_SEIZE, meet->tid, 0, 0)) {
		perror("PTRACE_SEIZE");
		_exit(1);
	}
	find_in(meet->tid, tried->name, (u64)tried->nr, tried->args[0]);
	_exit(failed ? 1 : 0);
}

/* The child traces the thread, and says that it has seen enough by its end. */
static void try(const struct wait *w)
{
	static char stack[65536] __attribute__((aligned(16)));
	pthread_t t;
	pid_t child;
	int st;

	meet->tid = meet->done = 0;
	pthread_create(&t, NULL, waiter, (void *)w);
	while (!meet->tid)
		sched_yield();
	tried = w;
	child = is_vm ? clone(tracer, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) : fork();
	if (!child)
		tracer(NULL);
	waitpid(child, &st, 0);
	failed |= !WIFEXITED(st) || WEXITSTATUS(st);
	while (!meet->done) {
		pthread_kill(t, SIGUSR1);
		sched_yield();
	}
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	const struct sigaction a = { .sa_handler = on_signal };
	int queue, sem;

	(void)argv;
	is_vm = argc > 1;
	meet = mmap(NULL, sizeof(*meet), RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGUSR1, &a, NULL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (pipe(pipe_fd))
		return 1;
	poll_fd = (struct pollfd){ .fd = pipe_fd[0], .events = POLLIN };
	FD_SET(pipe_fd[0], &fds);
	queue = msgget(IPC_PRIVATE, 0600);
	sem = semget(IPC_PRIVATE, 1, 0600);
	{
		const int ep = epoll_create1(0);
		struct sembuf down = { .sem_op = -1 };
		const struct wait waits[] = {
			{ "pause", SYS_pause, { 0 } },
			{ "read", SYS_read, { (u64)pipe_fd[0], (u64)buf, 1 } },
			{ "nanosleep", SYS_nanosleep, { (u64)&age } },
			{ "clock_nanosleep", SYS_clock_nanosleep, { 1, 0, (u64)&age } },
			{ "futex", SYS_futex, { (u64)&meet->word, FUTEX_WAIT } },
			{ "poll", SYS_poll, { (u64)&poll_fd, 1, (u64)-1 } },
			{ "ppoll", SYS_ppoll, { (u64)&poll_fd, 1, 0, (u64)&no_mask, 8 } },
			{ "select", SYS_select, { (u64)pipe_fd[0] + 1, (u64)&fds } },
			{ "epoll_wait", SYS_epoll_wait, { (u64)ep, (u64)&event, 1, (u64)-1 } },
			{ "rt_sigsuspend", SYS_rt_sigsuspend, { (u64)&no_mask, 8 } },
			{ "msgrcv", SYS_msgrcv, { (u64)queue, (u64)buf, 1 } },
			{ "semop", SYS_semop, { (u64)sem, (u64)&down, 1 } },
		};

		for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
			try(&waits[i]);
	}
	msgctl(queue, IPC_RMID, NULL);
	semctl(sem, 0, IPC_RMID);
	return done();
}
