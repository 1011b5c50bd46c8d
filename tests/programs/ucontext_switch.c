// SPDX-License-Identifier: MIT
/* FLAGS: -static */
/*
 * Coroutines by makecontext and swapcontext, Go-like small stacks on mmap'ed memory, a switch done
 * by hand in assembly, and a context that is saved in one function and resumed after it returned.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define N_COROUTINES 4
#define STACK_SIZE   16384

static ucontext_t main_context, contexts[N_COROUTINES];
static int trace[64], n_trace;

static void fail(const char *what)
{
	printf("wrong: %s\n", what);
	exit(1);
}

static void coroutine(int id)
{
	for (int i = 0; i < 5; i++) {
		trace[n_trace++] = id * 10 + i;
		swapcontext(&contexts[id], &contexts[(id + 1) % N_COROUTINES]);
	}
	trace[n_trace++] = id * 10 + 9;
	if (id < N_COROUTINES - 1)
		setcontext(&contexts[id + 1]);
}

static void *new_stack(void)
{
	void *stack =
		mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		fail("mmap");
	return stack;
}

static void run_coroutines(void)
{
	n_trace = 0;
	for (int i = 0; i < N_COROUTINES; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = new_stack();
		contexts[i].uc_stack.ss_size = STACK_SIZE;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	swapcontext(&main_context, &contexts[0]);
	for (int i = 0; i < 5 * N_COROUTINES; i++) {
		if (trace[i] != i % N_COROUTINES * 10 + i / N_COROUTINES)
			fail("the order of coroutines");
	}
	if (n_trace != 6 * N_COROUTINES)
		fail("the number of switches");
	for (int i = 0; i < N_COROUTINES; i++)
		munmap(contexts[i].uc_stack.ss_sp, STACK_SIZE);
}

/* void switch_stack(uintptr_t *save_sp, uintptr_t load_sp): ret goes where the other left off */
void switch_stack(uintptr_t *save_sp, uintptr_t load_sp);
__asm__(".globl switch_stack\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n");

static uintptr_t main_sp, green_sp;
static volatile int produced;

static void green_thread(void)
{
	for (;;) {
		produced++;
		switch_stack(&green_sp, main_sp);
	}
}

static void run_green_thread(void)
{
	char *stack = new_stack();
	uintptr_t *top = (uintptr_t *)(stack + STACK_SIZE) - 2;

	*top = (uintptr_t)green_thread;
	green_sp = (uintptr_t)(top - 6);
	for (int i = 0; i < 200; i++) {
		switch_stack(&main_sp, green_sp);
		if (produced != i + 1)
			fail("the green thread");
	}
}

static void resume_twice(void)
{
	volatile int times = 0;
	ucontext_t here;

	getcontext(&here);
	times++;
	if (times < 20)
		setcontext(&here);
	if (times != 20)
		fail("setcontext to the same place");
}

int main(void)
{
	for (int i = 0; i < 5; i++)
		run_coroutines();
	run_green_thread();
	resume_twice();
	printf("ucontext_switch: ok\n");
	return 0;
}
