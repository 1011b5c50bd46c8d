/* SPDX-License-Identifier: MIT */
/*
 * The child's way from fork to exec, and what the parent hears of it over a socket pair.  A
 * message says READY just before the exec; one more follows only if the exec fails.
 *
 * The child execs with every signal blocked when it is to be injected: none may arrive between
 * its first instruction and the engine.  The engine installs the command's own mask.
 *
 * A child that is to be counted shares our memory until its exec, as one of vfork() does, but that
 * we run on: we have to seize it.  A fork would copy the tables of our pages, and each page that
 * either writes: a fifth of a millisecond.  So the child's code (child_main() and what it calls)
 * makes system calls of its own, as errno is ours, and writes nowhere but to its stack.  In a
 * session around us, or with a sanitizer, it is a fork.
 */
#include "linux/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/session.h"
#include "base/rawsys.h"

/*
 * The kernel allocates and copies a descriptor table as long as its highest entry, so with a
 * limit of a million the top of the range would cost every fork megabytes.
 */
#define FD_CEILING 4096

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#else
#define IS_SANITIZED false
#endif

struct message {
	enum ap_launch_step step;
	int err;
	s32 fd, head;
	u32 nofile_share;
};

/* --- in the child */

static s64 sys(long nr, u64 a, u64 b, u64 c, u64 d)
{
	return ap_rawsys((u64)nr, a, b, c, d, 0, 0);
}

static s64 set_nofile(const struct rlimit *lim)
{
	return sys(SYS_prlimit64, 0, RLIMIT_NOFILE, (u64)(uintptr_t)lim, 0);
}

static void tell(int sock, const struct message *msg)
{
	/* a parent that is gone needs no answer */
	(void)sys(SYS_sendto, (u64)sock, (u64)(uintptr_t)msg, sizeof(*msg), MSG_NOSIGNAL);
}

static void AP_NORETURN leave(void)
{
	for (;;)
		(void)sys(SYS_exit_group, 127, 0, 0, 0);
}

int ap_fd_to_top(int fd, u32 *share)
{
	struct rlimit lim, raised;
	s64 ret = sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (u64)(uintptr_t)&lim);
	int top;

	if (ret < 0)
		return (int)ret;
	if (lim.rlim_cur >= FD_CEILING) {
		top = FD_CEILING - 1;
	} else {
		top = (int)lim.rlim_cur - 1;
		raised = lim;
		raised.rlim_cur++;
		if (lim.rlim_cur < lim.rlim_max && !set_nofile(&raised)) {
			++*share;
			top++;
		}
	}
	for (; top > fd; top--) {
		if (sys(SYS_fcntl, (u64)top, F_GETFD, 0, 0) != -EBADF)
			continue;
		ret = sys(SYS_dup2, (u64)fd, (u64)top, 0, 0);
		return ret < 0 ? (int)ret : top;
	}
	return -EMFILE;
}

static int set_layout(void)
{
	s64 now = sys(SYS_personality, 0xffffffff, 0, 0, 0);

	if (now >= 0 && (now & ADDR_NO_RANDOMIZE))
		return 0;
	if (now >= 0)
		now = sys(SYS_personality, (u64)now | ADDR_NO_RANDOMIZE, 0, 0, 0);
	return now < 0 ? (int)now : 0;
}

/* The session's place and the mask; what remains is the exec. */
static void prepare(const struct ap_launch *l, int sock, bool as_native)
{
	struct message msg = { .step = AP_LAUNCH_READY, .fd = -1, .head = -1 };

	if (l->deterministic)
		msg.err = set_layout();
	if (msg.err)
		msg.step = AP_LAUNCH_LAYOUT;
	if (!msg.err && !as_native) {
		msg.fd = ap_fd_to_top(l->session_fd, &msg.nofile_share);
		msg.head = msg.fd < 0 ? msg.fd : ap_fd_to_top(l->head_fd, &msg.nofile_share);
		if (msg.head < 0) {
			msg.step = AP_LAUNCH_SESSION;
			msg.err = msg.head;
		}
	}
	if (l->nested_root)
		(void)sys(SYS_prctl, AP_PRCTL, AP_PRCTL_SET_ROOT, l->nested_root, 0);
	(void)sys(SYS_rt_sigprocmask, SIG_SETMASK, (u64)(uintptr_t)l->mask, 0, NSIG / 8);
	tell(sock, &msg);
	if (msg.err)
		leave();
}

static s64 exec(const char *path, const void *argv, const void *envp)
{
	return sys(SYS_execve, (u64)(uintptr_t)path, (u64)(uintptr_t)argv, (u64)(uintptr_t)envp, 0);
}

static void AP_NORETURN child_main(const struct ap_launch *l, int sock)
{
	struct message msg = { .step = AP_LAUNCH_EXEC };
	char as_native;
	s64 ret;

	l->restore_signals(l->restore_arg);
	if (l->nofile)
		(void)set_nofile(l->nofile);
	do {
		ret = sys(SYS_read, (u64)sock, (u64)(uintptr_t)&as_native, 1, 0);
	} while (ret == -EINTR);
	if (ret != 1)
		leave();
	prepare(l, sock, as_native);
	ret = exec(l->path, l->argv, l->envp);
	/* as execvp: a file without a known format is a script of the shell */
	if (ret == -ENOEXEC)
		(void)exec(_PATH_BSHELL, l->shell_argv, l->envp);
	msg.err = (int)ret;
	tell(sock, &msg);
	leave();
}

/* --- in the parent */

static bool is_same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return a[n] == '=' && !strncmp(a, b, n + 1);
}

/* As putenv() for each of ours. */
static const char **make_env(const struct ap_launch *l)
{
	size_t n = 0, at;
	const char **envp;

	while (environ && environ[n])
		n++;
	envp = calloc(n + l->nenv + 1, sizeof(*envp));
	for (at = 0; envp && at < n; at++)
		envp[at] = environ[at];
	for (size_t i = 0; envp && i < l->nenv; i++) {
		for (at = 0; at < n && !is_same_name(l->env[i], envp[at]); at++)
			;
		envp[at] = l->env[i];
		n += at == n;
	}
	return envp;
}

static const char **make_shell_argv(const struct ap_launch *l)
{
	size_t argc = 0;
	const char **argv;

	while (l->argv[argc])
		argc++;
	argv = calloc(argc + 3, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = _PATH_BSHELL;
	argv[1] = l->path;
	for (size_t i = 1; i < argc; i++)
		argv[i + 1] = l->argv[i];
	return argv;
}

struct start {
	const struct ap_launch *l;
	int socks[2];
};

static int start(void *arg)
{
	const struct start *s = arg;

	(void)sys(SYS_close, (u64)s->socks[0], 0, 0, 0);
	child_main(s->l, s->socks[1]);
}

/* One child at a time is on its way to its exec. */
static pid_t start_child(struct start *s)
{
	static char stack[32768] __attribute__((aligned(64)));
	pid_t pid = -1;

	if (s->l->session_fd >= 0 && !IS_SANITIZED)
		pid = clone(start, stack + sizeof(stack), CLONE_VM | SIGCHLD, s);
	if (pid < 0)
		pid = fork();
	if (!pid)
		start(s);
	return pid;
}

int ap_launch_fork(struct ap_launch *l)
{
	/* the child reads it while we go on */
	static struct start s;
	int err = 0;

	l->envp = make_env(l);
	l->shell_argv = make_shell_argv(l);
	if (!l->envp || !l->shell_argv)
		err = -ENOMEM;
	else if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s.socks))
		err = -errno;
	if (err) {
		ap_launch_fini(l);
		return err;
	}
	s.l = l;
	l->pid = start_child(&s);
	err = l->pid < 0 ? -errno : 0;
	close(s.socks[1]);
	l->sock = s.socks[0];
	if (err)
		ap_launch_fini(l);
	return err;
}

static int hear(struct ap_launch *l, struct message *msg)
{
	ssize_t got;

	do {
		got = recv(l->sock, msg, sizeof(*msg), 0);
	} while (got < 0 && errno == EINTR);
	return got == sizeof(*msg) ? 0 : -EPIPE;
}

int ap_launch_go(struct ap_launch *l, bool as_native)
{
	char word = as_native;

	return send(l->sock, &word, 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

enum ap_launch_step ap_launch_failure(struct ap_launch *l, int *err)
{
	struct message msg;

	*err = 0;
	while (!hear(l, &msg)) {
		l->child_fd = msg.fd;
		l->child_head = msg.head;
		l->nofile_share = msg.nofile_share;
		*err = msg.err;
		if (msg.step != AP_LAUNCH_READY)
			return msg.step;
	}
	return AP_LAUNCH_READY;
}

void ap_launch_fini(struct ap_launch *l)
{
	if (l->sock >= 0)
		close(l->sock);
	l->sock = -1;
	free(l->envp);
	free(l->shell_argv);
	l->envp = l->shell_argv = NULL;
}

void ap_launch_abort(struct ap_launch *l)
{
	int status;

	kill(l->pid, SIGKILL);
	while (waitpid(l->pid, &status, __WALL) < 0 && errno == EINTR)
		;
	ap_launch_fini(l);
}
