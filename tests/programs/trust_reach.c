/* SPDX-License-Identifier: MIT */
/*
 * What a program of another user gets hold of in somebody's session.
 *
 *	trust_reach asks	in the session: by all ways that lead to the session's files, for writing
 *	trust_reach takes PID	natively, as the user of that task of the session: by its descriptors and its mappings, as the
 *				kernel has them; and scribbles over all that can be written, for two seconds
 *
 *	trust_reach becomes	in the session, as root: becomes that user by itself, says its pid and waits to be killed
 *	trust_reach stays	says its pid and waits to be killed
 *
 * asks: status 0 where nothing could be written that is not the task's own.  takes: says over how many files.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/session.h"
#include "random.h"
#include "session_taken.h"

#define MIB	(1L << 20)
#define SECONDS 2
#define SEGS	24

static int reached;

static void say(const char *what, int is_reached)
{
	printf("%s: %s\n", what, is_reached ? "reached" : "refused");
	reached += is_reached;
}

/* --- in the session */

static void ask_fd(const char *what, int fd)
{
	int any = 0;

	for (long at = 0; fd >= 0 && at < 70; at++) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at * MIB);

		any += p != MAP_FAILED;
		any += pwrite(fd, "x", 1, at * MIB) == 1;
		p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, at * MIB);
		any += p != MAP_FAILED && !mprotect(p, 4096, PROT_READ | PROT_WRITE);
	}
	any += fd >= 0 && !ftruncate(fd, 0);
	any += fd >= 0 && !fallocate(fd, 3 /* punch, keep size */, 0, 4096);
	say(what, any);
}

static void ask_names(const char *folder)
{
	char path[512], name[512];
	struct dirent *e;
	DIR *d = opendir(folder);
	int any = 0;
	ssize_t n;

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%.200s", folder, e->d_name);
		n = readlink(path, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		any += strstr(name, "memfd:anyperf") && open(path, O_RDWR) >= 0;
	}
	say(folder, any);
}

static int asks(void)
{
	char path[64];
	int any = 0;

	ask_fd("the descriptor of the party", prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0));
	ask_fd("the descriptor of the head", prctl(AP_PRCTL, AP_PRCTL_HEAD_FD, 0, 0, 0));
	ask_names("/proc/self/map_files");
	ask_names("/proc/self/fd");
	for (int fd = 3; fd < TAKEN_FDS; fd++) {
		char name[64];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		any += strstr(name, "memfd:anyperf") && open(path, O_RDWR) >= 0;
	}
	say("descriptors by name", any);
	return reached != 0;
}

/* --- from outside, as the same user */

static void scribble(volatile uint32_t *at, size_t words)
{
	for (int i = 0; i < 64; i++)
		at[any() % words] = any() % 3 ? (uint32_t)any() : (uint32_t)(any() % 64);
}

struct area {
	void *at;
	size_t size;
};

/* All of the file that tasks use: what is before the segments, and the first of these with some slots. */
static unsigned map_all(int fd, struct area *areas)
{
	unsigned n = 0;
	void *p;

	for (long at = 0; at < 64; at++) {
		p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at * MIB);
		if (p != MAP_FAILED)
			areas[n++] = (struct area){ p, MIB };
	}
	for (unsigned i = 0; i < SEGS; i++) {
		p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)AP_SEG_OFF(i));
		if (p != MAP_FAILED)
			areas[n++] = (struct area){ p, 8192 };
		if (p != MAP_FAILED)
			areas[n++] = (struct area){ (char *)p + AP_SLOT_OFF(0), 8192 };
	}
	return n;
}

static int takes(pid_t pid)
{
	static struct area areas[64 * (64 + 2 * SEGS)];
	struct timespec start, now;
	unsigned n = 0, files = 0;
	int fds[64], nfds = session_take(pid, fds, 64);

	if (nfds < 0)
		return -nfds;
	for (int i = 0; i < nfds; i++) {
		unsigned was = n;

		n += map_all(fds[i], areas + n);
		files += n != was;
	}
	printf("%u\n", files);
	fflush(stdout);
	if (!n)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 64; i++) {
			const struct area *a = &areas[any() % n];

			scribble(a->at, a->size / 4);
		}
		usleep(1000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < SECONDS);
	return 0;
}

static int stays(void)
{
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		pause();
	return 0;
}

static int becomes(void)
{
	if (setgroups(0, NULL) || setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 2;
	return stays();
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "becomes"))
		return becomes();
	if (argc == 2 && !strcmp(argv[1], "stays"))
		return stays();
	if (argc == 2 && !strcmp(argv[1], "asks"))
		return asks();
	if (argc == 3 && !strcmp(argv[1], "takes"))
		return takes(atoi(argv[2]));
	return 2;
}
