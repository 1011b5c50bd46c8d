/* SPDX-License-Identifier: MIT */
/*
 * A file system that does not answer, and who probes what is in it.
 *
 *	fuse_silent serves FOLDER	mounts it there for all users, says "mounted", and answers everything but an opening of its
 *					one file, which is called file; status 77: it cannot be mounted
 *	fuse_silent probes PATH...	opens a uprobe on each, and says how that ended; status 77: the kernel has none
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TOP	   1
#define FILE_	   2
#define FOR_EVER   1000000
#define REQUEST	   (1 << 18)
#define PROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"

static int fd;

static void answer(const struct fuse_in_header *in, int error, const void *what, size_t size)
{
	char buf[4096];
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + size),
				       .error = error,
				       .unique = in->unique };

	memcpy(buf, &out, sizeof(out));
	if (size)
		memcpy(buf + sizeof(out), what, size);
	(void)!write(fd, buf, out.len);
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){ .ino = node,
				   .mode = node == TOP ? S_IFDIR | 0755 : S_IFREG | 0755,
				   .nlink = 1,
				   .size = node == TOP ? 0 : 4096,
				   .blksize = 4096 };
}

static void serve(const struct fuse_in_header *in)
{
	struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 4096 };
	struct fuse_attr_out attr = { .attr_valid = FOR_EVER, .attr = attr_of(in->nodeid) };
	struct fuse_entry_out entry = { .nodeid = FILE_,
					.entry_valid = FOR_EVER,
					.attr_valid = FOR_EVER,
					.attr = attr_of(FILE_) };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in, 0, &init, sizeof(init));
		break;
	case FUSE_GETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_LOOKUP:
		if (strcmp((const char *)(in + 1), "file") != 0)
			answer(in, -ENOENT, NULL, 0);
		else
			answer(in, 0, &entry, sizeof(entry));
		break;
	case FUSE_OPEN:
	case FUSE_INTERRUPT:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	default:
		answer(in, -ENOSYS, NULL, 0);
	}
}

static int serves(const char *folder)
{
	static char buf[REQUEST];
	char options[128];
	ssize_t n;

	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		 fd);
	if (fd < 0 || mount("silent", folder, "fuse", MS_NOSUID | MS_NODEV, options))
		return 77;
	puts("mounted");
	fflush(stdout);
	while ((n = read(fd, buf, sizeof(buf))) > 0 || errno == EINTR || errno == ENOENT)
		if (n > 0)
			serve((const struct fuse_in_header *)buf);
	return 0;
}

static int probes(char **paths)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	FILE *f = fopen(PROBE_TYPE, "re");

	if (!f || fscanf(f, "%u", &attr.type) != 1)
		return 77;
	fclose(f);
	for (; *paths; paths++) {
		attr.config1 = (uintptr_t)*paths;
		puts(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0 ? strerror(errno)
									   : "open");
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "serves"))
		return serves(argv[2]);
	return argc > 2 && !strcmp(argv[1], "probes") ? probes(argv + 2) : 2;
}
