/* SPDX-License-Identifier: MIT */
/*
 * jit-PID.dump, in which a JIT compiler says what code it puts where: names, the code and its
 * unwinding tables.  Code comes, moves and is overwritten, so what is at an address is a matter of
 * time.  Samples whose clock is the dump's (record -k monotonic) find what was there then; others
 * find what was put there last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plant.h"
#include "profile/data/format.h"
#include "profile/symbols/symbol_internal.h"

#define MAX_DUMP_RECORD (256U * 1024 * 1024)

/* Code that is at an address from a time on. */
struct jit_piece {
	struct ap_symbol sym;
	struct ap_jit_code code; /* off 0: it is not in the file */
	u64 index;		 /* that the compiler gave */
	u64 time;
	u32 from; /* the piece that moved here, + 1; 0: none did */
};

struct ap_jit {
	struct jit_piece *v; /* in the order of times */
	u32 n, cap;
	u32 *live; /* what is there now, by address and without overlaps */
	u32 nlive;
	u32 applied; /* so many of v have had their time */
	/* while it is read: of the load that comes next */
	u64 unwind;
	u32 unwind_size;
	/*
	 * the newest piece of each index and address, + 1: what moves names them, and there may be
	 * millions
	 */
	u32 *newest, slots;
};

/* --- reading */

/* Where the newest piece of an index at an address is, or would be. */
static u32 *newest_of(struct ap_jit *j, u64 index, u64 start)
{
	u64 h = (index ^ start * 0x9fb21c651e98df25ULL) * 0x9e3779b97f4a7c15ULL;
	u32 i = (u32)(h >> 32) & (j->slots - 1);

	for (; j->newest[i]; i = (i + 1) & (j->slots - 1)) {
		const struct jit_piece *p = &j->v[j->newest[i] - 1];

		if (p->index == index && p->sym.start == start)
			break;
	}
	return &j->newest[i];
}

static void grow_newest(struct ap_jit *j)
{
	free(j->newest);
	j->slots = j->slots ? 2 * j->slots : 512;
	j->newest = ap_profile_calloc(j->slots, sizeof(*j->newest));
	for (u32 i = 0; i < j->n; i++)
		*newest_of(j, j->v[i].index, j->v[i].sym.start) = i + 1;
}

static void add_piece(struct ap_jit *j, const struct jit_piece *p)
{
	if (j->n == j->cap) {
		j->cap = j->cap ? 2 * j->cap : 256;
		j->v = ap_profile_realloc(j->v, j->cap, sizeof(*j->v));
	}
	j->v[j->n] = *p;
	/* threads may write behind each other's back; never back in time */
	if (j->n && p->time < j->v[j->n - 1].time)
		j->v[j->n].time = j->v[j->n - 1].time;
	j->n++;
	if (2 * j->n > j->slots)
		grow_newest(j);
	*newest_of(j, p->index, p->sym.start) = j->n;
}

/* header 16, pid 4, tid 4, vma 8, address 8, size 8, index 8, name, code */
static void load_record(struct ap_dso *dso, const u8 *rec, u32 size, u64 at, struct ap_jit *j)
{
	struct jit_piece p = { .sym = { .type = STT_FUNC, .bind = STB_GLOBAL } };
	u64 len, code;

	if (size <= 56 || !memchr(rec + 56, 0, size - 56))
		return;
	p.sym.start = ap_get64(rec + 32);
	len = ap_get64(rec + 40);
	if (!len || len > ~p.sym.start)
		return;
	p.sym.end = p.sym.start + len;
	p.sym.name = ap_symbol_name(dso->symbols, (const char *)rec + 56);
	p.index = ap_get64(rec + 48);
	p.time = ap_get64(rec + 8);
	code = 56 + strlen((const char *)rec + 56) + 1;
	p.code = (struct ap_jit_code){ p.sym.start, len, len <= size - code ? at + code : 0,
				       j->unwind, j->unwind_size };
	add_piece(j, &p);
}

/*
 * header 16, pid 4, tid 4, vma 8, old address 8, new one 8, size 8, index 8: the same code, its
 * tables included
 */
static void move_record(const u8 *rec, u32 size, struct ap_jit *j)
{
	struct jit_piece p;
	u64 to;
	u32 i;

	if (size < 64)
		return;
	to = ap_get64(rec + 40);
	i = j->n ? *newest_of(j, ap_get64(rec + 56), ap_get64(rec + 32)) : 0;
	if (!i-- || j->v[i].code.size > ~to)
		return;
	p = j->v[i];
	AP_PLANT("jitdump", ap_get64(rec + 48) != p.code.size);
	p.sym.start = p.code.start = to;
	p.sym.end = to + p.code.size;
	p.time = ap_get64(rec + 8);
	p.from = i + 1;
	add_piece(j, &p);
}

/*
 * header 16, size of the tables 8, of their .eh_frame_hdr at the end 8, size in memory 8, the
 * tables
 */
static void unwinding_record(const u8 *rec, u32 size, u64 at, struct ap_jit *j)
{
	u64 tables, header;

	if (size < 40)
		return;
	tables = ap_get64(rec + 16);
	header = ap_get64(rec + 24);
	if (tables > size - 40 || header > tables)
		return;
	j->unwind = at + 40;
	j->unwind_size = (u32)(tables - header);
}

/* Records that say what code is where; others are passed over. */
static void dump_record(struct ap_dso *dso, const u8 *rec, u32 size, u64 at, struct ap_jit *j)
{
	switch (ap_get32(rec)) {
	case 0:
		load_record(dso, rec, size, at, j);
		j->unwind_size = 0;
		break;
	case 1:
		move_record(rec, size, j);
		break;
	case 4:
		unwinding_record(rec, size, at, j);
		break;
	default:
		break;
	}
}

static void read_dump(struct ap_dso *dso, FILE *f, struct ap_jit *j)
{
	u8 head[16], *rec = NULL;
	u32 size, cap = 0;
	u64 at;

	if (fread(head, 1, 16, f) != 16 || ap_get32(head) != 0x4a695444 ||
	    fseek(f, (long)ap_get32(head + 8), SEEK_SET))
		return;
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
		dump_record(dso, rec, size, at, j);
	}
	free(rec);
}

/*
 * A header that tells its own size, then records of (u32 id, u32 size, u64 time).  Only in this
 * machine's byte order.
 */
void ap_jitdump_load(struct ap_dso *dso)
{
	int fd = ap_jit_open(dso, dso->jitdump);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;

	if (!f)
		return;
	dso->jit = ap_profile_calloc(1, sizeof(*dso->jit));
	read_dump(dso, f, dso->jit);
	fclose(f);
	free(dso->jit->newest);
	dso->jit->newest = NULL;
	dso->jit->live = ap_profile_calloc(dso->jit->n + 1, sizeof(u32));
	ap_jit_advance(dso, dso->symbols->now ? dso->symbols->now : ~0ULL);
}

void ap_jit_free(struct ap_jit *j)
{
	if (!j)
		return;
	free(j->v);
	free(j->live);
	free(j);
}

/* --- what is there */

/* The first live piece that ends behind the address. */
static u32 first_behind(const struct ap_jit *j, u64 addr)
{
	u32 lo = 0, hi = j->nlive, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (j->v[j->live[mid]].sym.end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void take_out(struct ap_jit *j, u32 from, u32 to)
{
	memmove(j->live + from, j->live + to, (j->nlive - to) * sizeof(u32));
	j->nlive -= to - from;
}

/* What comes later is what is there: all that it overlaps is gone. */
static void put_in(struct ap_jit *j, u32 nr)
{
	u32 from = first_behind(j, j->v[nr].sym.start), to = from;

	while (to < j->nlive && j->v[j->live[to]].sym.start < j->v[nr].sym.end)
		to++;
	take_out(j, from, to);
	memmove(j->live + from + 1, j->live + from, (j->nlive - from) * sizeof(u32));
	j->live[from] = nr;
	j->nlive++;
}

static void leave(struct ap_jit *j, u32 nr)
{
	u32 i = first_behind(j, j->v[nr].sym.start);

	if (i < j->nlive && j->live[i] == nr)
		take_out(j, i, i + 1);
}

bool ap_jit_is_behind(const struct ap_dso *dso, u64 time)
{
	const struct ap_jit *j = dso->jit;

	return j && j->applied < j->n && j->v[j->applied].time <= time;
}

void ap_jit_advance(struct ap_dso *dso, u64 time)
{
	struct ap_jit *j = dso->jit;

	for (; ap_jit_is_behind(dso, time); j->applied++) {
		/*
		 * where nothing tells when a sample was, code that has moved is also where it was
		 */
		if (j->v[j->applied].from && time != ~0ULL)
			leave(j, j->v[j->applied].from - 1);
		put_in(j, j->applied);
	}
}

static const struct jit_piece *piece_at(const struct ap_dso *dso, u64 place)
{
	const struct ap_jit *j = dso->jit;
	u32 i = j ? first_behind(j, place) : 0;

	return j && i < j->nlive && j->v[j->live[i]].sym.start <= place ? &j->v[j->live[i]] : NULL;
}

const struct ap_symbol *ap_jit_symbol(const struct ap_dso *dso, u64 place)
{
	const struct jit_piece *p = piece_at(dso, place);

	return p ? &p->sym : NULL;
}

const struct ap_jit_code *ap_jit_code_at(struct ap_dso *dso, u64 place)
{
	const struct jit_piece *p;

	ap_dso_symbol(dso, place); /* which reads the dump */
	p = piece_at(dso, place);
	return p && p->code.off ? &p->code : NULL;
}

static size_t read_code(struct ap_dso *dso, const struct ap_jit_code *c, u64 place, u8 *buf,
			size_t size)
{
	ssize_t n = -1;
	int fd;

	if (size > c->size - (place - c->start))
		size = c->size - (place - c->start);
	fd = ap_jit_open(dso, dso->jitdump);
	if (fd >= 0) {
		n = pread(fd, buf, size, (off_t)(c->off + place - c->start));
		close(fd);
	}
	return n > 0 ? (size_t)n : 0;
}

size_t ap_jitdump_code(struct ap_dso *dso, u64 place, u8 *buf, size_t size)
{
	const struct ap_jit_code *c = ap_jit_code_at(dso, place);

	return c ? read_code(dso, c, place, buf, size) : 0;
}

size_t ap_jitdump_function(struct ap_dso *dso, const struct ap_symbol *sym, u8 *buf, size_t size)
{
	const struct ap_jit *j = dso->jit;

	for (u32 i = 0; j && i < j->n; i++)
		if (&j->v[i].sym == sym)
			return j->v[i].code.off
				       ? read_code(dso, &j->v[i].code, sym->start, buf, size)
				       : 0;
	return ap_jitdump_code(dso, sym->start, buf, size);
}
