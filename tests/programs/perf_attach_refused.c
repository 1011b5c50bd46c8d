/* SPDX-License-Identifier: MIT */
/*
 * perf_attach_refused WHAT FILE: a process that nobody can attach to; its number is in FILE when it
 * is as it shall be.  Runs until it is killed.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int say(const char *path, pid_t pid)
{
	char text[16];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int len = snprintf(text, sizeof(text), "%d\n", (int)pid);

	return write(fd, text, (size_t)len) == len ? 0 : 2;
}

/* The child ends with us. */
static int traced(const char *path)
{
	pid_t pid = fork();
	int ret;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL))
		return 2;
	ret = say(path, pid);
	while (!ret)
		pause();
	return ret;
}

static int leaves(const char *path)
{
	siginfo_t si;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT) || say(path, pid))
		return 2;
	for (;;)
		pause();
}

static int vforks(const char *path)
{
	const pid_t self = getpid();

	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (say(path, self))
			_exit(2);
		for (;;)
			pause();
	}
	return 2;
}

static int filters(const char *path)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { .len = 1, .filter = &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) || say(path, getpid()))
		return 2;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "traced"))
		return traced(argv[2]);
	if (!strcmp(argv[1], "zombie"))
		return leaves(argv[2]);
	return !strcmp(argv[1], "vfork") ? vforks(argv[2]) : filters(argv[2]);
}
