/* SPDX-License-Identifier: MIT */
/*
 * What an event of 2009 gives, made of what today's event gives: the words of a read and the records
 * of a buffer.  Every length that a record says is checked against what is left of it.
 */
#include "abi/record.h"
#include "abi/errno.h"
#include "base/mem.h"
#include "base/plant.h"
#include "legacy/legacy.h"

/* --- reads */

static u32 nr_times(u32 read_format)
{
	return !!(read_format & ANYPERF_LEGACY_FORMAT_TOTAL_TIME_ENABLED) +
	       !!(read_format & ANYPERF_LEGACY_FORMAT_TOTAL_TIME_RUNNING);
}

/* nr, times, nr of { value, id } */
int ap_legacy_read(u32 read_format, u64 id, const u64 *words, u32 n, u64 out[3])
{
	u32 times = nr_times(read_format);

	if (!n)
		return 0;
	if (n < 1 + times || (n - 1 - times) / 2 < words[0])
		return -AP_EINVAL;
	for (u32 i = 0; i < words[0]; i++) {
		if (words[1 + times + 2 * i + 1] != id)
			continue;
		out[0] = words[1 + times + 2 * i];
		for (u32 t = 0; t < times; t++)
			out[1 + t] = words[1 + t];
		return (int)(1 + times);
	}
	return -AP_EINVAL;
}

/* --- records */

/* A record is read and written front to back; both ends only fall short, they never overrun. */
struct copy {
	const u8 *from;
	u32 left;
	u8 *to;
	u32 done;
	bool is_short;
};

static void take(struct copy *c, void *into, u32 size)
{
	if (size > c->left) {
		c->is_short = true;
		memset(into, 0, size);
		return;
	}
	memcpy(into, c->from, size);
	c->from += size;
	c->left -= size;
}

static u64 take_word(struct copy *c)
{
	u64 word;

	take(c, &word, sizeof(word));
	return word;
}

static void put(struct copy *c, const void *what, u32 size)
{
	memcpy(c->to + c->done, what, size);
	c->done += size;
}

static void pass_word(struct copy *c)
{
	u64 word = take_word(c);

	if (!c->is_short)
		put(c, &word, sizeof(word));
}

static u16 misc_of(u16 misc)
{
	switch (misc & AP_PERF_RECORD_MISC_CPUMODE_MASK) {
	case AP_PERF_RECORD_MISC_KERNEL:
		return ANYPERF_LEGACY_MISC_KERNEL;
	case AP_PERF_RECORD_MISC_USER:
		return ANYPERF_LEGACY_MISC_USER;
	default: /* 2009 had a bit for no other mode */
		return 0;
	}
}

static void group_of(const struct ap_legacy_ring *ring, struct copy *c)
{
	u64 nr = take_word(c), word[2];

	for (u32 t = 0; t < nr_times(ring->read_format); t++)
		take_word(c);
	if (c->is_short || nr > c->left / sizeof(word)) {
		c->is_short = true;
		return;
	}
	AP_PLANT("legacy", nr == 5);
	put(c, &nr, sizeof(nr));
	for (u64 i = 0; i < nr; i++) {
		u64 value = take_word(c), id = take_word(c);

		/* an event that nobody here has opened keeps its id: it is no config of theirs */
		word[0] = id;
		ring->config_of(ring->arg, id, &word[0]);
		word[1] = value;
		put(c, word, sizeof(word));
	}
}

/* Which part of the chain a marker begins; NULL: one that 2009 had not. */
static u16 *part_of(struct anyperf_legacy_callchain *chain, u64 marker)
{
	switch (marker) {
	case AP_PERF_CONTEXT_HV:
		return &chain->hv;
	case AP_PERF_CONTEXT_KERNEL:
		return &chain->kernel;
	case AP_PERF_CONTEXT_USER:
		return &chain->user;
	default:
		return NULL;
	}
}

static void callchain_of(struct copy *c)
{
	struct anyperf_legacy_callchain chain = { 0 };
	u16 *part = &chain.user;
	u64 n = take_word(c);
	u32 at = c->done;

	if (c->is_short || n > c->left / sizeof(u64) || n > 0xffff) {
		c->is_short = true;
		return;
	}
	c->done += sizeof(chain);
	while (n--) {
		u64 ip = take_word(c);

		if (ip >= AP_PERF_CONTEXT_MAX) {
			part = part_of(&chain, ip);
		} else if (part) {
			++*part;
			chain.nr++;
			put(c, &ip, sizeof(ip));
		}
	}
	memcpy(c->to + at, &chain, sizeof(chain));
}

static void overflow_of(const struct ap_legacy_ring *ring, struct copy *c)
{
	u32 type = ring->record_type;

	if (type & ANYPERF_LEGACY_RECORD_IP)
		pass_word(c);
	if (type & ANYPERF_LEGACY_RECORD_TID)
		pass_word(c);
	else if (type & ANYPERF_LEGACY_RECORD_GROUP)
		take_word(c);
	if (type & ANYPERF_LEGACY_RECORD_TIME)
		pass_word(c);
	if (type & ANYPERF_LEGACY_RECORD_ADDR)
		pass_word(c);
	if (type & ANYPERF_LEGACY_RECORD_GROUP)
		group_of(ring, c);
	if (type & ANYPERF_LEGACY_RECORD_CALLCHAIN && !c->is_short)
		callchain_of(c);
}

int ap_legacy_record(const struct ap_legacy_ring *ring, const void *record, u32 size, void *out)
{
	struct copy c = { .from = record, .left = size, .to = out };
	struct ap_perf_event_header in;
	struct anyperf_legacy_header header;

	take(&c, &in, sizeof(in));
	if (c.is_short || in.size != size)
		return -AP_EINVAL;
	header.misc = misc_of(in.misc);
	header.type = in.type;
	c.done = sizeof(header);
	switch (in.type) {
	case AP_PERF_RECORD_MMAP:
	case AP_PERF_RECORD_MUNMAP:
	case AP_PERF_RECORD_COMM:
		header.type = in.type == AP_PERF_RECORD_MMAP   ? ANYPERF_LEGACY_MMAP
			      : in.type == AP_PERF_RECORD_COMM ? ANYPERF_LEGACY_COMM
							       : ANYPERF_LEGACY_MUNMAP;
		put(&c, c.from, c.left);
		break;
	case AP_PERF_RECORD_SAMPLE:
		header.type = ring->record_type;
		header.misc |= ANYPERF_LEGACY_MISC_OVERFLOW;
		overflow_of(ring, &c);
		if (c.is_short || c.left)
			return -AP_EINVAL;
		break;
	default:
		return 0;
	}
	header.size = (u16)c.done;
	memcpy(out, &header, sizeof(header));
	return (int)c.done;
}
