/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -g -pthread */
/*
 * Two threads that take turns by two pipes, 1000 each; in its turn each adds to a word of its own in one line (`own`), to a word of
 * both in another (`both`), and to one that has a line for itself (`alone`).  A model reads a thread's log at its system calls, so
 * each turn finds what the other's has done.  The second thread gives the first one its first turn.
 */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#define TURNS 1000

struct line {
	volatile uint64_t word[8];
} __attribute__((aligned(64)));

struct line own = { { 1 } }, both = { { 1 } }, alone[2] = { { { 1 } }, { { 1 } } };

static int pipes[2][2];

__attribute__((noinline)) static void turn(unsigned int me)
{
	own.word[me * 4]++;
	both.word[2]++;
	alone[me].word[0]++;
}

static void *run(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	char c = 0;

	if (me && write(pipes[0][1], &c, 1) != 1)
		return arg;
	for (int i = 0; i < TURNS; i++) {
		if (read(pipes[me][0], &c, 1) != 1)
			return arg;
		turn(me);
		if (write(pipes[!me][1], &c, 1) != 1)
			return arg;
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	void *failed = NULL;

	if (pipe(pipes[0]) || pipe(pipes[1]) || pthread_create(&thread, NULL, run, (void *)1))
		return 1;
	if (run((void *)0))
		return 1;
	return pthread_join(thread, &failed) || failed;
}
