/* SPDX-License-Identifier: MIT */
#include "profile/symbols/session.h"
#include "base/plant.h"
#include "print/escape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/symbols/unwind.h"

#define PROT_EXEC_BIT 4U

void ap_session_init(struct ap_profile_session *s)
{
	memset(s, 0, sizeof(*s));
	ap_symbols_init(&s->symbols);
	s->kernel.users = 1;
}

static void put_maps(struct ap_maps *m)
{
	if (m && !--m->users) {
		free(m->v);
		free(m);
	}
}

static void free_thread(struct ap_profile_thread *t)
{
	put_maps(t->maps);
	free(t);
}

void ap_session_fini(struct ap_profile_session *s)
{
	u32 i;

	ap_unwind_fini(s);
	for (i = 0; i < s->threads.room; i++) {
		if (s->threads.slot[i].item)
			free_thread(ap_table_ptr(&s->threads.slot[i]));
	}
	for (i = 0; i < s->ngone; i++)
		free_thread(s->gone[i]);
	ap_table_fini(&s->threads);
	free(s->gone);
	free(s->kernel.v);
	free(s->cgroup);
	free(s->jit);
	ap_symbols_fini(&s->symbols);
}

static struct ap_profile_thread *find_thread(const struct ap_profile_session *s, u32 tid)
{
	return ap_table_get_ptr(&s->threads, tid);
}

static struct ap_maps *new_maps(void)
{
	struct ap_maps *m = ap_profile_calloc(1, sizeof(*m));

	m->users = 1;
	return m;
}

static struct ap_maps *copy_maps(const struct ap_maps *from)
{
	struct ap_maps *m = new_maps();

	m->v = ap_profile_realloc(NULL, from->n, sizeof(*m->v));
	if (from->n)
		memcpy(m->v, from->v, from->n * sizeof(*m->v));
	m->n = m->cap = from->n;
	return m;
}

static const char *default_comm(struct ap_profile_session *s, u32 tid)
{
	char name[16];

	if (!tid)
		return ap_intern_str(&s->symbols.text, "swapper");
	snprintf(name, sizeof(name), ":%d", (int)tid);
	return ap_intern_str(&s->symbols.text, name);
}

static struct ap_profile_thread *add_thread(struct ap_profile_session *s, u32 pid, u32 tid)
{
	struct ap_profile_thread *t = ap_profile_calloc(1, sizeof(*t)), *leader;

	t->pid = pid;
	t->tid = tid;
	t->ppid = AP_NOBODY;
	t->comm = default_comm(s, tid);
	t->named = !tid;
	leader = pid != tid && pid != ~0U ? ap_session_thread(s, pid, pid) : NULL;
	if (leader && leader->pid == pid) {
		t->maps = leader->maps;
		t->maps->users++;
	} else {
		t->maps = new_maps();
	}
	ap_profile_table_add(&s->threads, tid, t);
	return t;
}

struct ap_profile_thread *ap_session_thread(struct ap_profile_session *s, u32 pid, u32 tid)
{
	struct ap_profile_thread *t = find_thread(s, tid), *leader;

	if (!t)
		return add_thread(s, pid, tid);
	if (t->pid == ~0U && pid != ~0U) {
		/* only now it is known whose thread it is */
		t->pid = pid;
		leader = pid != tid ? ap_session_thread(s, pid, pid) : NULL;
		if (leader && leader->maps != t->maps && !t->maps->n) {
			put_maps(t->maps);
			t->maps = leader->maps;
			t->maps->users++;
		}
	}
	return t;
}

/* The number is given to somebody else; results keep the old one. */
static void retire(struct ap_profile_session *s, struct ap_profile_thread *t)
{
	ap_table_remove(&s->threads, ap_table_find(&s->threads, t->tid));
	if (!(s->ngone & (s->ngone - 1)))
		s->gone = ap_profile_realloc(s->gone, s->ngone ? 2 * s->ngone : 1,
					     sizeof(struct ap_profile_thread *));
	s->gone[s->ngone++] = t;
}

/* --- mappings */

static u32 first_above(const struct ap_maps *m, u64 addr)
{
	u32 lo = 0, hi = m->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (m->v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void insert_at(struct ap_maps *m, u32 i, const struct ap_profile_map *map)
{
	if (m->n == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 16;
		m->v = ap_profile_realloc(m->v, m->cap, sizeof(*m->v));
	}
	memmove(m->v + i + 1, m->v + i, (m->n - i) * sizeof(*m->v));
	m->v[i] = *map;
	m->n++;
}

static void changes(struct ap_profile_session *s, const struct ap_maps *m)
{
	if (s->before_change && m->waiting)
		s->before_change(s->change_arg);
}

/* What is new covers what was there; parts that stick out stay. */
static void insert(struct ap_maps *m, const struct ap_profile_map *map)
{
	u32 i = first_above(m, map->start), k;

	if (i < m->n && m->v[i].start < map->start) {
		struct ap_profile_map front = m->v[i];

		if (front.end > map->end) {
			m->v[i].pgoff += map->end - front.start;
			m->v[i].start = map->end;
			front.end = map->start;
			insert_at(m, i, &front);
		} else {
			m->v[i].end = map->start;
		}
		i++;
	}
	for (k = i; k < m->n && m->v[k].end <= map->end; k++)
		;
	if (k > i) {
		memmove(m->v + i, m->v + k, (m->n - k) * sizeof(*m->v));
		m->n -= k - i;
	}
	if (i < m->n && m->v[i].start < map->end) {
		m->v[i].pgoff += map->end - m->v[i].start;
		m->v[i].start = map->end;
	}
	insert_at(m, i, map);
	m->changes++;
	m->last = 0;
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* What kind of file a mapping's name means; *anon: memory of no file. */
static enum ap_dso_kind kind_of(const char *name, u32 flags, bool *anon)
{
	*anon = starts(name, "//anon") || starts(name, "/dev/zero") ||
		starts(name, "/anon_hugepage") || (flags & 0x40000); /* MAP_HUGETLB */
	if (!strcmp(name, "[vdso]"))
		return AP_DSO_VDSO;
	if (*anon || starts(name, "[stack") || starts(name, "/SYSV") || starts(name, "[heap]")) {
		*anon = true;
		return AP_DSO_DATA;
	}
	return name[0] == '[' ? AP_DSO_DATA : AP_DSO_FILE;
}

/* A JIT compiler maps the file that it describes its code in, so that profiles tell of it. */
static void jitdump(struct ap_profile_session *s, struct ap_profile_thread *t, const char *name)
{
	const char *base = strrchr(name, '/');
	char jit[40], tail[8];
	struct ap_dso *dso;
	u32 pid;

	if (!base || sscanf(base, "/jit-%u.%5s", &pid, tail) != 2 || strcmp(tail, "dump"))
		return;
	snprintf(jit, sizeof(jit), "/tmp/perf-%u.map", t->pid);
	dso = ap_dso_get(&s->symbols, jit, AP_DSO_JIT);
	if (!dso->jitdump) {
		s->jit = ap_profile_realloc(s->jit, s->njit + 1, sizeof(struct ap_dso *));
		s->jit[s->njit++] = dso;
	}
	dso->jitdump = ap_intern_str(&s->symbols.text, name);
}

#define CLOCK_OF_JITDUMPS 1 /* CLOCK_MONOTONIC */

void ap_session_at(struct ap_profile_session *s, const struct ap_data_event *event, u64 time)
{
	bool is_other = false;

	if (!s->njit || !time || !(event->attr.flags & AP_PERF_USE_CLOCKID) ||
	    event->attr.clockid != CLOCK_OF_JITDUMPS)
		return;
	for (u32 i = 0; i < s->njit; i++) {
		if (s->jit[i]->loaded) {
			is_other |= ap_jit_is_behind(s->jit[i], time);
			continue;
		}
		s->symbols.now = time;
		ap_dso_symbol(s->jit[i], 0); /* which loads it */
	}
	if (is_other && s->before_change)
		s->before_change(s->change_arg);
	s->symbols.now = time;
	s->jit_changes += is_other;
	for (u32 i = 0; is_other && i < s->njit; i++)
		ap_jit_advance(s->jit[i], time);
}

static void user_map(struct ap_profile_session *s, struct ap_profile_thread *t,
		     struct ap_profile_map *map, const char *name, u32 flags, const u8 *build_id,
		     u32 id_size)
{
	bool anon;
	enum ap_dso_kind kind = kind_of(name, flags, &anon);
	char jit[40];

	if (anon && (map->prot & PROT_EXEC_BIT)) {
		snprintf(jit, sizeof(jit), "/tmp/perf-%u.map", t->pid);
		name = jit;
		kind = AP_DSO_JIT;
	}
	if (kind == AP_DSO_FILE)
		jitdump(s, t, name);
	map->identity = anon;
	if (kind == AP_DSO_VDSO)
		map->pgoff = 0;
	map->dso = ap_dso_get(&s->symbols, name, kind);
	if (id_size && !map->dso->build_id_size)
		ap_dso_set_build_id(map->dso, build_id, id_size);
	changes(s, t->maps);
	insert(t->maps, map);
}

/* "[kernel.kallsyms]_text" and the like, "[module]", or a module's file. */
static void kernel_map(struct ap_profile_session *s, struct ap_profile_map *map, const char *name)
{
	const char *close = strchr(name, ']');
	char module[256];
	const char *base;
	size_t n;

	map->identity = true;
	if (starts(name, "[kernel.kallsyms]") || starts(name, "[guest.kernel.kallsyms")) {
		map->dso = ap_dso_get(&s->symbols, "[kernel.kallsyms]", AP_DSO_KERNEL);
		if (map->start >= map->end) {
			map->end = ~0ULL; /* as wide as it is needed */
			map->start = map->start ? map->start : 1ULL << 63;
		}
	} else if (name[0] == '[' && close) {
		snprintf(module, sizeof(module), "%.*s", (int)(close - name + 1), name);
		map->dso = ap_dso_get(&s->symbols, module, AP_DSO_MODULE);
	} else {
		base = strrchr(name, '/');
		base = base ? base + 1 : name;
		n = strcspn(base, ".");
		snprintf(module, sizeof(module), "[%.*s]", (int)(n < 200 ? n : 200), base);
		map->dso = ap_dso_get(&s->symbols, module, AP_DSO_MODULE);
	}
	changes(s, &s->kernel);
	insert(&s->kernel, map);
}

/* A name that may end with the record instead of a zero. */
static void copy_name(char *buf, size_t size, const struct ap_data_rec *rec, u32 off)
{
	size_t n = rec->h.size > off ? rec->h.size - off : 0;

	if (n > size - 1)
		n = size - 1;
	n = strnlen((const char *)rec->bytes + off, n);
	memcpy(buf, rec->bytes + off, n);
	buf[n] = 0;
}

static void mmap_record(struct ap_profile_session *s, const struct ap_data_rec *rec)
{
	bool two = rec->h.type == AP_PERF_RECORD_MMAP2;
	u32 name_off = two ? 72 : 40, pid, tid, flags = 0;
	struct ap_profile_map map = { 0 };
	const u8 *id = NULL;
	u32 id_size = 0;
	char name[4096];
	u8 mode = rec->h.misc & AP_PERF_RECORD_MISC_CPUMODE_MASK;

	if (rec->h.size <= name_off)
		return;
	pid = ap_get32(rec->bytes + 8);
	tid = ap_get32(rec->bytes + 12);
	map.start = ap_get64(rec->bytes + 16);
	map.end = map.start + ap_get64(rec->bytes + 24);
	map.pgoff = ap_get64(rec->bytes + 32);
	map.prot = PROT_EXEC_BIT;
	copy_name(name, sizeof(name), rec, name_off);
	if (two) {
		map.prot = ap_get32(rec->bytes + 64);
		flags = map.flags = ap_get32(rec->bytes + 68);
		if (rec->h.misc & AP_PERF_RECORD_MISC_MMAP_BUILD_ID) {
			id = rec->bytes + 44;
			id_size = rec->bytes[40] <= 20 ? rec->bytes[40] : 0;
		} else {
			map.dev = (u64)ap_get32(rec->bytes + 40) << 32 | ap_get32(rec->bytes + 44);
			map.ino = ap_get64(rec->bytes + 48);
		}
	} else if (rec->h.misc & AP_PERF_RECORD_MISC_MMAP_DATA) {
		map.prot = 0;
	}
	if (mode == AP_PERF_RECORD_MISC_KERNEL || mode == AP_PERF_RECORD_MISC_GUEST_KERNEL) {
		kernel_map(s, &map, name);
		return;
	}
	if (map.end > map.start)
		user_map(s, ap_session_thread(s, pid, tid), &map, name, flags, id, id_size);
}

static void comm_record(struct ap_profile_session *s, const struct ap_data_rec *rec)
{
	struct ap_profile_thread *t;
	char name[64];

	if (rec->h.size <= 16)
		return;
	t = ap_session_thread(s, ap_get32(rec->bytes + 8), ap_get32(rec->bytes + 12));
	copy_name(name, sizeof(name), rec, 16);
	AP_PLANT("perf_data", !ap_escape_is_plain(name, strlen(name)));
	t->comm = ap_intern_str(&s->symbols.text, name);
	t->named = true;
}

static void fork_record(struct ap_profile_session *s, const struct ap_data_rec *rec)
{
	u32 pid, ppid, tid, ptid;
	struct ap_profile_thread *t, *parent;

	if (rec->h.size < 24)
		return;
	pid = ap_get32(rec->bytes + 8);
	ppid = ap_get32(rec->bytes + 12);
	tid = ap_get32(rec->bytes + 16);
	ptid = ap_get32(rec->bytes + 20);
	parent = ap_session_thread(s, ppid, ptid);
	if (parent->pid != ppid) { /* its number belonged to another process */
		retire(s, parent);
		parent = ap_session_thread(s, ppid, ptid);
	}
	t = find_thread(s, tid); /* now, because it may have been that parent */
	if (t && t != parent)
		retire(s, t);
	if (t == parent)
		return;
	t = ap_session_thread(s, pid, tid);
	t->ppid = ptid;
	if (parent->named) {
		t->comm = parent->comm;
		t->named = true;
	}
	if (pid == ppid || t->maps == parent->maps || (rec->h.misc & AP_PERF_RECORD_MISC_FORK_EXEC))
		return;
	if (pid == tid) {
		put_maps(t->maps);
		t->maps = copy_maps(parent->maps);
	}
}

static void cgroup_record(struct ap_profile_session *s, const struct ap_data_rec *rec)
{
	const char *path = (const char *)rec->bytes + 16;

	if (rec->h.size <= 16 || !memchr(path, 0, rec->h.size - 16U))
		return;
	s->cgroup = ap_profile_realloc(s->cgroup, s->ncgroups + 1, sizeof(*s->cgroup));
	s->cgroup[s->ncgroups++] =
		(struct ap_cgroup_name){ .id = ap_get64(rec->bytes + 8),
					 .path = ap_intern_str(&s->symbols.text, path) };
}

/* Which are many; one is asked for. */
static void namespaces_record(struct ap_profile_session *s, const struct ap_data_rec *rec)
{
	const u64 cgroup = 6; /* its place among them, as in the kernel */
	const u8 *p = rec->bytes + 8;
	struct ap_profile_thread *t;

	if (rec->h.size < 24 + 16 * (cgroup + 1) || ap_get64(p + 8) <= cgroup)
		return;
	t = ap_session_thread(s, ap_get32(p), ap_get32(p + 4));
	t->cgroup_dev = ap_get64(p + 16 + 16 * cgroup);
	t->cgroup_ino = ap_get64(p + 24 + 16 * cgroup);
}

/* The last that had the number. */
const char *ap_session_cgroup(const struct ap_profile_session *s, u64 id)
{
	u32 i = s->ncgroups;

	while (i && s->cgroup[i - 1].id != id)
		i--;
	return i ? s->cgroup[i - 1].path : "unknown";
}

void ap_session_record(struct ap_profile_session *s, const struct ap_data_rec *rec)
{
	if (rec->h.type < AP_ARRAY_SIZE(s->nr))
		s->nr[rec->h.type]++;
	switch (rec->h.type) {
	case AP_PERF_RECORD_MMAP:
	case AP_PERF_RECORD_MMAP2:
		mmap_record(s, rec);
		break;
	case AP_PERF_RECORD_COMM:
		comm_record(s, rec);
		break;
	case AP_PERF_RECORD_FORK:
		fork_record(s, rec);
		break;
	case AP_PERF_RECORD_CGROUP:
		cgroup_record(s, rec);
		break;
	case AP_PERF_RECORD_NAMESPACES:
		namespaces_record(s, rec);
		break;
	case AP_PERF_RECORD_LOST:
		if (rec->h.size >= 24)
			s->lost += ap_get64(rec->bytes + 16);
		break;
	case AP_PERF_RECORD_LOST_SAMPLES:
		if (rec->h.size >= 16)
			s->lost_samples += ap_get64(rec->bytes + 8);
		break;
	default:
		break;
	}
}

static void take_build_id(void *arg, u32 pid, u16 misc, const u8 *id, u32 size, const char *path)
{
	struct ap_profile_session *s = arg;
	u8 mode = misc & AP_PERF_RECORD_MISC_CPUMODE_MASK;
	enum ap_dso_kind kind = AP_DSO_FILE;

	(void)pid;
	if (mode == AP_PERF_RECORD_MISC_KERNEL)
		kind = starts(path, "[kernel.kallsyms]") ? AP_DSO_KERNEL : AP_DSO_MODULE;
	else if (!strcmp(path, "[vdso]"))
		kind = AP_DSO_VDSO;
	ap_dso_set_build_id(ap_dso_get(&s->symbols, path, kind), id, size);
}

void ap_session_build_ids(struct ap_profile_session *s, struct ap_data *d)
{
	ap_data_build_ids(d, take_build_id, s);
}

/* --- addresses */

static const struct ap_profile_map *find_map(struct ap_maps *m, u64 ip)
{
	u32 i = m->last;

	if (i < m->n && ip >= m->v[i].start && ip < m->v[i].end)
		return &m->v[i];
	i = first_above(m, ip);
	if (i == m->n || ip < m->v[i].start)
		return NULL;
	m->last = i;
	return &m->v[i];
}

/*
 * The range that is recorded ends with the kernel's text, and there is code behind it: that of its
 * start.  As perf has it, the kernel is wherever it has symbols and nobody else is.
 */
static const struct ap_profile_map *kernel_beyond(const struct ap_profile_session *s, u64 ip)
{
	u32 i;

	for (i = 0; i < s->kernel.n; i++) {
		const struct ap_profile_map *map = &s->kernel.v[i];

		if (map->dso->kind == AP_DSO_KERNEL && ap_dso_symbol(map->dso, ip))
			return map;
	}
	return NULL;
}

void ap_session_map(struct ap_profile_session *s, struct ap_profile_thread *t, u8 cpumode, u64 ip,
		    struct ap_place *out)
{
	bool kernel = cpumode == AP_PERF_RECORD_MISC_KERNEL ||
		      cpumode == AP_PERF_RECORD_MISC_GUEST_KERNEL;
	bool user =
		cpumode == AP_PERF_RECORD_MISC_USER || cpumode == AP_PERF_RECORD_MISC_GUEST_USER;

	out->ip = out->addr = ip;
	out->sym = NULL;
	out->dso = NULL;
	out->cpumode = cpumode;
	out->map = kernel ? find_map(&s->kernel, ip) : user ? find_map(t->maps, ip) : NULL;
	if (!out->map && kernel)
		out->map = kernel_beyond(s, ip);
	if (!out->map)
		return;
	out->dso = out->map->dso;
	if (!out->map->identity)
		out->addr = ip - out->map->start + out->map->pgoff;
}

void ap_session_resolve(struct ap_profile_session *s, struct ap_profile_thread *t, u8 cpumode,
			u64 ip, struct ap_place *out)
{
	ap_session_map(s, t, cpumode, ip, out);
	if (out->dso)
		out->sym = ap_dso_symbol(out->dso, out->addr);
}

char ap_place_level(u8 cpumode)
{
	static const char levels[] = "uk.Hgu";

	return cpumode < sizeof(levels) - 1 ? levels[cpumode] : 'u';
}

bool ap_chain_marker(u64 word, u8 *cpumode, bool *bad)
{
	*bad = false;
	if (word < AP_PERF_CONTEXT_MAX)
		return false;
	switch (word) {
	case AP_PERF_CONTEXT_HV:
		*cpumode = AP_PERF_RECORD_MISC_HYPERVISOR;
		break;
	case AP_PERF_CONTEXT_KERNEL:
		*cpumode = AP_PERF_RECORD_MISC_KERNEL;
		break;
	case AP_PERF_CONTEXT_USER:
	case AP_CONTEXT_UNWOUND:
		*cpumode = AP_PERF_RECORD_MISC_USER;
		break;
	default:
		*bad = true;
		break;
	}
	return true;
}
