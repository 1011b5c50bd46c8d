/* FLAGS: -static -Iinclude -pthread */
/* Regions whose instructions are known by reading them: `regions WORD`, for tests/e2e/regions.sh. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "anyperf/region.h"

/* From one label to the next nothing but these: mov, then n times dec and jnz. */
#define LOOP(n)                                                                                    \
	__asm__ volatile("mov $" #n ", %%ecx\n1:\tdec %%ecx\n\tjnz 1b" : : : "ecx", "cc", "memory")

static void empty(void)
{
	AP_REGION_BEGIN("empty");
	AP_REGION_END("empty");
	AP_REGION_BEGIN("empty");
	AP_REGION_END("empty");
}

/* 201, 401 and 21 instructions; the outer region has 1 + 201 + 401 + 21 */
static void nested(void)
{
	AP_REGION_BEGIN("outer");
	__asm__ volatile("nop");
	AP_REGION_BEGIN("inner");
	LOOP(100);
	AP_REGION_END("inner");
	AP_REGION_BEGIN("inner");
	LOOP(200);
	AP_REGION_END("inner");
	AP_REGION_BEGIN("inner");
	LOOP(10);
	AP_REGION_END("inner");
	AP_REGION_END("outer");
}

/* Each within the one before: five calls, and the outermost has a nop for each. */
#define WITHIN(rest)                                                                               \
	do {                                                                                       \
		AP_REGION_BEGIN("within");                                                         \
		__asm__ volatile("nop");                                                           \
		rest;                                                                              \
		AP_REGION_END("within");                                                           \
	} while (0)

static void recursive(void)
{
	WITHIN(WITHIN(WITHIN(WITHIN(WITHIN((void)0)))));
	/* and by way of another one */
	AP_REGION_BEGIN("a");
	AP_REGION_BEGIN("b");
	AP_REGION_BEGIN("a");
	__asm__ volatile("nop; nop; nop");
	AP_REGION_END("a");
	AP_REGION_END("b");
	AP_REGION_END("a");
}

static void *thread(void *arg)
{
	for (int i = 0; i < 100; i++) {
		AP_REGION_BEGIN("thread");
		LOOP(50);
		AP_REGION_END("thread");
	}
	return arg;
}

static void threads(void)
{
	pthread_t id[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&id[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(id[i], NULL);
}

/* The child ends its parent's region, which is no call, and has one of its own. */
static void forks(void)
{
	pid_t pid;

	AP_REGION_BEGIN("parent");
	pid = fork();
	if (!pid) {
		AP_REGION_END("parent");
		AP_REGION_BEGIN("child");
		LOOP(30);
		AP_REGION_END("child");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	AP_REGION_END("parent");
}

static void names(void)
{
	AP_REGION_BEGIN("a\033[31m,b\"c\\\t");
	AP_REGION_END("a\033[31m,b\"c\\\t");
	AP_REGION_BEGIN("50%% %{load%|x%}");
	AP_REGION_END("50%% %{load%|x%}");
}

static void wrong(const char *how)
{
	static jmp_buf back;

	if (!strcmp(how, "unended")) {
		AP_REGION_BEGIN("unended");
	} else if (!strcmp(how, "unbegun")) {
		AP_REGION_END("unbegun");
	} else if (!strcmp(how, "left")) {
		AP_REGION_BEGIN("outer");
		if (!setjmp(back)) {
			AP_REGION_BEGIN("left");
			longjmp(back, 1);
		}
		AP_REGION_END("outer");
	}
}

/* By a record of its own: so many regions of names that are made here, each of one nop. */
static void many(int n)
{
	struct {
		unsigned long word[6];
		char name[16];
	} begin = { { 0x41500000, sizeof(begin.word) }, "" }, end = begin;

	end.word[0]++;
	for (int i = 0; i < n; i++) {
		snprintf(begin.name, sizeof(begin.name), "r%d", i);
		memcpy(end.name, begin.name, sizeof(end.name));
		__asm__ volatile(
			"rol $3, %%rdi; rol $13, %%rdi; rol $61, %%rdi; rol $51, %%rdi; xchg %%rbx, %%rbx\n\t"
			"nop\n\t"
			"mov %1, %%rax\n\t"
			"rol $3, %%rdi; rol $13, %%rdi; rol $61, %%rdi; rol $51, %%rdi; xchg %%rbx, %%rbx"
			:
			: "a"(&begin), "r"(&end)
			: "rdx", "cc", "memory");
	}
}

static void deep(int n)
{
	AP_REGION_BEGIN("even");
	AP_REGION_BEGIN("odd");
	if (n > 1)
		deep(n - 1);
	AP_REGION_END("odd");
	AP_REGION_END("even");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(what, "empty"))
		empty();
	else if (!strcmp(what, "nested"))
		nested();
	else if (!strcmp(what, "recursive"))
		recursive();
	else if (!strcmp(what, "threads"))
		threads();
	else if (!strcmp(what, "forks"))
		forks();
	else if (!strcmp(what, "names"))
		names();
	else if (!strcmp(what, "many"))
		many(n);
	else if (!strcmp(what, "deep"))
		deep(n);
	else
		wrong(what);
	return !strcmp(what, "fails") ? 3 : 0;
}
