/* SPDX-License-Identifier: MIT */
/*
 * A task names a file by a path, and the supervisor wants to know which that is.  The supervisor
 * may have more rights than the task, and another root: a path that leads through folders that the
 * task may not search is to lead to nothing, and a link is the task's to follow.  So a thread takes
 * on the task's file system ids, its groups and its capabilities, which in Linux are each thread's
 * own, and looks the path up below the task's root.
 *
 * A file system of the task's own making may not answer, which is nobody's to wait for but the
 * thread's.  A thread that has an opening with FUSE cannot be killed, and a process whose thread
 * that is does not end.  So the thread has a child in the same memory do it (as vfork's), and can
 * be killed while it waits for that.
 */
#include "linux/task/as_task.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "files/in.h"
#include "inject/proc.h"
#include "linux/task/creds.h"

#define WAIT_S 1
#define STUCK_MAX                                                                                  \
	4 /* threads of a party that nobody waits for any more: then nothing is looked up for it */
#define CHILD_STACK (512 << 10)
#define STATUS_MAX  65536
#define GROUPS_MAX  1024

/* --- in time */

struct job {
	pthread_mutex_t lock;
	pthread_cond_t is_over;
	s64 (*fn)(void *arg);
	void (*drop)(void *arg);
	void *arg;
	s64 said; /* fn's */
	s64 ret;
	u32 party;
	bool is_done, is_left;
};

/* Each party's own, so that nobody else goes without; the session owner's is one of them. */
static u32 stuck[AP_PARTY_MAX];
static bool has_left; /* one of them, ever */

static void free_job(struct job *j)
{
	pthread_cond_destroy(&j->is_over);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

static int run_child(void *arg)
{
	struct job *j = arg;

	j->said = j->fn(j->arg);
	return 0;
}

/*
 * Descriptors are shared, so that what it opens is ours.  Nobody is told of its end by a signal.
 * The stack is the child's for as long as we live.
 */
static s64 run_in_child(struct job *j)
{
	char *stack = malloc(CHILD_STACK);
	pid_t pid;

	if (!stack)
		return -ENOMEM;
	j->said = -EIO;
	pid = clone(run_child, stack + CHILD_STACK, CLONE_VM | CLONE_FILES | CLONE_VFORK, j);
	if (pid < 0)
		j->said = -EAGAIN;
	else
		(void)waitpid(pid, NULL, __WALL);
	free(stack);
	return j->said;
}

static void *run_job(void *arg)
{
	struct job *j = arg;
	s64 ret = run_in_child(j);
	u32 party = j->party;
	bool is_left;

	pthread_mutex_lock(&j->lock);
	j->ret = ret;
	j->is_done = true;
	is_left = j->is_left;
	pthread_cond_signal(&j->is_over);
	pthread_mutex_unlock(&j->lock);
	if (!is_left)
		return NULL;
	j->drop(j->arg);
	free_job(j);
	__atomic_fetch_sub(&stuck[party], 1, __ATOMIC_RELAXED);
	return NULL;
}

/* No signal is for it. */
static int start(struct job *j)
{
	sigset_t all, old;
	pthread_t thread;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&thread, NULL, run_job, j);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!ret)
		pthread_detach(thread);
	return -ret;
}

/* A file system says what it likes, and is not to say that the job is the thread's. */
static s64 said(s64 ret)
{
	return ret == -ETIMEDOUT ? -EIO : ret;
}

/*
 * Children that are left outlive us, and are not to keep what we have open: nobody's pipe ends
 * then.
 */
static void let_go_of_files(void)
{
	fflush(NULL);
	syscall(SYS_close_range, 0, ~0U, 0);
}

static s64 wait_for(struct job *j)
{
	struct timespec until;
	int timed_out = 0;
	s64 ret;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += WAIT_S;
	pthread_mutex_lock(&j->lock);
	while (!j->is_done && !timed_out)
		timed_out = pthread_cond_timedwait(&j->is_over, &j->lock, &until);
	j->is_left = !j->is_done;
	ret = j->is_left ? -ETIMEDOUT : said(j->ret);
	if (j->is_left)
		__atomic_fetch_add(&stuck[j->party], 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&j->lock);
	if (ret == -ETIMEDOUT && !__atomic_exchange_n(&has_left, true, __ATOMIC_RELAXED))
		(void)atexit(let_go_of_files);
	return ret;
}

s64 ap_as_wait(const struct ap_as_task *as, s64 (*fn)(void *arg), void (*drop)(void *arg),
	       void *arg)
{
	struct job *j;
	pthread_condattr_t how;
	s64 ret;

	if (!as->is_less)
		return said(fn(arg));
	if (__atomic_load_n(&stuck[as->party], __ATOMIC_RELAXED) >= STUCK_MAX)
		return -EAGAIN;
	j = calloc(1, sizeof(*j));
	if (!j)
		return -ENOMEM;
	j->fn = fn;
	j->drop = drop;
	j->arg = arg;
	j->party = as->party;
	pthread_mutex_init(&j->lock, NULL);
	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	pthread_cond_init(&j->is_over, &how);
	pthread_condattr_destroy(&how);
	ret = start(j);
	if (!ret)
		ret = wait_for(j);
	if (ret != -ETIMEDOUT)
		free_job(j);
	return ret;
}

/* --- with its rights */

struct rights {
	u32 fsuid, fsgid, ngroups;
	u32 groups[GROUPS_MAX];
	u64 caps; /* effective, none where they are another user namespace's */
};

static bool read_rights(pid_t tid, struct rights *r)
{
	char text[STATUS_MAX], theirs[AP_USERNS_NAME], ours[AP_USERNS_NAME];
	const char *uid, *gid, *groups, *caps, *end;

	if (ap_proc_read(tid, "status", text, sizeof(text)) <= 0)
		return false;
	uid = ap_status_find(text, "Uid");
	gid = ap_status_find(text, "Gid");
	groups = ap_status_find(text, "Groups");
	caps = ap_status_find(text, "CapEff");
	if (!uid || !gid || !groups || !caps || sscanf(uid, "%*u %*u %*u %u", &r->fsuid) != 1 ||
	    sscanf(gid, "%*u %*u %*u %u", &r->fsgid) != 1)
		return false;
	r->caps = ap_text_u64(&caps, 16);
	if (!ap_creds_userns(tid, theirs) || !ap_creds_userns(getpid(), ours) ||
	    strcmp(theirs, ours) != 0)
		r->caps = 0;
	r->ngroups = 0;
	for (end = groups + strcspn(groups, "\n"); groups < end;) {
		if (*groups < '0' || *groups > '9') {
			groups++;
			continue;
		}
		if (r->ngroups == GROUPS_MAX)
			return false;
		r->groups[r->ngroups++] = (u32)ap_text_u64(&groups, 10);
	}
	return true;
}

static bool are_ours(const struct rights *r)
{
	struct rights own;

	return read_rights(getpid(), &own) && own.fsuid == r->fsuid && own.fsgid == r->fsgid &&
	       own.ngroups == r->ngroups && !(own.caps & ~r->caps) &&
	       !memcmp(own.groups, r->groups, r->ngroups * sizeof(r->groups[0]));
}

/*
 * The calling thread's, and no other's: the system calls themselves, since libc's change all
 * threads.
 */
static bool take_on(const struct rights *r)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_setgroups, r->ngroups, r->groups))
		return false;
	syscall(SYS_setfsgid, r->fsgid);
	syscall(SYS_setfsuid, r->fsuid);
	if ((u32)syscall(SYS_setfsgid, -1) != r->fsgid ||
	    (u32)syscall(SYS_setfsuid, -1) != r->fsuid || syscall(SYS_capget, &head, caps))
		return false;
	caps[0].effective &= (u32)r->caps;
	caps[1].effective &= (u32)(r->caps >> 32);
	caps[0].inheritable = caps[1].inheritable = 0;
	return !syscall(SYS_capset, &head, caps);
}

/* --- from its root */

struct task_view {
	struct rights rights;
	bool switches;
	int root, fd;
	char path[PATH_MAX];
};

static s64 look_up(void *arg)
{
	struct task_view *l = arg;
	/* /proc/self is the task's own to it, and would be ours */
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	if (l->switches && !take_on(&l->rights))
		return -EACCES;
	l->fd = (int)syscall(SYS_openat2, l->root, l->path, &how, sizeof(how));
	return l->fd < 0 ? -errno : 0;
}

static void drop_look(void *arg)
{
	struct task_view *l = arg;

	if (l->root >= 0)
		close(l->root);
	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

/* A link of the task's in /proc, as a path below its root. */
static int path_below(const struct ap_as_task *as, const char *name, char at[PATH_MAX])
{
	char path[96], root[PATH_MAX], text[PATH_MAX];
	size_t skip;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/root", (int)as->pid, (int)as->tid);
	n = readlink(path, root, sizeof(root) - 1);
	if (n <= 0)
		return -errno;
	root[n] = '\0';
	skip = strcmp(root, "/") ? (size_t)n : 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)as->pid, (int)as->tid, name);
	n = readlink(path, text, sizeof(text) - 1);
	if (n <= 0)
		return -errno;
	text[n] = '\0';
	if (text[0] != '/' || strncmp(text, root, skip) != 0 ||
	    (skip && text[skip] && text[skip] != '/'))
		return -ENOENT;
	snprintf(at, PATH_MAX, "%s", text + skip);
	return 0;
}

static int fill(struct task_view *l, const struct ap_as_task *as, s32 dirfd, const char *path)
{
	char name[64], at[PATH_MAX] = "";
	int ret;

	snprintf(name, sizeof(name), dirfd == AT_FDCWD ? "cwd" : "fd/%d", dirfd);
	ret = path[0] == '/' ? 0 : path_below(as, name, at);
	if (ret)
		return ret;
	if ((size_t)snprintf(l->path, sizeof(l->path), "%s/%s", at, path) >= sizeof(l->path))
		return -ENAMETOOLONG;
	snprintf(name, sizeof(name), "/proc/%d/task/%d/root", (int)as->pid, (int)as->tid);
	l->root = ap_kernel_open(name, O_PATH | O_DIRECTORY);
	if (l->root < 0)
		return l->root;
	if (!as->is_less)
		return 0;
	if (!read_rights(as->tid, &l->rights))
		return -EACCES;
	l->switches = !are_ours(&l->rights);
	/* its number, all of this was read by, may lead to a program with more rights by now */
	return as->is_itself(as) ? 0 : -ESRCH;
}

int ap_as_open(const struct ap_as_task *as, s32 dirfd, const char *path)
{
	struct task_view *l = malloc(sizeof(*l));
	int ret;

	if (!l)
		return -ENOMEM;
	l->root = l->fd = -1;
	l->switches = false;
	ret = fill(l, as, dirfd, path);
	ret = ret ?: (int)ap_as_wait(as, look_up, drop_look, l);
	if (ret == -ETIMEDOUT)
		return ret;
	if (!ret) {
		ret = l->fd;
		l->fd = -1;
	}
	drop_look(l);
	return ret;
}
