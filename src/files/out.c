/* SPDX-License-Identifier: MIT */
/*
 * A new file lies in the folder of its name from the beginning, because rename(2) does not cross file systems.  Its
 * temporary name is made with O_EXCL, so that it is never a file or a link that somebody else had there before.
 */
#include "files/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "files/error.h"
#include "files/helper.h"

#define TRIES	   1000
#define RANDOM_LEN 6

/*
 * Written to, a hard link changes a file that lies elsewhere, and may be root's.  Whose the folder is does not matter:
 * anybody can have put the link there.
 */
static bool is_strangers_link(const struct ap_leaf *leaf)
{
	return ap_folder_is_shared(&leaf->dir_st) && !leaf->is_magic && S_ISREG(leaf->st.st_mode) &&
	       leaf->st.st_nlink > 1;
}

/* Our own standard output or error, where that is a regular file: written on where it ends, not replaced. */
static int standard_fd(const struct stat *st)
{
	struct stat own;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (S_ISREG(st->st_mode) && !fstat(fd, &own) && own.st_dev == st->st_dev &&
		    own.st_ino == st->st_ino)
			return fd;
	return -1;
}

/* In a sticky folder the kernel lets only root, the file's owner and the folder's rename or replace a file. */
static bool is_held(const struct ap_leaf *leaf, const struct stat *st)
{
	return leaf->dir_st.st_mode & S_ISVTX && geteuid() && st->st_uid != geteuid() &&
	       leaf->dir_st.st_uid != geteuid();
}

/* So that a command is not begun whose profile gets no name at its first flush. */
static int judge_old(const struct ap_out *out)
{
	char old[NAME_MAX + 1];
	struct stat st;

	if ((size_t)snprintf(old, sizeof(old), "%s.old", out->leaf.name) >= sizeof(old))
		return -ENAMETOOLONG;
	if (fstatat(out->leaf.dir, old, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	return S_ISDIR(st.st_mode) || is_held(&out->leaf, &st) ? -AP_FILE_OLD : 0;
}

static int judge(struct ap_out *out)
{
	const struct ap_leaf *leaf = &out->leaf;

	if (!leaf->exists || out->flags & AP_OUT_NEW)
		return 0;
	if (S_ISDIR(leaf->st.st_mode))
		return -EISDIR;
	if (S_ISSOCK(leaf->st.st_mode))
		return -ENXIO;
	out->is_straight = leaf->is_magic || !S_ISREG(leaf->st.st_mode) ||
			   (!(out->flags & AP_OUT_PRIVATE) && standard_fd(&leaf->st) >= 0);
	if ((S_ISREG(leaf->st.st_mode) || S_ISFIFO(leaf->st.st_mode)) && ap_leaf_is_strangers(leaf))
		return -AP_FILE_STRANGER;
	if ((out->is_straight || out->flags & AP_OUT_APPEND) && is_strangers_link(leaf))
		return -AP_FILE_STRANGER;
	if (out->is_straight || out->flags & AP_OUT_APPEND)
		return 0;
	if (is_held(leaf, &leaf->st))
		return -AP_FILE_STRANGER;
	return out->flags & AP_OUT_KEEP && leaf->st.st_size ? judge_old(out) : 0;
}

int ap_out_begin(struct ap_out *out, const char *path, unsigned int flags)
{
	int ret;

	*out = (struct ap_out){ .leaf.dir = -1, .fd = -1, .flags = flags };
	ret = ap_leaf_find(&out->leaf, path, flags & AP_OUT_NEW);
	if (!ret)
		ret = judge(out);
	if (ret)
		ap_out_end(out);
	return ret;
}

/* --- opening */

static bool random_name(char *to)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	unsigned char bytes[RANDOM_LEN];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return false;
	for (unsigned int i = 0; i < RANDOM_LEN; i++)
		to[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	to[RANDOM_LEN] = '\0';
	return true;
}

static int make_temp(struct ap_out *out)
{
	char suffix[RANDOM_LEN + 1];

	for (unsigned int i = 0; i < TRIES; i++) {
		if (!random_name(suffix))
			return -errno;
		/* a name that is as long as one may be is cut */
		snprintf(out->temp, sizeof(out->temp), "%.*s.%s", NAME_MAX - RANDOM_LEN - 1,
			 out->leaf.name, suffix);
		out->fd =
			openat(out->leaf.dir, out->temp,
			       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
		if (out->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	out->temp[0] = '\0';
	return -errno;
}

static mode_t umasked(mode_t mode)
{
	mode_t mask = umask(0);

	umask(mask);
	return mode & ~mask;
}

/*
 * What was opened is what was judged.  In a folder of nobody else's only its kind is looked at: a file of an overlay has another
 * number once it has been written to.
 */
static bool is_judged(const struct ap_leaf *leaf, const struct stat *st)
{
	if ((st->st_mode & S_IFMT) != (leaf->st.st_mode & S_IFMT))
		return false;
	return !ap_folder_is_shared(&leaf->dir_st) ||
	       (st->st_dev == leaf->st.st_dev && st->st_ino == leaf->st.st_ino);
}

static int open_found(struct ap_out *out, int how)
{
	struct ap_leaf *leaf = &out->leaf;
	struct stat st;

	out->fd = openat(leaf->dir, leaf->name,
			 how | (leaf->is_magic ? 0 : O_NOFOLLOW) | O_CLOEXEC | O_NOCTTY);
	if (out->fd < 0 || fstat(out->fd, &st))
		return -errno;
	return is_judged(leaf, &st) ? 0 : -AP_FILE_CHANGED;
}

static int open_straight(struct ap_out *out)
{
	int standard = standard_fd(&out->leaf.st);
	int how = S_ISREG(out->leaf.st.st_mode) && !(out->flags & AP_OUT_APPEND) ? O_TRUNC : 0;

	if (standard < 0)
		return open_found(out,
				  O_WRONLY | how | (out->flags & AP_OUT_APPEND ? O_APPEND : 0));
	out->fd = fcntl(standard, F_DUPFD_CLOEXEC, 3);
	return out->fd < 0 ? -errno : 0;
}

static int open_end(struct ap_out *out)
{
	mode_t mode = out->flags & AP_OUT_PRIVATE ? 0600 : 0666;

	if (out->leaf.exists)
		return open_found(out, O_WRONLY | O_APPEND);
	out->fd = openat(out->leaf.dir, out->leaf.name,
			 O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
			 mode);
	return out->fd < 0 ? -errno : 0;
}

int ap_out_open(struct ap_out *out)
{
	if (out->is_straight)
		return open_straight(out);
	if (out->flags & AP_OUT_APPEND)
		return open_end(out);
	return make_temp(out);
}

/* --- the end */

int ap_out_keep_old(struct ap_out *out, bool *was_one)
{
	char old[NAME_MAX + 1];

	*was_one = false;
	if (out->is_straight || out->flags & (AP_OUT_APPEND | AP_OUT_NEW))
		return 0;
	if ((size_t)snprintf(old, sizeof(old), "%s.old", out->leaf.name) >= sizeof(old))
		return -ENAMETOOLONG;
	if (renameat(out->leaf.dir, out->leaf.name, out->leaf.dir, old))
		return errno == ENOENT ? 0 : -errno;
	*was_one = true;
	return 0;
}

/*
 * A file of ours keeps its mode; another's, which may let others write, says nothing about ours, and no more does a
 * link that another user can have chosen.
 */
static mode_t wanted_mode(const struct ap_out *out)
{
	const struct ap_leaf *leaf = &out->leaf;

	if (out->flags & AP_OUT_PRIVATE)
		return umasked(0600);
	if (leaf->exists && !(out->flags & AP_OUT_NEW) && leaf->st.st_uid == geteuid() &&
	    !is_strangers_link(leaf))
		return leaf->st.st_mode & 0777;
	return umasked(0666);
}

/* A disk that is full may say so only now. */
static int close_fd(struct ap_out *out)
{
	int fd = out->fd;

	out->fd = -1;
	return fd >= 0 && close(fd) ? -errno : 0;
}

static int give_name(struct ap_out *out)
{
	if (!out->temp[0])
		return 0;
	if (renameat(out->leaf.dir, out->temp, out->leaf.dir, out->leaf.name))
		return -errno;
	out->temp[0] = '\0';
	return 0;
}

static int give_mode(const struct ap_out *out)
{
	return out->temp[0] && fchmod(out->fd, wanted_mode(out)) ? -errno : 0;
}

int ap_out_show(struct ap_out *out)
{
	int ret = give_mode(out);

	return ret ? ret : give_name(out);
}

int ap_out_commit(struct ap_out *out)
{
	int ret = give_mode(out);

	if (!ret)
		ret = close_fd(out);
	return ret ? ret : give_name(out);
}

int ap_out_commit_new(struct ap_out *out, char *name, size_t size)
{
	int ret = give_mode(out);

	if (!ret)
		ret = close_fd(out);
	if (ret)
		return ret;
	for (unsigned int i = 0; i < TRIES; i++) {
		int n = i ? snprintf(name, size, "%s.%u", out->leaf.name, i)
			  : snprintf(name, size, "%s", out->leaf.name);

		if ((size_t)n >= size)
			return -ENAMETOOLONG;
		if (!linkat(out->leaf.dir, out->temp, out->leaf.dir, name, 0)) {
			unlinkat(out->leaf.dir, out->temp, 0);
			out->temp[0] = '\0';
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

void ap_out_end(struct ap_out *out)
{
	if (out->temp[0])
		unlinkat(out->leaf.dir, out->temp, 0);
	out->temp[0] = '\0';
	(void)close_fd(out);
	ap_leaf_close(&out->leaf);
}

int ap_out_check(const char *path, unsigned int flags)
{
	struct ap_out out;
	int ret = ap_out_begin(&out, path, flags);

	if (ret)
		return ret;
	if (out.is_straight || (flags & AP_OUT_APPEND && out.leaf.exists))
		ret = faccessat(out.leaf.dir, out.leaf.name, W_OK, AT_EACCESS) ? -errno : 0;
	else
		ret = make_temp(&out);
	ap_out_end(&out);
	return ret;
}

/* --- temporary files */

/* The folder's owner can replace what is in it; others can where they may write, unless it is sticky. */
static bool is_safe_folder(const struct stat *dir)
{
	if (dir->st_uid && dir->st_uid != geteuid())
		return false;
	return !(dir->st_mode & (S_IWGRP | S_IWOTH)) || ap_folder_is_shared(dir);
}

int ap_out_temporary(const char *name)
{
	const char *folder = ap_folder_of_variable("TMPDIR", "/tmp");
	struct ap_out out;
	char *path;
	int ret;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	ret = ap_out_begin(&out, path, AP_OUT_NEW | AP_OUT_PRIVATE);
	free(path);
	if (ret)
		return ret;
	ret = is_safe_folder(&out.leaf.dir_st) ? make_temp(&out) : -AP_FILE_FOLDER;
	if (!ret) {
		ret = out.fd; /* the caller's now */
		out.fd = -1;
	}
	ap_out_end(&out);
	return ret;
}
