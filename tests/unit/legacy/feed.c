/* SPDX-License-Identifier: MIT */
/*
 * The rules of 2009 and today's for feed.h.  Owes src/legacy nothing but the calls under test: bits are counted out
 * here, and records are put together word by word.
 */
#include "feed.h"

#include <stdlib.h>
#include <string.h>

#include "abi/errno.h"
#include "abi/record.h"
#include "legacy/legacy.h"

#define PAGE	4096
#define ATTR	56
#define GUEST	((u64)-2048) /* a context that 2009 had not */
#define MARK(n) ((u64) - (s64)(n))

/* --- attrs, by offset */

struct old {
	u64 config, period, bits;
	u32 record_type, read_format, extra, wakeup;
	u64 reserved[2];
};

static void take(const uint8_t *from, size_t at, void *to, size_t n)
{
	memcpy(to, from + at, n);
}

static struct old old_of(const uint8_t *a)
{
	struct old o;

	take(a, 0, &o.config, 8);
	take(a, 8, &o.period, 8);
	take(a, 16, &o.record_type, 4);
	take(a, 20, &o.read_format, 4);
	take(a, 24, &o.bits, 8);
	take(a, 32, &o.extra, 4);
	take(a, 36, &o.wakeup, 4);
	take(a, 40, &o.reserved, 16);
	return o;
}

/* The first of bit fields is the lowest bit, or the highest. */
static u64 from_low(u64 bits)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	u64 turned = 0;

	for (int i = 0; i < 64; i++)
		turned |= (bits >> i & 1) << (63 - i);
	return turned;
#else
	return bits;
#endif
}

static bool is_valid(const struct old *o)
{
	u64 type = o->config >> 56, id = o->config & 0xffffffffffffffULL;

	if (from_low(o->bits) >> 11 || o->extra || o->reserved[0] || o->reserved[1])
		return false;
	if (o->record_type >> 6 || o->read_format >> 2)
		return false;
	return type & 0x80 || (type == 0 && id <= 6) || (type == 1 && id <= 8) || type == 2;
}

/* Back again, as far as today's attr has it: all but munmap. */
static struct old back(const struct ap_perf_attr *now)
{
	static const unsigned char bit_of[11] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 64, 9 };
	struct old o = { .period = now->sample_period };
	u64 bits = 0;

	o.config = now->type == 4 ? now->config | 1ULL << 63 : (u64)now->type << 56 | now->config;
	o.record_type = now->sample_type & (1 | 2 | 4 | 8 | 16 | 32);
	o.read_format = now->read_format & 3;
	for (int i = 0; i < 11; i++)
		if (bit_of[i] < 64 && now->flags >> bit_of[i] & 1)
			bits |= 1ULL << i;
	o.bits = from_low(bits);
	o.wakeup = now->flags >> 14 & 1 ? 0 : now->wakeup_events;
	return o;
}

/* What is there beside what back() looks at. */
static bool is_all(const struct ap_perf_attr *now, const struct old *o)
{
	struct ap_perf_attr rest = *now;
	bool group = o->record_type & 16;

	if (group && (~now->sample_type & 2 || (now->read_format & 12) != 12))
		return false;
	if (!group && (now->read_format & 12))
		return false;
	if (now->flags >> 14 & 1 && now->wakeup_events != PAGE)
		return false;
	if (now->sample_type & ~63ULL || now->read_format & ~15ULL || now->flags & ~0x43ffULL ||
	    now->size != sizeof(*now))
		return false;
	rest.type = rest.size = rest.wakeup_events = 0;
	rest.config = rest.sample_period = rest.sample_type = rest.read_format = rest.flags = 0;
	return !memcmp(&rest, &(struct ap_perf_attr){ 0 }, sizeof(rest));
}

enum fed feed_attr(const uint8_t *bytes, size_t size)
{
	struct anyperf_legacy_attr attr;
	struct ap_perf_attr now;
	struct old o, again;
	u64 munmap = from_low(1ULL << 9);
	int err;

	if (size < ATTR)
		return FED_REFUSED;
	memcpy(&attr, bytes, ATTR);
	o = old_of(bytes);
	memset(&now, 0xee, sizeof(now));
	err = ap_legacy_attr(&attr, PAGE, &now);
	if (!is_valid(&o))
		return err == -AP_EINVAL ? FED_REFUSED : FED_WRONG;
	if (err)
		return FED_WRONG;
	again = back(&now);
	/* TID came with GROUP, and cannot be told from one that was asked for */
	if (o.record_type & 16)
		again.record_type = (again.record_type & ~2U) | (o.record_type & 2);
	o.bits &= ~munmap;
	if (memcmp(&again, &o, sizeof(o)) || !is_all(&now, &o))
		return FED_WRONG;
	return FED_TAKEN;
}

/* --- records */

/* Numbers from the bytes; zeros behind them. */
struct source {
	const uint8_t *at;
	size_t left;
};

static u64 number(struct source *s, unsigned bytes)
{
	u64 v = 0;

	while (bytes--) {
		v = v << 8 | (s->left ? *s->at : 0);
		s->at += s->left != 0;
		s->left -= s->left != 0;
	}
	return v;
}

struct words {
	u64 w[128];
	unsigned n;
};

static void add(struct words *to, u64 v)
{
	to->w[to->n++] = v;
}

static void add_both(struct words *a, struct words *b, u64 v)
{
	add(a, v);
	add(b, v);
}

static u64 pair(u32 first, u32 second)
{
	u32 v[2] = { first, second };
	u64 word;

	memcpy(&word, v, 8);
	return word;
}

static u64 header(u32 type, u16 misc, const struct words *w)
{
	u16 v[2] = { misc, (u16)(8 * w->n) };
	u32 second;

	memcpy(&second, v, 4);
	return pair(type, second);
}

/* Ids are config's mirror, as far as anybody has opened them. */
static bool config_of(void *arg, u64 id, u64 *config)
{
	(void)arg;
	if (id & 1)
		return false;
	*config = ~id;
	return true;
}

static void add_group(struct source *s, u32 times, struct words *now, struct words *old)
{
	u64 n = number(s, 1) % 6;

	add_both(now, old, n);
	for (u32 i = 0; i < (times & 1) + (times >> 1); i++)
		add(now, number(s, 8));
	for (u64 i = 0; i < n; i++) {
		u64 value = number(s, 8), id = number(s, 2);

		add(now, value);
		add(now, id);
		add(old, id & 1 ? id : ~id);
		add(old, value);
	}
}

static void add_chain(struct source *s, struct words *now, struct words *old)
{
	static const u64 marks[] = { MARK(32), MARK(128), MARK(512), GUEST };
	u16 nr[4] = { 0 }; /* all, hv, kernel, user */
	unsigned part = 3, at_now = now->n, at_old = old->n;

	now->n++;
	old->n++;
	for (u64 n = number(s, 1) % 32; n; n--) {
		u64 kind = number(s, 1);

		if (kind < 64) {
			part = kind % 4 + 1;
			add(now, marks[part - 1]);
			continue;
		}
		add(now, kind << 40 | number(s, 2));
		if (part == 4)
			continue;
		add(old, now->w[now->n - 1]);
		nr[part]++;
		nr[0]++;
	}
	now->w[at_now] = now->n - at_now - 1;
	memcpy(&old->w[at_old], nr, 8);
}

/* Today's mode and flags, and what 2009 would have said. */
static u16 misc_of(struct source *s, u16 *old)
{
	u16 v = (u16)number(s, 2);

	*old = (u16)((v & 7) == 1 ? 1 : (v & 7) == 2 ? 2 : 0) | 4;
	return v;
}

/* In memory of exactly its size, so that a sanitizer sees who goes beyond. */
static int translate(const struct ap_legacy_ring *ring, const void *record, u32 size, void *out)
{
	void *from = malloc(size), *to = malloc(size);
	int n = -1;

	if (from && to) {
		memcpy(from, record, size);
		n = ap_legacy_record(ring, from, size, to);
		if (n > 0 && (u32)n <= size)
			memcpy(out, to, (u32)n);
	}
	free(from);
	free(to);
	return n;
}

/* Of n words, be it fewer than there are or more. */
static bool is_refused(const struct ap_legacy_ring *ring, const struct words *whole, unsigned n)
{
	struct words w = *whole;
	u64 out[128];
	u16 size;

	w.n = n;
	w.w[whole->n] = 0;
	size = (u16)(8 * w.n);
	memcpy((uint8_t *)w.w + 6, &size, 2);
	return translate(ring, w.w, size, out) == -AP_EINVAL;
}

enum fed feed_overflow(const uint8_t *bytes, size_t size)
{
	struct source s = { bytes, size };
	struct ap_legacy_ring ring = { (u32)number(&s, 1) % 64, (u32)number(&s, 1) % 4, config_of,
				       NULL };
	u32 type = ring.record_type;
	struct words now = { .n = 1 }, old = { .n = 1 };
	u64 out[128], cut, tid;
	u16 misc, old_misc;
	int n;

	misc = misc_of(&s, &old_misc);
	cut = number(&s, 1);
	if (type & 1)
		add_both(&now, &old, number(&s, 8));
	tid = number(&s, 8);
	if (type & (2 | 16))
		add(&now, tid);
	if (type & 2)
		add(&old, tid);
	if (type & 4)
		add_both(&now, &old, number(&s, 8));
	if (type & 8)
		add_both(&now, &old, number(&s, 8));
	if (type & 16)
		add_group(&s, ring.read_format, &now, &old);
	if (type & 32)
		add_chain(&s, &now, &old);
	now.w[0] = header(AP_PERF_RECORD_SAMPLE, misc, &now);
	old.w[0] = header(type, old_misc, &old);
	n = translate(&ring, now.w, 8 * now.n, out);
	if (n != (int)(8 * old.n) || memcmp(out, old.w, 8 * old.n) != 0)
		return FED_WRONG;
	if (now.n > 1 && !is_refused(&ring, &now, 1 + (unsigned)(cut % (now.n - 1))))
		return FED_WRONG;
	if (!is_refused(&ring, &now, now.n + 1))
		return FED_WRONG;
	return FED_TAKEN;
}

enum fed feed_record(const uint8_t *bytes, size_t size)
{
	static uint8_t out[65536];
	struct ap_legacy_ring ring = { 0, 0, config_of, NULL };
	int n;

	if (size < 2 || size > sizeof(out))
		return FED_REFUSED;
	ring.record_type = bytes[0] % 64;
	ring.read_format = bytes[1] % 4;
	n = translate(&ring, bytes + 2, (u32)size - 2, out);
	if (n == -AP_EINVAL || !n)
		return FED_REFUSED;
	return n >= 8 && (size_t)n <= size - 2 ? FED_TAKEN : FED_WRONG;
}

enum fed feed_read(const uint8_t *bytes, size_t size)
{
	u64 words[64], got[3] = { 0 }, id, times;
	u32 n, format;
	int ret;

	if (size < 2)
		return FED_REFUSED;
	format = bytes[0] % 4;
	times = (format & 1) + (format >> 1);
	id = bytes[1];
	n = (u32)(size - 2) / 8;
	n = n < 64 ? n : 64;
	memcpy(words, bytes + 2, 8 * (size_t)n);
	ret = ap_legacy_read(format, id, words, n, got);
	if (ret == -AP_EINVAL || !ret)
		return !ret == !n ? FED_REFUSED : FED_WRONG;
	if (ret != (int)(1 + times))
		return FED_WRONG;
	for (u64 t = 0; t < times; t++)
		if (got[1 + t] != words[1 + t])
			return FED_WRONG;
	for (u64 at = 1 + times; at + 1 < n; at += 2)
		if (words[at + 1] == id)
			return got[0] == words[at] ? FED_TAKEN : FED_WRONG;
	return FED_WRONG;
}
