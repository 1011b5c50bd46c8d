/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/* Threads: many at once, many one after another, forks among them, and all ways to end. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "task_test.h"

#define MANY  64
#define LOOPS 20000
#define STORM 2000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long locked, atomic_sum;
static volatile int stop;
static __thread long own;

static void *count(void *arg)
{
	for (long i = 0; i < LOOPS; i++) {
		own++;
		__atomic_fetch_add(&atomic_sum, 1, __ATOMIC_RELAXED);
		if (i % 16 == 0) {
			pthread_mutex_lock(&lock);
			locked++;
			pthread_mutex_unlock(&lock);
		}
	}
	return own == LOOPS ? arg : NULL;
}

static void test_many(void)
{
	pthread_t t[MANY];
	long good = 0;
	void *ret;

	for (long i = 0; i < MANY; i++)
		if (pthread_create(&t[i], NULL, count, (void *)(i + 1)))
			exit(2);
	for (long i = 0; i < MANY; i++)
		good += !pthread_join(t[i], &ret) && ret == (void *)(i + 1);
	CHECK(good == MANY, "64 threads with TLS");
	CHECK(atomic_sum == MANY * LOOPS, "atomic counter");
	CHECK(locked == MANY * LOOPS / 16, "locked counter");
}

static void *nothing(void *arg)
{
	return arg;
}

static void test_storm(void)
{
	pthread_t t[20];
	long n = 0;

	for (int i = 0; i < STORM / 20; i++) {
		for (int j = 0; j < 20; j++)
			if (pthread_create(&t[j], NULL, nothing, NULL))
				exit(2);
		for (int j = 0; j < 20; j++)
			n += !pthread_join(t[j], NULL);
	}
	CHECK(n == STORM, "2000 short threads");
}

static void *churn(void *arg)
{
	while (!stop) {
		char *p = malloc(1000 + (size_t)rand() % 100000);

		p[0] = 1;
		free(p);
	}
	return arg;
}

/* A fork among threads that malloc: the child must not wait for a lock whose holder is gone. */
static void test_fork_among(void)
{
	pthread_t t[4];
	int good = 0, status;

	stop = 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, churn, NULL);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid) {
			char *p = malloc(100000);

			memset(p, 1, 100000);
			free(p);
			_exit(system("exit 5") == 5 << 8 ? 5 : 1);
		}
		good += waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5;
	}
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(good == 50, "50 forks among 4 threads");
}

static void *fork_thread(void *arg)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		pthread_t t;
		void *ret = NULL;

		/* the thread is the child's main one and can have threads itself */
		if (pthread_create(&t, NULL, nothing, arg) || pthread_join(t, &ret))
			_exit(1);
		_exit(ret == arg && getpid() == (pid_t)syscall(SYS_gettid) ? 8 : 1);
	}
	waitpid(pid, &status, 0);
	return (void *)(long)WEXITSTATUS(status);
}

static void test_fork_in_thread(void)
{
	pthread_t t;
	void *ret;

	pthread_create(&t, NULL, fork_thread, &lock);
	pthread_join(t, &ret);
	CHECK(ret == (void *)8, "fork in a thread");
}

struct pipes {
	int started[2], done[2];
};

static __attribute__((noinline)) int fresh(int x)
{
	return x * 3 + 1;
}

/* New code and new memory while the main thread is held in its clone. */
static void *work_beside(void *arg)
{
	struct pipes *p = arg;
	char c;

	if (read(p->started[0], &c, 1) != 1)
		return NULL;
	c = (char)fresh(2);
	free(malloc(10000000));
	return write(p->done[1], &c, 1) == 1 ? arg : NULL;
}

/* The child has its own memory; only the thread that cloned it waits for its end. */
static void test_vfork_without_vm(void)
{
	struct pipes p;
	int status = 0;
	pthread_t t;
	void *ret;
	pid_t pid;
	char c;

	if (pipe(p.started) || pipe(p.done) || pthread_create(&t, NULL, work_beside, &p))
		exit(2);
	pid = (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, NULL, NULL, 0);
	if (!pid) {
		(void)!write(p.started[1], "x", 1);
		_exit(read(p.done[0], &c, 1) == 1 ? c : 1);
	}
	waitpid(pid, &status, 0);
	pthread_join(t, &ret);
	CHECK(ret == &p && WEXITSTATUS(status) == 7, "clone VFORK holds up one thread only");
	pid = fork();
	if (!pid)
		_exit(9);
	waitpid(pid, &status, 0);
	CHECK(WEXITSTATUS(status) == 9, "fork after it");
	close(p.started[0]);
	close(p.started[1]);
	close(p.done[0]);
	close(p.done[1]);
}

static void *named(void *arg)
{
	char name[17];

	prctl(PR_SET_NAME, "worker");
	prctl(PR_GET_NAME, name);
	return strcmp(name, "worker") ? NULL : arg;
}

static void test_name(void)
{
	pthread_t t;
	void *ret;
	char name[17];

	pthread_create(&t, NULL, named, &lock);
	pthread_join(t, &ret);
	prctl(PR_GET_NAME, name);
	CHECK(ret == &lock && !strcmp(name, "task_threads"), "thread names");
}

static void *spin(void *arg)
{
	for (volatile long i = 0;; i++)
		;
	return arg;
}

static void *leave(void *arg)
{
	usleep(1000);
	exit((int)(long)arg);
}

static void *outlive(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	_exit(21);
}

static int in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		fn();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void exit_among_spinners(void)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, spin, NULL);
	usleep(10000);
	_exit(31);
}

static void exit_from_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, spin, NULL);
	pthread_create(&t, NULL, leave, (void *)32);
	spin(NULL);
}

static void main_leaves_first(void)
{
	static pthread_t self;
	pthread_t t;

	self = pthread_self();
	pthread_create(&t, NULL, outlive, &self);
	pthread_exit(NULL);
}

static void last_thread_exits(void)
{
	syscall(SYS_exit, 33);
}

static void killed_among_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, spin, NULL);
	kill(getpid(), SIGTERM);
	spin(NULL);
}

static void *crash(void *arg)
{
	*(volatile int *)strlen(getenv("PATH")) = 1;
	return arg;
}

static void crash_in_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, crash, NULL);
	spin(NULL);
}

static void test_ends(void)
{
	CHECK(in_child(exit_among_spinners) == 31 << 8, "exit_group while threads run");
	CHECK(in_child(exit_from_thread) == 32 << 8, "exit from a thread");
	CHECK(in_child(main_leaves_first) == 21 << 8, "main thread leaves first");
	CHECK(in_child(last_thread_exits) == 33 << 8, "exit of the last thread");
	CHECK(in_child(killed_among_threads) == SIGTERM, "killed by a signal");
	CHECK(in_child(crash_in_thread) == SIGSEGV, "a crash in a thread");
}

int main(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	test_many();
	test_storm();
	test_fork_among();
	test_fork_in_thread();
	test_vfork_without_vm();
	test_name();
	test_ends();
	return task_failed;
}
