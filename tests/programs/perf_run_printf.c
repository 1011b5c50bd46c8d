/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -no-pie */
/*
 * The example of perf_event_open(2): instructions of a printf.  The system calls that begin and end
 * the counting are at the labels perf_run_begin and perf_run_end, so that a trace of the program shows
 * what lies between them; natively both fail.
 */
#include <stdio.h>

#include "../tests/programs/perf_run.h"

#define CALL(label, fd, cmd)                                                                       \
	do {                                                                                       \
		long call_ret = SYS_ioctl;                                                         \
		__asm__ volatile(".globl " label "\n" label ": syscall"                            \
				 : "+a"(call_ret)                                                  \
				 : "D"((long)(fd)), "S"((long)(cmd)), "d"(0L)                      \
				 : "rcx", "r11", "memory");                                        \
	} while (0)

int main(void)
{
	struct perf_event_attr attr = perf_run_attr(PERF_COUNT_HW_INSTRUCTIONS);
	uint64_t count = 0;
	int fd;

	attr.disabled = 1;
	fd = perf_run_open(&attr, 0, -1, -1);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	CALL("perf_run_begin", fd, PERF_EVENT_IOC_ENABLE);
	printf("Measuring instruction count for this printf\n");
	CALL("perf_run_end", fd, PERF_EVENT_IOC_DISABLE);
	if (read(fd, &count, sizeof(count)) == sizeof(count))
		printf("Used %llu instructions\n", (unsigned long long)count);
	return 0;
}
