/* SPDX-License-Identifier: MIT */
/*
 * What the sort keys and columns are: how entries are told apart by them, ordered and shown.
 */
#include <elf.h>
#include <string.h>

#include "print/escape.h"
#include "profile/hist/hist_internal.h"

#define UNRESOLVED 16 /* digits of an address */

static int cmp_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static int cmp_s64(s64 a, s64 b)
{
	return a < b ? -1 : a > b;
}

/* Those that are unknown come last. */
static int cmp_null(const void *a, const void *b)
{
	return !a ? (b ? 1 : 0) : -1;
}

static u64 mix(u64 v)
{
	v *= 0xff51afd7ed558ccdULL;
	return v ^ v >> 33;
}

/* --- command */
static int comm_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	(void)h;
	return strcmp(a->comm, b->comm);
}

static u64 comm_hash(const struct ap_hist_entry *e)
{
	return mix((u64)(uintptr_t)e->comm);
}

static bool comm_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->comm == b->comm;
}

static u32 comm_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	return ap_escape_width(e->comm);
}

static int comm_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-*.*s", (int)width, (int)width, e->comm);
}

/* --- file */
static const char *dso_name(const struct ap_hist *h, const struct ap_dso *dso)
{
	return h->opts.full_paths ? dso->path : dso->name;
}

static int dso_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		    const struct ap_hist_entry *b)
{
	if (!a->dso || !b->dso)
		return cmp_null(a->dso, b->dso);
	return strcmp(dso_name(h, a->dso), dso_name(h, b->dso));
}

static u64 dso_hash(const struct ap_hist_entry *e)
{
	return mix(e->dso ? (u64)(uintptr_t)e->dso->name : 0);
}

static bool dso_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->dso == b->dso || (a->dso && b->dso && a->dso->name == b->dso->name);
}

u32 ap_unresolved_len(const struct ap_hist *h, u32 len)
{
	bool narrow = h->opts.separator || (h->opts.filter && h->opts.filter->dsos);
	u32 i;

	for (i = 0; i < AP_HIST_COLUMNS; i++)
		narrow |= h->opts.width[i] > 0;
	return narrow || len > UNRESOLVED ? len : UNRESOLVED;
}

static u32 dso_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	u32 len = e->dso ? ap_escape_width(dso_name(h, e->dso)) : UNRESOLVED;

	return e->sym ? len : ap_unresolved_len(h, len);
}

static int dso_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		     size_t size)
{
	return snprintf(buf, size, "%-*.*s", (int)width, (int)width,
			e->dso ? dso_name(h, e->dso) : "[unknown]");
}

/* --- symbol */
static int sym_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		    const struct ap_hist_entry *b)
{
	(void)h;
	if (!a->sym || !b->sym)
		return cmp_null(a->sym, b->sym);
	return strcmp(a->sym->name, b->sym->name);
}

static int sym_order(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	int r;

	if (!a->sym && !b->sym)
		return cmp_s64((s64)(a->ip - b->ip), 0); /* addresses as perf compares them */
	r = dso_sort(h, a, b);
	if (r)
		return r;
	if (!a->sym || !b->sym)
		return cmp_null(a->sym, b->sym);
	r = cmp_u64(a->sym->start, b->sym->start);
	return r ? r : strcmp(a->sym->name, b->sym->name);
}

static u64 sym_hash(const struct ap_hist_entry *e)
{
	return mix(e->sym ? (u64)(uintptr_t)e->sym : e->ip);
}

static bool sym_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->sym == b->sym && (a->sym || a->ip == b->ip);
}

/* -v shows before the symbol where it is and what kind of file it was found in. */
#define ADDRESS_WIDTH 18

u32 ap_sym_len(const struct ap_hist *h, const struct ap_symbol *sym)
{
	if (!sym)
		return UNRESOLVED + 6;
	return ap_escape_width(sym->name) + 4 + (h->opts.full_paths ? ADDRESS_WIDTH + 3 : 0);
}

static u32 sym_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	return ap_sym_len(h, e->sym);
}

int ap_sym_print(const struct ap_hist *h, struct ap_dso *dso, const struct ap_symbol *sym, u64 addr,
		 char level, u32 width, char *buf, size_t size)
{
	int n = 0;

	if (h->opts.full_paths)
		n = snprintf(buf, size, "%-#*llx %c ", ADDRESS_WIDTH, (unsigned long long)addr,
			     ap_dso_origin(dso));
	n += snprintf(buf + n, size - (size_t)n, "[%c] ", level);
	if (!sym)
		return n + snprintf(buf + n, size - (size_t)n, "%-#.*llx", UNRESOLVED,
				    (unsigned long long)addr);
	if (sym->type == STT_OBJECT)
		return n + snprintf(buf + n, size - (size_t)n, "%s+0x%llx", sym->name,
				    (unsigned long long)(addr - sym->start));
	return n + snprintf(buf + n, size - (size_t)n, "%.*s%s",
			    (int)width > n ? (int)width - n : 0, sym->name,
			    sym->inlined ? " (inlined)" : "");
}

static int sym_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		     size_t size)
{
	return ap_sym_print(h, e->dso, e->sym, e->ip, ap_place_level(e->cpumode), width, buf, size);
}

/* --- thread */
static int pid_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		    const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_s64((s32)a->tid, (s32)b->tid);
}

static u64 pid_hash(const struct ap_hist_entry *e)
{
	return mix(e->tid);
}

static bool pid_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->tid == b->tid;
}

static u32 pid_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	return ap_escape_width(e->thread->comm) + 8; /* the thread's last name */
}

static int pid_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		     size_t size)
{
	int w = (int)(width > 8 ? width : 8) - 8;

	(void)h;
	return snprintf(buf, size, "%7d:%-*.*s", (int)e->tid, w, w, e->thread->comm);
}

/* --- CPU */
static int cpu_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		    const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->cpu, b->cpu);
}

static u64 cpu_hash(const struct ap_hist_entry *e)
{
	return mix(e->cpu + 1ULL);
}

static bool cpu_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->cpu == b->cpu;
}

static u32 cpu_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	(void)e;
	return 3;
}

static int cpu_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		     size_t size)
{
	(void)h;
	return snprintf(buf, size, "%*.*d", (int)width, (int)width, (int)e->cpu);
}

/* --- source */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *ap_source_text(const struct ap_hist *h, const char *file, u32 line, struct ap_dso *dso,
			   const struct ap_symbol *sym, u64 addr, char *buf, size_t size)
{
	if (file)
		snprintf(buf, size, "%s:%u", h->opts.full_paths ? file : last_part(file), line);
	else if (sym)
		snprintf(buf, size, "%s+%llu", sym->name, (unsigned long long)(addr - sym->start));
	else
		snprintf(buf, size, "%s[%llx]", dso ? dso->name : "", (unsigned long long)addr);
	return buf;
}

static const char *line_text(const struct ap_hist *h, const struct ap_hist_entry *e, char *buf,
			     size_t size)
{
	return ap_source_text(h, e->file, e->line, e->dso, e->sym, e->ip, buf, size);
}

static int line_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	char ta[1024], tb[1024];

	return strcmp(line_text(h, a, ta, sizeof(ta)), line_text(h, b, tb, sizeof(tb)));
}

static u64 line_hash(const struct ap_hist_entry *e)
{
	return e->file ? mix((u64)(uintptr_t)e->file + e->line) : mix(e->ip);
}

static bool line_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	if (a->file || b->file)
		return a->file == b->file && a->line == b->line;
	return a->ip == b->ip && a->dso == b->dso;
}

static u32 line_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	char text[1024];

	return ap_escape_width(line_text(h, e, text, sizeof(text)));
}

static int line_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	char text[1024];

	return snprintf(buf, size, "%-.*s", (int)width, line_text(h, e, text, sizeof(text)));
}

static const char *file_text(const struct ap_hist_entry *e)
{
	return e->file ? last_part(e->file) : ".";
}

static int file_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	(void)h;
	return strcmp(file_text(a), file_text(b));
}

static u64 file_hash(const struct ap_hist_entry *e)
{
	return mix((u64)(uintptr_t)e->file);
}

static bool file_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->file == b->file;
}

static u32 file_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	return ap_escape_width(file_text(e));
}

static int file_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-.*s", (int)width, file_text(e));
}

static const struct ap_key_ops keys[AP_COL_N] = {
	[AP_KEY_COMM] = { "comm", "Command", 0, comm_sort, comm_sort, comm_hash, comm_same,
			  comm_len, comm_print },
	[AP_KEY_DSO] = { "dso", "Shared Object", 0, dso_sort, dso_sort, dso_hash, dso_same, dso_len,
			 dso_print },
	[AP_KEY_SYM] = { "symbol", "Symbol", 0, sym_sort, sym_order, sym_hash, sym_same, sym_len,
			 sym_print },
	[AP_KEY_PID] = { "pid", "    Pid:Command", 0, pid_sort, pid_sort, pid_hash, pid_same,
			 pid_len, pid_print },
	[AP_KEY_CPU] = { "cpu", "CPU", 0, cpu_sort, cpu_sort, cpu_hash, cpu_same, cpu_len,
			 cpu_print },
	[AP_KEY_SRCLINE] = { "srcline", "Source:Line", 0, line_sort, line_sort, line_hash,
			     line_same, line_len, line_print },
	[AP_KEY_SRCFILE] = { "srcfile", "Source File", 0, file_sort, file_sort, file_hash,
			     file_same, file_len, file_print },
	[AP_COL_CHILDREN] = { .name = "overhead_children", .header = "Children", .width = 8 },
	[AP_COL_SELF] = { .name = "overhead", .header = "Overhead", .width = 8 },
	[AP_COL_SYS] = { .name = "overhead_sys", .header = "sys", .width = 8 },
	[AP_COL_USER] = { .name = "overhead_us", .header = "usr", .width = 8 },
	[AP_COL_SAMPLES] = { .name = "sample", .header = "Samples", .width = 12 },
	[AP_COL_PERIOD] = { .name = "period", .header = "Period", .width = 12 },
};

const struct ap_key_ops *ap_key_ops(enum ap_hist_key key)
{
	if (key >= AP_KEY_MEMORY && key < AP_KEY_N)
		return &ap_keys_mem[key - AP_KEY_MEMORY];
	if (key >= AP_KEY_TRACED && key < AP_KEY_N)
		return &ap_keys_trace[key - AP_KEY_TRACED];
	if (key >= AP_KEY_SAMPLE && key < AP_KEY_N)
		return &ap_keys_sample[key - AP_KEY_SAMPLE];
	return key >= AP_KEY_MORE && key < AP_KEY_N ? &ap_keys_more[key - AP_KEY_MORE] : &keys[key];
}

enum ap_hist_key ap_key_find(const char *name, size_t len)
{
	enum ap_hist_key k;

	/* the beginning of a name will do, as with perf */
	for (k = 0; len && k < AP_COL_N; k++) {
		if (!strncmp(ap_key_ops(k)->name, name, len) && strlen(ap_key_ops(k)->name) == len)
			return k;
	}
	for (k = 0; len && k < AP_COL_N; k++) {
		if (!strncmp(ap_key_ops(k)->name, name, len))
			return k;
	}
	return AP_COL_N;
}
