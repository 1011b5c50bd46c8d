/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -g -pthread */
/*
 * Two threads that take turns by two pipes, 1000 each; in its turn each writes to 512 lines of its own thread-local memory, which no
 * other thread ever touches: no line of it is anybody else's.  With an argument they begin with an arch_prctl(ARCH_SET_FS) to where
 * their %fs is already.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURNS	    1000
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003

static __thread volatile long mine[4096];
static int pipes[2][2], resets;

__attribute__((noinline)) static void turn(void)
{
	for (int i = 0; i < 4096; i += 8)
		mine[i]++;
}

static void *run(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg;
	unsigned long fs;
	char c = 0;

	if (resets &&
	    (syscall(SYS_arch_prctl, ARCH_GET_FS, &fs) || syscall(SYS_arch_prctl, ARCH_SET_FS, fs)))
		return &pipes;
	if (me && write(pipes[0][1], &c, 1) != 1)
		return &pipes;
	for (int i = 0; i < TURNS; i++) {
		if (read(pipes[me][0], &c, 1) != 1)
			return &pipes;
		turn();
		if (write(pipes[!me][1], &c, 1) != 1)
			return &pipes;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *failed = NULL;

	(void)argv;
	resets = argc > 1;
	if (pipe(pipes[0]) || pipe(pipes[1]) || pthread_create(&thread, NULL, run, (void *)1))
		return 1;
	if (run((void *)0))
		return 1;
	return pthread_join(thread, &failed) || failed;
}
