/* SPDX-License-Identifier: MIT */
/* fork, vfork, clone and posix_spawn as processes see them: memory, order, statuses, names. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "task_test.h"

extern char **environ;

static volatile int shared, private = 1;

static void test_fork(void)
{
	int status, fds[2];
	char c = 0;
	pid_t pid;

	CHECK(!pipe(fds), "pipe");
	pid = fork();
	if (!pid) {
		private = 2;
		if (getppid() == 1 || getpid() == getppid())
			_exit(1);
		write(fds[1], "x", 1);
		_exit(42);
	}
	CHECK(pid > 0 && read(fds[0], &c, 1) == 1 && c == 'x', "fork child runs");
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 42,
	      "fork status");
	CHECK(private == 1, "fork memory is private");
	CHECK(waitpid(-1, &status, 0) < 0 && errno == ECHILD, "no other children");
	CHECK(waitpid(-1, &status, __WALL) < 0 && errno == ECHILD, "none of any kind");
	close(fds[0]);
	close(fds[1]);
}

static void test_vfork(void)
{
	struct timespec ms = { .tv_nsec = 20000000 };
	int status;
	pid_t pid;

	shared = 1;
	pid = vfork();
	if (!pid) {
		nanosleep(&ms, NULL);
		shared = 2;
		_exit(7);
	}
	CHECK(shared == 2, "vfork parent waits and shares memory");
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7, "vfork status");
	pid = vfork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9, "vfork and exec");
	pid = vfork();
	if (!pid) {
		execl("/nonexistent", "x", (char *)NULL);
		shared = errno;
		_exit(3);
	}
	CHECK(shared == ENOENT && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3,
	      "vfork and failed exec");
	pid = vfork();
	if (!pid)
		kill(getpid(), SIGKILL);
	CHECK(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGKILL, "vfork child killed");
	for (int i = 0; i < 200; i++) {
		pid = vfork();
		if (!pid)
			_exit(i & 0x7f);
		if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != (i & 0x7f))
			break;
		shared = i;
	}
	CHECK(shared == 199, "200 vforks");
}

static void test_spawn(void)
{
	char *const argv[] = { "sh", "-c", "echo spawned; kill -TERM $$", NULL };
	int status, err;
	pid_t pid;

	err = posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);
	CHECK(!err && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
		      WTERMSIG(status) == SIGTERM,
	      "posix_spawn");
	err = posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ);
	CHECK(err == ENOENT, "posix_spawn of nothing");
	for (int i = 0; i < 20 && !err; i++)
		err = posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) ||
		      waitpid(pid, &status, 0) != pid || status;
	CHECK(err == ENOENT, "20 posix_spawns");
}

static void handler(int sig)
{
	shared = sig;
}

/* The child's dispositions are its own although memory is shared. */
static int reset_and_exit(void *arg)
{
	(void)arg;
	signal(SIGUSR1, SIG_DFL);
	signal(SIGUSR2, handler);
	raise(SIGUSR2);
	return shared == SIGUSR2 ? 5 : 1;
}

static void test_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status, fds[2];
	pid_t pid;
	char c;

	signal(SIGUSR1, handler);
	pid = clone(reset_and_exit, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5, "clone VM VFORK");
	shared = 0;
	raise(SIGUSR1);
	CHECK(shared == SIGUSR1, "parent keeps its handler");
	pid = clone(reset_and_exit, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5, "clone VM");
	pid = clone(reset_and_exit, stack + sizeof(stack), SIGCHLD, NULL);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5, "clone with a stack");
	if (pipe2(fds, O_NONBLOCK))
		exit(2);
	pid = (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, NULL, NULL, 0);
	if (!pid) {
		usleep(20000);
		_exit(write(fds[1], "x", 1) == 1 ? 6 : 1);
	}
	CHECK(read(fds[0], &c, 1) == 1, "clone VFORK without VM waits");
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 6, "and its status");
	CHECK(syscall(SYS_clone, CLONE_THREAD | SIGCHLD, 0, NULL, NULL, 0) == -1 && errno == EINVAL,
	      "clone refuses bad flags");
	CHECK(syscall(SYS_clone, CLONE_THREAD | CLONE_VM, stack, NULL, NULL, 0) == -1 &&
		      errno == EINVAL,
	      "clone refuses bad flags of a thread");
	signal(SIGUSR1, SIG_DFL);
	signal(SIGUSR2, SIG_DFL);
}

struct clone3_args {
	unsigned long long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
		set_tid, set_tid_size, cgroup;
};

static void test_clone3(void)
{
	struct clone3_args args = { .flags = CLONE_PIDFD | CLONE_PARENT_SETTID,
				    .exit_signal = SIGCHLD };
	char big[sizeof(args) + 64] = { 0 };
	int pidfd = -1, tid = 0, status;
	siginfo_t si;
	pid_t pid;

	args.pidfd = (unsigned long)&pidfd;
	args.parent_tid = (unsigned long)&tid;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		_exit(11);
	CHECK(pid > 0 && tid == pid && pidfd > 0, "clone3 gives pidfd and tid");
	CHECK(!waitid((idtype_t)3 /* P_PIDFD */, (id_t)pidfd, &si, WEXITED) && si.si_pid == pid &&
		      si.si_status == 11 && si.si_code == CLD_EXITED,
	      "waitid by pidfd");
	close(pidfd);
	CHECK(syscall(SYS_clone3, &args, 8) == -1 && errno == EINVAL, "clone3 too small");
	big[sizeof(big) - 1] = 1;
	CHECK(syscall(SYS_clone3, big, sizeof(big)) == -1 && errno == E2BIG, "clone3 too big");
	CHECK(syscall(SYS_clone3, NULL, sizeof(args)) == -1 && errno == EFAULT, "clone3 nowhere");
	args.stack = 0x1000;
	CHECK(syscall(SYS_clone3, &args, sizeof(args)) == -1 && errno == EINVAL,
	      "clone3 bad stack");
	signal(SIGUSR1, handler);
	args = (struct clone3_args){ .flags = 0x100000000ULL /* CLEAR_SIGHAND */,
				     .exit_signal = SIGCHLD };
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!pid) {
		raise(SIGUSR1);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1,
	      "clone3 CLEAR_SIGHAND");
	signal(SIGUSR1, SIG_DFL);
}

static void test_wait(void)
{
	struct rusage ru;
	siginfo_t si;
	int status, fds[2];
	char c = 0;
	pid_t pid;

	if (pipe(fds))
		exit(2);
	pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		_exit(read(fds[0], &c, 1) == 1 ? 4 : 1);
	}
	CHECK(wait4(pid, &status, WUNTRACED, &ru) == pid && WIFSTOPPED(status) &&
		      WSTOPSIG(status) == SIGSTOP,
	      "stopped");
	kill(pid, SIGCONT);
	CHECK(wait4(pid, &status, WCONTINUED, &ru) == pid && WIFCONTINUED(status), "continued");
	CHECK(write(fds[1], &c, 1) == 1, "let go");
	CHECK(!waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT) && si.si_status == 4,
	      "waitid peeks");
	CHECK(wait4(-1, &status, 0, &ru) == pid && WEXITSTATUS(status) == 4, "wait4");
	pid = fork();
	if (!pid)
		abort();
	CHECK(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGABRT, "abort");
	pid = fork();
	if (!pid) {
		*(volatile int *)strlen(getenv("PATH")) = 1;
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WTERMSIG(status) == SIGSEGV, "segfault");
}

static void test_names(void)
{
	char name[17] = "", comm[64] = "";
	FILE *f;

	CHECK(!prctl(PR_SET_NAME, "renamed"), "PR_SET_NAME");
	CHECK(!prctl(PR_GET_NAME, name) && !strcmp(name, "renamed"), "PR_GET_NAME");
	f = fopen("/proc/self/comm", "r");
	CHECK(f && fgets(comm, sizeof(comm), f) && !strcmp(comm, "renamed\n"), "comm");
	if (f)
		fclose(f);
}

int main(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	test_fork();
	test_vfork();
	test_spawn();
	test_clone();
	test_clone3();
	test_wait();
	test_names();
	return task_failed;
}
