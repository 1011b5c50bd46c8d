/* SPDX-License-Identifier: MIT */
/*
 * Where paths lead, what becomes of a file that is written, and which files are read.  tests/e2e/files.sh has the same by the
 * commands, with other users; here is what those cannot time: folders and files that are exchanged between two steps.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/error.h"
#include "files/helper.h"
#include "files/in.h"
#include "files/leaf.h"
#include "files/out.h"
#include "tap/tap.h"

static char folder[] = "/tmp/anyperf-files.XXXXXX";

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	REQUIRE(f);
	fputs(text, f);
	fclose(f);
}

static const char *content(const char *path)
{
	static char text[100];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = 0;
	if (f)
		fclose(f);
	return text;
}

/* Each case has a folder of its own, and is in it. */
static void begin(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	REQUIRE(mkdtemp(folder) && !chdir(folder));
}

static void end(void)
{
	char command[80];

	REQUIRE(!chdir("/"));
	snprintf(command, sizeof(command), "/bin/rm -r '%s'", folder);
	EXPECT(!system(command));
}

/* The name in the last folder, whose inode must be that of in; or the error, as text. */
static const char *leads(const char *path, const char *in)
{
	static char text[NAME_MAX + 1];
	struct ap_leaf leaf;
	struct stat st;
	int ret = ap_leaf_find(&leaf, path, false);

	if (ret)
		return ap_file_error(ret);
	EXPECT(!stat(in, &st) && st.st_ino == leaf.dir_st.st_ino &&
	       st.st_dev == leaf.dir_st.st_dev);
	snprintf(text, sizeof(text), "%s", leaf.name);
	ap_leaf_close(&leaf);
	return text;
}

static void paths_lead_where_the_kernel_says(void)
{
	char path[PATH_MAX];

	begin();
	REQUIRE(!mkdir("a", 0700) && !mkdir("a/b", 0700));
	put("a/file", "x");
	REQUIRE(!symlink("a/file", "link") && !symlink("link", "twice") && !symlink("a", "dir") &&
		!symlink("../file", "a/b/up") && !symlink("nothing", "dangling") &&
		!symlink("loop", "loop") && !symlink("dir/", "slash"));
	EXPECT_STR(leads("new", "."), "new");
	EXPECT_STR(leads("./a//b/../file", "a"), "file");
	EXPECT_STR(leads("link", "a"), "file");
	EXPECT_STR(leads("twice", "a"), "file");
	EXPECT_STR(leads("dir/file", "a"), "file");
	EXPECT_STR(leads("dir/b/up", "a"), "file");
	EXPECT_STR(leads("dangling", "."), "nothing");
	EXPECT_STR(leads("slash/new", "a"), "new");
	snprintf(path, sizeof(path), "%s/dir/new", folder);
	EXPECT_STR(leads(path, "a"), "new");
	EXPECT_STR(leads("/proc/self/cwd/a/file", "a"), "file");
	EXPECT_STR(leads("loop", "."), strerror(ELOOP));
	EXPECT_STR(leads("", "."), strerror(ENOENT));
	EXPECT_STR(leads("none/new", "."), strerror(ENOENT));
	EXPECT_STR(leads("a/file/new", "."), strerror(ENOTDIR));
	EXPECT_STR(leads("a/file/", "."), strerror(ENOTDIR));
	EXPECT_STR(leads("new/", "."), strerror(ENOENT));
	EXPECT_STR(leads("a/", "."), strerror(EISDIR));
	EXPECT_STR(leads("slash", "."), strerror(EISDIR));
	EXPECT_STR(leads("/", "."), strerror(EISDIR));
	EXPECT_STR(leads("..", "."), strerror(EISDIR));
	memset(path, 'n', NAME_MAX + 1);
	path[NAME_MAX + 1] = '\0';
	EXPECT_STR(leads(path, "."), strerror(ENAMETOOLONG));
	path[NAME_MAX] = '\0';
	EXPECT_STR(leads(path, "."), path);
	end();
}

/* A descriptor's name is taken as its file's, where that has one still. */
static void names_of_descriptors(void)
{
	struct ap_leaf leaf;
	char path[40];
	int fd;

	begin();
	put("file", "x");
	fd = open("file", O_RDONLY);
	REQUIRE(fd >= 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	EXPECT_STR(leads(path, "."), "file");
	unlink("file");
	put("file", "another");
	REQUIRE(!ap_leaf_find(&leaf, path, false));
	EXPECT(leaf.is_magic && leaf.exists && S_ISREG(leaf.st.st_mode) && leaf.st.st_size == 1);
	ap_leaf_close(&leaf);
	close(fd);
	end();
}

static void what_is_renamed_meanwhile_aims_nothing(void)
{
	struct ap_out out;

	begin();
	REQUIRE(!mkdir("good", 0700) && !mkdir("bad", 0700));
	put("bad/name", "bad");
	REQUIRE(!ap_out_begin(&out, "good/name", 0));
	/* the folder is another one now, */
	REQUIRE(!rename("good", "moved") && !symlink("bad", "good"));
	REQUIRE(!ap_out_open(&out));
	EXPECT(write(out.fd, "new", 3) == 3);
	/* and its name a link */
	REQUIRE(!symlink("../bad/name", "moved/name"));
	EXPECT_U64(-ap_out_commit(&out), 0);
	ap_out_end(&out);
	EXPECT_STR(content("moved/name"), "new");
	EXPECT_STR(content("bad/name"), "bad");

	/* one that is written straight, or added to, has to be the one that was judged */
	put("log", "old");
	REQUIRE(!ap_out_begin(&out, "log", AP_OUT_APPEND));
	REQUIRE(!unlink("log") && !symlink("bad/name", "log"));
	EXPECT_U64(-ap_out_open(&out), ELOOP);
	ap_out_end(&out);
	put("log2", "old");
	REQUIRE(!ap_out_begin(&out, "log2", AP_OUT_APPEND));
	put("log3", "other");
	REQUIRE(!rename("log3", "log2"));
	EXPECT(!ap_out_open(&out)); /* nobody but us can have done it */
	ap_out_end(&out);
	REQUIRE(!chmod(".", 01777) && !ap_out_begin(&out, "log2", AP_OUT_APPEND));
	put("log3", "other");
	REQUIRE(!rename("log3", "log2"));
	EXPECT_U64(-ap_out_open(&out), AP_FILE_CHANGED);
	ap_out_end(&out);
	REQUIRE(!ap_out_begin(&out, "log4", AP_OUT_APPEND));
	REQUIRE(!symlink("bad/name", "log4"));
	EXPECT_U64(-ap_out_open(&out), EEXIST);
	ap_out_end(&out);
	EXPECT_STR(content("bad/name"), "bad");
	end();
}

static void a_file_that_is_not_committed_was_never_there(void)
{
	struct ap_out out;
	bool was_one;

	begin();
	put("name", "old");
	REQUIRE(!ap_out_begin(&out, "name", 0) && !ap_out_open(&out));
	EXPECT(!access(out.temp, F_OK));
	ap_out_end(&out);
	EXPECT_STR(content("name"), "old");
	EXPECT(access(out.temp, F_OK));
	REQUIRE(!ap_out_begin(&out, "name", AP_OUT_PRIVATE) && !ap_out_open(&out));
	EXPECT(!ap_out_keep_old(&out, &was_one) && was_one);
	EXPECT(!ap_out_show(&out) && write(out.fd, "grows", 5) == 5);
	ap_out_end(&out);
	EXPECT_STR(content("name"), "grows");
	EXPECT_STR(content("name.old"), "old");
	end();
}

static void a_new_file_gets_a_name_that_nothing_has(void)
{
	struct ap_out out;
	char name[40];

	begin();
	put("save", "one");
	REQUIRE(!symlink("nothing", "save.1"));
	REQUIRE(!ap_out_begin(&out, "save", AP_OUT_NEW) && !ap_out_open(&out));
	EXPECT(write(out.fd, "two", 3) == 3);
	EXPECT(!ap_out_commit_new(&out, name, sizeof(name)));
	ap_out_end(&out);
	EXPECT_STR(name, "save.2");
	EXPECT_STR(content("save.2"), "two");
	EXPECT_STR(content("save"), "one");
	EXPECT(access("nothing", F_OK));
	end();
}

static const char *reads(const char *path, unsigned int flags)
{
	int fd = ap_in_open(path, flags);

	if (fd < 0)
		return ap_file_error(fd);
	EXPECT(!(fcntl(fd, F_GETFL) & O_NONBLOCK) && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	close(fd);
	return "";
}

static void what_is_read(void)
{
	int fd[2];
	char path[40];

	begin();
	put("file", "x");
	REQUIRE(!mkfifo("fifo", 0600) && !pipe(fd));
	snprintf(path, sizeof(path), "/dev/fd/%d", fd[0]);
	EXPECT_STR(reads("file", 0), "");
	EXPECT_STR(reads("file", AP_IN_FILE | AP_IN_OURS), "");
	EXPECT_STR(reads("fifo", 0), ap_file_error(AP_FILE_FIFO));
	EXPECT_STR(reads("fifo", AP_IN_FILE), ap_file_error(AP_FILE_DEVICE));
	EXPECT_STR(reads("/dev/zero", 0), ap_file_error(AP_FILE_DEVICE));
	EXPECT_STR(reads("/dev/zero", AP_IN_FORCE), "");
	EXPECT_STR(reads("/dev/null", 0), "");
	EXPECT_STR(reads("/dev/null", AP_IN_FILE), ap_file_error(AP_FILE_DEVICE));
	EXPECT_STR(reads(".", 0), strerror(EISDIR));
	EXPECT_STR(reads(".", AP_IN_FOLDER), "");
	EXPECT_STR(reads("none", 0), strerror(ENOENT));
	EXPECT_STR(reads(path, 0), "");
	EXPECT_STR(reads(path, AP_IN_FILE), ap_file_error(AP_FILE_DEVICE));
	EXPECT_U64(-ap_kernel_open("file", O_RDONLY), EINVAL);
	EXPECT(ap_kernel_open("/proc/self/stat", O_RDONLY) >= 0);
	EXPECT_U64(-ap_in_fifo("file"), AP_FILE_NO_FIFO);
	EXPECT_U64(-ap_in_fifo("none"), ENOENT);
	EXPECT(ap_in_fifo("fifo") >= 0);
	close(fd[0]);
	close(fd[1]);
	end();
}

static void temporary_files_are_ours(void)
{
	struct stat st, dir;
	int fd;

	begin();
	REQUIRE(!mkdir("tmp", 0700) && !setenv("TMPDIR", "tmp", 1) && !stat("tmp", &dir));
	fd = ap_out_temporary("name");
	REQUIRE(fd >= 0);
	EXPECT(!fstat(fd, &st) && (st.st_mode & 07777) == 0600 && st.st_dev == dir.st_dev);
	EXPECT_U64(st.st_nlink, 0);
	EXPECT(!rmdir("tmp") && !mkdir("tmp", 0700));
	close(fd);
	REQUIRE(!chmod("tmp", 0777));
	EXPECT_U64(-ap_out_temporary("name"), AP_FILE_FOLDER);
	REQUIRE(!chmod("tmp", 01777));
	fd = ap_out_temporary("name");
	EXPECT(fd >= 0);
	close(fd);
	if (!geteuid()) {
		/* an owner can rename what is there, sticky or not */
		REQUIRE(!chown("tmp", 65534, 65534));
		EXPECT_U64(-ap_out_temporary("name"), AP_FILE_FOLDER);
		REQUIRE(!chmod("tmp", 0755));
		EXPECT_U64(-ap_out_temporary("name"), AP_FILE_FOLDER);
	}
	unsetenv("TMPDIR");
	end();
}

static void helpers_are_found_where_nobody_else_writes(void)
{
	char path[PATH_MAX], want[PATH_MAX], dirs[PATH_MAX];

	begin();
	REQUIRE(!mkdir("bin", 0755));
	put("bin/helper", "#!/bin/sh\n");
	REQUIRE(!setenv("PATH", "bin:.", 1) && !chmod("bin/helper", 0755));
	EXPECT(!ap_helper_find("helper", path, sizeof(path)));
	snprintf(dirs, sizeof(dirs), "/nonexistent::%s/bin", folder);
	REQUIRE(!setenv("PATH", dirs, 1) && realpath("bin/helper", want));
	EXPECT(ap_helper_find("helper", path, sizeof(path)));
	EXPECT_STR(path, want);
	REQUIRE(!chmod("bin/helper", 0644));
	EXPECT(!ap_helper_find("helper", path, sizeof(path)));
	REQUIRE(!chmod("bin/helper", 0775));
	EXPECT(!ap_helper_find("helper", path, sizeof(path)));
	REQUIRE(!chmod("bin/helper", 0755) && !chmod("bin", 0777));
	EXPECT(!ap_helper_find("helper", path, sizeof(path)));
	end();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(paths_lead_where_the_kernel_says),
						 TAP(names_of_descriptors),
						 TAP(what_is_renamed_meanwhile_aims_nothing),
						 TAP(a_file_that_is_not_committed_was_never_there),
						 TAP(a_new_file_gets_a_name_that_nothing_has),
						 TAP(what_is_read),
						 TAP(temporary_files_are_ours),
						 TAP(helpers_are_found_where_nobody_else_writes),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
