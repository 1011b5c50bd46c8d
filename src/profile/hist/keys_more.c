/* SPDX-License-Identifier: MIT */
/*
 * Keys that few tables have: the two ends of branches and what the CPU said of them, weights,
 * times, addresses, sizes.
 */
#include <string.h>

#include "print/escape.h"
#include "profile/hist/hist_internal.h"

#define UNRESOLVED 16U

/* attr.branch_sample_type's word per branch */
#define FLAG_MISPREDICTED 1U
#define FLAG_PREDICTED	  2U
#define FLAG_IN_TX	  4U
#define FLAG_ABORT	  8U

static int cmp_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static u64 mix(u64 v)
{
	v *= 0xff51afd7ed558ccdULL;
	return v ^ v >> 33;
}

static u32 cycles(const struct ap_hist_entry *e)
{
	return (u32)(e->branch >> 4 & 0xffff);
}

/* --- the file at an end */
static const char *file_name(const struct ap_hist *h, const struct ap_branch_end *end)
{
	if (!end->dso)
		return "[unknown]";
	return h->opts.full_paths ? end->dso->path : end->dso->name;
}

/* From the last name to the first, as perf has it here. */
static int cmp_file(const struct ap_hist *h, const struct ap_branch_end *a,
		    const struct ap_branch_end *b)
{
	if (!a->dso || !b->dso)
		return !a->dso ? (b->dso ? 1 : 0) : -1;
	return strcmp(file_name(h, b), file_name(h, a));
}

static bool same_file(const struct ap_branch_end *a, const struct ap_branch_end *b)
{
	return a->dso == b->dso || (a->dso && b->dso && a->dso->name == b->dso->name);
}

static u32 file_len(const struct ap_hist *h, const struct ap_branch_end *end)
{
	u32 len = end->dso ? ap_escape_width(file_name(h, end)) : UNRESOLVED;

	return end->sym ? len : ap_unresolved_len(h, len);
}

/* --- the function at an end */
static int cmp_symbol(const struct ap_branch_end *a, const struct ap_branch_end *b)
{
	if (!a->sym && !b->sym)
		return cmp_u64(a->ip, b->ip);
	if (!a->sym || !b->sym)
		return a->sym ? -1 : 1;
	return a->sym == b->sym ? 0 : cmp_u64(a->sym->start, b->sym->start);
}

static bool same_symbol(const struct ap_branch_end *a, const struct ap_branch_end *b)
{
	return a->sym == b->sym && (a->sym || a->ip == b->ip);
}

static int print_address(const struct ap_branch_end *end, u32 width, char *buf, size_t size)
{
	char text[1024];
	char level = ap_place_level(end->cpumode);

	if (end->sym)
		snprintf(text, sizeof(text), "[%c] %s+0x%llx", level, end->sym->name,
			 (unsigned long long)(end->addr - end->sym->start));
	else
		snprintf(text, sizeof(text), "[%c] %-#.*llx", level, (int)UNRESOLVED,
			 (unsigned long long)end->addr);
	return snprintf(buf, size, "%-*s", (int)width, text);
}

static const char *line_text(const struct ap_hist *h, const struct ap_branch_end *end, char *buf,
			     size_t size)
{
	return ap_source_text(h, end->file, end->line, end->dso, end->sym, end->addr, buf, size);
}

static int cmp_line(const struct ap_hist *h, const struct ap_branch_end *a,
		    const struct ap_branch_end *b)
{
	char ta[1024], tb[1024];

	return strcmp(line_text(h, a, ta, sizeof(ta)), line_text(h, b, tb, sizeof(tb)));
}

static bool same_line(const struct ap_branch_end *a, const struct ap_branch_end *b)
{
	if (a->file || b->file)
		return a->file == b->file && a->line == b->line;
	return a->addr == b->addr && a->dso == b->dso;
}

/* Everything twice: for where a branch comes from, and for where it goes to. */
#define END_KEYS(end)                                                                              \
	static int dso_##end##_sort(const struct ap_hist *h, const struct ap_hist_entry *a,        \
				    const struct ap_hist_entry *b)                                 \
	{                                                                                          \
		return cmp_file(h, &a->end, &b->end);                                              \
	}                                                                                          \
	static u64 dso_##end##_hash(const struct ap_hist_entry *e)                                 \
	{                                                                                          \
		return mix(e->end.dso ? (u64)(uintptr_t)e->end.dso->name : 0);                     \
	}                                                                                          \
	static bool dso_##end##_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b) \
	{                                                                                          \
		return same_file(&a->end, &b->end);                                                \
	}                                                                                          \
	static u32 dso_##end##_len(const struct ap_hist *h, const struct ap_hist_entry *e)         \
	{                                                                                          \
		return file_len(h, &e->end);                                                       \
	}                                                                                          \
	static int dso_##end##_print(const struct ap_hist *h, const struct ap_hist_entry *e,       \
				     u32 width, char *buf, size_t size)                            \
	{                                                                                          \
		return snprintf(buf, size, "%-*.*s", (int)width, (int)width,                       \
				file_name(h, &e->end));                                            \
	}                                                                                          \
	static int sym_##end##_sort(const struct ap_hist *h, const struct ap_hist_entry *a,        \
				    const struct ap_hist_entry *b)                                 \
	{                                                                                          \
		(void)h;                                                                           \
		return cmp_symbol(&a->end, &b->end);                                               \
	}                                                                                          \
	static u64 sym_##end##_hash(const struct ap_hist_entry *e)                                 \
	{                                                                                          \
		return mix(e->end.sym ? (u64)(uintptr_t)e->end.sym : e->end.ip);                   \
	}                                                                                          \
	static bool sym_##end##_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b) \
	{                                                                                          \
		return same_symbol(&a->end, &b->end);                                              \
	}                                                                                          \
	static u32 sym_##end##_len(const struct ap_hist *h, const struct ap_hist_entry *e)         \
	{                                                                                          \
		return ap_sym_len(h, e->end.sym);                                                  \
	}                                                                                          \
	static int sym_##end##_print(const struct ap_hist *h, const struct ap_hist_entry *e,       \
				     u32 width, char *buf, size_t size)                            \
	{                                                                                          \
		return ap_sym_print(h, e->end.dso, e->end.sym, e->end.addr,                        \
				    ap_place_level(e->end.cpumode), width, buf, size);             \
	}                                                                                          \
	static int addr_##end##_sort(const struct ap_hist *h, const struct ap_hist_entry *a,       \
				     const struct ap_hist_entry *b)                                \
	{                                                                                          \
		(void)h;                                                                           \
		return cmp_u64(a->end.ip, b->end.ip);                                              \
	}                                                                                          \
	static u64 addr_##end##_hash(const struct ap_hist_entry *e)                                \
	{                                                                                          \
		return mix(e->end.ip);                                                             \
	}                                                                                          \
	static bool addr_##end##_same(const struct ap_hist_entry *a,                               \
				      const struct ap_hist_entry *b)                               \
	{                                                                                          \
		return a->end.ip == b->end.ip;                                                     \
	}                                                                                          \
	static u32 addr_##end##_len(const struct ap_hist *h, const struct ap_hist_entry *e)        \
	{                                                                                          \
		return e->end.sym ? ap_sym_len(h, e->end.sym) : UNRESOLVED + 6;                    \
	}                                                                                          \
	static int addr_##end##_print(const struct ap_hist *h, const struct ap_hist_entry *e,      \
				      u32 width, char *buf, size_t size)                           \
	{                                                                                          \
		(void)h;                                                                           \
		return print_address(&e->end, width, buf, size);                                   \
	}                                                                                          \
	static int line_##end##_sort(const struct ap_hist *h, const struct ap_hist_entry *a,       \
				     const struct ap_hist_entry *b)                                \
	{                                                                                          \
		return cmp_line(h, &a->end, &b->end);                                              \
	}                                                                                          \
	static u64 line_##end##_hash(const struct ap_hist_entry *e)                                \
	{                                                                                          \
		return e->end.file ? mix((u64)(uintptr_t)e->end.file + e->end.line)                \
				   : mix(e->end.addr);                                             \
	}                                                                                          \
	static bool line_##end##_same(const struct ap_hist_entry *a,                               \
				      const struct ap_hist_entry *b)                               \
	{                                                                                          \
		return same_line(&a->end, &b->end);                                                \
	}                                                                                          \
	static u32 line_##end##_len(const struct ap_hist *h, const struct ap_hist_entry *e)        \
	{                                                                                          \
		char text[1024];                                                                   \
                                                                                                   \
		return ap_escape_width(line_text(h, &e->end, text, sizeof(text)));                 \
	}                                                                                          \
	static int line_##end##_print(const struct ap_hist *h, const struct ap_hist_entry *e,      \
				      u32 width, char *buf, size_t size)                           \
	{                                                                                          \
		char text[1024];                                                                   \
                                                                                                   \
		return snprintf(buf, size, "%-*.*s", (int)width, (int)width,                       \
				line_text(h, &e->end, text, sizeof(text)));                        \
	}

END_KEYS(from)
END_KEYS(to)

/* --- what is known of the branch itself */
static int no_order(const struct ap_hist *h, const struct ap_hist_entry *a,
		    const struct ap_hist_entry *b)
{
	(void)h;
	(void)a;
	(void)b;
	return 0;
}

static bool mispredict_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return !((a->branch ^ b->branch) & (FLAG_MISPREDICTED | FLAG_PREDICTED));
}

static u64 mispredict_hash(const struct ap_hist_entry *e)
{
	return mix(e->branch & (FLAG_MISPREDICTED | FLAG_PREDICTED));
}

static int mispredict_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			    char *buf, size_t size)
{
	const char *text = "N/A";

	(void)h;
	if (e->branch & FLAG_PREDICTED)
		text = "N";
	else if (e->branch & FLAG_MISPREDICTED)
		text = "Y";
	return snprintf(buf, size, "%-*.*s", (int)width, (int)width, text);
}

static u64 in_tx_hash(const struct ap_hist_entry *e)
{
	return mix(e->branch & FLAG_IN_TX);
}

static bool in_tx_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return !((a->branch ^ b->branch) & FLAG_IN_TX);
}

static int in_tx_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		       size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-*s", (int)width, e->branch & FLAG_IN_TX ? "T" : ".");
}

static u64 abort_hash(const struct ap_hist_entry *e)
{
	return mix(e->branch & FLAG_ABORT);
}

static bool abort_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return !((a->branch ^ b->branch) & FLAG_ABORT);
}

static int abort_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		       size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-*s", (int)width, e->branch & FLAG_ABORT ? "A" : ".");
}

static int cycles_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		       const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(cycles(b), cycles(a));
}

static u64 cycles_hash(const struct ap_hist_entry *e)
{
	return mix(cycles(e));
}

static bool cycles_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return cycles(a) == cycles(b);
}

static int cycles_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			char *buf, size_t size)
{
	(void)h;
	if (!cycles(e))
		return snprintf(buf, size, "%-*s", (int)width, "-");
	return snprintf(buf, size, "%-*u", (int)width, cycles(e));
}

/* --- weights */
static int weight_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		       const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(b->weight, a->weight);
}

static u64 weight_hash(const struct ap_hist_entry *e)
{
	return mix(e->weight);
}

static bool weight_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->weight == b->weight;
}

static int local_weight_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			      char *buf, size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-*llu", (int)width, (unsigned long long)e->weight);
}

static int weight_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			char *buf, size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-*llu", (int)width, (unsigned long long)(e->weight * e->n));
}

/* --- time */
static int time_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->time, b->time);
}

static u64 time_hash(const struct ap_hist_entry *e)
{
	return mix(e->time);
}

static bool time_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->time == b->time;
}

static int time_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	char text[48];

	(void)h;
	snprintf(text, sizeof(text), "%llu.%06llu", (unsigned long long)(e->time / 1000000000),
		 (unsigned long long)(e->time % 1000000000 / 1000));
	return snprintf(buf, size, "%-.*s", (int)width, text);
}

/* --- the address itself */
static int addr_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->addr, b->addr);
}

static u64 addr_hash(const struct ap_hist_entry *e)
{
	return mix(e->addr);
}

static bool addr_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->addr == b->addr;
}

static int addr_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-#*llx", (int)width, (unsigned long long)e->addr);
}

/* --- how long the function is */
static u64 size_of(const struct ap_hist_entry *e)
{
	return e->sym ? e->sym->end - e->sym->start : 0;
}

static int size_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(size_of(a), size_of(b));
}

static u64 size_hash(const struct ap_hist_entry *e)
{
	return mix(size_of(e));
}

static bool size_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return size_of(a) == size_of(b);
}

static int size_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	(void)h;
	if (!e->sym)
		return snprintf(buf, size, "%*s", (int)width, "unknown");
	return snprintf(buf, size, "%*llu", (int)width, (unsigned long long)size_of(e));
}

/* --- the function of the chain that a pattern names */
static const char *parent_name(const struct ap_hist_entry *e)
{
	return e->parent ? e->parent->name : "[other]";
}

static int parent_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		       const struct ap_hist_entry *b)
{
	(void)h;
	if (!a->parent || !b->parent)
		return !a->parent ? (b->parent ? 1 : 0) : -1;
	return strcmp(a->parent->name, b->parent->name);
}

static u64 parent_hash(const struct ap_hist_entry *e)
{
	return mix((u64)(uintptr_t)e->parent);
}

static bool parent_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->parent == b->parent;
}

static u32 parent_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	return e->parent ? ap_escape_width(e->parent->name) : 0;
}

static int parent_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			char *buf, size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-*.*s", (int)width, (int)width, parent_name(e));
}

/* --- cgroup */
static int cgroup_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		       const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->cgroup, b->cgroup);
}

static u64 cgroup_hash(const struct ap_hist_entry *e)
{
	return mix(e->cgroup);
}

static bool cgroup_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->cgroup == b->cgroup;
}

static u32 cgroup_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	return e->cgroup_path ? ap_escape_width(e->cgroup_path) : 0;
}

static int cgroup_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			char *buf, size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-.*s", (int)width, e->cgroup_path ? e->cgroup_path : "");
}

/* --- how much of the file is mapped there */
static int map_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		    const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->map_size, b->map_size);
}

static u64 map_hash(const struct ap_hist_entry *e)
{
	return mix(e->map_size);
}

static bool map_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->map_size == b->map_size;
}

static int map_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		     size_t size)
{
	(void)h;
	if (!e->map_size)
		return snprintf(buf, size, "%*s", (int)width, "unknown");
	return snprintf(buf, size, "%*llu", (int)width, (unsigned long long)e->map_size);
}

#define AT(key) [(key)-AP_KEY_MORE]

const struct ap_key_ops ap_keys_more[] = {
	AT(AP_KEY_DSO_FROM) = { "dso_from", "Source Shared Object", 0, dso_from_sort, dso_from_sort,
				dso_from_hash, dso_from_same, dso_from_len, dso_from_print },
	AT(AP_KEY_DSO_TO) = { "dso_to", "Target Shared Object", 0, dso_to_sort, dso_to_sort,
			      dso_to_hash, dso_to_same, dso_to_len, dso_to_print },
	AT(AP_KEY_SYM_FROM) = { "symbol_from", "Source Symbol", 0, sym_from_sort, sym_from_sort,
				sym_from_hash, sym_from_same, sym_from_len, sym_from_print },
	AT(AP_KEY_SYM_TO) = { "symbol_to", "Target Symbol", 0, sym_to_sort, sym_to_sort,
			      sym_to_hash, sym_to_same, sym_to_len, sym_to_print },
	AT(AP_KEY_ADDR_FROM) = { "addr_from", "Source Address", 0, addr_from_sort, addr_from_sort,
				 addr_from_hash, addr_from_same, addr_from_len, addr_from_print },
	AT(AP_KEY_ADDR_TO) = { "addr_to", "Target Address", 0, addr_to_sort, addr_to_sort,
			       addr_to_hash, addr_to_same, addr_to_len, addr_to_print },
	AT(AP_KEY_LINE_FROM) = { "srcline_from", "From Source:Line", 0, line_from_sort,
				 line_from_sort, line_from_hash, line_from_same, line_from_len,
				 line_from_print },
	AT(AP_KEY_LINE_TO) = { "srcline_to", "To Source:Line", 0, line_to_sort, line_to_sort,
			       line_to_hash, line_to_same, line_to_len, line_to_print },
	AT(AP_KEY_MISPREDICT) = { "mispredict", "Branch Mispredicted", 0, no_order, no_order,
				  mispredict_hash, mispredict_same, NULL, mispredict_print },
	AT(AP_KEY_IN_TX) = { "in_tx", "Branch in transaction", 0, no_order, no_order, in_tx_hash,
			     in_tx_same, NULL, in_tx_print },
	AT(AP_KEY_ABORT) = { "abort", "Transaction abort", 0, no_order, no_order, abort_hash,
			     abort_same, NULL, abort_print },
	AT(AP_KEY_CYCLES) = { "cycles", "Basic Block Cycles", 6, cycles_sort, cycles_sort,
			      cycles_hash, cycles_same, NULL, cycles_print },
	AT(AP_KEY_LOCAL_WEIGHT) = { "local_weight", "Local Weight", 12, weight_sort, weight_sort,
				    weight_hash, weight_same, NULL, local_weight_print },
	AT(AP_KEY_WEIGHT) = { "weight", "Weight", 12, weight_sort, weight_sort, weight_hash,
			      weight_same, NULL, weight_print },
	AT(AP_KEY_TIME) = { "time", "Time", 12, time_sort, time_sort, time_hash, time_same, NULL,
			    time_print },
	AT(AP_KEY_ADDR) = { "addr", "Address", 18, addr_sort, addr_sort, addr_hash, addr_same, NULL,
			    addr_print },
	AT(AP_KEY_SYM_SIZE) = { "symbol_size", "Symbol size", 0, size_sort, size_sort, size_hash,
				size_same, NULL, size_print },
	AT(AP_KEY_PARENT) = { "parent", "Parent symbol", 0, parent_sort, parent_sort, parent_hash,
			      parent_same, parent_len, parent_print },
	AT(AP_KEY_CGROUP) = { "cgroup", "Cgroup", 0, cgroup_sort, cgroup_sort, cgroup_hash,
			      cgroup_same, cgroup_len, cgroup_print },
	AT(AP_KEY_DSO_SIZE) = { "dso_size", "DSO size", 0, map_sort, map_sort, map_hash, map_same,
				NULL, map_print },
};
