/* SPDX-License-Identifier: MIT */
/*
 * Random bytes, had in every way: one line for each, and work whose size they decide, as that of hash
 * tables does.  A child by fork and an image by exec print theirs as well.
 *
 *	random_bytes FILE </dev/urandom	FILE is no device: its bytes are printed last, as they are
 *	random_bytes narrow		reads its standard input where a filter allows reads alone
 *	random_bytes spawn		two images of one process, which print some each
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tests/programs/perf_run.h"

static void show(const char *how, const void *bytes, ssize_t n)
{
	const uint8_t *b = bytes;

	printf("%s", how);
	for (ssize_t i = 0; i < n; i++) {
		printf("%s%02x", i ? "" : " ", b[i]);
		perf_run_work(1000 + b[i]);
	}
	printf("\n");
	fflush(stdout);
}

static void from_device(const char *path)
{
	uint8_t b[24] = { 0 };
	struct iovec v[3] = { { b, 3 }, { b + 3, 0 }, { b + 3, 100 } };
	int fd = open(path, O_RDONLY | O_CLOEXEC), other;

	show("read", b, read(fd, b, 8));
	show("pread", b, pread(fd, b, 8, 0));
	v[2].iov_len = 9;
	show("readv", b, readv(fd, v, 3));
	other = dup(fd);
	close(fd);
	show("a copy of the descriptor", b, read(other, b, 8));
	close(other);
}

static void from_file(const char *path)
{
	uint8_t b[64];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, b, sizeof(b));

	printf("file %.*s\n", (int)(n < 0 ? 0 : n), (char *)b);
	close(fd);
}

/* Any other call is its death. */
static int narrow(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };
	char b[8];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 1;
	return (int)syscall(SYS_exit, read(0, b, sizeof(b)) == sizeof(b) ? 23 : 1);
}

/* Two images, each in a vfork child of this process. */
static int spawn(const char *self)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/nowhere", self, "one", NULL); /* as who looks along PATH */
			execl(self, self, "one", NULL);
			_exit(127);
		}
		if (waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static uint8_t large[1000];
	void *volatile nowhere = (void *)8;
	uint8_t b[16];
	pid_t pid;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "narrow"))
		return narrow();
	if (!strcmp(argv[1], "spawn"))
		return spawn(argv[0]);
	if (!strcmp(argv[1], "one")) {
		show("one", b, getrandom(b, 16, 0));
		return 0;
	}
	show("standard input", b, read(0, b, 8));
	show("getrandom", b, getrandom(b, 16, 0));
	show("again", b, getrandom(b, 13, GRND_NONBLOCK));
	show("large", large, getrandom(large, sizeof(large), GRND_RANDOM));
	from_device("/dev/urandom");
	from_device("/dev/random");
	show("nothing", b, getrandom(b, 0, 0));
	printf("flags %d", (int)getrandom(b, 8, 0x8000));
	printf(" errno %d\n", errno);
	printf("address %d", (int)getrandom(nowhere, 8, 0));
	printf(" errno %d\n", errno);
	fflush(stdout);
	pid = fork();
	show(pid ? "parent" : "child", b, getrandom(b, 16, 0));
	if (!pid)
		_exit(0);
	if (waitpid(pid, NULL, 0) != pid)
		return 1;
	pid = vfork();
	if (!pid) {
		if (argc > 2)
			_exit(0);
		execl(argv[0], argv[0], argv[1], "again", NULL);
		_exit(127);
	}
	if (waitpid(pid, NULL, 0) != pid)
		return 1;
	from_file(argv[1]);
	return 0;
}
