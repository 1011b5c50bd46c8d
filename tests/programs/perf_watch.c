/* SPDX-License-Identifier: MIT */
/* FLAGS: -static */
/*
 * Execution breakpoints on code that runs a known number of times; the kernel's debug registers
 * count the same natively.
 */
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "../tests/programs/perf_run.h"
#include "../tests/programs/task_test.h"

extern const char watch_head[], watch_middle[], watch_odd[], watch_rep[];
void watch_loop(uint64_t n);

/* n times around; odd rounds pass watch_odd. */
__asm__(".globl watch_loop\n"
	"watch_loop: xor %eax, %eax\n"
	".globl watch_head\n"
	"watch_head: inc %rax\n"
	"nop\n"
	".globl watch_middle\n"
	"watch_middle: test $1, %al\n"
	"jz 1f\n"
	".globl watch_odd\n"
	"watch_odd: nop\n"
	"1: dec %rdi\n"
	"jnz watch_head\n"
	"push %rdi\n"
	"lea -64(%rsp), %rdi\n"
	"mov $16, %ecx\n"
	".globl watch_rep\n"
	"watch_rep: rep stosb\n"
	"pop %rdi\n"
	"ret\n");

static int watch(const char *at, pid_t pid, bool inherit)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr) };

	attr.bp_type = HW_BREAKPOINT_X;
	attr.bp_addr = (uintptr_t)at;
	attr.bp_len = sizeof(long);
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.inherit = inherit;
	return perf_run_open(&attr, pid, -1, -1);
}

static void *work(void *arg)
{
	watch_loop((uintptr_t)arg);
	return NULL;
}

static void oneself(void)
{
	int head, middle, odd, rep;

	watch_loop(1000); /* its code is there before anybody watches */
	head = watch(watch_head, 0, false);
	middle = watch(watch_middle, 0, false);
	odd = watch(watch_odd, 0, false);
	rep = watch(watch_rep, 0, false);
	if (head < 0) {
		perror("perf_event_open");
		exit(77);
	}
	CHECK(perf_run_read(head) == 0, "nothing yet");
	watch_loop(1001);
	CHECK(perf_run_read(head) == 1001, "the head of a loop");
	CHECK(perf_run_read(middle) == 1001, "its middle");
	CHECK(perf_run_read(odd) == 501, "one side of a branch");
	CHECK(perf_run_read(rep) == 1, "a rep instruction once");
	CHECK(watch(watch_head, 0, false) == -1 && errno == ENOSPC, "four registers");
	ioctl(head, PERF_EVENT_IOC_DISABLE, 0);
	watch_loop(10);
	CHECK(perf_run_read(head) == 1001, "not while disabled");
	CHECK(perf_run_read(middle) == 1011, "others go on");
	ioctl(head, PERF_EVENT_IOC_ENABLE, 0);
	watch_loop(20);
	CHECK(perf_run_read(head) == 1021, "enabled again");
	close(head);
	close(middle);
	close(odd);
	close(rep);
}

static void others(void)
{
	int own = watch(watch_head, 0, false), all = watch(watch_head, 0, true);
	pthread_t thread[3];
	pid_t pid;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)5000);
	watch_loop(7);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	pid = fork();
	if (!pid) {
		watch_loop(300);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	CHECK(perf_run_read(own) == 7, "one thread's own");
	CHECK(perf_run_read(all) == 15307, "with its threads and children");
	close(own);
	close(all);
}

/* The last descriptors of four registers go with a child that is killed: whoever has waited for it has them again. */
static void left_behind(void)
{
	int fd[4], again[4], n = 0;
	pid_t pid;

	for (int i = 0; i < 4; i++)
		fd[i] = watch(watch_head, 0, false);
	pid = fork();
	while (!pid)
		pause();
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 4; i++)
		n += (again[i] = watch(watch_head, 0, false)) >= 0;
	CHECK(n == 4, "registers that a dead child had");
	for (int i = 0; i < 4; i++)
		close(again[i]);
}

static volatile sig_atomic_t hits;

static void handle(int sig)
{
	(void)sig;
	hits = hits + 1;
}

/* Signals come before, in and after the watched instruction. */
static void under_signals(void)
{
	int head = watch(watch_head, 0, false);
	pid_t self = getpid(), pid;

	signal(SIGUSR1, handle);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 2000; i++)
			kill(self, SIGUSR1);
		_exit(0);
	}
	for (int i = 0; i < 200; i++)
		watch_loop(500);
	waitpid(pid, NULL, 0);
	CHECK(perf_run_read(head) == 100000, "every time once, whatever comes between");
	close(head);
}

/* The same addresses in the next image, which is the same program. */
static void over_exec(const char *self)
{
	int gate[2], head;
	pid_t pid;
	char c;

	if (pipe(gate))
		abort();
	pid = fork();
	if (!pid) {
		if (read(gate[0], &c, 1) != 1)
			_exit(1);
		watch_loop(3);
		execl(self, self, "image", NULL);
		_exit(127);
	}
	head = watch(watch_head, pid, false);
	if (write(gate[1], "", 1) != 1)
		abort();
	waitpid(pid, NULL, 0);
	CHECK(perf_run_read(head) == 43, "another task, over its exec");
	close(head);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		watch_loop(40);
		return 0;
	}
	oneself();
	over_exec(argv[0]);
	others();
	left_behind();
	under_signals();
	return task_failed;
}
