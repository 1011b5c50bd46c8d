/* SPDX-License-Identifier: MIT */
/* LIBS: -lpthread */
/* execve in all its forms; the program executes itself with a step's name as the argument. */
#include <fcntl.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "task_test.h"

static const char *self;

static int run(const char *step, const char *arg)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		execl(self, self, step, arg, (char *)NULL);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode))
		exit(2);
	close(fd);
}

static int exec_errno(const char *path)
{
	char *const argv[] = { "x", NULL };

	errno = 0;
	execv(path, argv);
	return errno;
}

/* The process goes on as it was after an exec that fails, its signals and threads included. */
static void test_failures(const char *dir)
{
	char path[4096];
	sigset_t set, now;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	CHECK(exec_errno("/nonexistent/file") == ENOENT, "ENOENT");
	CHECK(exec_errno("/") == EACCES, "EACCES of a folder");
	CHECK(exec_errno("/etc/passwd") == EACCES, "EACCES of a file");
	CHECK(exec_errno("/etc/passwd/x") == ENOTDIR, "ENOTDIR");
	CHECK(exec_errno("") == ENOENT, "empty name");
	CHECK(exec_errno((char *)8) == EFAULT, "EFAULT");
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	CHECK(exec_errno(path) == ENAMETOOLONG, "ENAMETOOLONG");
	snprintf(path, sizeof(path), "%s/noformat", dir);
	write_file(path, "exit 12\n", 0755);
	CHECK(exec_errno(path) == ENOEXEC, "ENOEXEC");
	write_file(path, "", 0755);
	CHECK(exec_errno(path) == ENOEXEC, "ENOEXEC of nothing");
	write_file(path, "#!/nonexistent/interpreter\n", 0755);
	CHECK(exec_errno(path) == ENOENT, "missing interpreter");
	write_file(path, "\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0>\0 not really", 0755);
	CHECK(exec_errno(path) == ENOEXEC, "damaged ELF");
	for (int i = 0; i < 10; i++)
		(void)exec_errno(path);
	unlink(path);
	sigprocmask(SIG_SETMASK, NULL, &now);
	CHECK(sigismember(&now, SIGUSR1) && !sigismember(&now, SIGTERM), "mask after failures");
	CHECK(run("exit", "14") == 14 << 8, "and then it works");
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void test_script(const char *dir)
{
	char path[512], inner[512], text[1200];
	int status;

	snprintf(path, sizeof(path), "%s/script", dir);
	snprintf(inner, sizeof(inner), "%s/inner", dir);
	write_file(inner, "#! /bin/sh\necho script $# \"$2\"\nexit 15\n", 0755);
	snprintf(text, sizeof(text), "#!%s one\n", inner);
	write_file(path, text, 0755);
	status = run("path", path);
	CHECK(status == 15 << 8, "script of a script");
	unlink(path);
	unlink(inner);
}

static void *exec_in_thread(void *arg)
{
	execl(self, self, "exit", arg, (char *)NULL);
	return NULL;
}

static void *spin(void *arg)
{
	for (volatile long i = 0;; i++)
		;
	return arg;
}

/* An exec by a thread that is not the first, while others run. */
static void step_thread(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, spin, NULL);
	pthread_create(&t, NULL, exec_in_thread, "16");
	pause();
}

static void handler(int sig)
{
	(void)sig;
}

/* First of a chain: sets up what the next images check. */
static void step_chain(void)
{
	sigset_t set;
	int fd = open("/dev/null", O_RDONLY), cloexec = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char text[64];

	if (dup2(fd, 50) != 50 || dup3(cloexec, 51, O_CLOEXEC) != 51)
		exit(1);
	close(fd);
	close(cloexec);
	signal(SIGUSR1, handler);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGSEGV, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_SETMASK, &set, NULL);
	snprintf(text, sizeof(text), "%d", (int)getpid());
	setenv("CHAIN_PID", text, 1);
	setenv("CHAIN", "a value with spaces", 1);
	kill(getpid(), SIGTERM);
	execl(self, "other name", "chain2", "", "x y", "10", (char *)NULL);
	exit(1);
}

static void step_chain2(int argc, char **argv)
{
	struct sigaction sa;
	sigset_t set;
	int n = argc > 4 ? atoi(argv[4]) : 0;
	char text[16];

	if (n) {
		snprintf(text, sizeof(text), "%d", n - 1);
		execl("/proc/self/exe", "other name", "chain2", "", "x y", text, (char *)NULL);
		exit(1);
	}
	CHECK(!strcmp(argv[0], "other name") && !*argv[2] && !strcmp(argv[3], "x y"), "arguments");
	CHECK(atoi(getenv("CHAIN_PID")) == getpid(), "same pid");
	CHECK(!strcmp(getenv("CHAIN"), "a value with spaces"), "environment");
	CHECK(fcntl(50, F_GETFD) == 0, "descriptor stays open");
	CHECK(fcntl(51, F_GETFD) < 0 && errno == EBADF, "close-on-exec");
	sigaction(SIGUSR1, NULL, &sa);
	CHECK(sa.sa_handler == SIG_DFL, "handler is reset");
	sigaction(SIGUSR2, NULL, &sa);
	CHECK(sa.sa_handler == SIG_IGN, "ignored stays ignored");
	sigaction(SIGSEGV, NULL, &sa);
	CHECK(sa.sa_handler == SIG_IGN, "ignored SIGSEGV stays ignored");
	sigprocmask(SIG_SETMASK, NULL, &set);
	CHECK(sigismember(&set, SIGTERM) && sigismember(&set, SIGSEGV) &&
		      !sigismember(&set, SIGUSR1) && !sigismember(&set, SIGINT),
	      "mask stays");
	sigpending(&set);
	CHECK(sigismember(&set, SIGTERM), "pending stays");
	exit(17 + task_failed);
}

static void test_execveat(void)
{
	char *const argv[] = { "x", "exit", "18", NULL }, *const env[] = { NULL };
	int fd, status, mem;
	char buf[65536];
	ssize_t n;
	pid_t pid = fork();

	if (!pid) {
		fd = open(self, O_RDONLY | O_CLOEXEC);
		syscall(SYS_execveat, fd, "", argv, env, AT_EMPTY_PATH);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 18 << 8, "execveat of a descriptor");
	pid = fork();
	if (!pid) {
		fd = open(self, O_RDONLY);
		mem = memfd_create("copy", MFD_CLOEXEC);
		while ((n = read(fd, buf, sizeof(buf))) > 0)
			if (write(mem, buf, (size_t)n) != n)
				_exit(2);
		fexecve(mem, argv, env);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 18 << 8, "fexecve of a memfd");
	pid = fork();
	if (!pid) {
		fd = open("/bin", O_PATH | O_DIRECTORY);
		syscall(SYS_execveat, fd, "false", argv, env, 0);
		_exit(3);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 1 << 8, "execveat below a folder");
}

int main(int argc, char **argv)
{
	const char *dir = getenv("TMPDIR") ?: "/tmp";

	self = argv[0];
	if (argc > 1 && !strcmp(argv[1], "exit"))
		return atoi(argv[2]);
	if (argc > 1 && !strcmp(argv[1], "path"))
		return execl(argv[2], argv[2], "two", (char *)NULL);
	if (argc > 1 && !strcmp(argv[1], "thread"))
		step_thread();
	if (argc > 1 && !strcmp(argv[1], "chain"))
		step_chain();
	if (argc > 1 && !strcmp(argv[1], "chain2"))
		step_chain2(argc, argv);
	test_failures(dir);
	test_script(dir);
	CHECK(run("thread", NULL) == 16 << 8, "exec from a thread");
	CHECK(run("chain", NULL) == 17 << 8, "chain of execs");
	test_execveat();
	return task_failed;
}
