/* SPDX-License-Identifier: MIT */
/*
 * Mappings of tasks, told to the core for events that record them.  What a mapping is the kernel
 * says (/proc/PID/maps): the task names only the range that its call was about, and waits, so that
 * the record is there before anything runs in it.  What a call takes away is looked at before it,
 * and told when it has gone.
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

#include "base/str.h"
#include "files/in.h"
#include "inject/proc.h"
#include "linux/host/host_internal.h"
#include "linux/task/as_task.h"
#include "sampling/record.h"

#define NOTES_MAX 4096
#define LINE_MAX_ 8192

/* --- what there is */

struct maps_line {
	u64 start, end, off, ino;
	u32 maj, min;
	char perms[5];
	const char *path; /* "" none */
};

static bool parse(char *text, struct maps_line *l)
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
	ap_str_unmangle(text + at);
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

struct id_job {
	int ref;
	struct ap_record_mapping found;
};

static void drop_job(void *arg)
{
	struct id_job *j = arg;

	if (j->ref >= 0)
		close(j->ref);
	free(j);
}

/* As the kernel does: of the program headers in the file's first page. */
static s64 read_id(void *arg)
{
	struct id_job *j = arg;
	u8 head[4096], notes[NOTES_MAX];
	const Elf64_Ehdr *e = (const void *)head;
	char path[32];
	ssize_t got, n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", j->ref);
	fd = ap_kernel_open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return fd;
	got = pread(fd, head, sizeof(head), 0);
	for (u32 i = 0;
	     got >= (ssize_t)sizeof(*e) && !memcmp(head, ELFMAG, SELFMAG) &&
	     e->e_ident[EI_CLASS] == ELFCLASS64 && i < e->e_phnum && !j->found.build_id_size;
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
			find_build_id(&j->found, notes, (u64)n);
	}
	close(fd);
	return 0;
}

/*
 * The very file that is mapped.  Its path may be another's by now, a device that does something
 * when it is opened even, so it is looked at before; and what the kernel knows of it is enough,
 * since a file system of the program's own may not answer for ever.  That one is read by a process
 * that need not be waited for.
 */
static void read_build_id(struct ap_host *host, const struct ap_host_task *t,
			  struct ap_record_mapping *m, const struct maps_line *l)
{
	const struct ap_as_task as = ap_host_as(host, t);
	struct id_job *j = l->path[0] == '/' ? calloc(1, sizeof(*j)) : NULL;
	struct statx st;
	s64 ret = -EINVAL;

	if (!j)
		return;
	j->ref = ap_as_open(&as, AT_FDCWD, l->path);
	if (j->ref >= 0 &&
	    !statx(j->ref, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) &&
	    S_ISREG(st.stx_mode) && st.stx_ino == l->ino)
		ret = ap_as_wait(&as, read_id, drop_job, j);
	if (!ret) {
		memcpy(m->build_id, j->found.build_id, sizeof(m->build_id));
		m->build_id_size = j->found.build_id_size;
	}
	if (ret != -ETIMEDOUT)
		drop_job(j);
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

/* True: of an event's pages. */
static bool mapping_of(struct ap_host *host, const struct maps_line *l, struct ap_record_mapping *m)
{
	*m = (struct ap_record_mapping){ .addr = l->start,
					 .len = l->end - l->start,
					 .pgoff = l->off,
					 .maj = l->maj,
					 .min = l->min,
					 .ino = l->ino,
					 .flags = l->perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE,
					 .filename = l->path[0] ? l->path : "//anon" };

	/* which /proc does not show: the kernel counts anonymous memory from its address */
	if (!l->ino && m->flags == MAP_PRIVATE && (!l->path[0] || l->path[0] == '['))
		m->pgoff = l->start;
	m->prot = (l->perms[0] == 'r' ? PROT_READ : 0) | (l->perms[1] == 'w' ? PROT_WRITE : 0) |
		  (l->perms[2] == 'x' ? PROT_EXEC : 0);
	if (l->ino != host->ses->ino || makedev(l->maj, l->min) != host->ses->dev)
		return false;
	show_as_event(m);
	return true;
}

static void tell_mapping(struct ap_host *host, struct ap_host_task *t, const struct maps_line *l)
{
	struct ap_record_mapping m;

	if (!mapping_of(host, l, &m) && m.prot & PROT_EXEC)
		read_build_id(host, t, &m, l);
	ap_core_mapped(host->core, t->core, &m);
}

/* Of what overlaps [start, end), a line of /proc/PID/maps each. */
static s64 each_line(struct ap_host_task *t, u64 start, u64 end,
		     s64 (*fn)(struct ap_host_task *t, const struct maps_line *l, void *arg),
		     void *arg)
{
	char path[AP_PROC_PATH], *text = NULL;
	size_t cap = 0;
	FILE *maps;
	s64 ret = 0;

	if (t->pid <= 0)
		return -ESRCH;
	maps = fopen(ap_proc_path(path, t->pid, "maps"), "re");
	if (!maps)
		return -errno;
	/* it was opened of the process that is looked at now */
	if (!ap_host_task_is_itself(t->host, t)) {
		fclose(maps);
		return -ESRCH;
	}
	while (ret >= 0 && getline(&text, &cap, maps) > 0) {
		struct maps_line l;

		if (parse(text, &l) && l.end > start && l.start < end &&
		    strcmp(l.path, "[vsyscall]") != 0)
			ret = fn(t, &l, arg);
	}
	free(text);
	fclose(maps);
	return ret;
}

static bool is_code(const struct maps_line *l)
{
	return l->perms[2] == 'x';
}

struct wanted_maps {
	bool all;      /* not code alone */
	bool is_image; /* a new one: all but the engine, which nobody has named */
};

static s64 tell_line(struct ap_host_task *t, const struct maps_line *l, void *arg)
{
	const struct wanted_maps *w = arg;

	if ((is_code(l) || w->all) && !(w->is_image && is_code(l) && !l->path[0]))
		tell_mapping(t->host, t, l);
	return 0;
}

static s64 tell_mappings(struct ap_host_task *t, u64 start, u64 end, bool is_image)
{
	u32 tells = ap_task_tells(t->core);
	struct wanted_maps w = { tells & AP_TELL_MAPPED_ALL, is_image };

	if (!(tells & (AP_TELL_MAPPED | AP_TELL_MAPPED_ALL)))
		return 0;
	return each_line(t, start, end, tell_line, &w);
}

void ap_host_image_mapped(struct ap_host *host, struct ap_host_task *t)
{
	(void)host;
	ap_host_unmapping_forget(t->host, t);
	(void)tell_mappings(t, 0, UINT64_MAX, true);
}

/* --- what goes */

/* A mapping, or the part of one, that a call of its task's is about to take away. */
struct ap_host_going {
	struct ap_host_going *next;
	u64 start, end, pgoff;
	char filename[];
};

/* Twice what a kernel lets a process map, without being told otherwise (vm.max_map_count). */
#define MAX_GOING (1 << 17)
/* And of all tasks together: names may be as long as a page. */
#define MAX_GOING_BYTES (64ULL << 20)

static u64 size_of_going(const struct ap_host_going *g)
{
	return sizeof(*g) + strlen(g->filename) + 1;
}

struct unmapped_part {
	u64 start, end;
	struct ap_host_going **at; /* the list's end */
	s64 n;
	bool is_segment; /* of shared memory that is attached at start: no other file's, and this one's number */
	bool has_ino;
	u64 ino;
	struct ap_host_going *last; /* noted; how it was protected */
	char perms[5];
};

/*
 * As shmdt(2) finds it: what lies where it was attached, of the first file of which there is such a
 * thing.
 */
static bool is_of_segment(struct unmapped_part *p, const struct maps_line *l)
{
	if (strncmp(l->path, "/SYSV", 5) != 0 || l->start - p->start != l->off)
		return false;
	if (!p->has_ino)
		p->ino = l->ino;
	p->has_ino = true;
	return l->ino == p->ino;
}

/*
 * The engine's write protection has cut it, and the kernel, which joins what is protected alike
 * again, never does so with such memory.
 */
static bool goes_on(const struct unmapped_part *p, const struct maps_line *l)
{
	return p->is_segment && p->last && p->last->end == l->start && !strcmp(p->perms, l->perms);
}

static s64 note_line(struct ap_host_task *t, const struct maps_line *l, void *arg)
{
	struct unmapped_part *p = arg;
	struct ap_record_mapping m;
	struct ap_host_going *g;
	size_t size;

	if ((p->is_segment && !is_of_segment(p, l)) || !is_code(l))
		return 0;
	if (goes_on(p, l)) {
		p->last->end = l->end;
		return 0;
	}
	(void)mapping_of(t->host, l, &m);
	size = strlen(m.filename) + 1;
	if (t->host->going_bytes + sizeof(*g) + size > MAX_GOING_BYTES)
		return -E2BIG;
	g = malloc(sizeof(*g) + size);
	if (!g)
		return -ENOMEM;
	t->host->going_bytes += sizeof(*g) + size;
	*g = (struct ap_host_going){ NULL, l->start, l->end, m.pgoff };
	memcpy(g->filename, m.filename, size);
	if (g->start < p->start) {
		g->pgoff += p->start - g->start;
		g->start = p->start;
	}
	if (g->end > p->end)
		g->end = p->end;
	*p->at = p->last = g;
	p->at = &g->next;
	memcpy(p->perms, l->perms, sizeof(p->perms));
	p->n++;
	return 0;
}

static void drop_going(struct ap_host *host, struct ap_host_going **at)
{
	struct ap_host_going *g = *at;

	*at = g->next;
	host->going_bytes -= size_of_going(g);
	free(g);
}

/* The list ends here. */
static void forget_from(struct ap_host *host, struct ap_host_going **at)
{
	while (*at)
		drop_going(host, at);
}

void ap_host_unmapping_forget(struct ap_host *host, struct ap_host_task *t)
{
	forget_from(host, &t->going);
}

s64 ap_host_unmapping(struct ap_host_task *t, u64 start, u64 end, u32 how)
{
	struct unmapped_part p = { .start = start,
				   .end = end,
				   .at = &t->going,
				   .is_segment = how & AP_SVC_UNMAPPING_SEGMENT };
	struct ap_host_going **before;
	s64 ret;

	if (!(how & AP_SVC_UNMAPPING_MORE))
		ap_host_unmapping_forget(t->host, t);
	if (!(ap_task_tells(t->core) & AP_TELL_UNMAPPED))
		return 0;
	for (; *p.at; p.at = &(*p.at)->next)
		p.n++;
	/* the parts of one call; a task that reports more and more is not making one */
	if (p.n > MAX_GOING)
		return -E2BIG;
	before = p.at;
	ret = each_line(t, start, end, note_line, &p);
	/* what was noted of the call's other parts goes all the same */
	if (ret < 0)
		forget_from(t->host, before);
	return ret < 0 ? ret : p.n;
}

static void tell_going(struct ap_host_task *t, struct ap_host_going **at)
{
	const struct ap_host_going *g = *at;
	const struct ap_record_mapping m = { .addr = g->start,
					     .len = g->end - g->start,
					     .pgoff = g->pgoff,
					     .filename = g->filename };

	ap_core_unmapped(t->host->core, t->core, &m);
	drop_going(t->host, at);
}

static s64 say_there(struct ap_host_task *t, const struct maps_line *l, void *arg)
{
	(void)t;
	(void)l;
	*(bool *)arg = true;
	return 0;
}

static bool is_there(struct ap_host_task *t, const struct ap_host_going *g)
{
	bool is = false;

	return each_line(t, g->start, g->end, say_there, &is) < 0 || is;
}

void ap_host_unmapped(struct ap_host_task *t, u64 start, u64 end, u32 how)
{
	bool is_failed = how & AP_SVC_UNMAPPED_FAILED;

	for (struct ap_host_going **at = &t->going; *at;) {
		const struct ap_host_going *g = *at;

		if (g->start >= start && g->end <= end && (!is_failed || !is_there(t, g)))
			tell_going(t, at);
		else
			at = &(*at)->next;
	}
	if (!(how & AP_SVC_UNMAPPED_MORE))
		ap_host_unmapping_forget(t->host, t);
}

/*
 * Something is mapped there now: what another thread's call was to take away has gone, though it
 * has not said so yet, and its record comes first.
 */
static void tell_replaced(struct ap_host *host, const struct ap_host_task *by, u64 start, u64 end)
{
	for (struct ap_host_task *t = host->tasks; t; t = t->next) {
		if (t == by || t->seg != by->seg)
			continue;
		for (struct ap_host_going **at = &t->going; *at;) {
			if ((*at)->start < end && (*at)->end > start)
				tell_going(t, at);
			else
				at = &(*at)->next;
		}
	}
}

s64 ap_host_mapped(struct ap_host *host, struct ap_host_task *t, u64 start, u64 end)
{
	tell_replaced(host, t, start, end);
	return tell_mappings(t, start, end, false);
}
