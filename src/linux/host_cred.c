/* SPDX-License-Identifier: MIT */
/*
 * Who may do what to whom, by the kernel's rules, as far as /proc tells; and which cgroup a task is
 * in.
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

#include "inject/proc.h"
#include "linux/host_internal.h"

#define CAP_SYS_PTRACE (1ULL << 19)
#define STATUS_MAX     8192

static bool four(const char *text, const char *name, u32 ids[4])
{
	const char *p = ap_status_find(text, name);

	for (unsigned int i = 0; p && i < 4; i++) {
		while (*p == ' ' || *p == '\t')
			p++;
		ids[i] = (u32)ap_text_u64(&p, 10);
	}
	return p != NULL;
}

int ap_cred_parse(const char *status, struct ap_cred *cred)
{
	const char *p = ap_status_find(status, "CapEff");

	if (!p || !four(status, "Uid", cred->uid) || !four(status, "Gid", cred->gid))
		return -EINVAL;
	cred->cap_effective = ap_text_u64(&p, 16);
	return 0;
}

bool ap_cred_may_read(const struct ap_cred *who, const struct ap_cred *target, bool is_dumpable)
{
	bool is_same = true;

	for (unsigned int i = 0; i < 3; i++)
		is_same &= target->uid[i] == who->uid[3] && target->gid[i] == who->gid[3];
	return (is_same && is_dumpable) || who->cap_effective & CAP_SYS_PTRACE;
}

static bool read_cred(const struct ap_host_task *t, struct ap_cred *cred)
{
	char name[64], text[STATUS_MAX];

	snprintf(name, sizeof(name), "task/%d/status", (int)t->tid);
	return t->tid > 0 && ap_proc_read(t->pid, name, text, sizeof(text)) > 0 &&
	       !ap_cred_parse(text, cred);
}

/* The files of a task that may not be dumped belong to root. */
static bool is_dumpable(const struct ap_host_task *t, const struct ap_cred *cred)
{
	char path[AP_PROC_PATH];
	struct stat st;

	return !stat(ap_proc_path(path, t->pid, "environ"), &st) && st.st_uid == cred->uid[1];
}

bool ap_host_may_trace(void *world, struct ap_task *caller, struct ap_task *target)
{
	const struct ap_host_task *from = ap_task_host(caller), *to = ap_task_host(target);
	struct ap_cred who, whom;

	(void)world;
	if (from == to || (from->pid && from->pid == to->pid))
		return true;
	return read_cred(from, &who) && read_cred(to, &whom) &&
	       ap_cred_may_read(&who, &whom, is_dumpable(to, &whom));
}

bool ap_host_is_privileged(void *world, struct ap_task *caller)
{
	const struct ap_host *host = world;
	struct ap_cred cred;

	if (host->config.is_paranoid_given)
		return false;
	return read_cred(ap_task_host(caller), &cred) && cred.uid[1] == geteuid();
}

/* --- cgroups */

/* The path below the mount of cgroup2, as /proc/PID/cgroup has it. */
static int cgroup_path(const char *dir, char path[AP_CGROUP_PATH])
{
	char line[PATH_MAX + 512], root[PATH_MAX], point[PATH_MAX];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	int ret = -EBADF;

	while (f && ret && fgets(line, sizeof(line), f)) {
		int len;
		size_t n;

		if (!strstr(line, " - cgroup2 ") ||
		    sscanf(line, "%*d %*d %*s %4095s %4095s", root, point) != 2)
			continue;
		n = strlen(point);
		if (strncmp(dir, point, n) || (dir[n] && dir[n] != '/'))
			continue;
		len = snprintf(path, AP_CGROUP_PATH, "%s%s", strcmp(root, "/") ? root : "",
			       dir + n);
		if (!path[0])
			strcpy(path, "/");
		ret = len < AP_CGROUP_PATH ? 0 : -ENAMETOOLONG;
	}
	if (f)
		fclose(f);
	return ret;
}

int ap_host_cgroup_of_fd(void *world, struct ap_task *caller, s32 fd, struct ap_cgroup **out)
{
	char link[32], dir[PATH_MAX];
	struct ap_cgroup *cg;
	struct statfs fs;
	ssize_t n;
	int ref, ret;

	(void)world;
	ref = ap_host_fd_ref(world, ap_task_host(caller), fd);
	if (ref < 0)
		return -EBADF;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", ref);
	n = readlink(link, dir, sizeof(dir) - 1);
	ret = fstatfs(ref, &fs);
	close(ref);
	if (ret || n <= 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return -EBADF;
	dir[n] = '\0';
	cg = calloc(1, sizeof(*cg));
	if (!cg)
		return -ENOMEM;
	ret = cgroup_path(dir, cg->path);
	if (ret) {
		free(cg);
		return ret;
	}
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

	(void)world;
	return t->pid > 0 && ap_proc_read(t->pid, "cgroup", text, sizeof(text)) > 0 &&
	       ap_cgroup_is_within(text, cg->path);
}

void ap_host_cgroup_put(void *world, struct ap_cgroup *cg)
{
	(void)world;
	free(cg);
}
