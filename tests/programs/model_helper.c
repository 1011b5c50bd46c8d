/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -pthread */
/*
 * Keeps models busy enough for a helper of theirs (--model-thread), and does what should not meet one.  It prints what
 * it sees of its threads, children and descriptors, which is to be the same natively.
 *
 *	model_helper helper		status 0 if it has one, 1 if not
 *	model_helper possible		status 0 if the kernel can give one descriptors of its own (since Linux 5.9)
 *	model_helper looks		at tasks, children of any kind, and descriptors
 *	model_helper signal SIGNAL	its helper gets that (two digits), and it goes on; 09: when that has ended
 *	model_helper forks|execs|threads|filters|setuids
 *	model_helper crowded [bytes]	bytes: its children's status is a random one
 *	model_helper locks 0|3		with these flags of mlockall; 3: 2 if that may not be
 *	model_helper segv
 *	model_helper for-ever
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLOSE_RANGE	  436 /* newer than some headers */
#define CLOSE_RANGE_APART 2

#define LINES 4096 /* of 64 bytes: most miss the first cache */

static volatile unsigned char memory[LINES * 64];

/* Some hundred full logs. */
__attribute__((noinline)) static uint32_t work(uint32_t rounds)
{
	uint32_t line = 0, sum = 0;

	for (uint32_t i = 0; i < rounds * LINES; i++) {
		sum += memory[line * 64];
		line = (line * 1664525 + 1013904223) & (LINES - 1);
		if (line >> 7 & 1)
			__asm__ volatile("add $3, %0" : "+r"(sum));
	}
	return sum;
}

static void busy(void)
{
	(void)work(150);
}

/* The first child that the kernel tells of, by as many instructions whoever it is. */
static pid_t child(void)
{
	char text[16] = "";
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, 10);
	uint32_t pid = 0;

	close(fd);
	if (n <= 0)
		return 0;
	for (int i = 0; i < 10; i++) {
		uint32_t digit = (uint32_t)text[i] - '0', is_digit = -(uint32_t)(digit < 10);

		pid += is_digit & (pid * 9 + digit);
		__asm__ volatile("" : "+r"(pid)); /* no branch */
		text[i + 1] &= (char)is_digit;
	}
	return (pid_t)pid;
}

static unsigned int entries(const char *path)
{
	DIR *d = opendir(path);
	unsigned int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static const char *error_of(long ret)
{
	return ret < 0 ? strerrorname_np(errno) : "none";
}

static int looks(void)
{
	siginfo_t info;
	sigset_t set;

	busy();
	printf("tasks %u\n", entries("/proc/self/task"));
	printf("descriptors %u\n", entries("/proc/self/fd"));
	printf("wait: %s\n", error_of(waitpid(-1, NULL, WNOHANG)));
	printf("waitid: %s\n", error_of(waitid(P_ALL, 0, &info, WEXITED | WNOHANG)));
	busy();
	printf("wait for all: %s\n", error_of(waitpid(-1, NULL, __WALL)));
	busy();
	printf("wait for clones: %s\n", error_of(waitpid(-1, NULL, __WCLONE)));
	sigpending(&set);
	printf("pending: %d\n", sigismember(&set, SIGCHLD));
	printf("children: %d\n", child() != 0);
	return 0;
}

static int sends(int sig)
{
	pid_t pid;
	struct pollfd p;

	busy();
	pid = child();
	if (!pid)
		return 1;
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	p.events = POLLIN;
	if (p.fd < 0 || kill(pid, sig))
		return 2;
	poll(&p, 1, -(sig == SIGKILL)); /* as many instructions for each */
	close(p.fd);
	busy();
	return 0;
}

static int forks(void)
{
	int status = 0;

	busy();
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid) {
			busy();
			_exit(7);
		}
		busy();
		if (waitpid(pid, &status, 0) != pid)
			return 1;
		printf("child: %d\n", WEXITSTATUS(status));
	}
	busy();
	printf("none left: %s\n", error_of(waitpid(-1, NULL, 0)));
	return 0;
}

static int execs(const char *self, const char *again)
{
	busy();
	if (again) {
		printf("wait for all: %s\n", error_of(waitpid(-1, NULL, __WALL)));
		return 0;
	}
	printf("no such file: %s\n", error_of(execl("/no/such/file", "x", (char *)NULL)));
	printf("no program: %s\n", error_of(execl("/proc/self/status", "x", (char *)NULL)));
	busy();
	fflush(stdout);
	execl(self, self, "execs", "again", (char *)NULL);
	return 1;
}

static void *thread(void *arg)
{
	busy();
	while (arg)
		(void)work(1);
	return NULL;
}

/* One of them is in the middle of its work when the process ends. */
static int threads(void)
{
	pthread_t t[3];

	for (size_t i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, thread, i ? NULL : t))
			return 1;
	busy();
	for (size_t i = 1; i < 3; i++)
		pthread_join(t[i], NULL);
	busy();
	return 0;
}

static int filters(void)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { 1, &all };

	busy();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &prog))
		return 1;
	busy();
	printf("children: %d\n", child() != 0);
	return 0;
}

static int setuids(void)
{
	busy();
	if (setresuid(getuid(), getuid(), getuid()) || setgid(getgid()))
		return 1;
	printf("children: %d\n", child() != 0);
	busy();
	return 0;
}

/* Room for one more task of its user's, which is no other's. */
static int crowded(bool has_bytes)
{
	const struct rlimit two = { 2, 2 };
	uid_t uid = (uid_t)(1000000 + getpid());
	int status = 0;
	pid_t pid;

	if (setresuid(uid, uid, uid)) {
		printf("no users\n");
		return 0;
	}
	busy();
	if (setrlimit(RLIMIT_NPROC, &two))
		return 1;
	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (!pid) {
			unsigned char byte = 7;

			if (has_bytes && getrandom(&byte, 1, 0) != 1)
				_exit(8);
			_exit(byte);
		}
		printf("fork: %s\n", error_of(pid));
		waitpid(pid, &status, 0);
		printf("child: %d\n", WEXITSTATUS(status));
		busy();
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "possible"))
		return syscall(CLOSE_RANGE, 3, ~0U, CLOSE_RANGE_APART) != 0;
	if (!strcmp(what, "helper")) {
		busy();
		return !child();
	}
	if (!strcmp(what, "looks"))
		return looks();
	if (!strcmp(what, "signal") && argc > 2)
		return sends((argv[2][0] - '0') * 10 + argv[2][1] - '0');
	if (!strcmp(what, "forks"))
		return forks();
	if (!strcmp(what, "execs"))
		return execs(argv[0], argv[2]);
	if (!strcmp(what, "threads"))
		return threads();
	if (!strcmp(what, "filters"))
		return filters();
	if (!strcmp(what, "setuids"))
		return setuids();
	if (!strcmp(what, "crowded"))
		return crowded(argc > 2);
	if (!strcmp(what, "locks") && argc > 2) {
		int ret = mlockall(argv[2][0] - '0'); /* of 0: EINVAL */

		busy();
		return ret ? 2 : 0;
	}
	busy();
	if (!strcmp(what, "segv"))
		*(volatile char *)NULL = 1;
	while (!strcmp(what, "for-ever"))
		busy();
	return 2;
}
