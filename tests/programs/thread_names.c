/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Threads and processes that give themselves names, and end in each way: one that is joined, one that exit_group() ends
 * while it waits, a child that exits, one that is killed, one that execs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t named;

static void *work(void *arg)
{
	const char *name = arg;

	prctl(PR_SET_NAME, name);
	pthread_barrier_wait(&named);
	while (!strcmp(name, "waits"))
		pause();
	return NULL;
}

static void child(const char *name, const char *self)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, name);
		if (!strcmp(name, "is killed"))
			kill(getpid(), SIGKILL);
		if (!strcmp(name, "execs"))
			execl(self, "again", "", (char *)NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	static char *const names[] = { "waits", "is joined" };
	pthread_t thread[2];

	if (argc > 1)
		return 0;
	pthread_barrier_init(&named, NULL, 3);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, work, names[i]))
			return 1;
	pthread_barrier_wait(&named);
	pthread_join(thread[1], NULL);
	child("exits", argv[0]);
	child("is killed", argv[0]);
	child("execs", argv[0]);
	return 0;
}
