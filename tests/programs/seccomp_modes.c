/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * Filters of system calls as programs use them: strict mode, one that allows writing and the end only, one
 * that is put on all threads at once, and one whose calls another process answers.  What this prints
 * is the same natively and counted.
 *
 *	seccomp_modes strict | narrow | tsync | notify
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp.h"

/* Code that was not run before the filter, so that it has to be translated under it. */
#define FRESH(n)                                                                                   \
	__attribute__((noinline)) static uint64_t fresh_##n(uint64_t x)                            \
	{                                                                                          \
		for (int i = 0; i < 1000; i++)                                                     \
			x = x * 6364136223846793005ULL + (n);                                      \
		return x;                                                                          \
	}
FRESH(1)
FRESH(2)
FRESH(3)
FRESH(4)

/* --- read, write, exit, sigreturn: all else kills */

static void strict(void)
{
	char byte;
	int ends[2];

	if (pipe(ends) || write(ends[1], "x", 1) != 1)
		_exit(8);
	say("before\n");
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	say_number("fresh code ", fresh_1(3));
	if (read(ends[0], &byte, 1) == 1)
		say("read\n");
	syscall(SYS_exit, 5);
}

static void narrow(void)
{
	static const int calls[] = { SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, -1 };
	long ret;

	ret = seccomp_allow(calls, SECCOMP_RET_KILL_PROCESS, 0);
	say_number("filter ", (uint64_t)ret);
	say_number("fresh code ", fresh_2(4));
	for (int i = 0; i < 3; i++)
		say_number("again ", fresh_3((uint64_t)i));
	say("a call too many\n");
	(void)!getppid();
}

/* --- all threads at once */

static pthread_barrier_t before, after;

static void *works(void *arg)
{
	uint64_t *v = arg;

	pthread_barrier_wait(&before);
	pthread_barrier_wait(&after);
	*v = fresh_4(*v);
	errno = 0;
	if (syscall(SYS_getppid) != -1 || errno != ENOANO)
		*v = 0;
	return NULL;
}

static void tsync(void)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOANO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, (struct sock_filter *)code };
	pthread_t threads[4];
	uint64_t v[4];

	pthread_barrier_init(&before, NULL, 5);
	pthread_barrier_init(&after, NULL, 5);
	for (unsigned int i = 0; i < 4; i++) {
		v[i] = i;
		pthread_create(&threads[i], NULL, works, &v[i]);
	}
	pthread_barrier_wait(&before);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	say_number("filter ", (uint64_t)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
						SECCOMP_FILTER_FLAG_TSYNC, &prog));
	pthread_barrier_wait(&after);
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		say_number("thread ", v[i]);
	}
}

/* --- calls that another process answers */

static int send_fd(int sock, int fd)
{
	char byte = 0, space[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec io = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = space,
			      .msg_controllen = sizeof(space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return (int)sendmsg(sock, &msg, 0);
}

static int receive_fd(int sock)
{
	char byte, space[CMSG_SPACE(sizeof(int))];
	struct iovec io = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &io,
			      .msg_iovlen = 1,
			      .msg_control = space,
			      .msg_controllen = sizeof(space) };
	int fd = -1;

	if (recvmsg(sock, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

static void filtered_child(int sock)
{
	static const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdir, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, (struct sock_filter *)code };
	int fd;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			  &prog);
	if (fd < 0 || send_fd(sock, fd) != 1)
		_exit(7);
	close(fd);
	for (long i = 0; i < 3; i++) {
		long ret = syscall(SYS_mkdir, "/nowhere/at/all", i);

		say_number("mkdir ", (uint64_t)(ret < 0 ? 1000 + errno : ret));
	}
	_exit(4);
}

static void notify(void)
{
	int socks[2], fd, status;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, socks))
		_exit(8);
	pid = fork();
	if (!pid)
		filtered_child(socks[1]);
	fd = receive_fd(socks[0]);
	for (int i = 0; i < 3; i++) {
		struct seccomp_notif req = { 0 };
		struct seccomp_notif_resp resp = { 0 };

		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &req))
			_exit(6);
		resp.id = req.id;
		if (req.data.args[1] == 2)
			resp.error = -ENOANO;
		else
			resp.val = (int64_t)(req.data.args[1] * 10 + (req.pid == (uint32_t)pid));
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &resp);
	}
	waitpid(pid, &status, 0);
	say_number("child ", (uint64_t)WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "strict", strict }, { "narrow", narrow }, { "tsync", tsync }, { "notify", notify }
	};

	for (unsigned int i = 0; argc == 2 && i < 4; i++)
		if (!strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			return 0;
		}
	return 2;
}
