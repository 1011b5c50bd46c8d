/* SPDX-License-Identifier: MIT */
/*
 * Which file a name means, and which files cannot be followed.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "linux/task/program.h"
#include "tap/tap.h"

static char dir[] = "/tmp/ap-program-XXXXXX";

static void put(const char *name, const void *text, size_t size, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, text, size) == (ssize_t)size);
	REQUIRE(fchmod(fd, mode) == 0);
	close(fd);
}

static void put_elf(const char *name, unsigned char class, unsigned int machine, mode_t mode)
{
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', class },
			  .e_machine = (Elf64_Half)machine };

	put(name, &eh, sizeof(eh), mode);
}

/* a/tool is executable, b/tool is not, c/tool is a directory; scripts and programs of all kinds. */
static void make_files(void)
{
	static const char script[] = "#!/bin/sh -e\n", loop[] = "#!./loop\n",
			  nested[] = "#! ./suid x\n";

	REQUIRE(mkdtemp(dir) && !chdir(dir));
	REQUIRE(!mkdir("a", 0755) && !mkdir("b", 0755) && !mkdir("c", 0755) &&
		!mkdir("c/tool", 0755));
	put("a/tool", script, sizeof(script) - 1, 0755);
	put("b/tool", script, sizeof(script) - 1, 0644);
	put("script", script, sizeof(script) - 1, 04755);
	put("loop", loop, sizeof(loop) - 1, 0755);
	put("nested", nested, sizeof(nested) - 1, 0755);
	put_elf("suid", ELFCLASS64, EM_X86_64, 04755);
	put_elf("sgid", ELFCLASS64, EM_X86_64, 02755);
	put_elf("locked", ELFCLASS64, EM_X86_64, 02644);
	put_elf("plain", ELFCLASS64, EM_X86_64, 0755);
	put_elf("i386", ELFCLASS32, EM_386, 0755);
	put_elf("x32", ELFCLASS32, EM_X86_64, 0755);
}

static void remove_files(void)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	REQUIRE(system(cmd) == 0);
}

static void finds_the_first_executable_in_path(void)
{
	char path[PATH_MAX];

	make_files();
	EXPECT_U64(ap_program_find("tool", "b:c:a", path, sizeof(path)), 0);
	EXPECT_STR(path, "a/tool");
	EXPECT(ap_program_find("tool", "b:c", path, sizeof(path)) == -EACCES);
	EXPECT(ap_program_find("tool", "nowhere", path, sizeof(path)) == -ENOENT);
	EXPECT(ap_program_find("", "a", path, sizeof(path)) == -ENOENT);
	remove_files();
}

static void an_empty_part_is_the_current_directory(void)
{
	char path[PATH_MAX];

	make_files();
	EXPECT_U64(ap_program_find("plain", "nowhere:", path, sizeof(path)), 0);
	EXPECT_STR(path, "plain");
	EXPECT_U64(ap_program_find("plain", "", path, sizeof(path)), 0);
	EXPECT_U64(ap_program_find("plain", ":nowhere", path, sizeof(path)), 0);
	EXPECT(ap_program_find("plain", "nowhere:a", path, sizeof(path)) == -ENOENT);
	remove_files();
}

static void a_slash_is_taken_as_it_stands(void)
{
	char path[PATH_MAX], small[4];

	make_files();
	EXPECT_U64(ap_program_find("./a/../a/tool", "b", path, sizeof(path)), 0);
	EXPECT_STR(path, "./a/../a/tool");
	EXPECT(ap_program_find("b/tool", "a", path, sizeof(path)) == -EACCES);
	EXPECT(ap_program_find("c/tool", "a", path, sizeof(path)) == -EACCES);
	EXPECT(ap_program_find("./none", "a", path, sizeof(path)) == -ENOENT);
	EXPECT(ap_program_find("a/tool", "a", small, sizeof(small)) == -ENAMETOOLONG);
	EXPECT(ap_program_find("tool", "a", small, sizeof(small)) < 0);
	remove_files();
}

static void check_reasons(const char *suid, const char *sgid)
{
	const struct {
		const char *path, *why;
	} rows[] = {
		{ "plain", "" },
		{ "suid", suid },
		{ "sgid", sgid },
		{ "locked", "" },
		{ "i386", "32-bit program" },
		{ "x32", "32-bit program" },
		{ "nested", suid },
		{ "script", "" },
		{ "loop", "" },
		{ "missing", "" },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!EXPECT_STR(ap_program_why_not(rows[i].path) ?: "", rows[i].why))
			tap_note("file %s", rows[i].path);
	}
}

static void names_why_a_program_cannot_be_followed(void)
{
	struct statvfs fs;

	make_files();
	/* what is our own already gives us nothing */
	check_reasons("", "");
	if (chown("suid", 12345, 12345) || chown("sgid", 12345, 12345)) {
		remove_files();
		tap_lack("only root can give files away");
	}
	REQUIRE(!chmod("suid", 04755) && !chmod("sgid", 02755) && !statvfs(".", &fs));
	if (fs.f_flag & ST_NOSUID)
		check_reasons("", "");
	else
		check_reasons("set-uid", "set-gid");
	REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	check_reasons("", "");
	remove_files();
}

static void tells_what_is_the_matter(void)
{
	make_files();
	EXPECT_STR(ap_program_remedy("b/tool", -EACCES),
		   " (it is not executable: chmod +x makes it so)");
	EXPECT_STR(ap_program_remedy("c/tool", -EACCES), " (it is a directory)");
	EXPECT_STR(ap_program_remedy("a/tool", -EACCES), "");
	EXPECT_STR(ap_program_remedy("a/tool", -ENOENT),
		   " (the interpreter that its first line or its ELF header names is missing)");
	EXPECT_STR(ap_program_remedy("a/none", -ENOENT), "");
	EXPECT_STR(ap_program_remedy("a/none", -EACCES), "");
	remove_files();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(finds_the_first_executable_in_path),
						 TAP(an_empty_part_is_the_current_directory),
						 TAP(a_slash_is_taken_as_it_stands),
						 TAP(names_why_a_program_cannot_be_followed),
						 TAP(tells_what_is_the_matter),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
