/* SPDX-License-Identifier: MIT */
/*
 * For the task_*.c programs: each check prints a line that is the same natively and counted, and
 * the exit status is 1 when one failed.
 */
#ifndef TASK_TEST_H
#define TASK_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((unused)) static int task_failed;

#define CHECK(cond, name)                                                                          \
	do {                                                                                       \
		bool task_ok = (cond);                                                             \
		printf("%s: %s\n", name, task_ok ? "ok" : "FAILED");                               \
		if (!task_ok) {                                                                    \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #cond,       \
				errno);                                                            \
			task_failed = 1;                                                           \
		}                                                                                  \
		fflush(stdout);                                                                    \
	} while (0)

#endif
