/* SPDX-License-Identifier: MIT */
/*
 * PERF_RECORD_SAMPLE.  Its size must be known before its place is: first all parts are measured, in
 * the order in which they are then written.  What is long (callchain, stack, branches) goes from where it
 * lies straight into the ring.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "sampling/record.h"

struct sample_sizes {
	u32 nr_chain;
	u32 raw;   /* bytes behind its size word, padding included */
	u32 stack; /* bytes of the dump, 0 none */
	u32 size;  /* of the whole record */
};

/* The compiler's own would be a call of its library, which is not there. */
static u32 bits_of(u64 v)
{
	u32 n = 0;

	for (; v; v &= v - 1)
		n++;
	return n;
}

static bool wants(const struct ap_record_format *f, u64 bit)
{
	return f->sample_type & bit;
}

/* Words in front of the variable parts, header included, and single words behind them. */
static u32 fixed_words(const struct ap_record_format *f)
{
	const u64 singles =
		AP_PERF_SAMPLE_IDENTIFIER | AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_TID |
		AP_PERF_SAMPLE_TIME | AP_PERF_SAMPLE_ADDR | AP_PERF_SAMPLE_ID |
		AP_PERF_SAMPLE_STREAM_ID | AP_PERF_SAMPLE_CPU | AP_PERF_SAMPLE_PERIOD |
		AP_PERF_SAMPLE_WEIGHT | AP_PERF_SAMPLE_WEIGHT_STRUCT | AP_PERF_SAMPLE_DATA_SRC |
		AP_PERF_SAMPLE_TRANSACTION | AP_PERF_SAMPLE_PHYS_ADDR | AP_PERF_SAMPLE_CGROUP |
		AP_PERF_SAMPLE_DATA_PAGE_SIZE | AP_PERF_SAMPLE_CODE_PAGE_SIZE | AP_PERF_SAMPLE_AUX;
	const u64 counted = AP_PERF_SAMPLE_CALLCHAIN | AP_PERF_SAMPLE_BRANCH_STACK |
			    AP_PERF_SAMPLE_REGS_USER | AP_PERF_SAMPLE_REGS_INTR |
			    AP_PERF_SAMPLE_STACK_USER; /* their first word */

	return 1 + (u32)bits_of(f->sample_type & (singles | counted));
}

static u32 nr_regs(u64 mask, u64 abi)
{
	return abi ? (u32)bits_of(mask) : 0;
}

static bool has_hw_index(const struct ap_record_format *f, const struct ap_sample_data *d)
{
	return d->branches && (f->branch_sample_type & AP_PERF_SAMPLE_BRANCH_HW_INDEX);
}

/* All that is neither callchain entries nor stack, in bytes. */
static u32 measure_rest(const struct ap_record_format *f, const struct ap_sample_data *d,
			struct sample_sizes *p)
{
	u32 size = fixed_words(f) * 8;

	if (wants(f, AP_PERF_SAMPLE_READ))
		size += d->nr_read * 8;
	if (wants(f, AP_PERF_SAMPLE_RAW)) {
		p->raw = d->raw ? ((d->raw_size + 4 + 7) & ~7U) - 4 : 4;
		size += 4 + p->raw;
	}
	if (wants(f, AP_PERF_SAMPLE_BRANCH_STACK) && d->branches)
		size += d->nr_branches * (u32)sizeof(*d->branches) + (has_hw_index(f, d) ? 8 : 0);
	if (wants(f, AP_PERF_SAMPLE_REGS_USER))
		size += nr_regs(f->regs_user, d->regs_user_abi) * 8;
	if (wants(f, AP_PERF_SAMPLE_REGS_INTR))
		size += nr_regs(f->regs_intr, d->regs_intr_abi) * 8;
	return size;
}

/*
 * The kernel's rule: the stack gets what the rest leaves of the 16 bits of a record's size.  Without
 * registers there is no stack pointer, and no dump.
 */
static u32 measure_stack(const struct ap_record_format *f, const struct ap_sample_data *d, u32 rest)
{
	u32 stack = f->stack_user & ~7U;

	if (!wants(f, AP_PERF_SAMPLE_STACK_USER) || !d->copy || !stack)
		return 0;
	rest += 8; /* dyn_size */
	if (rest >= AP_PERF_RECORD_SIZE_MAX)
		return 0;
	if (stack > AP_PERF_RECORD_SIZE_MAX - rest)
		stack = AP_PERF_RECORD_SIZE_MAX - rest;
	return stack;
}

static bool measure(const struct ap_record_format *f, const struct ap_sample_data *d,
		    struct sample_sizes *p)
{
	u32 rest, most;

	*p = (struct sample_sizes){ 0 };
	rest = measure_rest(f, d, p);
	if (rest > AP_PERF_RECORD_SIZE_MAX)
		return false;
	if (wants(f, AP_PERF_SAMPLE_CALLCHAIN)) {
		most = (AP_PERF_RECORD_SIZE_MAX - rest) / 8;
		p->nr_chain = d->nr_chain < most ? d->nr_chain : most;
		rest += p->nr_chain * 8;
	}
	p->stack = measure_stack(f, d, rest);
	p->size = rest + (p->stack ? p->stack + 8 : 0);
	return true;
}

/* --- writing */

static u64 pair(u32 first, u32 second)
{
	u32 both[2] = { first, second };
	u64 word;

	memcpy(&word, both, sizeof(word));
	return word;
}

static void put_word(struct ap_ring_out *out, u64 word)
{
	ap_ring_put(out, &word, sizeof(word));
}

/* Header to PERIOD, in one piece. */
static void put_head(struct ap_ring_out *out, const struct ap_record_format *f,
		     const struct ap_sample_data *d, u32 size)
{
	const struct ap_perf_event_header header = { AP_PERF_RECORD_SAMPLE, d->misc, (u16)size };
	u64 words[10];
	u32 n = 1;

	memcpy(words, &header, sizeof(header));
	if (wants(f, AP_PERF_SAMPLE_IDENTIFIER))
		words[n++] = f->id;
	if (wants(f, AP_PERF_SAMPLE_IP))
		words[n++] = d->ip;
	if (wants(f, AP_PERF_SAMPLE_TID))
		words[n++] = pair(d->origin.pid, d->origin.tid);
	if (wants(f, AP_PERF_SAMPLE_TIME)) {
		if (d->origin.now)
			ap_ring_time_ahead(out, n * 8);
		words[n++] = d->origin.time;
	}
	if (wants(f, AP_PERF_SAMPLE_ADDR))
		words[n++] = d->addr;
	if (wants(f, AP_PERF_SAMPLE_ID))
		words[n++] = f->id;
	if (wants(f, AP_PERF_SAMPLE_STREAM_ID))
		words[n++] = f->stream_id;
	if (wants(f, AP_PERF_SAMPLE_CPU))
		words[n++] = pair(d->origin.cpu, 0);
	if (wants(f, AP_PERF_SAMPLE_PERIOD))
		words[n++] = d->period;
	ap_ring_put(out, words, n * 8);
}

static void put_raw(struct ap_ring_out *out, const struct ap_sample_data *d, u32 size)
{
	ap_ring_put(out, &size, sizeof(size));
	if (d->raw)
		ap_ring_put(out, d->raw, d->raw_size);
	ap_ring_zero(out, size - (d->raw ? d->raw_size : 0));
}

static void put_branches(struct ap_ring_out *out, const struct ap_record_format *f,
			 const struct ap_sample_data *d)
{
	put_word(out, d->branches ? d->nr_branches : 0);
	if (has_hw_index(f, d))
		put_word(out, d->branch_hw_index);
	if (d->branches)
		ap_ring_put(out, d->branches, d->nr_branches * (u32)sizeof(*d->branches));
}

static void put_regs(struct ap_ring_out *out, u64 mask, u64 abi, const u64 *regs)
{
	put_word(out, abi);
	for (; abi && mask; mask &= mask - 1)
		put_word(out, regs[__builtin_ctzll(mask)]);
}

static void put_stack(struct ap_ring_out *out, const struct ap_sample_data *d, u32 stack)
{
	put_word(out, stack);
	if (!stack)
		return;
	put_word(out, ap_ring_put_guarded(out, d->copy, d->copy_arg, d->user_sp, stack));
}

static void put_middle(struct ap_ring_out *out, const struct ap_record_format *f,
		       const struct ap_sample_data *d, const struct sample_sizes *p)
{
	if (wants(f, AP_PERF_SAMPLE_READ))
		ap_ring_put(out, d->read, d->nr_read * 8);
	if (wants(f, AP_PERF_SAMPLE_CALLCHAIN)) {
		put_word(out, p->nr_chain);
		ap_ring_put(out, d->chain, p->nr_chain * 8);
	}
	if (wants(f, AP_PERF_SAMPLE_RAW))
		put_raw(out, d, p->raw);
	if (wants(f, AP_PERF_SAMPLE_BRANCH_STACK))
		put_branches(out, f, d);
	if (wants(f, AP_PERF_SAMPLE_REGS_USER))
		put_regs(out, f->regs_user, d->regs_user_abi, d->regs_user);
	if (wants(f, AP_PERF_SAMPLE_STACK_USER))
		put_stack(out, d, p->stack);
}

static void put_end(struct ap_ring_out *out, const struct ap_record_format *f,
		    const struct ap_sample_data *d)
{
	if (wants(f, AP_PERF_SAMPLE_WEIGHT | AP_PERF_SAMPLE_WEIGHT_STRUCT))
		put_word(out, d->weight);
	if (wants(f, AP_PERF_SAMPLE_DATA_SRC))
		put_word(out, d->data_src);
	if (wants(f, AP_PERF_SAMPLE_TRANSACTION))
		put_word(out, d->transaction);
	if (wants(f, AP_PERF_SAMPLE_REGS_INTR))
		put_regs(out, f->regs_intr, d->regs_intr_abi, d->regs_intr);
	if (wants(f, AP_PERF_SAMPLE_PHYS_ADDR))
		put_word(out, d->phys_addr);
	if (wants(f, AP_PERF_SAMPLE_CGROUP))
		put_word(out, d->cgroup);
	if (wants(f, AP_PERF_SAMPLE_DATA_PAGE_SIZE))
		put_word(out, d->data_page_size);
	if (wants(f, AP_PERF_SAMPLE_CODE_PAGE_SIZE))
		put_word(out, d->code_page_size);
	if (wants(f, AP_PERF_SAMPLE_AUX))
		put_word(out, 0); /* there is no AUX area: no bytes of it */
}

int ap_sample_write(const struct ap_ring_map *map, const struct ap_ring_writer *writer,
		    const struct ap_record_format *f, const struct ap_sample_data *d, bool *wakes)
{
	u64 trailer[AP_RECORD_TRAILER_MAX / 8];
	struct ap_ring_owner owner;
	struct ap_ring_out out;
	struct sample_sizes p;
	int r;

	*wakes = false;
	if (!measure(f, d, &p))
		return -AP_E2BIG;
	ap_record_owner_of(f, &d->origin, trailer, &owner);
	r = ap_ring_begin(&out, map, writer, &owner, p.size);
	if (r)
		return r;
	put_head(&out, f, d, p.size);
	put_middle(&out, f, d, &p);
	put_end(&out, f, d);
	ap_ring_count_event(&out, f->wakeup_events);
	if (d->origin.now)
		ap_ring_stamp(&out, d->origin.now, d->origin.now_arg);
	*wakes = ap_ring_end(&out);
	return 0;
}
