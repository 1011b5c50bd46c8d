/* SPDX-License-Identifier: MIT */
/*
 * What happens to tasks, told to the core for who records it: births with their names, names, images,
 * mappings.  What a mapping is the kernel says (/proc/PID/maps): the task names only the range that its
 * call was about, and waits, so that the record is there before anything runs in it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "inject/proc.h"
#include "linux/host_internal.h"
#include "sampling/record.h"

#define NOTES_MAX 4096
#define LINE_MAX_ 8192

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

/* Without a parent of the session's it is whoever /proc names; which of its threads nobody knows. */
static s32 outer_parent(const struct ap_host_task *t)
{
	struct ap_stat st;

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

u32 ap_host_tell_orders(const struct ap_host_task *t)
{
	u32 tells = ap_task_tells(t->core), orders = 0;

	if (tells & (AP_TELL_MAPPED | AP_TELL_MAPPED_ALL))
		orders |= AP_ORDER_MAPPED;
	if (tells & AP_TELL_MAPPED_ALL)
		orders |= AP_ORDER_MAPPED_DATA;
	if (tells & AP_TELL_COMM)
		orders |= AP_ORDER_COMM;
	if (tells & AP_TELL_NAMESPACES)
		orders |= AP_ORDER_NAMESPACES;
	if (tells & AP_TELL_CGROUP || ap_host_cgroup_wants(t))
		orders |= AP_ORDER_CGROUP;
	return orders;
}

/* In the kernel's order: *_NS_INDEX. */
s64 ap_host_namespaces(struct ap_host *host, struct ap_host_task *t)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	struct ap_perf_ns_link links[AP_ARRAY_SIZE(names)] = { { 0 } };

	if (!(ap_task_tells(t->core) & AP_TELL_NAMESPACES) || t->tid <= 0)
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
	ap_core_namespaces(host->core, t->core, links, AP_ARRAY_SIZE(names));
	return 0;
}

static void tell_birth(struct ap_host *host, struct ap_host_task *t, struct ap_host_task *parent)
{
	t->is_unborn = false;
	parent->nunborn--;
	ap_core_forked(host->core, parent->core, t->core);
	(void)ap_host_namespaces(host, t);
	ap_host_task_order(t);
}

/* Its names, if it has none yet: a thread has its own, a process may have its parent's for it. */
static bool is_named(struct ap_host *host, struct ap_host_task *t)
{
	const struct ap_seg *head = t->seg ? t->seg->head : NULL;
	pid_t pid, tid;

	if (t->tid || !head)
		return t->tid;
	if (!ap_host_names(host, t->seg, t->slot, &pid, &tid))
		ap_host_task_name(host, t, pid, tid);
	else if (!t->slot && head->pid)
		ap_host_task_name(host, t, (pid_t)head->pid, (pid_t)head->pid);
	return t->tid;
}

void ap_host_born(struct ap_host *host, struct ap_host_task *t, s32 cpu)
{
	struct ap_host_task *parent = NULL;

	if (cpu >= 0 && (u32)cpu < ap_host_count_cpus()) {
		t->cpu = cpu;
		ap_core_task_on_cpu(host->core, t->core, cpu);
	}
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

/* --- mappings */

struct line {
	u64 start, end, off, ino;
	u32 maj, min;
	char perms[5];
	const char *path; /* "" none */
};

static bool parse(char *text, struct line *l)
{
	unsigned long start, end, off, ino;
	unsigned int maj, min;
	int at = 0;

	if (sscanf(text, "%lx-%lx %4s %lx %x:%x %lu %n", &start, &end, l->perms, &off, &maj, &min,
		   &ino, &at) < 7 ||
	    !at)
		return false;
	l->start = start;
	l->end = end;
	l->off = off;
	l->ino = ino;
	l->maj = maj;
	l->min = min;
	l->path = text + at;
	text[strcspn(text, "\n")] = '\0';
	return true;
}

static void find_build_id(struct ap_record_mapping *m, const u8 *notes, u64 size)
{
	for (u64 at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
		Elf64_Nhdr n;
		u64 name, desc;

		memcpy(&n, notes + at, sizeof(n));
		name = at + sizeof(n);
		desc = name + AP_ALIGN_UP((u64)n.n_namesz, 4);
		at = desc + AP_ALIGN_UP((u64)n.n_descsz, 4);
		if (at > size || at < desc)
			return;
		if (n.n_type != NT_GNU_BUILD_ID || n.n_namesz != 4 ||
		    memcmp(notes + name, "GNU", 4) || n.n_descsz > sizeof(m->build_id))
			continue;
		memcpy(m->build_id, notes + desc, n.n_descsz);
		m->build_id_size = (u8)n.n_descsz;
		return;
	}
}

/* As the kernel does: of the program headers in the file's first page. */
static void read_build_id(struct ap_record_mapping *m, pid_t pid, const struct line *l)
{
	char path[AP_PROC_PATH + LINE_MAX_];
	u8 head[4096], notes[NOTES_MAX];
	const Elf64_Ehdr *e = (const void *)head;
	ssize_t got, n;
	int fd;

	if (l->path[0] != '/')
		return;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, l->path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	got = pread(fd, head, sizeof(head), 0);
	for (u32 i = 0; got >= (ssize_t)sizeof(*e) && !memcmp(head, ELFMAG, SELFMAG) &&
			e->e_ident[EI_CLASS] == ELFCLASS64 && i < e->e_phnum && !m->build_id_size;
	     i++) {
		u64 at = e->e_phoff + (u64)i * sizeof(Elf64_Phdr);
		Elf64_Phdr p;

		if (at > (u64)got || at + sizeof(p) > (u64)got)
			break;
		memcpy(&p, head + at, sizeof(p));
		if (p.p_type != PT_NOTE)
			continue;
		n = pread(fd, notes, p.p_filesz < NOTES_MAX ? p.p_filesz : NOTES_MAX,
			  (off_t)p.p_offset);
		if (n > 0)
			find_build_id(m, notes, (u64)n);
	}
	close(fd);
}

/* A perf event's pages are of the session's file, and are shown as what they are natively. */
static void show_as_event(struct ap_record_mapping *m)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	struct stat st;

	m->filename = "anon_inode:[perf_event]";
	m->pgoff = 0;
	if (fd < 0 || fstat(fd, &st))
		memset(&st, 0, sizeof(st));
	m->maj = major(st.st_dev);
	m->min = minor(st.st_dev);
	m->ino = st.st_ino;
	if (fd >= 0)
		close(fd);
}

static void tell_mapping(struct ap_host *host, struct ap_host_task *t, const struct line *l)
{
	struct ap_record_mapping m = { .addr = l->start,
				       .len = l->end - l->start,
				       .pgoff = l->off,
				       .maj = l->maj,
				       .min = l->min,
				       .ino = l->ino,
				       .flags = l->perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE,
				       .filename = l->path[0] ? l->path : "//anon" };

	/* which /proc does not show: the kernel counts anonymous memory from its address */
	if (!l->ino && m.flags == MAP_PRIVATE && (!l->path[0] || l->path[0] == '['))
		m.pgoff = l->start;
	m.prot = (l->perms[0] == 'r' ? PROT_READ : 0) | (l->perms[1] == 'w' ? PROT_WRITE : 0) |
		 (l->perms[2] == 'x' ? PROT_EXEC : 0);
	if (l->ino == host->ses->ino && makedev(l->maj, l->min) == host->ses->dev)
		show_as_event(&m);
	else if (m.prot & PROT_EXEC)
		read_build_id(&m, t->pid, l);
	ap_core_mapped(host->core, t->core, &m);
}

/* Of what overlaps [start, end); of a new image: all but the engine, which nobody has named. */
static s64 tell_mappings(struct ap_host *host, struct ap_host_task *t, u64 start, u64 end,
			 bool is_image)
{
	bool all = ap_task_tells(t->core) & AP_TELL_MAPPED_ALL;
	char path[AP_PROC_PATH], *text = NULL;
	size_t cap = 0;
	FILE *maps;

	if (t->pid <= 0)
		return -ESRCH;
	maps = fopen(ap_proc_path(path, t->pid, "maps"), "re");
	if (!maps)
		return -errno;
	while (getline(&text, &cap, maps) > 0) {
		struct line l;
		bool is_exec;

		if (!parse(text, &l) || l.end <= start || l.start >= end ||
		    !strcmp(l.path, "[vsyscall]"))
			continue;
		is_exec = l.perms[2] == 'x';
		if ((!is_exec && !all) || (is_image && is_exec && !l.path[0]))
			continue;
		tell_mapping(host, t, &l);
	}
	free(text);
	fclose(maps);
	return 0;
}

s64 ap_host_mapped(struct ap_host *host, struct ap_host_task *t, u64 start, u64 end)
{
	if (!(ap_task_tells(t->core) & (AP_TELL_MAPPED | AP_TELL_MAPPED_ALL)))
		return 0;
	return tell_mappings(host, t, start, end, false);
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
	if (ap_task_tells(t->core) & (AP_TELL_MAPPED | AP_TELL_MAPPED_ALL))
		(void)tell_mappings(host, t, 0, UINT64_MAX, true);
}
