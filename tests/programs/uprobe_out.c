/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -no-pie -static -D_GNU_SOURCE */
/*
 * Calls f_out() 1000 times, which somebody outside may have a uprobe on.  Before it does what makes its file unfindable: "chroot DIR"
 * leaves /proc and itself outside, "unlink" removes its own name, "other DIR" does both.  "traced": it is done
 * by a child that is traced; no more than its one stop is to be told.  Other words
 * are of functions that it calls in place of f_out(); that of "odd", "traced odd" and "traced poked" begins with what no one but the engine can execute.  "traced poked": its
 * tracer writes to its data, by /proc/PID/mem, which is no breakpoint.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline, aligned(16))) int f_out(int n);
__attribute__((noinline, aligned(16))) int f_out(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

/* Those of f_push, f_jump and f_jcc the kernel emulates, and what follows is executed with them. */
int f_odd(int n), f_push(int n), f_load(int n), f_jump(int n), f_test(int n);
__asm__(".text\n"
	"f_odd: pushfq; pop %rax; lea 1(%rdi), %eax; ret\n"
	"f_push: push %rdi; mov %rdi, seen(%rip); pop %rax; inc %eax; ret\n"
	"f_load: mov seen(%rip), %rax; lea 1(%rdi), %eax; ret\n"
	"f_jump: jmp 1f; nop\n"
	"1: mov %rdi, seen(%rip); lea 1(%rdi), %eax; ret\n"
	"f_test: test $1, %dil\n"
	"f_jcc: jz 1f; mov %rdi, seen(%rip); lea 1(%rdi), %eax; ret\n"
	"1: lea 1(%rdi), %eax; ret\n"
	".data\n"
	".balign 8\n"
	"seen: .quad 0\n"
	".text\n");

static const struct {
	const char *name;
	int (*fn)(int);
} functions[] = {
	{ "f_out", f_out },	 { "f_push", f_push },	    { "f_load", f_load },
	{ "f_jump", f_jump },	 { "f_jcc", f_test },	    { "odd", f_odd },
	{ "traced odd", f_odd }, { "traced poked", f_odd },
};

static long poked;

static int poke(pid_t pid)
{
	static const long value = 7;
	char name[64];
	int fd, ret;

	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	fd = open(name, O_RDWR);
	ret = fd < 0 || lseek(fd, (off_t)(uintptr_t)&poked, SEEK_SET) < 0 ||
	      write(fd, &value, sizeof(value)) != sizeof(value);
	close(fd);
	return ret;
}

/* Returns in the child: 0, it is traced, and poked.  The tracer exits as the child does. */
static int trace(int pokes)
{
	int status, stops = 0;
	pid_t pid = fork();

	if (!pid)
		return ptrace(PTRACE_TRACEME, 0, 0, 0) || raise(SIGSTOP) ||
		       *(volatile long *)&poked != (pokes ? 7 : 0);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (!stops++ && pokes && poke(pid))
			_exit(4);
		ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status));
	}
	_exit(WIFEXITED(status) && stops == 1 ? WEXITSTATUS(status) : 3);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int (*fn)(int) = f_out;
	long sum = 0;

	if ((!strcmp(how, "unlink") || !strcmp(how, "other")) && unlink(argv[0]))
		return 2;
	if (!strncmp(how, "traced", 6) && trace(!strcmp(how, "traced poked")))
		return 2;
	if (argc > 2 && (chroot(argv[2]) || chdir("/")))
		return 2;
	for (unsigned i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(how, functions[i].name))
			fn = functions[i].fn;
	for (int i = 0; i < 1000; i++)
		sum += fn(i);
	return sum != 500500;
}
