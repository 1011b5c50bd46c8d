/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -no-pie -static -D_GNU_SOURCE */
/*
 * Opens uprobes of the kernel's on its own text and executes it: each is to be hit as often as natively, and the program goes on.
 * The instructions are of the kinds that the kernel executes apart, and of those that it emulates.  "on"; "of", off: other events
 * in their place, so the same instructions retire; "show": as "on", and prints the counts.  "own": a breakpoint that the
 * program puts there itself.  2: there are no uprobes here.
 */
#include <elf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "elf_offset.h"

enum { TIMES = 1000 };

__asm__(".text\n"
	"f_push: push %rbp; mov %rsp, %rbp; pop %rbp; ret\n"
	"f_mov: mov %edi, %eax; ret\n"
	"f_nop: nop; ret\n"
	"f_call: call f_plain; ret\n"
	"f_plain: lea 1(%rdi), %eax; ret\n"
	"f_jmp: jmp f_plain\n"
	"f_cond: test $1, %edi\n"
	"f_jcc: jz 1f; mov $1, %eax; ret\n"
	"1: mov $2, %eax; ret\n"
	"f_back: mov %edi, %eax\n"
	"f_ret: ret\n"
	"f_load: mov f_data(%rip), %eax; ret\n"
	"f_own: nop; ret\n"
	"f_long: nopl 0(%rax,%rax,1); mov %edi, %eax; ret\n"
	".section .rodata\n"
	"f_data: .long 77\n"
	".text\n");

#define DECLARE(name) extern char name[]
DECLARE(f_push);
DECLARE(f_mov);
DECLARE(f_nop);
DECLARE(f_call);
DECLARE(f_jmp);
DECLARE(f_cond);
DECLARE(f_jcc);
DECLARE(f_back);
DECLARE(f_ret);
DECLARE(f_load);
DECLARE(f_own);
DECLARE(f_long);

static const struct {
	const char *name;
	char *probed, *called;
} rows[] = {
	{ "push", f_push, f_push }, { "mov", f_mov, f_mov },	{ "nop", f_nop, f_nop },
	{ "call", f_call, f_call }, { "jmp", f_jmp, f_jmp },	{ "jcc", f_jcc, f_cond },
	{ "ret", f_ret, f_back },   { "load", f_load, f_load }, { "long nop", f_long, f_long },
};

enum { ROWS = sizeof(rows) / sizeof(*rows) };

static int open_probe(unsigned int type, uint64_t config, const char *path, char *at)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .type = type };

	attr.config = config;
	attr.config1 = (uintptr_t)path;
	attr.config2 = offset_of(at);
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static void call_all(void)
{
	for (int n = 0; n < TIMES; n++)
		for (int i = 0; i < ROWS; i++) {
			int (*fn)(int);

			memcpy(&fn, &rows[i].called, sizeof(fn));
			fn(n);
		}
}

/* A breakpoint of the program's own, in text that nobody can write to any more: its handler is told. */
static volatile int traps;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	(void)sig;
	(void)info;
	traps += uc->uc_mcontext.gregs[REG_RIP] == (greg_t)(uintptr_t)(f_own + 1);
}

static int own_breakpoint(void)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	char *page = (char *)((uintptr_t)f_own & ~4095UL);
	void (*fn)(void);
	char *at = f_own;

	memcpy(&fn, &at, sizeof(fn));
	sigaction(SIGTRAP, &sa, NULL);
	fn();
	if (mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	*at = (char)0xcc;
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 1;
	for (int i = 0; i < 10; i++)
		fn();
	printf("traps: %d\n", traps);
	return 0;
}

int main(int argc, char **argv)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	static char self[512];
	static volatile unsigned int types[2] = { 0, PERF_TYPE_SOFTWARE };
	static volatile uint64_t configs[2] = { 0, PERF_COUNT_SW_DUMMY };
	static volatile unsigned long long wants[2] = { TIMES, 0 };
	volatile int is_off;
	unsigned int kernels;
	unsigned long long bad = 0;
	int fds[ROWS];

	if (argc < 2 || !f || fscanf(f, "%u", &kernels) != 1 ||
	    readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		return 2;
	fclose(f);
	if (argv[1][1] == 'w')
		return own_breakpoint();
	/* "of" and "on" retire the same, so there is no branch */
	is_off = argv[1][1] == 'f';
	types[0] = kernels;
	call_all(); /* so it has been translated when there are breakpoints */
	for (int i = 0; i < ROWS; i++) {
		fds[i] = open_probe(types[is_off], configs[is_off], self, rows[i].probed);
		if (fds[i] < 0)
			return errno == EACCES ? 2 : 1;
	}
	call_all();
	for (int i = 0; i < ROWS; i++) {
		unsigned long long count = 0;

		if (read(fds[i], &count, sizeof(count)) != sizeof(count))
			return 1;
		if (argv[1][1] == 'h')
			printf("%s: %llu\n", rows[i].name, count);
		bad |= count ^ wants[is_off];
		close(fds[i]);
	}
	call_all();
	return bad ? 3 : 0;
}
