/* SPDX-License-Identifier: MIT */
/*
 * Samples of system calls' tracepoints, with their fields as the format files lay them out.  Ids are those
 * that the tree in /sys says.
 */
#include <fcntl.h>

#include "sample.h"

static int id_of(const char *name)
{
	char path[256], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return -1;
	close(fd);
	return atoi(text);
}

static long call(long nr, const long *a)
{
	register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

struct raw {
	struct perf_event_header h;
	uint32_t size;
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	int64_t words[7];
} __attribute__((packed));

static void sample(const char *name, int nwords)
{
	static const long args[6] = { 11, 22, 33, 44, 55, 66 };
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT,
					.config = (uint64_t)id_of(name),
					.sample_period = 1,
					.sample_type = PERF_SAMPLE_RAW,
					.disabled = 1 };
	struct ring r;
	union {
		struct raw raw;
		char bytes[512];
	} buf;
	int fd = sample_open(&attr, 0, -1, -1);

	if (fd < 0 || sample_map(&r, fd, 8, PROT_READ | PROT_WRITE)) {
		printf("%s: cannot: %s\n", name, strerror(errno));
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	call(SYS_getppid, args);
	call(SYS_close, args);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (sample_next(&r, &buf, sizeof(buf))) {
		/* what belongs to our own ioctls is left out */
		if (buf.raw.words[0] == SYS_ioctl)
			continue;
		printf("%s: size %u type %d pid %d", name, buf.raw.size,
		       buf.raw.type == attr.config, buf.raw.pid == getpid());
		for (int i = 0; i < nwords; i++)
			printf(" %ld",
			       buf.raw.words[i] == getppid() ? -1L : (long)buf.raw.words[i]);
		printf("\n");
	}
	sample_unmap(&r);
}

int main(void)
{
	sample("raw_syscalls/sys_enter", 7);
	sample("raw_syscalls/sys_exit", 2);
	sample("syscalls/sys_exit_getppid", 2);
	sample("syscalls/sys_enter_close", 2);
	return 0;
}
