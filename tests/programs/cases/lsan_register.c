/* SPDX-License-Identifier: MIT */
/*
 * LeakSanitizer stops all threads at the end, by ptrace, and looks for pointers in their registers and stacks.  A thread
 * whose only pointer is in a register, while it waits in a system call or runs, has leaked nothing.
 */
/* FLAGS: -fsanitize=leak -pthread */
/* CASE: counted -- */
/* CASE: counted -- run */
/* CASE: counted -- switch */
#include "check.h"

static volatile int go;

/* Waits or runs for ever, with the complement of inverse in rbx, and nowhere else. */
void hold(u64 inverse, long how, volatile int *go);
__asm__("hold:\n"
	"not %rdi\n mov %rdi, %rbx\n mov %rsi, %r15\n"
	"lea -65536(%rsp), %rdi\n mov $8192, %ecx\n xor %eax, %eax\n rep stosq\n" /* what malloc left */
	"movl $1, (%rdx)\n"
	"1: xor %edi, %edi\n"
	"cmp $1, %r15\n jb 1b\n ja 2f\n"
	"mov $24, %eax\n syscall\n jmp 1b\n" /* sched_yield */
	"2: mov $34, %eax\n syscall\n jmp 1b\n" /* pause */);

__attribute__((noinline)) static u64 allocate(void)
{
	return ~(u64)memset(malloc(1000), 1, 1000);
}

static void *thread(void *how)
{
	hold(allocate(), (long)how, &go);
	return NULL;
}

int main(int argc, char **argv)
{
	long how = argc < 2 ? 2 : !strcmp(argv[1], "switch");
	char buf[4096];
	pthread_t t;

	pthread_create(&t, NULL, thread, (void *)how);
	while (!go)
		sched_yield();
	memset(buf, argc, sizeof(buf)); /* what malloc left on this stack */
	printf("%d\n", buf[17]);
	return 0;
}
