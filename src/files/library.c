/* SPDX-License-Identifier: MIT */
/*
 * The program is static, so that it starts fast and nothing is loaded into it by a variable (docs/design/startup.md).  glibc
 * can open shared libraries in a static program all the same, and loads a libc.so.6 for them.  That has to be of the glibc
 * that the program was linked with, as the two share data whose layout changes between releases.  So we look at
 * the system's first, and open nothing where it is another one.
 */
#include "files/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where distributions have it; the first that exists is the one that the loader takes. */
static const char *const folders[] = { "/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib",
				       "/lib" };

static bool is_static(void)
{
	return !getauxval(AT_BASE);
}

/* The library says which release it is in the text that it prints when it is executed. */
static bool is_release(const void *text, size_t size, const char *version)
{
	char want[64];
	int n = snprintf(want, sizeof(want), "release version %s.", version);

	return n > 0 && memmem(text, size, want, (size_t)n);
}

static bool is_our_libc(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *text = MAP_FAILED;
	struct stat st;
	bool is_ours;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (text == MAP_FAILED)
		return false;
	is_ours = is_release(text, (size_t)st.st_size, gnu_get_libc_version());
	munmap(text, (size_t)st.st_size);
	return is_ours;
}

static bool is_system_libc_ours(void)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/libc.so.6", folders[i]);
		if (!access(path, F_OK))
			return is_our_libc(path);
	}
	return false;
}

void *ap_library_open(const char *name)
{
	/* with a path for libraries nobody can say which libc.so.6 would be loaded */
	if (is_static() && (getenv("LD_LIBRARY_PATH") || !is_system_libc_ours()))
		return NULL;
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
