/* SPDX-License-Identifier: MIT */
/*
 * What a perf descriptor is to all the calls that take a descriptor: each line names the call and
 * its answer.  Software events only, so that the kernel can answer as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *what, long ret)
{
	printf("%s = %ld%s%s\n", what, ret, ret < 0 ? " " : "",
	       ret < 0 ? strerrorname_np(errno) : "");
}

/* The call's text and its result. */
#define SHOW(call) (errno = 0, show(#call, (long)(call)))
/* Only whether it worked: for addresses. */
#define WORKS(call) (errno = 0, show(#call, (long)(call) == -1 ? -1 : 0))

static struct perf_event_attr attr = {
	.type = PERF_TYPE_SOFTWARE,
	.size = sizeof(attr),
	.config = PERF_COUNT_SW_DUMMY,
	.exclude_kernel = 1,
};

static int perf_open(struct perf_event_attr *a, int group, unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, a, 0, -1, group, flags);
}

static char buf[4096];
/* Where nothing is, and a count that is none: unknown to the compiler. */
static void *volatile nowhere = (void *)1;
static volatile int minus = -1;

static void reads(int fd)
{
	struct iovec v[2] = { { buf, 8 }, { buf + 8, 8 } };

	SHOW(read(fd, buf, 8));
	SHOW(read(fd, buf, 100));
	SHOW(read(fd, buf, 7));
	SHOW(read(fd, buf, 0));
	SHOW(read(fd, nowhere, 8));
	SHOW(syscall(SYS_read, fd, buf, (long)minus));
	SHOW(pread(fd, buf, 8, 0));
	SHOW(readv(fd, v, 0));
	SHOW(readv(fd, v, 1));
	SHOW(readv(fd, v, 2));
	SHOW(readv(fd, v, minus));
	SHOW(readv(fd, nowhere, 1));
	SHOW(preadv(fd, v, 1, 0));
	SHOW(preadv2(fd, v, 1, -1, 0));
	SHOW(preadv2(fd, v, 1, 0, 0));
	SHOW(preadv2(fd, v, 1, -1, RWF_NOWAIT));
	v[0].iov_len = 4;
	SHOW(readv(fd, v, 2));
	v[0].iov_len = 16;
	SHOW(readv(fd, v, 2));
}

/* An answer longer than most: each member of a group with its id. */
static void reads_much(void)
{
	struct perf_event_attr a = attr;
	unsigned long v[1 + 2 * 200], id = 0;
	int fd[200], i;

	a.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	for (i = 0; i < 200; i++)
		fd[i] = perf_open(&a, i ? fd[0] : -1, 0);
	SHOW(read(fd[199], v, sizeof(v) - 1));
	SHOW(read(fd[199], v, sizeof(v)));
	for (i = 0; i < 200; i++)
		if (ioctl(fd[i], PERF_EVENT_IOC_ID, &id) || v[2 + 2 * i] != id || v[1 + 2 * i])
			break;
	printf("%lu members, %d in their places\n", v[0], i);
}

static void writes(int fd)
{
	struct iovec v = { buf, 8 };
	int p[2];

	SHOW(write(fd, buf, 8));
	SHOW(write(fd, buf, 0));
	SHOW(pwrite(fd, buf, 8, 0));
	SHOW(writev(fd, &v, 1));
	SHOW(pwritev2(fd, &v, 1, -1, 0));
	SHOW(ftruncate(fd, 0));
	SHOW(fsync(fd));
	SHOW(fdatasync(fd));
	SHOW(fallocate(fd, 0, 0, 1));
	SHOW(posix_fadvise(fd, 0, 0, 0));
	SHOW(readahead(fd, 0, 1));
	SHOW(lseek(fd, 0, SEEK_SET));
	SHOW(lseek(fd, 0, 99));
	if (pipe(p))
		exit(1);
	SHOW(splice(fd, 0, p[1], 0, 10, 0));
	SHOW(splice(p[0], 0, fd, 0, 10, 0));
	SHOW(tee(fd, p[1], 10, 0));
	SHOW(sendfile(p[1], fd, 0, 10));
	SHOW(sendfile(fd, p[0], 0, 10));
	SHOW(vmsplice(fd, &v, 1, 0));
	SHOW(copy_file_range(fd, 0, p[1], 0, 1, 0));
	close(p[0]);
	close(p[1]);
	SHOW(fchdir(fd));
	SHOW(fchmod(fd, 0));
	SHOW(fchown(fd, -1, -1));
	SHOW(futimens(fd, 0));
	SHOW(flock(fd, LOCK_SH | LOCK_NB));
	SHOW(syscall(SYS_getdents64, fd, buf, 100));
	SHOW(listen(fd, 1));
	SHOW(openat(fd, "x", O_RDONLY));
}

static void controls(int fd)
{
	unsigned long id = 0, other = 0;
	int on = 1;

	SHOW(fcntl(fd, F_GETFD));
	SHOW(fcntl(fd, F_GETFL));
	SHOW(fcntl(fd, F_SETFL, O_NONBLOCK));
	SHOW(fcntl(fd, F_GETFL));
	SHOW(fcntl(fd, F_SETFL, O_DIRECT));
	SHOW(fcntl(fd, F_SETFL, 0));
	SHOW(fcntl(fd, F_GETPIPE_SZ));
	SHOW(fcntl(fd, F_SETPIPE_SZ, 4096));
	SHOW(fcntl(fd, F_GETOWN));
	SHOW(fcntl(fd, F_SETSIG, 10));
	SHOW(fcntl(fd, F_GETSIG));
	SHOW(ioctl(fd, FIONREAD, buf));
	SHOW(ioctl(fd, FIONBIO, &on));
	SHOW(fcntl(fd, F_GETFL));
	SHOW(ioctl(fd, FIOCLEX));
	SHOW(fcntl(fd, F_GETFD));
	SHOW(ioctl(fd, FIGETBSZ, buf));
	SHOW(ioctl(fd, 0x5401, buf));
	SHOW(ioctl(fd, 0x240c, 0));
	SHOW(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	SHOW(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
	SHOW(ioctl(fd, PERF_EVENT_IOC_RESET, 0));
	SHOW(ioctl(fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP));
	SHOW(ioctl(fd, PERF_EVENT_IOC_ID, &id));
	SHOW(ioctl(fd, PERF_EVENT_IOC_ID, &other));
	printf("ids are %s\n", id && id == other ? "one" : "wrong");
	SHOW(ioctl(fd, PERF_EVENT_IOC_ID, 1));
	SHOW(ioctl(fd, PERF_EVENT_IOC_PERIOD, 1));
	SHOW(ioctl(fd, PERF_EVENT_IOC_PERIOD, &id));
	SHOW(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1));
	SHOW(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "x"));
	SHOW(ioctl(fd, PERF_EVENT_IOC_SET_BPF, -1L));
	SHOW(ioctl(fd, PERF_EVENT_IOC_SET_BPF, 999));
	SHOW(ioctl(fd, PERF_EVENT_IOC_SET_BPF, 0));
	SHOW(ioctl(fd, PERF_EVENT_IOC_SET_BPF, fd));
	SHOW(ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, 1));
	SHOW(ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, buf));
	SHOW(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1L));
	SHOW(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 0));
	SHOW(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, 1));
	SHOW(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr));
	SHOW(prctl(PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0));
	SHOW(prctl(PR_TASK_PERF_EVENTS_ENABLE, 0, 0, 0, 0));
}

static void show_stat(const char *what, const struct stat *st, const struct stat *like)
{
	printf("%s: mode %o, %s inode, size %ld, links %ld\n", what, st->st_mode,
	       st->st_ino == like->st_ino && st->st_dev == like->st_dev ? "the anonymous"
									: "an own",
	       (long)st->st_size, (long)st->st_nlink);
}

static void names(int fd)
{
	int e = eventfd(0, 0);
	struct stat st, like;
	struct statx sx;
	struct statfs fs;
	char path[64];
	long n;

	fstat(e, &like);
	SHOW(fstat(fd, &st));
	show_stat("fstat", &st, &like);
	SHOW(fstatat(fd, "", &st, AT_EMPTY_PATH));
	show_stat("fstatat", &st, &like);
	SHOW(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &sx));
	printf("statx: mode %o, inode %d\n", sx.stx_mode, sx.stx_ino == like.st_ino);
	SHOW(fstatfs(fd, &fs));
	printf("type %lx\n", (long)fs.f_type);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, buf, sizeof(buf));
	printf("%ld: %.*s\n", n, (int)n, buf);
	n = readlink(path, buf, 5);
	printf("%ld: %.*s\n", n, (int)n, buf);
	SHOW(stat(path, &st));
	show_stat("stat", &st, &like);
	SHOW(lstat(path, &st));
	printf("lstat: mode %o\n", st.st_mode);
	SHOW(open(path, O_RDONLY));
	SHOW(open(path, O_RDWR));
	SHOW(access(path, R_OK));
	SHOW(access(path, X_OK));
	close(e);
}

static void waits(int fd)
{
	struct pollfd p = { fd, POLLIN | POLLOUT | POLLPRI, 0 };
	struct epoll_event ev = { .events = EPOLLIN }, got = { 0 };
	int ep = epoll_create1(0);

	SHOW(poll(&p, 1, 0));
	printf("revents %x\n", p.revents);
	SHOW(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	SHOW(epoll_wait(ep, &got, 1, 0));
	printf("events %x\n", got.events);
	close(ep);
}

static void maps(int fd)
{
	const int rw = PROT_READ | PROT_WRITE;
	struct perf_event_mmap_page *page;
	char line[512];
	FILE *f;

	SHOW(mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0));
	SHOW(mmap(0, 4096, PROT_READ, 0, fd, 0));
	SHOW(mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 4096));
	SHOW(mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 100));
	SHOW(mmap(0, 4 * 4096, rw, MAP_SHARED, fd, 0));
	SHOW(mmap(0, 0, PROT_READ, MAP_SHARED, fd, 0));
	SHOW(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0));
	SHOW(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0));
	SHOW(mmap(0, 4096, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0));
	page = mmap(0, 4096, rw, MAP_SHARED, fd, 0);
	WORKS(page);
	printf("version %u %u, size %u, index %u\n", page->version, page->compat_version,
	       page->size, page->index);
	f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "perf_event"))
			printf("%s", strchr(line, ' '));
	fclose(f);
	fflush(stdout);
	if (!fork()) {
		SHOW(msync(page, 4096, MS_ASYNC));
		exit(0);
	}
	wait(NULL);
	SHOW(mremap(page, 4096, 8192, MREMAP_MAYMOVE));
	SHOW(munmap(page, 4096));
	SHOW(msync(page, 4096, MS_ASYNC));
}

static int pass(int fd, int socks[2])
{
	union {
		struct cmsghdr h;
		char space[CMSG_SPACE(sizeof(int))];
	} c = { .h = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec v = { buf, 1 };
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)
	};

	memcpy(CMSG_DATA(&c.h), &fd, sizeof(fd));
	if (sendmsg(socks[0], &m, 0) != 1 || recvmsg(socks[1], &m, 0) != 1)
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* An event's id: the same by whatever descriptor. */
static long id_of(int fd)
{
	unsigned long id = 0;

	return ioctl(fd, PERF_EVENT_IOC_ID, &id) ? -1 : (long)id;
}

static void copies(int fd, char *self)
{
	int socks[2], a = dup(fd), b = fcntl(fd, F_DUPFD_CLOEXEC, 100), c, file;
	long id = id_of(fd);
	char num[16];

	printf("dup %d, at 100 %d\n", id_of(a) == id, id_of(b) == id);
	SHOW(dup2(fd, 50));
	printf("dup2 %d\n", id_of(50) == id);
	file = open("/dev/null", O_RDWR);
	SHOW(dup2(file, 50));
	SHOW(read(50, buf, 8));
	SHOW(ioctl(50, PERF_EVENT_IOC_ID, buf));
	SHOW(close(50));
	SHOW(read(50, buf, 8));
	SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	c = pass(fd, socks);
	printf("passed %d\n", id_of(c) == id);
	SHOW(close(fd));
	SHOW(read(fd, buf, 8));
	printf("after the close %d %d %d\n", id_of(a) == id, id_of(b) == id, id_of(c) == id);
	fflush(stdout);
	if (!fork()) {
		printf("child %d\n", id_of(a) == id);
		SHOW(close_range(a, a, 0));
		SHOW(read(a, buf, 8));
		SHOW(close_range(c, c, CLOSE_RANGE_CLOEXEC));
		SHOW(read(c, buf, 8));
		fflush(stdout);
		exit(0);
	}
	wait(NULL);
	SHOW(read(a, buf, 8));
	fcntl(c, F_SETFD, FD_CLOEXEC);
	snprintf(num, sizeof(num), "%d", a);
	fflush(stdout);
	if (!vfork()) {
		dup2(file, a);
		_exit(read(a, buf, 8) == 0 ? 7 : 8);
	}
	wait(&file);
	printf("vfork child %d\n", WEXITSTATUS(file));
	SHOW(read(a, buf, 8));
	snprintf(buf, sizeof(buf), "%d", c);
	execl(self, self, "image", num, buf, NULL);
}

/* The image after an exec: one descriptor came along, one did not. */
static void image(int here, int gone)
{
	SHOW(read(here, buf, 8));
	SHOW(fcntl(here, F_GETFD));
	SHOW(read(gone, buf, 8));
	SHOW(close(here));
	SHOW(close(here));
}

static void limits(void)
{
	struct rlimit lim = { 8, 64 };
	int last = 0, n = 0, fd;

	setrlimit(RLIMIT_NOFILE, &lim);
	while ((fd = perf_open(&attr, -1, PERF_FLAG_FD_CLOEXEC)) >= 0) {
		last = fd;
		n++;
	}
	show("the next", fd);
	printf("opened %d, the last was %d\n", n, last);
	SHOW(fcntl(last, F_GETFD));
	close(last);
	SHOW(perf_open(&attr, -1, 0));
	SHOW(perf_open(&attr, last, 0));
	SHOW(getrlimit(RLIMIT_NOFILE, &lim));
	printf("limit %ld %ld\n", (long)lim.rlim_cur, (long)lim.rlim_max);
}

static void show_open(const char *what, struct perf_event_attr *a, int group, unsigned long flags)
{
	int fd;

	errno = 0;
	fd = perf_open(a, group, flags);
	show(what, fd < 0 ? -1 : 0);
	if (fd >= 0)
		close(fd);
}

/* Of a child that nobody has waited for yet, and then somebody has. */
static void of_the_dead(void)
{
	pid_t pid = fork();
	siginfo_t info;

	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	SHOW(syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0));
	wait(NULL);
	SHOW(syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0));
}

/* A group that has got a member since a child was made can be read as soon as the child has ended. */
static void grows(int sig)
{
	struct perf_event_attr a = attr;
	int fd, other, ready[2];
	pid_t pid;

	a.inherit = 1;
	a.read_format = PERF_FORMAT_GROUP;
	fd = perf_open(&a, -1, 0);
	if (pipe(ready))
		exit(2);
	pid = fork();
	if (!pid) {
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	if (read(ready[0], buf, 1) != 1)
		exit(2);
	other = perf_open(&a, fd, 0);
	SHOW(read(fd, buf, sizeof(buf)));
	kill(pid, sig);
	waitpid(pid, NULL, 0);
	SHOW(read(fd, buf, sizeof(buf)));
	SHOW(close(other));
	SHOW(close(fd));
	close(ready[0]);
	close(ready[1]);
}

/* A member for the event of a child that has been killed and waited for. */
static void beside_the_dead(void)
{
	pid_t pid = fork();
	int fd;

	while (!pid)
		pause();
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	show_open("group of a dead task", &attr, fd, 0);
	close(fd);
}

/* Attrs longer than any that is known, the end of whose memory comes first. */
static void opens_at_an_end(void)
{
	static const int unknown[] = { 0, 136, 192 };
	char *page = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct perf_event_attr *a = (struct perf_event_attr *)(page + 4096 - 200);

	munmap(page + 4096, 4096);
	for (unsigned int i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		memset(a, 0, 200);
		*a = attr;
		a->size = 1000;
		if (unknown[i])
			((char *)a)[unknown[i]] = 1;
		show_open("at an end", a, -1, 0);
		printf("size is %u\n", a->size);
	}
	munmap(page, 4096);
}

static void opens(int fd)
{
	static char page[8192];
	struct perf_event_attr *a = (struct perf_event_attr *)page;
	const unsigned int sizes[] = { 0,   63,	 64,  65,  68,	72,   80,   96,	  104, 112,
				       120, 128, 136, 137, 200, 4095, 4096, 4097, ~0U };

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		*a = attr;
		a->size = sizes[i];
		printf("size %u: ", sizes[i]);
		show_open("open", a, -1, 0);
		page[sizes[i] > 136 && sizes[i] <= 4096 ? sizes[i] - 1 : 8000] = 1;
		show_open("with a tail", a, -1, 0);
		memset(page, 0, sizeof(page));
	}
	opens_at_an_end();
	show_open("no attr", NULL, -1, 0);
	show_open("flags 16", &attr, -1, 16);
	show_open("no attr, flags 16", NULL, -1, 16);
	show_open("group", &attr, fd, 0);
	show_open("group -2", &attr, -2, 0);
	show_open("group of stdin", &attr, 0, 0);
	show_open("group 1000", &attr, 1000, 0);
	show_open("no group", &attr, fd, PERF_FLAG_FD_NO_GROUP);
	of_the_dead();
	/* the number that the descriptor is going to have */
	show_open("group of nothing", &attr, fd + 1, 0);
	SHOW(read(fd + 1, buf, 8));
	SHOW(ioctl(fd + 1, PERF_EVENT_IOC_ENABLE, 0));
	show_open("after calls on nothing", &attr, -1, 0);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc == 4) {
		image(atoi(argv[2]), atoi(argv[3]));
		return 0;
	}
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "groups")) {
		reads_much();
		for (int i = 0; i < 20; i++)
			grows(i % 2 ? SIGKILL : SIGTERM);
		return 0;
	}
	if (!strcmp(argv[1], "limits")) {
		limits();
		return 0;
	}
	if (!strcmp(argv[1], "dead")) {
		beside_the_dead();
		return 0;
	}
	fd = perf_open(&attr, -1, 0);
	SHOW(fd);
	if (!strcmp(argv[1], "reads"))
		reads(fd);
	else if (!strcmp(argv[1], "writes"))
		writes(fd);
	else if (!strcmp(argv[1], "controls"))
		controls(fd);
	else if (!strcmp(argv[1], "names"))
		names(fd);
	else if (!strcmp(argv[1], "waits"))
		waits(fd);
	else if (!strcmp(argv[1], "maps"))
		maps(fd);
	else if (!strcmp(argv[1], "opens"))
		opens(fd);
	else if (!strcmp(argv[1], "copies"))
		copies(fd, argv[0]);
	return 0;
}
