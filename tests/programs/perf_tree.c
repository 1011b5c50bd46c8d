/* SPDX-License-Identifier: MIT */
/*
 * Looks at a folder by every call that shows one, and prints what it sees: for comparing what the
 * kernel has with what a session shows.
 *
 *	perf_tree walk FOLDER    entries below it, by three walkers that must agree
 *	perf_tree calls FOLDER   answers to calls on the PMU's folder, its file `type`, its link `subsystem`
 *	perf_tree list FOLDER    its names, read entry by entry, twice, with what seekdir finds again
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MAX 20000

static char *seen[3][MAX];
static int nseen[3];

static void add(int walker, const char *path, const struct stat *st)
{
	char line[512];

	snprintf(line, sizeof(line), "%s %o %d %d", path, st->st_mode,
		 S_ISDIR(st->st_mode) ? (int)st->st_nlink : 1, (int)st->st_size);
	if (nseen[walker] < MAX)
		seen[walker][nseen[walker]++] = strdup(line);
}

static void by_openat(int at, const char *name, const char *path)
{
	char sub[512];
	struct stat st;
	struct dirent *e;
	DIR *d;
	int fd;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		return perror(path);
	add(0, path, &st);
	if (!S_ISDIR(st.st_mode))
		return;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		return perror(path);
	while ((e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || st.st_ino != e->d_ino ||
		    (st.st_mode & S_IFMT) >> 12 != e->d_type)
			printf("%s: its entry is of another file\n", sub);
		by_openat(fd, e->d_name, sub);
	}
	closedir(d);
}

static int by_nftw(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)type;
	(void)ftw;
	add(2, path, st);
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int walk(char *folder)
{
	char *argv[] = { folder, NULL };
	FTS *fts = fts_open(argv, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *e;

	by_openat(AT_FDCWD, folder, folder);
	while (fts && (e = fts_read(fts)))
		if (e->fts_info != FTS_DP)
			add(1, e->fts_path, e->fts_statp);
	nftw(folder, by_nftw, 20, FTW_PHYS);
	for (int w = 0; w < 3; w++)
		qsort(seen[w], (size_t)nseen[w], sizeof(char *), compare);
	for (int i = 0; i < nseen[0]; i++) {
		puts(seen[0][i]);
		for (int w = 1; w < 3; w++)
			if (i >= nseen[w] || strcmp(seen[0][i], seen[w][i]))
				printf("walker %d: %s\n", w, i < nseen[w] ? seen[w][i] : "nothing");
	}
	return nseen[0] != nseen[1] || nseen[0] != nseen[2];
}

static void says(const char *what, long ret)
{
	if (ret < 0)
		printf("%s: %s\n", what, strerrorname_np(errno));
	else
		printf("%s: %ld\n", what, ret);
}

/* A descriptor's number is nobody's business. */
static int opened(const char *what, int fd)
{
	says(what, fd < 0 ? fd : 0);
	return fd;
}

static void shows(const char *what, const struct stat *st, dev_t dev)
{
	printf("%s: mode %o uid %d gid %d links %d size %d blocks %d blksize %d%s\n", what,
	       st->st_mode, (int)st->st_uid, (int)st->st_gid, (int)st->st_nlink, (int)st->st_size,
	       (int)st->st_blocks, (int)st->st_blksize, st->st_dev == dev ? "" : ", elsewhere");
}

static void paths(const char *folder, int dir)
{
	static const char *const names[] = { "type",
					     "subsystem",
					     ".",
					     "..",
					     "nope",
					     "type/",
					     "type/.",
					     "subsystem/",
					     "power/../type",
					     "./power//control",
					     "" };
	struct open_how how = { .flags = O_RDONLY };
	struct stat st, sys;
	char text[256], path[512];
	struct statx x;

	stat("/sys", &sys);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *n = names[i];

		printf("%s\n", n);
		snprintf(path, sizeof(path), "%s/%s", folder, n);
		if (!fstatat(dir, n, &st, AT_SYMLINK_NOFOLLOW))
			shows(" lstat", &st, sys.st_dev);
		else
			says(" lstat", -1);
		if (!stat(path, &st))
			shows(" stat", &st, sys.st_dev);
		else
			says(" stat", -1);
		says(" statx", statx(dir, n, 0, STATX_BASIC_STATS, &x));
		says(" access r", access(path, R_OK));
		says(" faccessat x", faccessat(dir, n, X_OK, 0));
		memset(text, 0, sizeof(text));
		says(" readlink", readlink(path, text, 255));
		says(" readlinkat", readlinkat(dir, n, text, 5));
		printf(" %s\n", text);
		close(opened(" open", open(path, O_RDONLY)));
		close(opened(" openat", openat(dir, n, O_RDONLY)));
		close(opened(" nofollow", openat(dir, n, O_RDONLY | O_NOFOLLOW)));
		close(opened(" directory", openat(dir, n, O_RDONLY | O_DIRECTORY)));
		close(opened(" excl", openat(dir, n, O_RDONLY | O_CREAT | O_EXCL, 0600)));
		close(opened(" openat2", (int)syscall(SYS_openat2, dir, n, &how, sizeof(how))));
		says(" xattr", getxattr(path, "user.x", text, 1) > 0);
		says(" listxattr", listxattr(path, text, sizeof(text)));
	}
}

static void on_file(int dir)
{
	char a[4] = "", b[4] = "";
	struct iovec iov[2] = { { a, 1 }, { b, 3 } };
	struct statfs fs;
	struct stat st, again;
	int fd = opened("file", openat(dir, "type", O_RDONLY | O_CLOEXEC)), copy;
	char text[8], name[64], target[256];

	says("readv", readv(fd, iov, 2));
	printf("%s%s", a, b);
	says("read at end", read(fd, text, 8));
	says("pread", pread(fd, text, 8, 0));
	says("pread, later", pread(fd, text, 8, 1));
	says("lseek", lseek(fd, 0, SEEK_SET));
	copy = dup(fd);
	says("read of a copy", read(copy, text, 1));
	says("offset", lseek(fd, 0, SEEK_CUR));
	says("write", write(fd, "1", 1));
	says("pwrite", pwrite(fd, "1", 1, 0));
	says("ftruncate", ftruncate(fd, 0));
	says("mmap", mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	says("getdents", syscall(SYS_getdents64, fd, text, 8));
	says("fchdir", fchdir(fd));
	says("flags", fcntl(fd, F_GETFL));
	says("fd flags", fcntl(fd, F_GETFD));
	says("seals", fcntl(fd, 1034));
	says("fstatfs", fstatfs(fd, &fs));
	printf("type %lx, names of %ld\n", (long)fs.f_type, (long)fs.f_namelen);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	memset(target, 0, sizeof(target));
	says("link", readlink(name, target, 255));
	puts(target);
	says("fstat", fstat(fd, &st));
	shows("file", &st, st.st_dev);
	says("stat of the link", stat(name, &again));
	printf("same file: %d\n", st.st_ino == again.st_ino && st.st_dev == again.st_dev);
	close(copy);
	close(fd);
	says("read of a closed one", read(fd, text, 1));
	says("read of a folder", read(dir, text, 1));
	says("write to a folder", write(dir, text, 1));
}

/* An exec's and a fork's child have the descriptors. */
static void handed_on(const char *folder)
{
	char path[512], here[32];
	int fd, dir = open(folder, O_RDONLY | O_DIRECTORY);
	pid_t pid;

	snprintf(path, sizeof(path), "%s/type", folder);
	fd = open(path, O_RDONLY);
	snprintf(here, sizeof(here), "/proc/self/fd/%d", dir);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(fd, 0);
		execlp("sh", "sh", "-c", "cat; ls -1 $0/; readlink /proc/self/fd/0 $0", here, NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	close(fd);
	close(dir);
}

static int calls(const char *folder)
{
	int dir = opened("folder", open(folder, O_RDONLY | O_DIRECTORY));

	paths(folder, dir);
	on_file(dir);
	handed_on(folder);
	says("chdir", chdir(folder));
	close(opened("from there", open("type", O_RDONLY)));
	close(opened("above there", open("../system/cpu/online", O_RDONLY)));
	says("fchdir", fchdir(dir));
	close(opened("from there", open("./type", O_RDONLY)));
	says("chdir", chdir("/"));
	close(opened("from elsewhere", open("type", O_RDONLY)));
	return 0;
}

static int list(const char *folder)
{
	static char *names[MAX];
	static long places[MAX];
	DIR *d = opendir(folder);
	struct dirent *e;
	int n = 0, again = 0;

	if (!d)
		return perror(folder), 1;
	for (;;) {
		places[n] = telldir(d);
		e = readdir(d);
		if (!e || n == MAX - 1)
			break;
		names[n++] = strdup(e->d_name);
	}
	rewinddir(d);
	while ((e = readdir(d)))
		if (again >= n || strcmp(e->d_name, names[again++]))
			printf("again: %s\n", e->d_name);
	if (again != n)
		printf("again: %d of %d\n", again, n);
	for (int i = 0; i < n; i++) {
		seekdir(d, places[i]);
		e = readdir(d);
		if (!e || strcmp(e->d_name, names[i]))
			printf("at the place of %s: %s\n", names[i], e ? e->d_name : "nothing");
	}
	qsort(names, (size_t)n, sizeof(char *), compare);
	for (int i = 0; i < n; i++)
		puts(names[i]);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "walk"))
		return walk(argv[2]);
	return !strcmp(argv[1], "calls") ? calls(argv[2]) : list(argv[2]);
}
