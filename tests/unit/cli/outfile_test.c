/* SPDX-License-Identifier: MIT */
/*
 * Files of -o: replaced whole, with their mode and through links, nothing left behind.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "cli/outfile.h"
#include "tap/tap.h"

static char folder[] = "/tmp/anyperf-outfile.XXXXXX";
static struct capture err;

static void enter_folder(void)
{
	REQUIRE(mkdtemp(folder) && !chdir(folder));
}

static unsigned int leave_folder(void)
{
	DIR *d = opendir(".");
	struct dirent *e;
	unsigned int n = 0;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		n++;
		remove(e->d_name);
	}
	if (d)
		closedir(d);
	(void)!chdir("/");
	rmdir(folder);
	return n;
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

static int put(const char *path, const char *text)
{
	int ret = ap_outfile_check(path, 0, capture_begin(&err));

	if (!ret)
		ret = ap_outfile_write(path, text, strlen(text), err.f);
	capture_end(&err);
	return ret;
}

static void a_new_file_has_the_umasks_mode(void)
{
	struct stat st;

	enter_folder();
	umask(027);
	EXPECT_U64(put("new", "text\n"), 0);
	EXPECT_STR(content("new"), "text\n");
	EXPECT(!stat("new", &st) && (st.st_mode & 07777) == 0640);
	EXPECT_U64(leave_folder(), 1);
}

static void an_old_file_is_replaced_and_keeps_its_mode(void)
{
	struct stat before, after;

	enter_folder();
	EXPECT_U64(put("old", "a long text\n"), 0);
	REQUIRE(!chmod("old", 0604) && !stat("old", &before));
	EXPECT_U64(put("old", "b\n"), 0);
	EXPECT_STR(content("old"), "b\n");
	EXPECT(!stat("old", &after) && (after.st_mode & 07777) == 0604);
	EXPECT(before.st_ino != after.st_ino);
	EXPECT_U64(leave_folder(), 1);
}

static void a_link_stays_a_link(void)
{
	struct stat st;

	enter_folder();
	EXPECT_U64(put("real", "a\n"), 0);
	REQUIRE(!symlink("real", "link"));
	EXPECT_U64(put("link", "b\n"), 0);
	EXPECT(!lstat("link", &st) && S_ISLNK(st.st_mode));
	EXPECT_STR(content("real"), "b\n");
	EXPECT_U64(leave_folder(), 2);
}

static void devices_are_written_through(void)
{
	struct stat st;

	EXPECT_U64(put("/dev/null", "x"), 0);
	EXPECT(!stat("/dev/null", &st) && S_ISCHR(st.st_mode));
}

static void what_cannot_be_written_is_said_before(void)
{
	EXPECT_U64(put("/nonexistent/file", "x"), -ENOENT);
	EXPECT_STR(err.text, "anyperf: cannot write output file /nonexistent/file: "
			     "No such file or directory\n");
	EXPECT_U64(put("/tmp", "x"), -EISDIR);
	enter_folder();
	EXPECT_U64(put("", "x"), -ENOENT);
	EXPECT_U64(leave_folder(), 0);
	/* access(2) says to root that it may */
	EXPECT(ap_outfile_check("/proc/anyperf", 0, capture_begin(&err)));
	EXPECT(strstr(capture_end(&err), "anyperf: cannot write output file /proc/anyperf: "));
}

static void a_check_leaves_nothing(void)
{
	enter_folder();
	EXPECT_U64(ap_outfile_check("new", 0, capture_begin(&err)), 0);
	EXPECT_STR(capture_end(&err), "");
	EXPECT_U64(leave_folder(), 0);
}

static void a_full_device_is_said(void)
{
	FILE *full = fopen("/dev/full", "w");

	REQUIRE(full);
	EXPECT_U64(ap_outfile_print(full, "x", 1, capture_begin(&err)), -ENOSPC);
	EXPECT_STR(capture_end(&err),
		   "anyperf: cannot write the report: No space left on device\n");
	fclose(full);
	EXPECT_U64(put("/dev/full", "x"), -ENOSPC);
	EXPECT_STR(err.text,
		   "anyperf: cannot write output file /dev/full: No space left on device\n");
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(a_new_file_has_the_umasks_mode),
						 TAP(an_old_file_is_replaced_and_keeps_its_mode),
						 TAP(a_link_stays_a_link),
						 TAP(devices_are_written_through),
						 TAP(what_cannot_be_written_is_said_before),
						 TAP(a_check_leaves_nothing),
						 TAP(a_full_device_is_said),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
