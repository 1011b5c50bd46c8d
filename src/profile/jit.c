/* SPDX-License-Identifier: MIT */
/*
 * Symbols that are lists of text: what a JIT compiler wrote into /tmp/perf-PID.map, and the kernel's
 * own /proc/kallsyms.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "profile/format.h"
#include "profile/symbol_internal.h"

#define MAX_DUMP_RECORD (256U * 1024 * 1024)

static char *hex(char *p, u64 *v)
{
	char *end;

	errno = 0;
	*v = strtoull(p, &end, 16);
	return end == p || errno ? NULL : end;
}

/* "START SIZE NAME", the numbers in hex. */
void ap_jit_symbols(struct ap_dso *dso, struct ap_symvec *vec)
{
	int fd = ap_open_regular(dso->path);
	struct stat st;
	char *line = NULL, *p;
	size_t cap = 0;
	ssize_t n;
	FILE *f;

	/* anybody may write into that folder: a stranger's file tells nothing */
	if (fd >= 0 && (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()))) {
		close(fd);
		return;
	}
	f = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!f)
		return;
	dso->symfile = dso->path;
	while ((n = getline(&line, &cap, f)) > 0) {
		struct ap_symbol s = { .type = STT_FUNC, .bind = STB_GLOBAL };
		u64 size;

		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		p = hex(line, &s.start);
		p = p && *p == ' ' ? hex(p, &size) : NULL;
		if (!p || *p++ != ' ' || !*p || !size)
			continue;
		s.end = s.start + size;
		s.name = ap_symbol_name(dso->symbols, p);
		ap_symvec_add(vec, &s);
	}
	free(line);
	fclose(f);
}

struct load {
	struct ap_symbol sym;
	struct ap_jit_code code; /* off 0: it is not there */
	u64 index;		 /* that the compiler gave */
	u32 nr;			 /* in the file */
};

struct loads {
	struct load *v;
	u32 n, cap;
	/* of the load that comes next */
	u64 unwind;
	u32 unwind_size;
};

static void add_load(struct loads *all, const struct load *l)
{
	if (all->n == all->cap) {
		all->cap = all->cap ? 2 * all->cap : 256;
		all->v = ap_profile_realloc(all->v, all->cap, sizeof(*all->v));
	}
	all->v[all->n] = *l;
	all->v[all->n].nr = all->n;
	all->n++;
}

/* header 16, pid 4, tid 4, vma 8, address 8, size 8, index 8, name, code */
static void load_record(struct ap_dso *dso, const u8 *rec, u32 size, u64 at, struct loads *all)
{
	struct load l = { .sym = { .type = STT_FUNC, .bind = STB_GLOBAL } };
	u64 len, code;

	if (size <= 56 || !memchr(rec + 56, 0, size - 56))
		return;
	l.sym.start = ap_get64(rec + 32);
	len = ap_get64(rec + 40);
	if (!len || len > ~l.sym.start)
		return;
	l.sym.end = l.sym.start + len;
	l.sym.name = ap_symbol_name(dso->symbols, (const char *)rec + 56);
	l.index = ap_get64(rec + 48);
	code = 56 + strlen((const char *)rec + 56) + 1;
	l.code = (struct ap_jit_code){ l.sym.start, len, len <= size - code ? at + code : 0,
				       all->unwind, all->unwind_size };
	add_load(all, &l);
}

/* header 16, pid 4, tid 4, vma 8, old address 8, new one 8, size 8, index 8: the same code, its tables included */
static void move_record(const u8 *rec, u32 size, struct loads *all)
{
	struct load l;
	u64 to;
	u32 i;

	if (size < 64)
		return;
	to = ap_get64(rec + 40);
	for (i = all->n; i--;)
		if (all->v[i].index == ap_get64(rec + 56) &&
		    all->v[i].sym.start == ap_get64(rec + 32))
			break;
	if (i == ~0U || all->v[i].code.size > ~to)
		return;
	l = all->v[i];
	l.sym.start = l.code.start = to;
	l.sym.end = to + l.code.size;
	add_load(all, &l);
}

/* header 16, size of the tables 8, of their .eh_frame_hdr at the end 8, size in memory 8, the tables */
static void unwinding_record(const u8 *rec, u32 size, u64 at, struct loads *all)
{
	u64 tables, header;

	if (size < 40)
		return;
	tables = ap_get64(rec + 16);
	header = ap_get64(rec + 24);
	if (tables > size - 40 || header > tables)
		return;
	all->unwind = at + 40;
	all->unwind_size = (u32)(tables - header);
}

/* Records of a jitdump that say what code is where; others are passed over. */
static void dump_record(struct ap_dso *dso, const u8 *rec, u32 size, u64 at, struct loads *all)
{
	switch (ap_get32(rec)) {
	case 0:
		load_record(dso, rec, size, at, all);
		all->unwind_size = 0;
		break;
	case 1:
		move_record(rec, size, all);
		break;
	case 4:
		unwinding_record(rec, size, at, all);
		break;
	default:
		break;
	}
}

static int by_address(const void *pa, const void *pb)
{
	const struct load *a = pa, *b = pb;

	if (a->sym.start != b->sym.start)
		return a->sym.start < b->sym.start ? -1 : 1;
	return a->nr < b->nr ? -1 : 1;
}

/* Memory is used again: of what overlaps, what came later is what is there. */
static void newest(struct ap_dso *dso, struct loads *all, struct ap_symvec *vec)
{
	u32 i, n = 0;

	if (all->n)
		qsort(all->v, all->n, sizeof(*all->v), by_address);
	for (i = 0; i < all->n; i++) {
		struct load *l = &all->v[i];

		while (n && all->v[n - 1].sym.end > l->sym.start && all->v[n - 1].nr < l->nr)
			n--;
		if (!n || all->v[n - 1].sym.end <= l->sym.start)
			all->v[n++] = *l;
	}
	dso->code = ap_profile_realloc(dso->code, n, sizeof(*dso->code));
	for (i = 0; i < n; i++) {
		const struct load *l = &all->v[i];

		ap_symvec_add(vec, &l->sym);
		if (l->code.off)
			dso->code[dso->ncode++] = l->code;
	}
	free(all->v);
}

/*
 * jit-PID.dump: a header that tells its own size, then records of (u32 id, u32 size, u64 time).  Only in
 * this machine's byte order.
 */
void ap_jitdump_symbols(struct ap_dso *dso, const char *path, struct ap_symvec *vec)
{
	int fd = ap_open_regular(path);
	u8 head[16], *rec = NULL;
	struct loads all = { 0 };
	u32 size, cap = 0;
	u64 at;
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (!f)
		return;
	if (fread(head, 1, 16, f) != 16 || ap_get32(head) != 0x4a695444 ||
	    fseek(f, (long)ap_get32(head + 8), SEEK_SET))
		goto out;
	for (at = ap_get32(head + 8); fread(head, 1, 16, f) == 16; at += size) {
		size = ap_get32(head + 4);
		if (size < 16 || size > MAX_DUMP_RECORD)
			break;
		if (size > cap) {
			cap = size;
			rec = ap_profile_realloc(rec, cap, 1);
		}
		memcpy(rec, head, 16);
		if (fread(rec + 16, 1, size - 16, f) != size - 16)
			break;
		dump_record(dso, rec, size, at, &all);
	}
	newest(dso, &all, vec);
out:
	free(rec);
	fclose(f);
}

const struct ap_jit_code *ap_jit_code_at(struct ap_dso *dso, u64 place)
{
	u32 lo = 0, hi, mid;

	ap_dso_symbol(dso, place); /* which reads the jitdump */
	for (hi = dso->ncode; lo < hi;) {
		mid = lo + (hi - lo) / 2;
		if (dso->code[mid].start <= place)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && place - dso->code[lo - 1].start < dso->code[lo - 1].size ? &dso->code[lo - 1]
									      : NULL;
}

size_t ap_jitdump_code(struct ap_dso *dso, u64 place, u8 *buf, size_t size)
{
	const struct ap_jit_code *c = ap_jit_code_at(dso, place);
	ssize_t n = -1;
	int fd;

	if (!c)
		return 0;
	if (size > c->size - (place - c->start))
		size = c->size - (place - c->start);
	fd = ap_open_regular(dso->jitdump);
	if (fd >= 0) {
		n = pread(fd, buf, size, (off_t)(c->off + place - c->start));
		close(fd);
	}
	return n > 0 ? (size_t)n : 0;
}

/* Whether the kernel of the profile is the one that runs. */
static bool kernel_runs(const struct ap_dso *dso)
{
	u8 notes[4096];
	FILE *f = fopen("/sys/kernel/notes", "re");
	size_t n, i;

	if (!dso->build_id_size)
		return true;
	if (!f)
		return false;
	n = fread(notes, 1, sizeof(notes), f);
	fclose(f);
	for (i = 0; i + dso->build_id_size <= n; i++) {
		if (!memcmp(notes + i, dso->build_id, dso->build_id_size))
			return true;
	}
	return false;
}

/* "ADDRESS TYPE NAME [MODULE]"; addresses are 0 for who may not see them. */
void ap_kernel_symbols(struct ap_dso *dso, struct ap_symvec *vec)
{
	const char *path = dso->symbols->kallsyms;
	char *line = NULL, *p;
	size_t cap = 0;
	FILE *f;

	if (!path && !kernel_runs(dso))
		return;
	f = fopen(path ? path : "/proc/kallsyms", "re");
	while (f && getline(&line, &cap, f) > 0) {
		struct ap_symbol s = { .type = STT_FUNC, .bind = STB_GLOBAL };

		p = hex(line, &s.start);
		if (!p || !s.start || *p++ != ' ' || !*p || !strchr("tTwW", *p) || p[1] != ' ')
			continue;
		p += 2;
		p[strcspn(p, "\n\t")] = 0;
		s.end = s.start;
		s.name = ap_intern_str(&dso->symbols->text, p);
		ap_symvec_add(vec, &s);
	}
	free(line);
	if (f)
		fclose(f);
}
