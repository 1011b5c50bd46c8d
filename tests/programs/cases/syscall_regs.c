/* SPDX-License-Identifier: MIT */
/*
 * Registers of samples at the two ends of a system call are the program's as the kernel has them: rip and rcx are behind the
 * instruction, r11 has the flags, rax is -ENOSYS at the entry and at the exit what the call returns.  An event of the
 * syscalls:* ones has them in REGS_INTR as well, and its IP is that rip; of raw_syscalls:* these are the kernel's own,
 * which nobody knows here.
 */
/* CASE: session -- */
#include "check.h"
enum { AX, CX, IP, FLAGS, R11, NREGS };
#define REGS (1 << 0 | 1 << 2 | 1 << 8 | 1 << 9 | 1 << 19)
extern char behind[];
static char buf[65536];

/* lseek: of a descriptor that there is not an error, else 0. */
__attribute__((noinline, noclone)) static long call(int fd)
{
	long ret = SYS_lseek;

	__asm__ volatile("syscall\n"
			 "	.globl behind\n"
			 "behind:"
			 : "+a"(ret)
			 : "D"(fd), "S"(0L), "d"(0L)
			 : "rcx", "r11", "memory");
	return ret;
}

static void point(const char *name, int fd, long rax)
{
	bool is_raw = !strncmp(name, "raw", 3);
	struct perf_event_attr a = A(PERF_TYPE_TRACEPOINT, (u64)tracepoint_id(name));
	struct ring r = { 0 };
	unsigned int n = 0, right = 0;
	int event;

	a.exclude_kernel = 0;
	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_REGS_INTR;
	a.sample_regs_user = a.sample_regs_intr = REGS;
	event = xo(&a, 0, -1, -1, 0);
	CHECK(!rmap(&r, event, 8, RW), "%s", name);
	EN(event);
	call(fd);
	DIS(event);
	while (rnext(&r, buf)) {
		const u64 *w = (u64 *)(buf + 8), *user = w + 2, *intr = user + NREGS + 1;

		if (user[IP] != (u64)behind)
			continue; /* of the ioctls */
		n++;
		right += user[AX] == (u64)rax && user[CX] == user[IP] && user[R11] == user[FLAGS] &&
			 (is_raw || (w[0] == user[IP] && !memcmp(intr, user, NREGS * 8)));
	}
	CHECK(n == 1 && right == 1, "%s of %d: %u samples, right %u", name, fd, n, right);
	close(event);
}

int main(void)
{
	int fd = open("/dev/null", O_RDONLY);

	for (int i = 0; i < 2; i++) {
		int of = i ? -1 : fd;
		long ret = i ? -EBADF : 0;

		point("syscalls/sys_enter_lseek", of, -ENOSYS);
		point("syscalls/sys_exit_lseek", of, ret);
		point("raw_syscalls/sys_enter", of, -ENOSYS);
		point("raw_syscalls/sys_exit", of, ret);
	}
	return done();
}
