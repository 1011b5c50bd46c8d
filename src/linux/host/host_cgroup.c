/* SPDX-License-Identifier: MIT */
/*
 * Cgroups: which one a task is in, and those that are made.  /proc/PID/cgroup has the path, and the
 * number of the folder below cgroup2's mount is the id, as the kernel has it in records.
 *
 * Who moves a task writes to a file.  Recorded tasks say so when they do; moves by others are found
 * ten times a second, while anybody asks for cgroups.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "files/in.h"
#include "inject/proc.h"
#include "linux/host/host_internal.h"
#include "linux/task/as_task.h"

#define LOOK_NS 100000000ULL

/* --- where cgroup2 is */

struct mount {
	u32 major, minor;
	char root[PATH_MAX], point[PATH_MAX];
};

static bool next_mount(FILE *f, struct mount *m)
{
	char line[2 * PATH_MAX + 512];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " - cgroup2 ") &&
		    sscanf(line, "%*d %*d %u:%u %4095s %4095s", &m->major, &m->minor, m->root,
			   m->point) == 4)
			return true;
	return false;
}

/* The path below a mount, as /proc/PID/cgroup has it. */
static int cgroup_path(const char *dir, const struct statx *st, char path[AP_CGROUP_PATH])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mount m;
	int ret = -EBADF;

	while (ret && next_mount(f, &m)) {
		size_t n = strlen(m.point);
		int len;

		if (m.major != st->stx_dev_major || m.minor != st->stx_dev_minor ||
		    strncmp(dir, m.point, n) || (dir[n] && dir[n] != '/'))
			continue;
		len = snprintf(path, AP_CGROUP_PATH, "%s%s", strcmp(m.root, "/") ? m.root : "",
			       dir + n);
		if (!path[0])
			strcpy(path, "/");
		ret = len < AP_CGROUP_PATH ? 0 : -ENAMETOOLONG;
	}
	if (f)
		fclose(f);
	return ret;
}

/*
 * Of a descriptor of ours, which may be of a file system that answers nothing.  -EBADF: it is no
 * cgroup.
 */
static int path_of_ref(int ref, char path[AP_CGROUP_PATH])
{
	char link[32], dir[PATH_MAX];
	struct statx st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", ref);
	n = readlink(link, dir, sizeof(dir) - 1);
	if (n <= 0 || statx(ref, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st))
		return -EBADF;
	dir[n] = '\0';
	return cgroup_path(dir, &st, path);
}

/* --- events of a cgroup */

/* Nobody calls on behalf of the session's owner, whose descriptors are our own. */
static int ref_of(struct ap_host *host, struct ap_task *caller, s32 fd)
{
	return caller ? ap_host_fd_ref(host, ap_task_host(caller), fd)
		      : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int ap_host_cgroup_of_fd(void *world, struct ap_task *caller, s32 fd, struct ap_cgroup **out)
{
	struct ap_host *host = world;
	char path[AP_CGROUP_PATH];
	struct ap_cgroup *cg;
	int ref = ref_of(host, caller, fd), ret;

	if (ref < 0)
		return -EBADF;
	ret = path_of_ref(ref, path);
	close(ref);
	if (ret)
		return ret;
	for (cg = host->cgroups; cg && strcmp(cg->path, path) != 0; cg = cg->next)
		;
	if (!cg) {
		cg = calloc(1, sizeof(*cg));
		if (!cg)
			return -ENOMEM;
		strcpy(cg->path, path);
		cg->next = host->cgroups;
		host->cgroups = cg;
	}
	cg->users++;
	*out = cg;
	return 0;
}

bool ap_cgroup_is_within(const char *text, const char *path)
{
	const char *p = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text - 1;
	size_t n = strlen(path);

	if (!p)
		return false;
	p += 4;
	if (!strcmp(path, "/"))
		return *p == '/';
	return !strncmp(p, path, n) && (p[n] == '\n' || p[n] == '/' || !p[n]);
}

bool ap_host_cgroup_has(void *world, struct ap_cgroup *cg, void *host_task)
{
	const struct ap_host_task *t = host_task;
	char text[4096];

	/* a child without names yet is where its parent is */
	if (!t->tid && t->maker_tid)
		t = ap_host_task_by_tid(world, t->maker_tid) ?: t;
	return t->pid > 0 && ap_proc_read(t->pid, "cgroup", text, sizeof(text)) > 0 &&
	       ap_cgroup_is_within(text, cg->path);
}

void ap_host_cgroup_put(void *world, struct ap_cgroup *cg)
{
	struct ap_cgroup **at = &((struct ap_host *)world)->cgroups;

	if (--cg->users)
		return;
	while (*at != cg)
		at = &(*at)->next;
	*at = cg->next;
	free(cg);
}

/* --- a task's own */

/* 0: nobody knows, or a v1 hierarchy has the controller. */
static u64 id_of(const struct ap_host_task *t)
{
	static const char v2[] = "0::"; /* the v2 hierarchy's line begins with it */
	char name[64], text[4096], path[PATH_MAX + sizeof(text)], *at;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	struct mount m;
	struct statfs fs;
	struct stat st;
	u64 id = 0;

	snprintf(name, sizeof(name), "task/%d/cgroup", (int)t->tid);
	if (next_mount(f, &m) && t->tid > 0 && ap_proc_read(t->pid, name, text, sizeof(text)) > 0 &&
	    !strstr(text, "perf_event")) {
		at = text;
		while (at && strncmp(at, v2, sizeof(v2) - 1) != 0) {
			at = strchr(at, '\n');
			at = at ? at + 1 : NULL;
		}
		if (at) {
			at += sizeof(v2) - 1;
			at[strcspn(at, "\n")] = '\0';
			snprintf(path, sizeof(path), "%s%s", m.point, at);
			if (!statfs(path, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC &&
			    !stat(path, &st))
				id = st.st_ino;
		}
	}
	if (f)
		fclose(f);
	return id;
}

static bool is_sampled(const struct ap_host *host, const struct ap_host_task *t)
{
	for (const struct ap_host_sampler *o = t->samplers; o; o = o->next)
		if (ap_host_sampler_at(host, o)->sample_type & AP_PERF_SAMPLE_CGROUP)
			return true;
	return false;
}

/* Before it runs: with its parent. */
int ap_host_cgroup_born(struct ap_host *host, struct ap_host_task *t)
{
	if (!ap_core_has_cgroups(host->core))
		return 0;
	return ap_core_task_moved_cgroup(host->core, t->core);
}

void ap_host_cgroup_note(struct ap_host *host, struct ap_host_task *t)
{
	const struct ap_host_task *of = t->tid ? t : ap_host_task_by_tid(host, t->maker_tid);

	if (!ap_host_task_is_in_slot(t) || !is_sampled(host, t))
		return;
	host->has_cgroups = true;
	__atomic_store_n(&ap_host_slot(t->seg, t->slot)->cgroup, of ? id_of(of) : 0,
			 __ATOMIC_RELAXED);
}

bool ap_host_cgroup_wants(const struct ap_host_task *t)
{
	return ap_core_has_cgroups(t->host->core) || is_sampled(t->host, t);
}

void ap_host_cgroups_look(struct ap_host *host)
{
	bool has_events = ap_core_has_cgroups(host->core);

	for (struct ap_host_task *t = host->tasks; t; t = t->next) {
		/* without room for an event's clone the task goes without it */
		if (has_events) {
			(void)!ap_core_task_moved_cgroup(host->core, t->core);
			ap_host_task_found_on_cpu(host, t);
		}
		ap_host_cgroup_note(host, t);
	}
}

u64 ap_host_cgroups_tick(struct ap_host *host, u64 now)
{
	if (!host->has_cgroups && !ap_core_has_cgroups(host->core))
		return 0;
	if (now < host->cgroups_ns)
		return host->cgroups_ns - now;
	if (host->cgroups_ns)
		ap_host_cgroups_look(host);
	host->cgroups_ns = now + LOOK_NS;
	return LOOK_NS;
}

/* --- new ones */

s64 ap_host_cgroup_made(struct ap_host *host, struct ap_host_task *t, s32 dirfd, const char *path)
{
	const struct ap_as_task as = ap_host_as(host, t);
	char name[AP_CGROUP_PATH];
	struct stat st;
	int ref = ap_as_open(&as, dirfd, path);

	if (ref < 0)
		return ref;
	/* most folders are no cgroups */
	if (!path_of_ref(ref, name) && !fstat(ref, &st))
		ap_core_cgroup_made(host->core, t->core, st.st_ino, name);
	close(ref);
	return 0;
}
