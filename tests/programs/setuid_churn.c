/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/*
 * Root that becomes another user and root again, time after time, while other threads work, wait, make threads, forks and new
 * images: all of them come to their ends as they would without that.
 *
 *	setuid_churn TIMES
 */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define SIZE   65536

extern char **environ;

static volatile int is_over;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *works(void *arg)
{
	for (volatile unsigned n = 0; !is_over; n++)
		;
	return arg;
}

static void *waits(void *arg)
{
	while (!is_over)
		usleep(500);
	return arg;
}

static void *forks(void *arg)
{
	while (!is_over) {
		pid_t pid = fork();
		int status;

		if (!pid)
			_exit(3);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 3 << 8)
			fail("fork");
		usleep(300);
	}
	return arg;
}

static void *spawns(void *arg)
{
	char *const argv[] = { "true", NULL };

	while (!is_over) {
		int status;
		pid_t pid;

		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) ||
		    waitpid(pid, &status, 0) != pid || status)
			fail("posix_spawn");
		usleep(500);
	}
	return arg;
}

static void *maps(void *arg)
{
	while (!is_over) {
		char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p == MAP_FAILED)
			fail("mmap");
		memset(p, 1, SIZE);
		munmap(p, SIZE);
	}
	return arg;
}

static void *ends(void *arg)
{
	return arg;
}

static void *makes(void *arg)
{
	pthread_t t;

	while (!is_over)
		if (pthread_create(&t, NULL, ends, NULL) || pthread_join(t, NULL))
			fail("pthread_create");
	return arg;
}

int main(int argc, char **argv)
{
	void *(*const all[])(void *) = { works, waits, forks, spawns, maps, makes };
	pthread_t t[sizeof(all) / sizeof(all[0])];
	int times = argc == 2 ? atoi(argv[1]) : 0;

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (pthread_create(&t[i], NULL, all[i], NULL))
			fail("pthread_create");
	for (int i = 0; i < times; i++) {
		if (seteuid(NOBODY) || geteuid() != NOBODY || seteuid(0) || geteuid())
			fail("seteuid");
		usleep(1000);
	}
	is_over = 1;
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		pthread_join(t[i], NULL);
	puts("setuid_churn: ok");
	return 0;
}
