/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait at a gate and then do work that is known to the instruction, for clients that
 * attach to what runs already.
 *
 *	perf_gate [N...]	a thread for each N, that waits for a byte on standard input, loops N
 *				times and ends; without an N the process itself does, N = 100,000
 *
 * It prints "ready" when all are about to wait. Behind the gate a thread retires 2 N + 3
 * instructions, N of them branches: dec and jnz, then two moves and the system call that ends it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALONE 100000L
#define MANY  16

void perf_gate_pass(long n); /* does not return */
__asm__(".globl perf_gate_pass\n"
	"perf_gate_pass:\n"
	"	mov %rdi, %rbx\n"
	"	push %rax\n"
	"	mov %rsp, %rsi\n"
	"	mov $1, %edx\n"
	"	xor %edi, %edi\n"
	"	xor %eax, %eax\n" /* read */
	"	syscall\n"
	"2:	dec %rbx\n"
	"	jnz 2b\n"
	"	mov $60, %eax\n" /* exit */
	"	xor %edi, %edi\n"
	"	syscall\n");

static void *pass(void *n)
{
	perf_gate_pass((long)n);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MANY];
	int n = 0;

	for (int i = 1; i < argc && n < MANY; i++)
		if (pthread_create(&threads[n++], NULL, pass, (void *)atol(argv[i])))
			return 1;
	puts("ready");
	fflush(stdout);
	if (!n)
		perf_gate_pass(ALONE);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
