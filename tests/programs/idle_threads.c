/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/*
 * idle_threads N: starts N threads that wait for ever, says so once all of them do, and ends with
 * its input.
 */
#include <pthread.h>

#include "task_test.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static int waiting;

static void *idle(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	waiting++;
	pthread_cond_signal(&arrived);
	for (;;)
		pthread_cond_wait(&never, &lock);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t t;

	for (int i = 0; i < n; i++)
		if (pthread_create(&t, NULL, idle, NULL))
			return 2;
	pthread_mutex_lock(&lock);
	while (waiting < n)
		pthread_cond_wait(&arrived, &lock);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	getchar();
	_exit(0);
}
