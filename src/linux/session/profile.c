/* SPDX-License-Identifier: MIT */
/*
 * Exact profiles, read from what processes have left (abi/profile.h): ways out of blocks become counts of instructions.
 *
 * All of it was written by programs, so each number is held against the room that it has.  Counters are read with pread(2) where the
 * file has data, as a look at its holes by way of a mapping would fill them.
 */
#include "linux/session/profile.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/profile.h"
#include "linux/session/session.h"

#define CHUNK	    (64U << 10)
#define DEPTH_MAX   64 /* forks of forks that have made code: what a chain of tables is followed */
#define BLOCK_MAX   (sizeof(struct ap_profile_block) + 1024)
#define BLOCK_INSNS 127U

/* Segments that processes took because they have more threads than one has slots: of a party, in their order. */
struct joined {
	struct {
		u32 seg, whose; /* segment + 1 */
	} * v;
	u32 n;
};

/* The counters of one process, and where they go. */
struct reading {
	const struct ap_session_file *s;
	ap_profile_fn fn;
	void *arg;
	struct ap_profile_lost *lost;
	u32 seg, pid;
	struct ap_profile head;
	u64 *ways, *parts; /* by number */
	u32 nways, nparts;
	const struct joined *joined;
};

static int read_at(const struct ap_session_file *s, void *buf, u64 size, u32 seg, u64 at)
{
	const struct ap_session_file *f = ap_session_party(s, seg);

	return f ? ap_session_read(f, buf, size, AP_PROFILE_OFF(seg) + at) : -ENOENT;
}

static bool read_head(const struct ap_session_file *s, u32 seg, struct ap_profile *p)
{
	return !read_at(s, p, sizeof(*p), seg, 0) && p->magic == AP_PROFILE_MAGIC;
}

/* The next segment of the party with a region, from *seg on. */
static bool next_region(const struct ap_session_file *f, u32 *seg)
{
	off_t data = lseek(f->fd, (off_t)AP_PROFILE_OFF(*seg), SEEK_DATA);
	u64 local;

	if (data < (off_t)AP_PROFILE_BASE)
		return false;
	local = ((u64)data - AP_PROFILE_BASE) / AP_PROFILE_SIZE;
	if (local >= f->max_segs)
		return false;
	*seg = f->party << AP_PARTY_SHIFT | (u32)local;
	return true;
}

/* --- counters */

/* Adds u64 from `at` on to sums, as far as there are any; numbers up to n. */
static int add_counters(const struct reading *r, u32 seg, u64 at, u64 *sums, u32 n)
{
	const struct ap_session_file *f = ap_session_party(r->s, seg);
	u64 start = AP_PROFILE_OFF(seg) + at, end = start + n * 8ULL, pos = start;
	u64 *buf = malloc(CHUNK);
	int ret = buf ? 0 : -ENOMEM;

	while (!ret && pos < end) {
		off_t data = lseek(f->fd, (off_t)pos, SEEK_DATA);
		u64 size;

		if (data < 0 || (u64)data >= end)
			break;
		pos = (u64)data & ~7ULL;
		size = end - pos < CHUNK ? end - pos : CHUNK;
		ret = ap_session_read(f, buf, size, pos);
		for (u64 k = 0; !ret && k < size / 8; k++)
			sums[(pos - start) / 8 + k] += buf[k];
		pos += size;
	}
	free(buf);
	return ret;
}

/* Of all slots of a segment: an array behind the other, with holes between. */
static int add_slots(const struct reading *r, u32 seg)
{
	const struct ap_session_file *f = ap_session_party(r->s, seg);
	u64 first = AP_PROFILE_OFF(seg) + AP_PROFILE_WAYS_OFF(0);
	int ret = 0;

	for (u32 k = 0; !ret && k < AP_SLOT_MAX; k++) {
		off_t data = lseek(f->fd, (off_t)(first + k * AP_PROFILE_WAYS_SIZE), SEEK_DATA);

		if (data < 0 || ((u64)data - first) / AP_PROFILE_WAYS_SIZE >= AP_SLOT_MAX)
			break;
		k = (u32)(((u64)data - first) / AP_PROFILE_WAYS_SIZE);
		ret = add_counters(r, seg, AP_PROFILE_WAYS_OFF(k), r->ways, r->nways);
	}
	return ret;
}

static int add_others(const struct reading *r)
{
	int ret = 0;

	for (u32 k = 0; !ret && k < r->joined->n; k++)
		if (r->joined->v[k].whose == r->seg + 1)
			ret = add_slots(r, r->joined->v[k].seg);
	return ret;
}

/* --- blocks */

static void tell_count(const struct reading *r, u64 time, u64 pc, u64 count)
{
	const struct ap_profile_count c = {
		.pid = r->pid, .time = time, .pc = pc, .count = (s64)count
	};

	if (count)
		r->fn(r->arg, &c);
}

/* How often at least n instructions of it were executed, for n from 1 on. */
static bool sum_block(const struct reading *r, const struct ap_profile_block *b, const u8 *ways,
		      u64 sums[BLOCK_INSNS + 2])
{
	bool any = false;

	memset(sums, 0, (BLOCK_INSNS + 2) * sizeof(*sums));
	for (u32 k = 0; k < b->nways; k++) {
		u32 n = ways[k] & (AP_PROFILE_OTHER - 1U);

		if (n <= b->ninsns)
			sums[n] += r->ways[b->first_way + k];
	}
	for (u32 n = 1; n <= b->ninsns; n++)
		sums[n] += r->parts[b->first_part + n];
	for (u32 n = b->ninsns; n > 0; n--) {
		sums[n] += sums[n + 1];
		any |= sums[n] != 0;
	}
	return any;
}

static bool is_whole(const struct reading *r, const struct ap_profile_block *b)
{
	u64 needs = sizeof(*b) + b->njumps * 8ULL + b->ninsns + b->nways;

	return b->ninsns <= BLOCK_INSNS && needs <= b->size &&
	       (u64)b->first_way + b->nways <= r->nways &&
	       (u64)b->first_part + b->ninsns + 1 <= r->nparts;
}

static void read_block(const struct reading *r, const struct ap_profile_block *b)
{
	const u8 *jumps = (const u8 *)(b + 1), *insns = jumps + b->njumps * 8, *to;
	u64 sums[BLOCK_INSNS + 2], pc = b->pc;
	u32 jumped = 0;

	if (!is_whole(r, b) || !sum_block(r, b, insns + b->ninsns, sums))
		return;
	for (u32 k = 0; k < b->ninsns; k++) {
		tell_count(r, b->time, pc, sums[k + 1]);
		to = jumps + jumped * 8;
		if (!(insns[k] & AP_PROFILE_JUMPS)) {
			pc += insns[k] & AP_PROFILE_LEN_MASK;
		} else if (jumped++ < b->njumps) {
			memcpy(&pc, to, sizeof(pc));
		} else {
			return;
		}
	}
}

/* The blocks of a segment's own table in [from, to). */
static int read_table(const struct reading *r, u32 seg, u64 from, u64 to)
{
	u64 buf[(CHUNK + BLOCK_MAX) / 8];
	int ret = 0;

	while (from + sizeof(struct ap_profile_block) <= to) {
		u64 have = to - from < sizeof(buf) ? to - from : sizeof(buf), at = 0;

		ret = read_at(r->s, buf, have, seg, from);
		if (ret)
			return ret;
		while (at + sizeof(struct ap_profile_block) <= have) {
			const struct ap_profile_block *b = (void *)((char *)buf + at);

			/* a damaged one: nothing says where the next is */
			if (b->size < sizeof(*b) || b->size > BLOCK_MAX || b->size % 8) {
				r->lost->tables++;
				return 0;
			}
			if (b->size > have - at)
				break;
			read_block(r, b);
			at += b->size;
		}
		if (!at)
			break;
		from += at;
	}
	return 0;
}

/* Its own table, and before that what forks have left of their parents'. */
static int read_tables(const struct reading *r)
{
	struct ap_profile p = r->head;
	u64 to = p.bytes;
	u32 seg = r->seg;
	int ret = 0;

	for (u32 depth = 0; !ret; depth++) {
		u64 from = p.parent ? p.parent_bytes : AP_PROFILE_TABLE_OFF;

		if (to > AP_PROFILE_PARTS_OFF || from < AP_PROFILE_TABLE_OFF) {
			r->lost->tables++;
			break;
		}
		if (from < to)
			ret = read_table(r, seg, from, to);
		if (!p.parent)
			break;
		to = from < to ? from : to;
		seg = p.parent - 1;
		if (depth == DEPTH_MAX || !read_head(r->s, seg, &p)) {
			r->lost->tables++;
			break;
		}
	}
	return ret;
}

/* --- a process */

static int read_loose(const struct reading *r)
{
	const u64 size = AP_PROFILE_LOOSE * sizeof(struct ap_profile_loose);
	struct ap_profile_loose *l = calloc(1, size);
	int ret = l ? add_counters(r, r->seg, AP_PROFILE_LOOSE_OFF, (u64 *)l, (u32)(size / 8))
		    : -ENOMEM;

	for (u32 k = 0; !ret && k < AP_PROFILE_LOOSE; k++)
		if (l[k].pc)
			tell_count(r, 0, l[k].pc, (u64)l[k].count);
	free(l);
	return ret;
}

static u32 pid_of(const struct reading *r)
{
	struct ap_seg seg;

	if (r->head.pid || ap_session_seg_read(r->s, r->seg, &seg))
		return r->head.pid;
	return seg.pid ? seg.pid : seg.ns_pid;
}

static int read_process(struct reading *r)
{
	int ret;

	r->pid = pid_of(r);
	r->lost->blocks += r->head.lost;
	r->lost->insns += r->head.lost_loose;
	r->nways = r->head.nways < AP_PROFILE_WAYS ? r->head.nways : AP_PROFILE_WAYS;
	r->nparts = r->head.nparts < AP_PROFILE_PARTS ? r->head.nparts : AP_PROFILE_PARTS;
	r->ways = calloc(r->nways + 1ULL, sizeof(u64));
	r->parts = calloc(r->nparts + 1ULL, sizeof(u64));
	ret = r->ways && r->parts ? add_slots(r, r->seg) : -ENOMEM;
	ret = ret ?: add_others(r);
	ret = ret ?: add_counters(r, r->seg, AP_PROFILE_PARTS_OFF, r->parts, r->nparts);
	ret = ret ?: read_tables(r);
	ret = ret ?: read_loose(r);
	free(r->ways);
	free(r->parts);
	return ret;
}

/* Read once: a party may have as many processes. */
static int find_joined(const struct ap_session_file *s, const struct ap_session_file *f,
		       struct joined *to)
{
	struct ap_profile head;
	void *more;

	for (u32 seg = f->party << AP_PARTY_SHIFT; next_region(f, &seg); seg++) {
		if (!read_head(s, seg, &head) || !head.whose)
			continue;
		more = realloc(to->v, (to->n + 1) * sizeof(*to->v));
		if (!more)
			return -ENOMEM;
		to->v = more;
		to->v[to->n].seg = seg;
		to->v[to->n++].whose = head.whose;
	}
	return 0;
}

static int read_party(struct reading *r, const struct ap_session_file *f)
{
	struct joined joined = { 0 };
	int ret = find_joined(r->s, f, &joined);

	r->joined = &joined;
	for (r->seg = f->party << AP_PARTY_SHIFT; !ret && next_region(f, &r->seg); r->seg++)
		if (read_head(r->s, r->seg, &r->head) && !r->head.whose)
			ret = read_process(r);
	free(joined.v);
	return ret;
}

int ap_session_profile(const struct ap_session_file *s, ap_profile_fn fn, void *arg,
		       struct ap_profile_lost *lost)
{
	const struct ap_session_file *f;
	int ret = 0;

	for (u32 p = 0; !ret && (f = ap_session_next_party(s, &p));) {
		struct reading r = { .s = s, .fn = fn, .arg = arg, .lost = lost };

		ret = read_party(&r, f);
	}
	return ret;
}

void ap_session_profile_name(const struct ap_session_file *s, u32 seg, u32 pid)
{
	const struct ap_session_file *f = ap_session_party(s, seg);
	struct ap_profile head;

	if (s->head->flags & AP_F_PROFILE && f && read_head(s, seg, &head))
		(void)!pwrite(f->fd, &pid, sizeof(pid),
			      (off_t)(AP_PROFILE_OFF(seg) + offsetof(struct ap_profile, pid)));
}
