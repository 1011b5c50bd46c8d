/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -nostdlib -fno-stack-protector -fno-tree-loop-distribute-patterns */
/*
 * Counts itself without a libc, by system call instructions in its own code, as Go's programs do.
 * Exit status: 0 when instructions and branches are what the source says, else the step that failed.
 */
#include <asm/unistd.h>
#include <linux/perf_event.h>
#include <stdint.h>

#define LOOPS 12345L

static long call(long nr, long a, long b, long c, long d, long e)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
}

/* What lies between the two system calls, with the second: 1 + 2 n + 4 instructions, n branches. */
static void counted(long fd, long n)
{
	long nr = __NR_ioctl, cmd = PERF_EVENT_IOC_ENABLE, arg = PERF_IOC_FLAG_GROUP;

	__asm__ volatile("syscall\n"
			 "	mov %[n], %%r12\n"
			 "1:	dec %%r12\n"
			 "	jnz 1b\n"
			 "	mov %[ioctl], %%eax\n"
			 "	mov %[disable], %%esi\n"
			 "	mov %[group], %%edx\n"
			 "	syscall\n"
			 : "+a"(nr), "+S"(cmd), "+d"(arg)
			 : "D"(fd), [n] "r"(n), [ioctl] "i"(__NR_ioctl),
			   [disable] "i"(PERF_EVENT_IOC_DISABLE), [group] "i"(PERF_IOC_FLAG_GROUP)
			 : "rcx", "r11", "r12", "memory");
}

static int run(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_HW_INSTRUCTIONS,
					.read_format = PERF_FORMAT_GROUP,
					.disabled = 1,
					.exclude_kernel = 1 };
	uint64_t values[3];
	long leader, member;

	leader = call(__NR_perf_event_open, (long)&attr, 0, -1, -1, 0);
	if (leader < 0)
		return 1;
	attr.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
	attr.disabled = 0;
	member = call(__NR_perf_event_open, (long)&attr, 0, -1, leader, 0);
	if (member < 0)
		return 2;
	counted(leader, LOOPS);
	if (call(__NR_read, leader, (long)values, sizeof(values), 0, 0) != sizeof(values))
		return 3;
	if (values[0] != 2)
		return 4;
	if (values[1] != 1 + 2 * LOOPS + 4)
		return 5;
	return values[2] == LOOPS ? 0 : 6;
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
	call(__NR_exit_group, run(), 0, 0, 0, 0);
	__builtin_unreachable();
}
