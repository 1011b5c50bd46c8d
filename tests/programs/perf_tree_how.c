/* SPDX-License-Identifier: MIT */
/*
 * openat2's RESOLVE flags on paths through sysfs: the same natively and in a session.
 *
 *	perf_tree_how BUS DEVICE FILE	/sys/bus/BUS/devices/DEVICE is a link to a directory with FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned long long bits;
} flags[] = { { "none", 0 },
	      { "no_xdev", RESOLVE_NO_XDEV },
	      { "no_magiclinks", RESOLVE_NO_MAGICLINKS },
	      { "no_symlinks", RESOLVE_NO_SYMLINKS },
	      { "beneath", RESOLVE_BENEATH },
	      { "in_root", RESOLVE_IN_ROOT },
	      { "both", RESOLVE_BENEATH | RESOLVE_IN_ROOT },
	      { "unknown", 1 << 20 } };
#define NFLAGS (sizeof(flags) / sizeof(flags[0]))

static char bus[200], device[200], deeper[200];

static void try(const char *what, int dir, const char *path, int extra)
{
	printf("%s:", what);
	for (unsigned int i = 0; i < NFLAGS; i++) {
		struct open_how how = { .flags = O_RDONLY | (unsigned int)extra,
					.resolve = flags[i].bits };
		int fd;

		errno = 0;
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		printf(" %s=%s", flags[i].name, fd < 0 ? strerrorname_np(errno) : "ok");
		if (fd >= 0)
			close(fd);
	}
	printf("\n");
}

static const char *join(const char *a, const char *b, const char *c)
{
	static char text[4][700];
	static unsigned int n;

	n = (n + 1) % 4;
	snprintf(text[n], sizeof(text[n]), "%s%s%s", a, b, c);
	return text[n];
}

int main(int argc, char **argv)
{
	char number[300];
	int root, sys, at_bus, at_own, at_link;

	if (argc != 4)
		return 2;
	snprintf(bus, sizeof(bus), "/sys/bus/%s", argv[1]);
	snprintf(device, sizeof(device), "devices/%s", argv[2]);
	snprintf(deeper, sizeof(deeper), "%s", argv[3]);
	root = open("/", O_RDONLY);
	sys = open("/sys", O_RDONLY);
	at_bus = open(bus, O_RDONLY);
	at_link = open(join(bus, "/devices", ""), O_RDONLY);
	at_own = open(join(bus, "/", device), O_RDONLY);
	try("bus", AT_FDCWD, bus, 0);
	try("bus from /", root, bus + 1, 0);
	try("bus from /sys", sys, bus + 5, 0);
	try("as of /sys", sys, bus + 4, 0);
	try("devices", at_bus, "devices", 0);
	try("itself", at_bus, ".", 0);
	try("up", at_bus, "..", 0);
	try("up and down", at_bus, join("../", argv[1], "/devices"), 0);
	try("down and up", at_bus, "devices/..", 0);
	try("down and up twice", at_bus, "devices/../..", 0);
	try("a link", at_bus, device, 0);
	try("a link, as such", at_bus, device, O_NOFOLLOW);
	try("through a link", at_bus, join(device, "/", deeper), 0);
	try("a link from /sys", sys, join(bus + 5, "/", device), 0);
	try("through a link from /sys", sys, join(join(bus + 5, "/", device), "/", deeper), 0);
	try("a link from devices", at_link, argv[2], 0);
	try("deeper", at_own, deeper, 0);
	try("deeper, absolute", at_own, join("/", deeper, ""), 0);
	try("above", at_own, "../..", 0);
	try("missing", at_own, "missing", 0);
	try("missing above", at_own, "../missing", 0);
	try("out", sys, "../etc", 0);
	try("out and back", sys, "../sys/bus", 0);
	try("absolute", sys, "/sys/bus", 0);
	snprintf(number, sizeof(number), "/proc/self/fd/%d/%s", at_own, deeper);
	try("by number", AT_FDCWD, number, 0);
	snprintf(number, sizeof(number), "/proc/self/fd/%d/devices", at_bus);
	try("by the bus' number", AT_FDCWD, number, 0);
	return 0;
}
