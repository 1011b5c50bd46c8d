/* SPDX-License-Identifier: MIT */
/*
 * A helper is run with our rights, so it is taken only from where nobody else can have put it.  That holds for all
 * users: for root it is a matter of the system, for others one of their files.
 */
#include "files/helper.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nobody but root and the user can have changed what the path leads to: neither the file nor a folder above it. */
static bool is_ours(const char *real)
{
	char path[PATH_MAX];
	struct stat st;
	char *slash;

	snprintf(path, sizeof(path), "%s", real);
	for (;;) {
		if (stat(path[0] ? path : "/", &st))
			return false;
		if (st.st_uid && st.st_uid != geteuid())
			return false;
		if (st.st_mode & (S_IWGRP | S_IWOTH) &&
		    !(S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX))
			return false;
		slash = strrchr(path, '/');
		if (!slash)
			return true;
		*slash = 0;
	}
}

/* A folder of PATH: absolute (the working folder may be anybody's), and no one else's. */
static bool find_in(const char *dir, size_t len, const char *helper, char *path, size_t size)
{
	char name[PATH_MAX], real[PATH_MAX];
	struct stat st;

	if (!len || dir[0] != '/' ||
	    (size_t)snprintf(name, sizeof(name), "%.*s", (int)len, dir) >= sizeof(name))
		return false;
	/* a sticky folder is no good by itself: what else is in it is not looked at, but links to it are */
	if (!realpath(name, real) || !is_ours(real) || stat(real, &st) ||
	    st.st_mode & (S_IWGRP | S_IWOTH))
		return false;
	if ((size_t)snprintf(name, sizeof(name), "%s/%s", real, helper) >= sizeof(name) ||
	    !realpath(name, real) || !is_ours(real) || stat(real, &st) || !S_ISREG(st.st_mode) ||
	    faccessat(AT_FDCWD, real, X_OK, AT_EACCESS))
		return false;
	return (size_t)snprintf(path, size, "%s", real) < size;
}

bool ap_helper_find(const char *name, char *path, size_t size)
{
	const char *dirs = secure_getenv("PATH");
	size_t len;

	for (dirs = dirs ? dirs : "/usr/bin:/bin"; *dirs; dirs += len + !!dirs[len]) {
		len = strcspn(dirs, ":");
		if (find_in(dirs, len, name, path, size))
			return true;
	}
	return false;
}

const char *ap_folder_of_variable(const char *name, const char *otherwise)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : otherwise;
}
