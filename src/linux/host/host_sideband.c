/* SPDX-License-Identifier: MIT */
/*
 * What happens to tasks, told to the core for events that record it: births with their names,
 * names, images, namespaces.  Mappings are host_mapped.c's.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "inject/proc.h"
#include "linux/host/host_internal.h"
#include "linux/session/owner.h"
#include "sampling/record.h"

/* --- names */

/* A new image has not said so itself before it runs. */
static u64 pidns_of(const struct ap_host_task *t)
{
	u64 ns = t->seg ? t->seg->head->pidns : t->pidns;
	char path[AP_PROC_PATH];
	struct stat st;

	if (ns || t->pid <= 0 || stat(ap_proc_path(path, t->pid, "ns/pid"), &st))
		return ns;
	return st.st_ino;
}

/* As a pid namespace of its own sees it: in its slot, once it runs. */
static void inner_names(const struct ap_host_task *t, struct ap_task_names *out)
{
	const struct ap_slot *slot = ap_host_slot(t->seg, t->slot);

	out->pid = (s32)slot->pid;
	out->tid = (s32)slot->tid;
	if (!out->tid && t->tid > 0) {
		out->pid = ap_pidns_inner(t->pid, t->pid);
		out->tid = ap_pidns_inner(t->pid, t->tid);
	}
	out->ppid = t->parent_pid > 0 ? ap_pidns_inner(t->parent_pid, t->parent_pid) : 0;
	out->ptid = t->parent_tid > 0 ? ap_pidns_inner(t->parent_pid, t->parent_tid) : 0;
}

/*
 * Without a parent of the session's it is whoever /proc names; which of its threads nobody knows.
 */
static s32 outer_parent(const struct ap_host_task *t)
{
	struct ap_proc_stat st;

	return t->pid > 0 && !ap_stat_read(t->pid, &st) ? (s32)st.ppid : 0;
}

void ap_host_task_names(void *world, const struct ap_event *event, void *host_task,
			struct ap_task_names *out)
{
	const struct ap_host *host = world;
	const struct ap_host_task *t = host_task;
	const struct ap_host_file *f = event ? ap_event_host(ap_event_opened(event)) : NULL;
	u64 ours = host->ses->head->pidns, asks = f && f->pidns ? f->pidns : ours;

	*out = (struct ap_task_names){ 0 };
	if (asks == ours) {
		out->pid = t->pid;
		out->tid = t->tid;
		out->ppid = t->parent_pid ? t->parent_pid : outer_parent(t);
		out->ptid = t->parent_tid ? t->parent_tid : out->ppid;
		return;
	}
	if (pidns_of(t) != asks || !ap_host_task_is_in_slot(t) || !t->seg)
		return;
	inner_names(t, out);
}

/*
 * In the kernel's order: *_NS_INDEX.  Those of a new task its maker's events hear of, and those of
 * the CPU.
 */
static s64 tell_namespaces(struct ap_host *host, struct ap_host_task *by, struct ap_host_task *t)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	struct ap_perf_ns_link links[AP_ARRAY_SIZE(names)] = { { 0 } };

	if (!(ap_task_tells(by->core) & AP_TELL_NAMESPACES) || t->tid <= 0)
		return 0;
	for (u32 i = 0; i < AP_ARRAY_SIZE(names); i++) {
		char name[64], path[AP_PROC_PATH];
		struct stat st;

		snprintf(name, sizeof(name), "task/%d/ns/%s", (int)t->tid, names[i]);
		if (stat(ap_proc_path(path, t->pid, name), &st))
			continue; /* nobody may look, or the kernel has none */
		links[i].dev = st.st_dev;
		links[i].ino = st.st_ino;
	}
	ap_core_namespaces(host->core, by->core, t->core, links, AP_ARRAY_SIZE(names));
	return 0;
}

s64 ap_host_namespaces(struct ap_host *host, struct ap_host_task *t)
{
	return tell_namespaces(host, t, t);
}

static void tell_birth(struct ap_host *host, struct ap_host_task *t, struct ap_host_task *parent)
{
	t->is_unborn = false;
	parent->nunborn--;
	ap_host_world_born(t, parent);
	ap_core_forked(host->core, parent->core, t->core);
	(void)tell_namespaces(host, parent, t);
	ap_host_task_order(t);
}

/* Its names, if it has none yet: a thread has its own, a process may have its parent's for it. */
static bool is_named(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_seg head;
	pid_t pid, tid;

	if (t->tid || !t->seg)
		return t->tid;
	if (!ap_host_names(host, t->seg, t->slot, &pid, &tid))
		ap_host_task_name(host, t, pid, tid);
	else if (!t->slot && !ap_session_seg_read(host->ses, t->seg->index, &head) &&
		 ap_owner_is_child(host->sv, t->seg->index, (pid_t)head.pid))
		ap_host_task_name(host, t, (pid_t)head.pid, (pid_t)head.pid);
	return t->tid;
}

void ap_host_born(struct ap_host *host, struct ap_host_task *t, s32 cpu)
{
	struct ap_host_task *parent = NULL;

	if (cpu >= 0 && (u32)cpu < ap_host_count_cpus())
		ap_host_task_on_cpu(host, t, cpu);
	/* a thread's slot was there before it, so nobody has asked for its names */
	if (t->is_unborn && is_named(host, t))
		parent = ap_host_task_by_tid(host, t->maker_tid);
	if (parent)
		tell_birth(host, t, parent);
}

void ap_host_births(struct ap_host *host, struct ap_host_task *parent)
{
	for (struct ap_host_task *t = host->tasks; t && parent->nunborn; t = t->next)
		if (t->is_unborn && t->maker_tid == parent->tid && is_named(host, t))
			tell_birth(host, t, parent);
}

/* --- names of programs */

#define COMM_MAX 64

static bool read_comm(const struct ap_host_task *t, char comm[COMM_MAX])
{
	char name[64];
	ssize_t n;

	comm[0] = '\0';
	snprintf(name, sizeof(name), "task/%d/comm", (int)t->tid);
	n = t->tid > 0 ? ap_proc_read(t->pid, name, comm, COMM_MAX - 1) : -ESRCH;
	if (n > 0 && comm[n - 1] == '\n')
		comm[n - 1] = '\0';
	return n > 0;
}

static s64 tell_comm(struct ap_host *host, struct ap_host_task *t, bool is_exec)
{
	char comm[COMM_MAX];

	if (!(ap_task_tells(t->core) & AP_TELL_COMM))
		return 0;
	if (!read_comm(t, comm))
		return -ESRCH;
	ap_core_comm(host->core, t->core, comm, is_exec);
	return 0;
}

/* The thread of the same process that knows itself by this number. */
static struct ap_host_task *sibling(struct ap_host *host, const struct ap_host_task *t, u32 tid)
{
	for (u32 i = 0; t->seg && i < AP_SLOT_MAX; i++) {
		const struct ap_slot *slot = ap_host_slot(t->seg, i);

		if (slot->state == AP_SLOT_LIVE && slot->tid == tid)
			return ap_host_task_at(host, t->seg, i);
	}
	return NULL;
}

/* Whom nobody watches is known only for as long as its name is told. */
static s64 tell_comm_of(struct ap_host *host, struct ap_host_task *t, struct ap_host_task *of)
{
	char comm[COMM_MAX];
	s64 ret = -ESRCH;

	if (read_comm(of, comm)) {
		ap_core_comm_of(host->core, t->core, of->core, comm);
		ret = 0;
	}
	if (!ap_task_is_watched(of->core))
		ap_host_task_end_as(host, of, AP_HOST_LEFT);
	return ret;
}

s64 ap_host_comm(struct ap_host *host, struct ap_host_task *t, u32 tid)
{
	struct ap_host_task *of;

	if (!tid)
		return tell_comm(host, t, false);
	if (!(ap_task_tells(t->core) & AP_TELL_COMM))
		return 0;
	of = sibling(host, t, tid);
	if (!of)
		return -ESRCH;
	return of == t ? tell_comm(host, t, false) : tell_comm_of(host, t, of);
}

void ap_host_image(struct ap_host *host, struct ap_host_task *t)
{
	(void)tell_comm(host, t, true);
	ap_host_image_mapped(host, t);
}
