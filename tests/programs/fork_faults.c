// SPDX-License-Identifier: MIT
/* FLAGS: -O1 -static -D_GNU_SOURCE */
/*
 * Sixteen children, one after the other, which all do what their parent never does.  Prints how many page faults the first
 * had, and the last: what a parent has learned of its children is no fault of later ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void work(void)
{
	char text[256];
	int v[50];

	for (int i = 0; i < 50; i++)
		v[i] = i * 7919 % 101;
	qsort(v, 50, sizeof(*v), compare);
	snprintf(text, sizeof(text), "%d %f %s", v[3], v[4] / 3.0, "x");
	_exit(strtod(text, NULL) > 1e9);
}

static long child(void)
{
	struct rusage usage = { .ru_minflt = 0 };
	int status;
	pid_t pid = fork();

	if (!pid)
		work();
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status) {
		perror("a child");
		exit(1);
	}
	return usage.ru_minflt;
}

int main(void)
{
	long first = child(), last = 0;

	for (int i = 1; i < 16; i++)
		last = child();
	printf("%ld %ld\n", first, last);
	return 0;
}
