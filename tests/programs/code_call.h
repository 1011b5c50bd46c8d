/* SPDX-License-Identifier: MIT */
/* Code that a test writes and calls, which may turn out not to be executable. */
#ifndef PROGRAMS_CODE_CALL_H
#define PROGRAMS_CODE_CALL_H

#include <setjmp.h>
#include <signal.h>
#include <string.h>

typedef int (*code_fn)(void);

static sigjmp_buf code_env;

/* The handler of SIGSEGV that call() needs. */
static void on_code_segv(int sig)
{
	siglongjmp(code_env, sig);
}

static void put(char *at, int value)
{
	const char code[] = { '\xb8', (char)value, 0, 0, 0, '\xc3' }; /* mov $value, %eax; ret */

	memcpy(at, code, sizeof(code));
}

/* What the code at an address returns, or minus the signal that comes instead. */
static int call(char *at)
{
	code_fn fn;
	int sig = sigsetjmp(code_env, 1);

	if (sig)
		return -sig;
	memcpy(&fn, &at, sizeof(fn));
	return fn();
}

#endif
