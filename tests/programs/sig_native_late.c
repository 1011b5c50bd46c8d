/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/*
 * One thread comes to what the engine does not know while another waits in the kernel.  What the
 * first does about signals from there on holds also when the second comes back and goes native too.
 */
#include "sig_test.h"

#include <fcntl.h>
#include <pthread.h>

static int ends[2];
static pid_t waiter;
static volatile int before, after;

static void count_before(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	before++;
}

static void count_after(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	after++;
}

/* Does the thread sleep? From the kernel's line of it, whose name is ours and has no parenthesis. */
static int sleeps(pid_t tid)
{
	char path[64], text[256] = "";
	const char *p;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	fd = open(path, O_RDONLY);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	p = strchr(text, ')');
	return p && p[2] == 'S';
}

static void *leave_first(void *arg)
{
	while (!sleeps(waiter))
		usleep(1000);
	/* a far return to the next line */
	__asm__ volatile("sub $128, %%rsp\nmov %%cs, %%eax\npush %%rax\nlea 1f(%%rip), %%rax\n"
			 "push %%rax\nlretq\n1: add $128, %%rsp"
			 :
			 :
			 : "rax", "memory", "cc");
	catch_with(SIGUSR1, count_after, 0);
	catch_with(SIGSEGV, count_after, 0);
	set_disposition(SIGUSR2, SIG_IGN);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	return arg;
}

int main(void)
{
	struct sigaction sa;
	pthread_t thread;
	char byte;

	waiter = (pid_t)syscall(SYS_gettid);
	CHECK(pipe(ends) == 0);
	catch_with(SIGUSR1, count_before, 0);
	catch_with(SIGUSR2, count_before, 0);
	CHECK(pthread_create(&thread, NULL, leave_first, NULL) == 0);
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	CHECK(sigaction(SIGSEGV, NULL, &sa) == 0);
	CHECK_EQ(sa.sa_sigaction, count_after);
	raise(SIGUSR1);
	raise(SIGUSR2);
	raise(SIGSEGV);
	CHECK_EQ(before, 0);
	CHECK_EQ(after, 2);
	pthread_join(thread, NULL);
	done("native, one after the other");
	return verdict();
}
