// SPDX-License-Identifier: MIT
/* FLAGS: -fno-omit-frame-pointer -fno-optimize-sibling-calls -rdynamic */
/*
 * What a program sees of its own code addresses: backtrace(3), __builtin_return_address, frame
 * pointers, call-pop, a backtrace through a signal frame, and the pc in a handler's context. All
 * must lie in the program, where the symbols say.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))

static void *frames[64];
static int n_frames;
static uintptr_t handler_pc;

int first(int depth);
int second(int depth);
int third(int depth);
int faults(volatile int *where);

static void fail(const char *what)
{
	printf("wrong: %s\n", what);
	exit(1);
}

static void expect_symbol(const void *pc, const char *name)
{
	Dl_info info;

	if (dladdr(pc, &info) == 0 || info.dli_sname == NULL || strcmp(info.dli_sname, name) != 0) {
		printf("%p is not in %s\n", pc, name);
		fail("a return address");
	}
}

NOINLINE int third(int depth)
{
	void **frame = __builtin_frame_address(0);

	n_frames = backtrace(frames, 64);
	expect_symbol(__builtin_return_address(0), "second");
	if (frame[1] != __builtin_return_address(0))
		fail("the frame pointer's return address");
	return depth + 1;
}

NOINLINE int second(int depth)
{
	return third(depth + 1) + 1;
}

NOINLINE int first(int depth)
{
	return second(depth + 1) + 1;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	handler_pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
	n_frames = backtrace(frames, 64);
	uc->uc_mcontext.gregs[REG_RAX] = 42;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

NOINLINE int faults(volatile int *where)
{
	int value;

	__asm__ volatile("mov (%1), %0" : "=a"(value) : "D"(where));
	return value + 1;
}

/* The address that a call pushes is the address of the next instruction. */
static void check_call_pop(void)
{
	uintptr_t popped, here;

	__asm__ volatile("lea 1f(%%rip), %1\n"
			 "	lea -128(%%rsp), %%rsp\n"
			 "	call 1f\n"
			 "1:	pop %0\n"
			 "	lea 128(%%rsp), %%rsp"
			 : "=&r"(popped), "=&r"(here));
	if (popped != here)
		fail("call and pop");
}

static int has_frame_in(const char *name)
{
	Dl_info info;

	for (int i = 0; i < n_frames; i++) {
		if (dladdr(frames[i], &info) != 0 && info.dli_sname != NULL &&
		    strcmp(info.dli_sname, name) == 0)
			return 1;
	}
	return 0;
}

int main(void)
{
	struct sigaction sa;

	for (int i = 0; i < 4; i++) {
		if (first(0) != 5)
			fail("the result");
		expect_symbol(frames[0], "third");
		expect_symbol(frames[1], "second");
		expect_symbol(frames[2], "first");
		expect_symbol(frames[3], "main");
		check_call_pop();
	}
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_fault;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &sa, NULL);
	if (faults(NULL) != 43)
		fail("a register set by the handler");
	expect_symbol((void *)handler_pc, "faults");
	if (!has_frame_in("faults") || !has_frame_in("main"))
		fail("a backtrace through a signal frame");
	printf("backtrace_check: ok\n");
	return 0;
}
