/* SPDX-License-Identifier: MIT */
/*
 * A descriptor of a file system that does not answer, as of a file server that is gone, waits for nobody's events: the
 * kernel knows files by themselves, and asks no file system whose they are.  Here it is FUSE without a server.
 */
/* CASE: session -- */
#include "check.h"
#include <sys/mount.h>

#define LONG_MS 20000

static char mounted[] = "/tmp/anyperf_hung_XXXXXX";

/* Has the file system until it is told that all is over; status 1: nobody tells. */
static pid_t keep(int server, int told[2])
{
	struct pollfd pfd = { .fd = told[0], .events = POLLIN };
	pid_t pid = fork();

	if (pid) {
		close(server);
		return pid;
	}
	close(told[1]);
	_exit(poll(&pfd, 1, LONG_MS) != 1);
}

/* -1: it is not to be had. */
static int open_hung(int *server)
{
	char how[64];

	*server = open("/dev/fuse", O_RDWR);
	snprintf(how, sizeof(how), "fd=%d,rootmode=40000,user_id=0,group_id=0", *server);
	if (*server < 0 || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || !mkdtemp(mounted) ||
	    mount("x", mounted, "fuse", 0, how))
		return -1;
	return open(mounted, O_PATH);
}

int main(void)
{
	int server, told[2], hung = open_hung(&server), fd, on = 1, st = -1;
	struct perf_event_attr a = HWI;
	pid_t pid;

	if (hung < 0 || pipe(told)) {
		printf("no FUSE to be mounted\n");
		return 0;
	}
	pid = keep(server, told);
	fd = xo(&a, -1, 0, -1, 0);
	CHECK(!ioctl(fd, FIOASYNC, &on), "signals are wanted of the event");
	CHECK(dup2(fd, 100) == 100 && !close(fd) && !close(100), "it is closed by another number");
	a.disabled = 0;
	fd = xo(&a, 0, -1, -1, 0);
	CHECK(fd >= 0 && rd(fd) > 0, "others are opened and read");
	CHECK(write(told[1], "", 1) == 1 && waitpid(pid, &st, 0) == pid && !st,
	      "and nothing has waited for the file system (%x)", st);
	umount2(mounted, MNT_DETACH);
	rmdir(mounted);
	return done();
}
