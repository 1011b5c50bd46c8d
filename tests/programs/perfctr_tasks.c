/* SPDX-License-Identifier: MIT */
/* FLAGS: -Wall -pthread */
/*
 * States and what happens to their threads, by perfctr 2.6's interface: forks and threads have none, execs keep
 * theirs, the dead leave sums to who has a descriptor, and a monitor is one that has stopped the owner.
 */
#include "perfctr26.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char *self;

static void say(const char *what, long ret)
{
	if (ret < 0)
		printf("%s: %s\n", what, strerror(errno));
	else
		printf("%s: %s\n", what, ret ? "more than 0" : "0");
}

static void send_fd(int sock, int fd)
{
	char ctl[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl)
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(sock, &msg, 0) != 1)
		fail("sendmsg");
}

static int receive_fd(int sock)
{
	char ctl[CMSG_SPACE(sizeof(int))] = { 0 }, byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl)
	};
	int fd;

	if (recvmsg(sock, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		fail("recvmsg");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* As perfex receives: room for a descriptor without the padding behind it.  What the kernel says it took. */
static size_t receive_tight(int sock, int *fd)
{
	char ctl[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))), byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = ctl,
			      .msg_controllen = CMSG_LEN(sizeof(int)) };

	memset(ctl, 0xff, sizeof(ctl));
	if (recvmsg(sock, &msg, 0) != 1)
		fail("recvmsg");
	memcpy(fd, CMSG_DATA((struct cmsghdr *)ctl), sizeof(*fd));
	return msg.msg_controllen;
}

static void on(int fd, unsigned flags)
{
	struct control c;

	one_counter(&c, 0);
	c.flags = flags;
	if (set_control(fd, &c))
		fail("VPERFCTR_CONTROL");
}

/* As perfex does it: what the command has counted, from its control on and through its exec. */
static uint64_t command(const char *how, const char *n, unsigned flags)
{
	int socks[2], fd, status;
	struct sum s;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, socks))
		fail("socketpair");
	pid = fork();
	if (!pid) {
		fd = creat_state(device());
		send_fd(socks[1], fd);
		on(fd, flags);
		execl(self, self, how, n, NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	fd = receive_fd(socks[0]);
	if (read_sum(fd, &s))
		fail("VPERFCTR_READ_SUM");
	close(fd);
	close(socks[0]);
	close(socks[1]);
	return s.pmc[0];
}

static void execs(void)
{
	uint64_t a = command("work", "1001000", 0), b = command("work", "2001000", 0);

	printf("exited, a million more: %llu\n", (unsigned long long)(b - a));
	a = command("kill", "1001000", 0);
	b = command("kill", "2001000", 0);
	printf("killed, a million more: %llu\n", (unsigned long long)(b - a));
	a = command("work", "1000100", 1);
	b = command("work", "2000100", 1);
	printf("close on exec, a million more: %llu\n", (unsigned long long)(b - a));
}

static void receives(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(attr) };
	int dev = device(), socks[2], fds[4], got;
	static const char *const what[] = { "a state", "the device", "a perf event", "a file" };
	size_t room;
	struct sum s;

	fds[0] = creat_state(dev);
	on(fds[0], 0);
	fds[1] = dev;
	fds[2] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	fds[3] = open("/dev/null", O_RDONLY);
	if (fds[2] < 0 || fds[3] < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, socks))
		fail("socketpair");
	for (int i = 0; i < 4; i++) {
		send_fd(socks[1], fds[i]);
		room = receive_tight(socks[0], &got);
		printf("%s: %zu of %zu\n", what[i], room, CMSG_LEN(sizeof(int)));
		close(fds[i]); /* what was received lives on */
		if (!i && (read_sum(got, &s) || !s.pmc[0]))
			fail("VPERFCTR_READ_SUM");
	}
}

static void *thread(void *arg)
{
	int fd = ioctl(device(), VPERFCTR_OPEN, 0);
	struct sum s;

	say("a thread's", read_sum(fd, &s));
	say("of another", read_sum(*(int *)arg, &s));
	work(1000000);
	return NULL;
}

static void forks(void)
{
	int fd = creat_state(device()), status;
	struct sum s, t;
	pthread_t other;

	on(fd, 0);
	if (read_sum(fd, &s))
		fail("read");
	fflush(stdout);
	if (!fork()) {
		say("a child's", read_sum(ioctl(device(), VPERFCTR_OPEN, 0), &s));
		say("of the parent", read_sum(fd, &s));
		work(1000000);
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	pthread_create(&other, NULL, thread, &fd);
	pthread_join(other, NULL);
	if (read_sum(fd, &t))
		fail("read");
	printf("%s\n", t.pmc[0] - s.pmc[0] < 1000000 ? "counts itself alone" : "counts others");
}

/* Each thread has its own, all at once. */
static void *counts(void *arg)
{
	uint64_t n = (uint64_t)(uintptr_t)arg;
	int dev = device(), fd = creat_state(dev);
	struct sum s, t, u;

	on(fd, 0);
	read_sum(fd, &s);
	work(1000);
	read_sum(fd, &t);
	work(1000 + n);
	read_sum(fd, &u);
	close(fd);
	close(dev);
	return (void *)(uintptr_t)(u.pmc[0] - t.pmc[0] - (t.pmc[0] - s.pmc[0]) == 2 * n);
}

static void threads(void)
{
	pthread_t ids[200];
	unsigned right = 0;

	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < 200; i++)
			if (pthread_create(&ids[i], NULL, counts, (void *)(uintptr_t)(i * 1000)))
				fail("pthread_create");
		for (unsigned i = 0; i < 200; i++) {
			void *ok;

			pthread_join(ids[i], &ok);
			right += ok != NULL;
		}
	}
	printf("%u of 1000 right\n", right);
}

static void monitors(void)
{
	int dev = device(), fd, status;
	struct control c;
	struct sum s, t;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		work(1000);
		raise(SIGSTOP);
		work(1001000);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, &status, WUNTRACED);
	fd = ioctl(dev, VPERFCTR_CREAT, pid);
	say("creat", fd);
	one_counter(&c, 0);
	say("control", set_control(fd, &c));
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, WUNTRACED);
	say("read", read_sum(fd, &s));
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &status, WUNTRACED);
	if (read_sum(fd, &t))
		fail("read");
	printf("a million more: %llu\n", (unsigned long long)(t.pmc[0] - s.pmc[0] - s.pmc[0]));
	ptrace(PTRACE_DETACH, pid, 0, SIGCONT);
	waitpid(pid, &status, 0);
	say("control", set_control(fd, &c));
	say("read", read_sum(fd, &t));
	say("unlink", ioctl(fd, VPERFCTR_UNLINK, 0));
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	say("creat of who runs", ioctl(dev, VPERFCTR_CREAT, pid));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* Children that ask as soon as they live, and are killed or another program while it counts; on busy CPUs. */
static void ends(void)
{
	int fd, dev, status, n = 0;
	pid_t busy[2], pid;

	for (int i = 0; i < 2; i++) {
		busy[i] = fork();
		if (!busy[i])
			for (;;)
				work(1000);
	}
	for (int i = 0; i < 200; i++) {
		dev = device();
		pid = fork();
		if (!pid) {
			fd = creat_state(dev);
			on(fd, 0);
			if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
				fail("mmap");
			if (i & 1)
				execl(self, self, "exec", "1", (char *)NULL);
			for (;;)
				;
		}
		usleep(1000);
		if (!(i & 1))
			kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		n += i & 1 ? status == 0 : WIFSIGNALED(status) != 0;
		close(dev);
	}
	printf("%d of 200 ended\n", n);
	for (int i = 0; i < 2; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], &status, 0);
	}
}

int main(int argc, char **argv)
{
	static const struct named tests[] = { { "execs", execs },	{ "receives", receives },
					      { "forks", forks },	{ "threads", threads },
					      { "monitors", monitors }, { "ends", ends } };

	self = argv[0];
	if (argc == 3) {
		work(strtoull(argv[2], NULL, 10));
		if (!strcmp(argv[1], "kill"))
			kill(getpid(), SIGKILL);
		return 0;
	}
	return run_named(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
