/* SPDX-License-Identifier: MIT */
/*
 * Who cannot be attached to, and why.  Said before anything is touched: some of these would not
 * stop for a tracer, or stop for good.
 */
#include <errno.h>
#include <linux/kcmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files/in.h"
#include "inject/proc.h"
#include "linux/run/attach.h"

#define TEXT	   4096
#define PF_KTHREAD 0x00200000U

static bool refuse(char *why, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, AP_ATTACH_WHY, fmt, ap);
	va_end(ap);
	return false;
}

static u64 number(const char *text, const char *name, u64 absent)
{
	const char *p = ap_status_find(text, name);

	return p ? ap_text_u64(&p, 10) : absent;
}

/* Field 9 of /proc/PID/stat. */
static bool is_kernel_thread(pid_t pid)
{
	char text[1024];
	const char *p;
	unsigned long flags = 0;

	if (ap_proc_read(pid, "stat", text, sizeof(text)) < 0)
		return false;
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
		return false;
	return flags & PF_KTHREAD;
}

/* The first line of a small file in a cgroup's folder has this text. */
static bool cgroup_says(const char *hierarchy, const char *group, const char *file,
			const char *wanted)
{
	char path[TEXT + 64], text[256];
	size_t got;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/%s", hierarchy, group, file);
	f = ap_kernel_stream(path);
	if (!f)
		return false;
	got = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[got] = '\0';
	return strstr(text, wanted) != NULL;
}

static bool is_frozen(pid_t pid)
{
	char text[TEXT], *line, *save = NULL;

	if (ap_proc_read(pid, "cgroup", text, sizeof(text)) < 0)
		return false;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *group = strchr(line, '/');

		if (!group)
			continue;
		if (strncmp(line, "0::", 3) == 0 &&
		    (cgroup_says("", group, "cgroup.events", "frozen 1") ||
		     cgroup_says("/unified", group, "cgroup.events", "frozen 1")))
			return true;
		if (strstr(line, ":freezer:") &&
		    (cgroup_says("/freezer", group, "freezer.state", "FROZEN") ||
		     cgroup_says("/freezer", group, "freezer.state", "FREEZING")))
			return true;
	}
	return false;
}

/*
 * A vfork child, or one whose parent left it the memory: the engine would be in the other one too.
 */
static bool shares_memory(pid_t pid, pid_t other)
{
	return other > 0 && syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0) == 0;
}

/* A thread that waits for its vfork child does not stop; the child's name is in the way's list. */
static bool waits_for_vfork(pid_t pid, pid_t *child)
{
	char file[64], text[TEXT];
	const char *p = text;

	snprintf(file, sizeof(file), "task/%d/children", (int)pid);
	if (ap_proc_read(pid, file, text, sizeof(text)) < 0)
		return false;
	while (*p >= '0' && *p <= '9') {
		*child = (pid_t)ap_text_u64(&p, 10);
		if (shares_memory(pid, *child))
			return true;
		while (*p == ' ')
			p++;
	}
	return false;
}

static void note_session(void *arg, const struct ap_proc_map *map)
{
	if (strncmp(map->name, "/memfd:anyperf", 14) == 0)
		*(bool *)arg = true;
}

/*
 * A session's memory is mapped: its engine runs the task, also when the supervisor was killed.  A
 * second one would translate the first one's code cache and count that.
 */
static bool has_engine(pid_t pid)
{
	bool found = false;

	return ap_maps_each(pid, note_session, &found) >= 0 && found;
}

static bool is_idle_task(pid_t pid, const char *status, char *why)
{
	struct ap_proc_stat st = { 0 };
	pid_t other;

	if (ap_stat_read(pid, &st))
		return refuse(why, "no such process");
	if ((st.state == 'Z' && st.threads <= 1) || st.state == 'X')
		return refuse(why, "it has ended and waits for its parent (a zombie)");
	if (number(status, "CoreDumping", 0))
		return refuse(why, "it is dumping core");
	if (is_frozen(pid))
		return refuse(why, "its cgroup is frozen; thaw it first");
	if (shares_memory(pid, st.ppid))
		return refuse(why, "it shares its memory with its parent, process %d (vfork)",
			      (int)st.ppid);
	if (waits_for_vfork(pid, &other))
		return refuse(why, "it waits for its vfork child, process %d, to exec or end",
			      (int)other);
	return true;
}

bool ap_attach_may(pid_t pid, char why[AP_ATTACH_WHY])
{
	char status[TEXT];
	u64 tracer, uid, tgid;

	if (pid == getpid())
		return refuse(why, "that is anyperf itself");
	if (ap_proc_read(pid, "status", status, sizeof(status)) < 0)
		return refuse(why, "no such process");
	if (is_kernel_thread(pid))
		return refuse(why, "it is a thread of the kernel");
	tgid = number(status, "Tgid", (u64)pid);
	if (tgid != (u64)pid)
		return refuse(why, "it is a thread of process %d; attach to that", (int)tgid);
	tracer = number(status, "TracerPid", 0);
	if (tracer)
		return refuse(why, "process %d traces it already", (int)tracer);
	uid = number(status, "Uid", 0);
	if (geteuid() && uid != geteuid())
		return refuse(why, "it belongs to another user (uid %d)", (int)uid);
	if (number(status, "Seccomp", 0))
		return refuse(why,
			      "it has a seccomp filter, which may not let the engine's own calls "
			      "through");
	if (has_engine(pid))
		return refuse(why,
			      "another anyperf counts it, or was killed while it did; end that "
			      "one, or start the process anew");
	return is_idle_task(pid, status, why);
}
