/* SPDX-License-Identifier: MIT */
/*
 * A walk by hand, because whoever resolves a name by realpath(3) and then opens what that gave has taken every link
 * before the kernel could refuse one.  Each step is judged by the descriptor that it led to.  The rule is the kernel's
 * (fs.protected_symlinks), which holds for the last name, and here for all: a link in a sticky folder that others may write is
 * followed if it is ours or the folder's owner's.  It holds here whatever the kernel is set to.
 */
#include "files/leaf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "files/error.h"

#define LINKS_MAX  40 /* as the kernel's */
#define PROC_MAGIC 0x9fa0

bool ap_folder_is_shared(const struct stat *dir)
{
	return dir->st_mode & S_ISVTX && dir->st_mode & (S_IWGRP | S_IWOTH);
}

bool ap_leaf_is_strangers(const struct ap_leaf *p)
{
	return ap_folder_is_shared(&p->dir_st) && !p->is_magic && p->st.st_uid != geteuid() &&
	       p->st.st_uid != p->dir_st.st_uid;
}

void ap_leaf_close(struct ap_leaf *p)
{
	if (p->dir >= 0)
		close(p->dir);
	p->dir = -1;
}

/* The walk: what is still to be walked is owned. */
struct leaf_walk {
	struct ap_leaf *p;
	char *rest;
	unsigned int nlinks;
	bool keep_link;
};

/* Takes the descriptor over. */
static int enter(struct ap_leaf *p, int dir)
{
	if (dir < 0)
		return -errno;
	ap_leaf_close(p);
	p->dir = dir;
	return fstat(dir, &p->dir_st) ? -errno : 0;
}

/* Cuts the next name off.  1, 0 where there is none, or -errno; *is_folder: slashes follow it. */
static int next(struct leaf_walk *w, bool *is_last, bool *is_folder)
{
	char *start = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(start, "/");
	char *behind = start + len;

	if (!len)
		return 0;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(w->p->name, start, len);
	w->p->name[len] = '\0';
	*is_folder = *behind;
	*is_last = !behind[strspn(behind, "/")];
	memmove(w->rest, behind, strlen(behind) + 1);
	return 1;
}

static int follow(struct leaf_walk *w, int link)
{
	char target[PATH_MAX], *all;
	ssize_t n;

	if (ap_folder_is_shared(&w->p->dir_st) && w->p->st.st_uid != geteuid() &&
	    w->p->st.st_uid != w->p->dir_st.st_uid)
		return -AP_FILE_LINK;
	if (++w->nlinks > LINKS_MAX)
		return -ELOOP;
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	all = malloc((size_t)n + strlen(w->rest) + 2);
	if (!all)
		return -ENOMEM;
	memcpy(all, target, (size_t)n);
	all[n] = '/';
	strcpy(all + n + !!*w->rest, w->rest);
	if (!*w->rest)
		all[n] = '\0';
	free(w->rest);
	w->rest = all;
	return target[0] == '/' ? enter(w->p, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) : 0;
}

static bool is_of_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_MAGIC;
}

/* One name, which fd is of (O_PATH).  1: it is the leaf. */
static int step(struct leaf_walk *w, int fd, bool is_last, bool is_folder)
{
	struct ap_leaf *p = w->p;
	bool is_link;

	if (fstat(fd, &p->st))
		return -errno;
	is_link = S_ISLNK(p->st.st_mode);
	if (is_last && !is_folder && (!is_link || w->keep_link)) {
		p->exists = true;
		return 1;
	}
	if (is_link && !is_of_proc(fd))
		return follow(w, fd);
	if (is_link && is_last && !is_folder) {
		p->exists = p->is_magic = true;
		return fstatat(p->dir, p->name, &p->st, 0) ? -errno : 1;
	}
	/* a link that has taken its name meanwhile was not judged; only one of /proc is left to the kernel */
	return enter(p, openat(p->dir, p->name,
			       O_PATH | O_DIRECTORY | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW)));
}

static int walk(struct leaf_walk *w)
{
	struct ap_leaf *p = w->p;
	bool is_last, is_folder;
	int fd, ret = 0;

	while (!ret) {
		ret = next(w, &is_last, &is_folder);
		if (ret <= 0)
			return ret ? ret : -EISDIR;
		if (!strcmp(p->name, ".") || !strcmp(p->name, "..")) {
			ret = enter(p, openat(p->dir, p->name, O_PATH | O_DIRECTORY | O_CLOEXEC));
			continue;
		}
		fd = openat(p->dir, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return errno == ENOENT && is_last && !is_folder ? 1 : -errno;
		ret = step(w, fd, is_last, is_folder);
		close(fd);
	}
	return ret;
}

static int find(struct ap_leaf *p, const char *path, bool keep_link)
{
	struct leaf_walk w = { .p = p, .rest = strdup(path), .keep_link = keep_link };
	int ret = w.rest ? 0 : -ENOMEM;

	*p = (struct ap_leaf){ .dir = -1 };
	if (!ret && !*path)
		ret = -ENOENT;
	if (!ret)
		ret = enter(p, open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (!ret)
		ret = walk(&w);
	free(w.rest);
	if (ret > 0)
		return 0;
	ap_leaf_close(p);
	return ret;
}

/* A descriptor's file under its own name: the kernel tells it, but may have had to make one up, and names move. */
static void name_magic(struct ap_leaf *p)
{
	struct ap_leaf named;
	char path[PATH_MAX];
	ssize_t n = readlinkat(p->dir, p->name, path, sizeof(path) - 1);

	if (n < 0)
		return;
	path[n] = '\0';
	if (find(&named, path, true))
		return;
	if (named.exists && named.st.st_dev == p->st.st_dev && named.st.st_ino == p->st.st_ino) {
		ap_leaf_close(p);
		*p = named;
	} else {
		ap_leaf_close(&named);
	}
}

int ap_leaf_find(struct ap_leaf *p, const char *path, bool keep_link)
{
	int ret = find(p, path, keep_link);

	if (!ret && p->is_magic && S_ISREG(p->st.st_mode))
		name_magic(p);
	return ret;
}
