/* SPDX-License-Identifier: MIT */
/*
 * Finding the program file, and judging it before it is executed.  Set-uid, set-gid and
 * file-capability programs would lose their privileges if they were traced, so it must be known
 * before the exec; 32-bit code is not what the engine translates.
 */
#include "linux/task/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "files/in.h"

#define DEFAULT_DIRS "/bin:/usr/bin"
#define SCRIPT_DEPTH 5 /* the kernel's own bound is the same */
#define HEAD_BYTES   256

static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return -EACCES;
	return 0;
}

int ap_program_find(const char *name, const char *dirs, char *path, size_t size)
{
	int ret = -ENOENT;

	if (strchr(name, '/') || !*name) {
		if ((size_t)snprintf(path, size, "%s", name) >= size)
			return -ENAMETOOLONG;
		return *name ? check_executable(name) : -ENOENT;
	}
	if (!dirs)
		dirs = DEFAULT_DIRS;
	for (;;) {
		int len = (int)strcspn(dirs, ":");
		size_t need =
			(size_t)snprintf(path, size, "%.*s%s%s", len, dirs, len ? "/" : "", name);
		int err = need < size ? check_executable(path) : -ENAMETOOLONG;

		if (!err)
			return 0;
		if (err == -EACCES)
			ret = err;
		if (!dirs[len])
			return ret;
		dirs += len + 1;
	}
}

const char *ap_program_remedy(const char *path, int err)
{
	struct stat st;

	/* only a script or a dynamic program that is there gets so far */
	if (err == -ENOENT && !stat(path, &st))
		return " (the interpreter that its first line or its ELF header names is missing)";
	if (err != -EACCES || stat(path, &st))
		return "";
	if (S_ISDIR(st.st_mode))
		return " (it is a directory)";
	if (S_ISREG(st.st_mode) && !(st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		return " (it is not executable: chmod +x makes it so)";
	return "";
}

/* The kernel gives nothing by an exec of this file, so it withholds nothing from a traced one. */
static bool gains_nothing(const char *path)
{
	struct statvfs fs;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return true;
	return !statvfs(path, &fs) && (fs.f_flag & ST_NOSUID);
}

/* Keep in step with privileges() in engine/task/exec.c, which judges every later exec. */
static const char *check_mode(const char *path)
{
	const char *why = NULL;
	struct stat st;
	char cap[64];

	if (stat(path, &st))
		return NULL;
	/* nobody may look into a process that runs what its user may not read */
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS))
		return "not readable";
	if ((st.st_mode & S_ISUID) && (st.st_uid != getuid() || st.st_uid != geteuid()))
		why = "set-uid";
	else if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		 (st.st_gid != getgid() || st.st_gid != getegid()))
		why = "set-gid";
	else if ((getuid() || geteuid()) &&
		 getxattr(path, "security.capability", cap, sizeof(cap)) > 0)
		why = "file capabilities";
	return why && !gains_nothing(path) ? why : NULL;
}

static size_t read_head(const char *path, char head[HEAD_BYTES + 1])
{
	int fd = ap_in_open(path, AP_IN_FILE);
	ssize_t got;

	head[0] = '\0';
	if (fd < 0)
		return 0;
	got = read(fd, head, HEAD_BYTES);
	close(fd);
	if (got < 0)
		got = 0;
	head[got] = '\0';
	return (size_t)got;
}

/* The interpreter that a "#!" line names; false when there is none. */
static bool parse_script(char *head, char *interp, size_t size)
{
	char *start = head + 2, *end;

	if (strncmp(head, "#!", 2) != 0)
		return false;
	start += strspn(start, " \t");
	end = start + strcspn(start, " \t\n");
	*end = '\0';
	return *start && (size_t)snprintf(interp, size, "%s", start) < size;
}

static const char *check_elf(const char *head, size_t len)
{
	Elf64_Ehdr eh;

	if (len < sizeof(eh) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return NULL;
	memcpy(&eh, head, sizeof(eh));
	if (eh.e_machine == EM_386 || (eh.e_machine == EM_X86_64 && head[EI_CLASS] == ELFCLASS32))
		return "32-bit program";
	return NULL;
}

const char *ap_program_why_not(const char *path)
{
	char current[PATH_MAX], interp[PATH_MAX], head[HEAD_BYTES + 1];

	if ((size_t)snprintf(current, sizeof(current), "%s", path) >= sizeof(current))
		return NULL;
	for (unsigned int depth = 0; depth < SCRIPT_DEPTH; depth++) {
		size_t len = read_head(current, head);

		if (!parse_script(head, interp, sizeof(interp)))
			return check_mode(current) ?: check_elf(head, len);
		memcpy(current, interp, sizeof(current));
	}
	return NULL;
}
