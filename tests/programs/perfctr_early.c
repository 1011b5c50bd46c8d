/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * The sums of one who was killed and waited for, asked for before the supervisor can have heard of it: it is
 * stopped between its look at who has ended and its look at who asks.  So it must look again.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "perfctr26.h"

static int state_fd, ret;
static volatile int may_read, tid;

static void refused(const char *what)
{
	printf("refused: %s\n", what);
	exit(0);
}

static pid_t start_owner(int *fd)
{
	int socks[2];
	char ctl[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct control control;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, socks))
		fail("socketpair");
	pid = fork();
	if (pid) {
		if (recvmsg(socks[0], &msg, 0) != 1)
			fail("recvmsg");
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
		return pid;
	}
	*fd = creat_state(device());
	one_counter(&control, 0);
	if (set_control(*fd, &control))
		fail("VPERFCTR_CONTROL");
	work(1000000);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), fd, sizeof(*fd));
	if (sendmsg(socks[1], &msg, 0) != 1)
		fail("sendmsg");
	for (;;)
		pause();
}

static void *reads(void *arg)
{
	struct sum s;

	(void)arg;
	tid = (int)syscall(SYS_gettid);
	while (!may_read)
		;
	ret = read_sum(state_fd, &s) ? errno : s.pmc[0] >= 2000000 ? 0 : -1;
	return NULL;
}

/* What it asks for does not matter: it wakes the supervisor. */
static void *nudges(void *arg)
{
	struct info info;

	get_info(*(int *)arg, &info);
	return NULL;
}

/* To where the supervisor has just looked at who has ended. */
static void stop_after_look(pid_t pid)
{
	struct user_regs_struct regs;
	int status, is_exit = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) || waitpid(pid, &status, __WALL) != pid)
			fail("PTRACE_SYSCALL");
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		if (ptrace(PTRACE_GETREGS, pid, 0, &regs))
			fail("PTRACE_GETREGS");
		is_exit = (long)regs.rax != -ENOSYS;
		if (is_exit && regs.orig_rax == SYS_epoll_wait)
			return;
	}
}

static void wait_until_asleep(int of)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", of);
	while (state != 'S') {
		FILE *f = fopen(path, "r");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			fail(path);
		fclose(f);
	}
}

int main(void)
{
	pid_t supervisor = getppid(), owner = start_owner(&state_fd);
	int dev = device(), status;
	pthread_t reader, nudger;

	if (pthread_create(&reader, NULL, reads, NULL))
		fail("pthread_create");
	while (!tid)
		;
	if (ptrace(PTRACE_SEIZE, supervisor, 0, PTRACE_O_TRACESYSGOOD) ||
	    ptrace(PTRACE_INTERRUPT, supervisor, 0, 0))
		refused(strerror(errno));
	if (pthread_create(&nudger, NULL, nudges, &dev))
		fail("pthread_create");
	if (waitpid(supervisor, &status, __WALL) != supervisor)
		fail("waitpid");
	stop_after_look(supervisor);
	kill(owner, SIGKILL);
	if (waitpid(owner, &status, 0) != owner)
		fail("waitpid");
	may_read = 1;
	wait_until_asleep(tid);
	if (ptrace(PTRACE_DETACH, supervisor, 0, 0))
		fail("PTRACE_DETACH");
	pthread_join(reader, NULL);
	pthread_join(nudger, NULL);
	printf("%s\n", ret > 0 ? strerror(ret) : ret ? "not all" : "all of it");
	return 0;
}
