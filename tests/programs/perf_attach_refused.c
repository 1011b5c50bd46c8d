/* SPDX-License-Identifier: MIT */
/*
 * perf_attach_refused WHAT FILE: a process that nobody can attach to; its number is in FILE when it
 * is as it shall be.  Runs until it is killed.
 */
#include <fcntl.h>
#include <libgen.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
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

/* As slowly as can be: it has what a CPU has left that another process is busy on. */
static pid_t dumper(const char *folder, const cpu_set_t *cpu)
{
	static char memory[64 << 20];
	const struct sched_param param = { 0 };
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memset(memory, 1, sizeof(memory));
	if (chdir(folder) || sched_setaffinity(0, sizeof(*cpu), cpu) ||
	    sched_setscheduler(0, SCHED_IDLE, &param))
		_exit(2);
	abort();
}

static pid_t spinner(const cpu_set_t *cpu)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setaffinity(0, sizeof(*cpu), cpu))
		_exit(2);
	for (;;)
		__asm__ volatile("");
}

static int is_dumping(pid_t pid)
{
	char name[64], line[128];
	int found = 0;
	FILE *in;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	in = fopen(name, "re");
	while (in && !found && fgets(line, sizeof(line), in))
		found = !strcmp(line, "CoreDumping:\t1\n");
	if (in)
		fclose(in);
	return found;
}

/* 77: no cores are dumped here. */
static int dumps(char *path)
{
	struct rlimit limit;
	cpu_set_t cpu;
	pid_t pid;

	if (getrlimit(RLIMIT_CORE, &limit) || !limit.rlim_max)
		return 77;
	limit.rlim_cur = limit.rlim_max;
	CPU_ZERO(&cpu);
	CPU_SET((size_t)sched_getcpu(), &cpu);
	if (setrlimit(RLIMIT_CORE, &limit) || spinner(&cpu) < 0)
		return 2;
	pid = dumper(dirname(strdup(path)), &cpu);
	while (!is_dumping(pid))
		if (waitpid(pid, NULL, WNOHANG))
			return 77;
	if (say(path, pid))
		return 2;
	for (;;)
		pause();
}

/* 77: the kernel knows no such thing. */
static int dispatches(const char *path)
{
	static char selector;

	if (prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector))
		return 77;
	if (say(path, getpid()))
		return 2;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "dispatch"))
		return dispatches(argv[2]);
	if (!strcmp(argv[1], "traced"))
		return traced(argv[2]);
	if (!strcmp(argv[1], "zombie"))
		return leaves(argv[2]);
	if (!strcmp(argv[1], "dump"))
		return dumps(argv[2]);
	return !strcmp(argv[1], "vfork") ? vforks(argv[2]) : filters(argv[2]);
}
