/* SPDX-License-Identifier: MIT */
/*
 * Queues: real-time signals in order with their values, pending sets, sigtimedwait, sigwaitinfo,
 * signalfd, and whom a signal reaches: a thread, or any thread that lets it in.
 */
/* LIBS: -pthread */
#include "sig_test.h"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>

#define N 200

static volatile int got[4 * N], sigs[4 * N], ngot;

static void on_queue(int sig, siginfo_t *info, void *context)
{
	(void)context;
	CHECK_EQ(info->si_pid, getpid());
	CHECK_EQ(info->si_uid, getuid());
	CHECK_EQ(info->si_code, SI_QUEUE);
	sigs[ngot] = sig;
	got[ngot++] = info->si_value.sival_int;
}

static void block(int how, int a, int b)
{
	sigset_t s = set_of(a);

	if (b)
		sigaddset(&s, b);
	CHECK(pthread_sigmask(how, &s, NULL) == 0);
}

static void realtime(void)
{
	int low = SIGRTMIN + 1, high = SIGRTMIN + 5;

	struct sigaction sa = { .sa_sigaction = on_queue, .sa_flags = SA_SIGINFO };

	sigfillset(&sa.sa_mask);
	sigaction(low, &sa, NULL);
	sigaction(high, &sa, NULL);
	ngot = 0;
	for (int i = 0; i < N; i++) {
		sigqueue(getpid(), low, (union sigval){ .sival_int = i });
		CHECK_EQ(ngot, i + 1);
	}
	block(SIG_BLOCK, low, high);
	ngot = 0;
	for (int i = 0; i < N; i++) {
		sigqueue(getpid(), high, (union sigval){ .sival_int = 1000 + i });
		sigqueue(getpid(), low, (union sigval){ .sival_int = i });
	}
	CHECK_EQ(ngot, 0);
	block(SIG_UNBLOCK, low, high);
	CHECK_EQ(ngot, 2 * N);
	for (int i = 0; i < N; i++) {
		CHECK_EQ(sigs[i], low);
		CHECK_EQ(got[i], i);
		CHECK_EQ(sigs[N + i], high);
		CHECK_EQ(got[N + i], 1000 + i);
	}
	done("real-time order and values");
}

static void waiting(void)
{
	int rt = SIGRTMIN + 2;
	sigset_t s = set_of(rt), pending;
	struct timespec none = { 0 }, some = { .tv_nsec = 20000000 };
	siginfo_t info;

	block(SIG_BLOCK, rt, SIGUSR1);
	CHECK(sigtimedwait(&s, &info, &none) == -1 && errno == EAGAIN);
	CHECK(sigtimedwait(&s, &info, &some) == -1 && errno == EAGAIN);
	for (int i = 0; i < 3; i++)
		sigqueue(getpid(), rt, (union sigval){ .sival_int = 7 + i });
	sigpending(&pending);
	CHECK(sigismember(&pending, rt));
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(sigwaitinfo(&s, &info), rt);
		CHECK_EQ(info.si_value.sival_int, 7 + i);
	}
	sigpending(&pending);
	CHECK(!sigismember(&pending, rt));
	kill(getpid(), SIGUSR1);
	sigaddset(&s, SIGUSR1);
	CHECK_EQ(sigtimedwait(&s, &info, NULL), SIGUSR1);
	CHECK_EQ(info.si_code, SI_USER);
	CHECK_EQ(info.si_pid, getpid());
	done("sigtimedwait and sigwaitinfo");
}

/* A synchronous signal that is only sent behaves like any other. */
static void waiting_for_faults(void)
{
	sigset_t s = set_of(SIGSEGV), old;
	siginfo_t info;

	sigaddset(&s, SIGTRAP);
	sigprocmask(SIG_BLOCK, &s, &old);
	raise(SIGSEGV);
	kill(getpid(), SIGTRAP);
	CHECK_EQ(sigwaitinfo(&s, &info), SIGSEGV); /* the thread's own come first */
	CHECK_EQ(info.si_code, SI_USER);	   /* glibc hides SI_TKILL */
	CHECK_EQ(sigwaitinfo(&s, &info), SIGTRAP);
	CHECK_EQ(info.si_code, SI_USER);
	sigprocmask(SIG_SETMASK, &old, NULL);
	done("waiting for faults");
}

static void by_descriptor(void)
{
	sigset_t s = set_of(SIGUSR2);
	struct signalfd_siginfo si;
	struct pollfd p;
	int fd;

	sigaddset(&s, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &s, NULL);
	fd = signalfd(-1, &s, SFD_NONBLOCK | SFD_CLOEXEC);
	p = (struct pollfd){ .fd = fd, .events = POLLIN };
	CHECK(read(fd, &si, sizeof(si)) == -1 && errno == EAGAIN);
	raise(SIGUSR2);
	for (int i = 0; i < 5; i++)
		sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = i });
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(read(fd, &si, sizeof(si)), sizeof(si));
	CHECK_EQ(si.ssi_signo, SIGUSR2);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(read(fd, &si, sizeof(si)), sizeof(si));
		CHECK_EQ(si.ssi_signo, SIGRTMIN);
		CHECK_EQ(si.ssi_int, i);
	}
	CHECK(read(fd, &si, sizeof(si)) == -1 && errno == EAGAIN);
	close(fd);
	done("signalfd");
}

static volatile int hits[2], stop;
static __thread int self;

static void on_thread(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	__atomic_add_fetch(&hits[self], 1, __ATOMIC_SEQ_CST);
}

static void *spin(void *arg)
{
	self = 1;
	block(SIG_UNBLOCK, SIGUSR1, 0);
	__atomic_store_n((int *)arg, 1, __ATOMIC_SEQ_CST);
	while (!stop)
		;
	return NULL;
}

static void wait_hits(int n)
{
	while (hits[0] + hits[1] < n)
		sched_yield();
}

static void to_threads(void)
{
	pthread_t th;
	int up = 0;

	catch_with(SIGUSR1, on_thread, 0);
	block(SIG_BLOCK, SIGUSR1, 0);
	pthread_create(&th, NULL, spin, &up);
	while (!__atomic_load_n(&up, __ATOMIC_SEQ_CST))
		sched_yield();
	for (int i = 0; i < 100; i++) { /* only the other thread lets it in */
		kill(getpid(), SIGUSR1);
		wait_hits(i + 1);
	}
	CHECK_EQ(hits[1], 100);
	for (int i = 0; i < 100; i++) {
		pthread_kill(th, SIGUSR1);
		wait_hits(i + 101);
	}
	CHECK_EQ(hits[1], 200);
	CHECK_EQ(hits[0], 0);
	pthread_kill(pthread_self(), SIGUSR1);
	CHECK_EQ(hits[0], 0);
	block(SIG_UNBLOCK, SIGUSR1, 0);
	CHECK_EQ(hits[0], 1);
	stop = 1;
	pthread_join(th, NULL);
	done("thread-directed");
}

int main(void)
{
	realtime();
	waiting();
	waiting_for_faults();
	by_descriptor();
	to_threads();
	return verdict();
}
