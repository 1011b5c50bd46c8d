/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/*
 * Threads that come together to an instruction that the engine does not know, while others write
 * code: the process is left to itself, and must not notice.  In many children, because it is a
 * matter of moments.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 150
#define LEAVERS	 16
#define WRITERS	 8
#define ROUNDS	 12
#define PAGES	 32
#define PAGE	 4096

static pthread_barrier_t start;

static void *leave(void *arg)
{
	pthread_barrier_wait(&start);
	for (volatile int i = 0; i < *(int *)arg; i++)
		;
	/* a far return to the next line */
	__asm__ volatile("sub $128, %%rsp\nmov %%cs, %%eax\npush %%rax\nlea 1f(%%rip), %%rax\n"
			 "push %%rax\nlretq\n1: add $128, %%rsp"
			 :
			 :
			 : "rax", "memory", "cc");
	return NULL;
}

static int call(char *at)
{
	int (*fn)(void);

	memcpy(&fn, &at, sizeof(fn));
	return fn();
}

static void *write_code(void *arg)
{
	static const unsigned char code[] = { 0xb8, 1, 0, 0, 0, 0xc3 }; /* mov $1, %eax; ret */
	const int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	int *bad = arg;
	char *at[PAGES];

	pthread_barrier_wait(&start);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < PAGES; i++) {
			at[i] = mmap(NULL, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memcpy(at[i], code, sizeof(code));
			*bad += call(at[i]) != 1;
			at[i][1] = 7;
			*bad += call(at[i]) != 7;
		}
		for (int i = 0; i < PAGES; i++)
			munmap(at[i], PAGE);
	}
	return NULL;
}

static int child(void)
{
	pthread_t threads[LEAVERS + WRITERS];
	int bad[WRITERS] = { 0 }, delay[LEAVERS], sum = 0;

	pthread_barrier_init(&start, NULL, LEAVERS + WRITERS);
	for (int i = 0; i < LEAVERS; i++) {
		delay[i] = 3 * i;
		if (pthread_create(&threads[i], NULL, leave, &delay[i]))
			return 2;
	}
	for (int i = 0; i < WRITERS; i++)
		if (pthread_create(&threads[LEAVERS + i], NULL, write_code, &bad[i]))
			return 2;
	for (int i = 0; i < LEAVERS + WRITERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < WRITERS; i++)
		sum += bad[i];
	return sum != 0;
}

/* How it ended, which says what to look for. */
static bool ended_well(int i, int status)
{
	if (WIFSIGNALED(status))
		printf("child %d: signal %d\n", i, WTERMSIG(status));
	else if (status)
		printf("child %d: status %d\n", i, WEXITSTATUS(status));
	return !status;
}

int main(void)
{
	int good = 0, status;

	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(child());
		good += waitpid(pid, &status, 0) == pid && ended_well(i, status);
	}
	printf("%d of %d children ended well\n", good, CHILDREN);
	return good != CHILDREN;
}
