/* SPDX-License-Identifier: MIT */
/*
 * The child's way from fork to exec, and what the parent hears of it over a socket pair.  A
 * message says READY just before the exec; one more follows only if the exec fails.
 *
 * The child execs with every signal blocked when it is to be injected: none may arrive between
 * its first instruction and the engine.  The engine installs the command's own mask.
 */
#include "linux/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <paths.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/session.h"

/*
 * The kernel allocates and copies a descriptor table as long as its highest entry, so with a
 * limit of a million the top of the range would cost every fork megabytes.
 */
#define FD_CEILING 4096

struct message {
	enum ap_launch_step step;
	int err;
	s32 fd, head;
	u32 nofile_share;
};

static void tell(int sock, const struct message *msg)
{
	/* a parent that is gone needs no answer */
	(void)!send(sock, msg, sizeof(*msg), MSG_NOSIGNAL);
}

int ap_fd_to_top(int fd, u32 *share)
{
	struct rlimit lim, raised;
	int top;

	if (getrlimit(RLIMIT_NOFILE, &lim))
		return -errno;
	if (lim.rlim_cur >= FD_CEILING) {
		top = FD_CEILING - 1;
	} else {
		top = (int)lim.rlim_cur - 1;
		raised = lim;
		raised.rlim_cur++;
		if (lim.rlim_cur < lim.rlim_max && !setrlimit(RLIMIT_NOFILE, &raised)) {
			++*share;
			top++;
		}
	}
	for (; top > fd; top--) {
		if (fcntl(top, F_GETFD) >= 0 || errno != EBADF)
			continue;
		return dup2(fd, top) < 0 ? -errno : top;
	}
	return -EMFILE;
}

/* As execvp: a file without a known format is a script of the shell. */
static void exec_shell(const struct ap_launch *l)
{
	size_t argc = 0;
	const char **argv;

	while (l->argv[argc])
		argc++;
	argv = calloc(argc + 3, sizeof(*argv));
	if (!argv)
		return;
	argv[0] = _PATH_BSHELL;
	argv[1] = l->path;
	for (size_t i = 1; i < argc; i++)
		argv[i + 1] = l->argv[i];
	execve(_PATH_BSHELL, (char *const *)(uintptr_t)argv, environ);
}

static int set_layout(void)
{
	int now = personality(0xffffffff);

	if (now >= 0 && (now & ADDR_NO_RANDOMIZE))
		return 0;
	if (now < 0 || personality((unsigned long)now | ADDR_NO_RANDOMIZE) < 0)
		return -errno;
	return 0;
}

/* The session's place and the mask; what remains is the exec. */
static void prepare(const struct ap_launch *l, int sock, bool as_native)
{
	struct message msg = { .step = AP_LAUNCH_READY, .fd = -1, .head = -1 };
	sigset_t all;

	if (l->deterministic)
		msg.err = set_layout();
	if (msg.err)
		msg.step = AP_LAUNCH_LAYOUT;
	sigfillset(&all);
	if (!msg.err && !as_native) {
		msg.fd = ap_fd_to_top(l->session_fd, &msg.nofile_share);
		msg.head = msg.fd < 0 ? msg.fd : ap_fd_to_top(l->head_fd, &msg.nofile_share);
		if (msg.head < 0) {
			msg.step = AP_LAUNCH_SESSION;
			msg.err = msg.head;
		}
	}
	if (l->nested_root)
		(void)prctl(AP_PRCTL, AP_PRCTL_SET_ROOT, (unsigned long)l->nested_root, 0, 0);
	sigprocmask(SIG_SETMASK, l->mask, NULL);
	tell(sock, &msg);
	if (msg.err)
		_exit(127);
}

static void AP_NORETURN child_main(const struct ap_launch *l, int sock)
{
	struct message msg = { .step = AP_LAUNCH_EXEC };
	char as_native;
	ssize_t got;

	l->restore_signals(l->restore_arg);
	if (l->nofile)
		(void)setrlimit(RLIMIT_NOFILE, l->nofile);
	do {
		got = read(sock, &as_native, 1);
	} while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(127);
	prepare(l, sock, as_native);
	for (size_t i = 0; i < l->nenv; i++)
		(void)putenv((char *)(uintptr_t)l->env[i]); /* execve() says E2BIG, or ENOMEM */
	execve(l->path, l->argv, environ);
	if (errno == ENOEXEC)
		exec_shell(l);
	msg.err = -errno;
	tell(sock, &msg);
	_exit(127);
}

int ap_launch_fork(struct ap_launch *l)
{
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		return -errno;
	l->pid = fork();
	if (l->pid < 0) {
		int err = -errno;

		close(socks[0]);
		close(socks[1]);
		return err;
	}
	if (!l->pid) {
		close(socks[0]);
		child_main(l, socks[1]);
	}
	close(socks[1]);
	l->sock = socks[0];
	return 0;
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
}

void ap_launch_abort(struct ap_launch *l)
{
	int status;

	kill(l->pid, SIGKILL);
	while (waitpid(l->pid, &status, __WALL) < 0 && errno == EINTR)
		;
	ap_launch_fini(l);
}
