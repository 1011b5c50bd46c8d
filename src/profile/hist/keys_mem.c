/* SPDX-License-Identifier: MIT */
/*
 * Keys of references to memory: which data, where they were found, at what price.  Orders are those
 * of perf.
 */
#include <string.h>

#include "print/escape.h"
#include "profile/hist/data_source.h"
#include "profile/hist/hist_internal.h"

#define UNRESOLVED 16U

static int cmp_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static u64 mix(u64 v)
{
	v *= 0xff51afd7ed558ccdULL;
	return v ^ v >> 33;
}

/* A field of the sample's word, as a number and in words. */
#define SOURCE_KEY(name, FIELD, words)                                                             \
	static int name##_sort(const struct ap_hist *h, const struct ap_hist_entry *a,             \
			       const struct ap_hist_entry *b)                                      \
	{                                                                                          \
		(void)h;                                                                           \
		return cmp_u64(FIELD(a->source), FIELD(b->source));                                \
	}                                                                                          \
	static u64 name##_hash(const struct ap_hist_entry *e)                                      \
	{                                                                                          \
		return mix(FIELD(e->source));                                                      \
	}                                                                                          \
	static bool name##_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)      \
	{                                                                                          \
		return FIELD(a->source) == FIELD(b->source);                                       \
	}                                                                                          \
	static int name##_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, \
				char *buf, size_t size)                                            \
	{                                                                                          \
		char text[AP_SOURCE_TEXT];                                                         \
                                                                                                   \
		(void)h;                                                                           \
		(void)text;                                                                        \
		return snprintf(buf, size, "%-*s", (int)width, words);                             \
	}

SOURCE_KEY(level, AP_SOURCE_LEVEL, ap_source_level(e->source, text, sizeof(text)))
SOURCE_KEY(snoop, AP_SOURCE_SNOOP, ap_source_snoop(e->source, text, sizeof(text)))
SOURCE_KEY(tlb, AP_SOURCE_TLB, ap_source_tlb(e->source, text, sizeof(text)))
SOURCE_KEY(locked, AP_SOURCE_LOCK, ap_source_lock(e->source))
SOURCE_KEY(blocked, AP_SOURCE_BLOCK, ap_source_blocked(e->source))

/* --- the datum: told apart by its address */
static int datum_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		      const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->data.ip, b->data.ip);
}

static u64 datum_hash(const struct ap_hist_entry *e)
{
	return mix(e->data.ip);
}

static bool datum_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->data.ip == b->data.ip;
}

static u32 datum_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	return (e->data.sym ? ap_escape_width(e->data.sym->name) + UNRESOLVED + 2
			    : UNRESOLVED + 2) +
	       4;
}

static int datum_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		       size_t size)
{
	char text[1024];

	ap_sym_print(h, e->data.dso, e->data.sym, e->data.sym ? e->data.addr : e->data.ip,
		     ap_place_level(e->data.cpumode), width, text, sizeof(text));
	return snprintf(buf, size, "%-*s", (int)width, text);
}

/* --- what is mapped there */
static const char *file_name(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	const char *slash;

	if (!e->data.dso)
		return "[unknown]";
	if (h->opts.full_paths)
		return e->data.dso->path;
	/* "//anon" and "/dev/zero" are no files, and have a last part all the same */
	slash = strrchr(e->data.dso->name, '/');
	return slash && slash[1] ? slash + 1 : e->data.dso->name;
}

/* From the last name to the first, as perf has it here. */
static int object_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		       const struct ap_hist_entry *b)
{
	if (!a->data.dso || !b->data.dso)
		return !a->data.dso ? (b->data.dso ? -1 : 0) : 1;
	return strcmp(file_name(h, b), file_name(h, a));
}

static u64 object_hash(const struct ap_hist_entry *e)
{
	return mix(e->data.dso ? (u64)(uintptr_t)e->data.dso->name : 0);
}

static bool object_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->data.dso == b->data.dso ||
	       (a->data.dso && b->data.dso && a->data.dso->name == b->data.dso->name);
}

static u32 object_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	return e->data.dso ? ap_escape_width(file_name(h, e)) : ap_unresolved_len(h, UNRESOLVED);
}

static int object_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			char *buf, size_t size)
{
	return snprintf(buf, size, "%-*.*s", (int)width, (int)width, file_name(h, e));
}

/* --- how long the instruction itself took, where the weight has that part */
static int latency_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
			const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->latency, b->latency);
}

static u64 latency_hash(const struct ap_hist_entry *e)
{
	return mix(e->latency);
}

static bool latency_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->latency == b->latency;
}

static int latency_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			 char *buf, size_t size)
{
	(void)h;
	return snprintf(buf, size, "%-*u", (int)width, e->latency);
}

/* --- the line of the cache: of a file wherever it is mapped, else of the process */
#define LINE_SIZE      64U
#define MAP_SHARED_BIT 1U
#define PROT_EXEC_BIT  4U
#define DATA_WIDTH     (UNRESOLVED + 6)

static u64 line_of(const struct ap_hist_entry *e)
{
	return e->data.addr & ~(u64)(LINE_SIZE - 1);
}

static bool is_known_file(const struct ap_hist_entry *e)
{
	return e->mapped.dev || e->mapped.ino;
}

/* Where no record tells which file it is, its name does. */
static u64 name_of(const struct ap_hist_entry *e)
{
	return e->data.dso->kind == AP_DSO_FILE ? e->data.dso->index + 1ULL : 0;
}

static bool is_of_process(const struct ap_hist_entry *e)
{
	return e->cpumode != AP_PERF_RECORD_MISC_KERNEL && !(e->mapped.flags & MAP_SHARED_BIT);
}

static int line_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	int r = 0;

	(void)h;
	if (!a->data.dso != !b->data.dso)
		return a->data.dso ? -1 : 1;
	if (a->data.dso) {
		r = cmp_u64(a->mapped.dev, b->mapped.dev);
		r = r ? r : cmp_u64(a->mapped.ino, b->mapped.ino);
		if (!r && !is_known_file(a))
			r = cmp_u64(name_of(a), name_of(b));
		if (!r && !is_known_file(a) && is_of_process(a))
			r = cmp_u64(a->thread->pid, b->thread->pid);
	}
	return r ? r : cmp_u64(line_of(a), line_of(b));
}

static u64 line_hash(const struct ap_hist_entry *e)
{
	return mix(line_of(e));
}

static bool line_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return !line_sort(NULL, a, b);
}

static u32 line_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	return datum_len(h, e) + !!e->data.sym;
}

/*
 * As of the instruction, but 's' in a shared file's data, and 'X' where nothing is known to be
 * mapped.
 */
static char line_level(const struct ap_hist_entry *e)
{
	if (!e->data.dso)
		return 'X';
	if (e->cpumode != AP_PERF_RECORD_MISC_KERNEL && is_known_file(e) &&
	    (e->mapped.flags & MAP_SHARED_BIT) && !(e->mapped.prot & PROT_EXEC_BIT))
		return 's';
	return ap_place_level(e->cpumode);
}

static int line_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	return ap_sym_print(h, e->data.dso, e->data.sym, line_of(e), line_level(e), width, buf,
			    size);
}

/* --- where the datum was in the machine, and the size of its page */
static int phys_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->facts.phys, b->facts.phys);
}

static u64 phys_hash(const struct ap_hist_entry *e)
{
	return mix(e->facts.phys);
}

static bool phys_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->facts.phys == b->facts.phys;
}

static u32 wide_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	(void)e;
	return DATA_WIDTH;
}

static int phys_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	char text[32];

	(void)h;
	snprintf(text, sizeof(text), "[%c] %-#.16llx", ap_place_level(e->cpumode),
		 (unsigned long long)e->facts.phys);
	return snprintf(buf, size, "%-*s", (int)width, text);
}

static int data_page_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
			  const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->facts.data_page, b->facts.data_page);
}

static u64 data_page_hash(const struct ap_hist_entry *e)
{
	return mix(e->facts.data_page);
}

static bool data_page_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->facts.data_page == b->facts.data_page;
}

static int data_page_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width,
			   char *buf, size_t size)
{
	char text[AP_PAGE_TEXT];

	(void)h;
	return snprintf(buf, size, "%-*s", (int)width,
			ap_page_text(e->facts.data_page, text, sizeof(text)));
}

/* --- the instruction: told apart by its address, as the datum is */
static int code_sort(const struct ap_hist *h, const struct ap_hist_entry *a,
		     const struct ap_hist_entry *b)
{
	(void)h;
	return cmp_u64(a->addr, b->addr);
}

static u64 code_hash(const struct ap_hist_entry *e)
{
	return mix(e->addr);
}

static bool code_same(const struct ap_hist_entry *a, const struct ap_hist_entry *b)
{
	return a->addr == b->addr;
}

static u32 code_len(const struct ap_hist *h, const struct ap_hist_entry *e)
{
	(void)h;
	return (e->sym ? ap_escape_width(e->sym->name) : 0) + DATA_WIDTH;
}

static int code_print(const struct ap_hist *h, const struct ap_hist_entry *e, u32 width, char *buf,
		      size_t size)
{
	char text[1024];

	ap_sym_print(h, e->dso, e->sym, e->addr, ap_place_level(e->cpumode), width, text,
		     sizeof(text));
	return snprintf(buf, size, "%-*s", (int)width, text);
}

#define AT(key) [(key)-AP_KEY_MEMORY]

const struct ap_key_ops ap_keys_mem[] = {
	AT(AP_KEY_MEM) = { "mem", "Memory access", 24, level_sort, level_sort, level_hash,
			   level_same, NULL, level_print },
	AT(AP_KEY_DATA_SYM) = { "symbol_daddr", "Data Symbol", 0, datum_sort, datum_sort,
				datum_hash, datum_same, datum_len, datum_print },
	AT(AP_KEY_DATA_DSO) = { "dso_daddr", "Data Object", 0, object_sort, object_sort,
				object_hash, object_same, object_len, object_print },
	AT(AP_KEY_SNOOP) = { "snoop", "Snoop", 12, snoop_sort, snoop_sort, snoop_hash, snoop_same,
			     NULL, snoop_print },
	AT(AP_KEY_TLB) = { "tlb", "TLB access", 22, tlb_sort, tlb_sort, tlb_hash, tlb_same, NULL,
			   tlb_print },
	AT(AP_KEY_LOCKED) = { "locked", "Locked", 6, locked_sort, locked_sort, locked_hash,
			      locked_same, NULL, locked_print },
	AT(AP_KEY_BLOCKED) = { "blocked", "Blocked", 10, blocked_sort, blocked_sort, blocked_hash,
			       blocked_same, NULL, blocked_print },
	AT(AP_KEY_INS_LAT) = { "local_ins_lat", "Local INSTR Latency", 0, latency_sort,
			       latency_sort, latency_hash, latency_same, NULL, latency_print },
	AT(AP_KEY_DATA_LINE) = { "dcacheline", "Data Cacheline", 0, line_sort, line_sort, line_hash,
				 line_same, line_len, line_print },
	AT(AP_KEY_DATA_PHYS) = { "phys_daddr", "Data Physical Address", 0, phys_sort, phys_sort,
				 phys_hash, phys_same, wide_len, phys_print },
	AT(AP_KEY_DATA_PAGE) = { "data_page_size", "Data Page Size", 0, data_page_sort,
				 data_page_sort, data_page_hash, data_page_same, wide_len,
				 data_page_print },
	AT(AP_KEY_CODE_SYM) = { "symbol_iaddr", "Code Symbol", 0, code_sort, code_sort, code_hash,
				code_same, code_len, code_print },
};
