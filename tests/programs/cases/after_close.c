/* SPDX-License-Identifier: MIT */
/*
 * How long an event lives.  Descriptors are references to its file, whoever has them, and a mapping of its ring is another:
 * with any of them left it counts, samples and signals.  With the last one it goes, however that goes: by close,
 * close_range, munmap, a mapping over it, exec or exit.  Who leads a group leaves its members to themselves.
 */
/* CASE: session -- */
#include "check.h"

#define CLOSE_RANGE 436

static volatile int signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

__attribute__((noinline)) static void target(void)
{
	__asm__ volatile("");
}

static struct perf_event_attr sampled(void)
{
	struct perf_event_attr a = BPX(target);

	a.sample_period = 1;
	a.sample_type = PERF_SAMPLE_IP;
	a.wakeup_events = 1;
	a.disabled = 0;
	return a;
}

static int open_async(struct ring *r, int group)
{
	struct perf_event_attr a = sampled();
	int fd = xo(&a, 0, -1, group, 0);

	rmap(r, fd, 8, RW);
	fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK | O_ASYNC);
	fcntl(fd, F_SETOWN, getpid());
	signals = 0;
	return fd;
}

static void call(int n)
{
	while (n--)
		target();
}

static int records(struct ring *r)
{
	u64 buf[512];
	int n = 0;

	while (rnext(r, buf))
		n++;
	return n;
}

static void unmap(struct ring *r)
{
	munmap(r->pg, r->size + 4096);
}

/* A task has four of these: one that could not be opened would be held by somebody still. */
static void expect_free(const char *what)
{
	struct perf_event_attr a = sampled();
	int fd[4], n = 0;

	for (int i = 0; i < 4; i++)
		n += (fd[i] = peo(&a, 0, -1, -1, 0)) >= 0;
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	CHECK(n == 4, "%s: %d breakpoints are free", what, n);
}

static void mapped(void)
{
	struct ring r = { 0 };
	int fd = open_async(&r, -1), n;

	call(3);
	close(fd);
	call(4);
	n = records(&r);
	CHECK(n == 7 && signals == 7, "closed, mapped: %d samples, %d signals", n, signals);
	unmap(&r);
	call(2);
	CHECK(signals == 7, "unmapped: %d signals", signals);
	expect_free("unmapped");
}

static void mapped_over(void)
{
	struct ring r = { 0 };
	int fd = open_async(&r, -1);

	close(fd);
	call(1);
	if (mmap(r.pg, r.size + 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
	    (void *)r.pg)
		exit(3);
	call(1);
	CHECK(signals == 1, "mapped over: %d signals", signals);
	unmap(&r);
	expect_free("mapped over");
}

static void members(void)
{
	struct perf_event_attr a = sampled();
	struct ring r = { 0 };
	int leader, fd, n;

	a.disabled = 1;
	leader = xo(&a, 0, -1, -1, 0);
	fd = open_async(&r, leader);
	call(2);
	CHECK(!signals && !rd(fd), "a member waits for its leader: %d signals", signals);
	close(leader);
	usleep(1); /* they are put on the PMU at the next switch */
	call(3);
	CHECK(signals == 3 && rd(fd) == 3, "its leader is gone: %d signals", signals);
	close(fd);
	call(4);
	n = records(&r);
	CHECK(n == 7 && signals == 7, "itself is closed: %d samples, %d signals", n, signals);
	unmap(&r);
	expect_free("a group");
}

/* Who writes into the ring of an event that is closed, as long as that is mapped. */
static void redirected(void)
{
	struct perf_event_attr a = SWD, b = sampled();
	struct ring r = { 0 };
	int to = xo(&a, 0, -1, -1, 0), fd = xo(&b, 0, -1, -1, 0), n;

	rmap(&r, to, 8, RW);
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, to);
	close(to);
	call(3);
	n = records(&r);
	CHECK(n == 3 && pollfd(fd) == POLLIN, "into a closed event's ring: %d samples", n);
	unmap(&r);
	call(2);
	CHECK(pollfd(fd) == POLLHUP && rd(fd) == 5, "it goes on without: %d", (int)rd(fd));
	close(fd);
	expect_free("redirected");
}

static void ranges(void)
{
	struct perf_event_attr a = sampled();
	int first = xo(&a, 0, -1, -1, 0), other = fcntl(first, F_DUPFD, 100);

	call(1);
	syscall(CLOSE_RANGE, first, first, 0);
	call(1);
	CHECK(rd(other) == 2, "a copy is left: %d", (int)rd(other));
	syscall(CLOSE_RANGE, 100, ~0U, 0);
	expect_free("close_range");
}

static int pass(int socket, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	if (fd < 0) {
		if (recvmsg(socket, &msg, 0) != 1)
			return -1;
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
		return fd;
	}
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return (int)sendmsg(socket, &msg, 0);
}

/* Nobody has a descriptor while the message is on its way. */
static void by_message(void)
{
	struct perf_event_attr a = sampled();
	int fd = xo(&a, 0, -1, -1, 0), s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		exit(3);
	call(1);
	pass(s[0], fd);
	close(fd);
	call(1);
	fd = pass(s[1], -1);
	call(1);
	CHECK(rd(fd) == 3, "by a message: %d", (int)rd(fd));
	close(fd);
	expect_free("a message");
}

/* A child has the descriptor, not the mapping. */
static void inherited(void)
{
	struct ring r = { 0 };
	int fd = open_async(&r, -1), gate[2], status;
	char c = 0;
	pid_t pid;

	if (pipe(gate))
		exit(3);
	pid = fork();
	if (!pid) {
		unsigned char there;

		if (!mincore(r.pg, 4096, &there) || errno != ENOMEM || read(gate[0], &c, 1) != 1)
			_exit(1);
		_exit(rd(fd) == 3 ? 0 : 2);
	}
	call(2);
	close(fd);
	unmap(&r);
	call(1);
	if (write(gate[1], &c, 1) != 1)
		exit(3);
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "a child has it: status %#x", status);
	expect_free("a child's");
}

/* A child watches its parent with all four, and ends with mappings of them alone. */
static void by_end(const char *self, bool execs)
{
	struct perf_event_attr a = sampled();
	struct ring r = { 0 };
	pid_t pid = fork();
	int fd, status;

	for (int i = 0; !pid && i < 4; i++) {
		fd = xo(&a, execs ? 0 : getppid(), -1, -1, 0);
		rmap(&r, fd, 1, RW);
		close(fd);
	}
	if (!pid && execs)
		execl(self, self, "image", NULL);
	if (!pid)
		_exit(0);
	waitpid(pid, &status, 0);
	CHECK(!status, "with mappings to its %s: %#x", execs ? "exec" : "end", status);
	if (!execs)
		expect_free("a child's end");
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		expect_free("an image");
		return failed;
	}
	signal(SIGIO, on_signal);
	mapped();
	mapped_over();
	members();
	redirected();
	ranges();
	by_message();
	inherited();
	by_end(argv[0], false);
	by_end(argv[0], true);
	return done();
}
