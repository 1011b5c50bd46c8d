/* SPDX-License-Identifier: MIT */
/*
 * Signals that find the program in a system call: EINTR and restarts, the frame's pc and rax, and
 * the calls that bring a mask of their own.
 */
/* LIBS: -pthread */
#include "sig_test.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/select.h>

static volatile int caught;
static volatile long at_rax;
static volatile unsigned char at_pc[2];
static volatile unsigned long mask_seen, mask_inside;
static int wake_fd = -1;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const unsigned char *pc = (const unsigned char *)uc->uc_mcontext.gregs[REG_RIP];
	unsigned long now;

	(void)sig;
	(void)info;
	caught++;
	at_rax = uc->uc_mcontext.gregs[REG_RAX];
	at_pc[0] = pc[0];
	at_pc[1] = pc[1];
	mask_seen = uc->uc_sigmask.__val[0];
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, 8);
	mask_inside = now;
	if (wake_fd >= 0)
		CHECK_EQ(write(wake_fd, "x", 1), 1);
}

static unsigned long bit(int sig)
{
	return 1UL << (sig - 1);
}

static pid_t main_tid;

static int sleeps(void)
{
	char path[64], line[512];
	int fd;
	ssize_t n;
	const char *p;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", main_tid);
	fd = open(path, O_RDONLY);
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = 0;
	p = strrchr(line, ')');
	return p && p[2] == 'S';
}

/* Signals the main thread once it sleeps. */
static void *poker(void *arg)
{
	sigset_t all;

	(void)arg;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (int quiet = 0; quiet < 3;) {
		usleep(2000);
		quiet = sleeps() ? quiet + 1 : 0;
	}
	syscall(SYS_tgkill, getpid(), main_tid, SIGUSR1);
	return NULL;
}

static pthread_t th;

static void poke(void)
{
	caught = 0;
	CHECK(pthread_create(&th, NULL, poker, NULL) == 0);
}

static void poked(void)
{
	pthread_join(th, NULL);
	CHECK_EQ(caught, 1);
}

static void interrupted_read(void)
{
	int p[2];
	char c;

	CHECK(pipe(p) == 0);
	catch_with(SIGUSR1, on_signal, 0);
	poke();
	CHECK(read(p[0], &c, 1) == -1 && errno == EINTR);
	poked();
	CHECK_EQ(at_rax, -EINTR);
	done("EINTR");

	catch_with(SIGUSR1, on_signal, SA_RESTART);
	wake_fd = p[1];
	poke();
	CHECK_EQ(read(p[0], &c, 1), 1);
	wake_fd = -1;
	poked();
	CHECK_EQ(at_rax, SYS_read);
	CHECK(at_pc[0] == 0x0f && at_pc[1] == 0x05);
	done("SA_RESTART");
	close(p[0]);
	close(p[1]);
}

static void sleeping(void)
{
	struct timespec long_time = { .tv_sec = 100 }, left = { 0 };

	catch_with(SIGUSR1, on_signal, SA_RESTART);
	poke();
	CHECK(nanosleep(&long_time, &left) == -1 && errno == EINTR);
	poked();
	CHECK(left.tv_sec >= 95 && left.tv_sec < 100);
	poke();
	CHECK(poll(NULL, 0, -1) == -1 && errno == EINTR);
	poked();
	poke();
	CHECK(pause() == -1 && errno == EINTR);
	poked();
	done("nanosleep, poll, pause");
}

/* SIGUSR1 is blocked but for the time of the call; in the handler the call's mask holds still. */
static void check_masks(void)
{
	unsigned long now;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, 8);
	CHECK_EQ(now, bit(SIGUSR1) | bit(SIGSEGV));
	CHECK_EQ(mask_seen, bit(SIGUSR1) | bit(SIGSEGV));
	CHECK_EQ(mask_inside, bit(SIGUSR1) | bit(SIGUSR2) | bit(SIGTRAP));
}

static void temporary_masks(void)
{
	sigset_t block = set_of(SIGUSR1), during = set_of(SIGUSR2);
	struct timespec long_time = { .tv_sec = 100 };
	struct epoll_event event;
	int ep = epoll_create1(0);

	sigaddset(&block, SIGSEGV);
	sigaddset(&during, SIGTRAP);
	catch_with(SIGUSR1, on_signal, SA_RESTART);
	sigprocmask(SIG_SETMASK, &block, NULL);
	poke();
	CHECK(sigsuspend(&during) == -1 && errno == EINTR);
	poked();
	check_masks();
	poke();
	CHECK(ppoll(NULL, 0, &long_time, &during) == -1 && errno == EINTR);
	poked();
	check_masks();
	poke();
	CHECK(pselect(0, NULL, NULL, NULL, &long_time, &during) == -1 && errno == EINTR);
	poked();
	check_masks();
	poke();
	CHECK(epoll_pwait(ep, &event, 1, -1, &during) == -1 && errno == EINTR);
	poked();
	check_masks();

	caught = 0; /* pending already */
	raise(SIGUSR1);
	CHECK_EQ(caught, 0);
	CHECK(sigsuspend(&during) == -1 && errno == EINTR);
	CHECK_EQ(caught, 1);
	check_masks();
	raise(SIGUSR1);
	CHECK(ppoll(NULL, 0, &long_time, &during) == -1 && errno == EINTR);
	CHECK_EQ(caught, 2);
	check_masks();
	close(ep);
	sigprocmask(SIG_UNBLOCK, &block, NULL);
	done("sigsuspend, ppoll, pselect, epoll_pwait");
}

static volatile int alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

/* A child stopped and continued sleeps on: the kernel restarts its call by itself. */
static void stop_and_continue(void)
{
	struct timespec time = { .tv_nsec = 100000000 };
	int status = 0;
	pid_t pid = 0;

	fflush(stdout);
	/* longer where it has slept enough before this one had a CPU again */
	for (; time.tv_sec < 60 && !WIFSTOPPED(status); time.tv_sec = 2 * time.tv_sec + 1) {
		pid = fork();
		if (pid == 0)
			_exit(nanosleep(&time, NULL) == 0 ? 7 : 8);
		usleep(20000);
		kill(pid, SIGSTOP);
		CHECK(waitpid(pid, &status, WUNTRACED) == pid);
	}
	CHECK(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	done("SIGSTOP and SIGCONT");
}

/* Nothing is lost between blocking and waiting. */
static void no_lost_alarm(void)
{
	struct itimerval soon = { .it_value = { .tv_usec = 300 } };
	sigset_t alrm = set_of(SIGALRM), none = set_of(0);

	set_disposition(SIGALRM, on_alarm);
	sigprocmask(SIG_BLOCK, &alrm, NULL);
	for (int i = 0; i < 200; i++) {
		setitimer(ITIMER_REAL, &soon, NULL);
		while (alarms == i)
			sigsuspend(&none);
	}
	sigprocmask(SIG_UNBLOCK, &alrm, NULL);
	CHECK_EQ(alarms, 200);
	done("sigsuspend never misses");
}

int main(void)
{
	main_tid = (pid_t)syscall(SYS_gettid);
	interrupted_read();
	sleeping();
	temporary_masks();
	stop_and_continue();
	no_lost_alarm();
	return verdict();
}
