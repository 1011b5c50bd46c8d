/* SPDX-License-Identifier: MIT */
/*
 * Taking a sample apart: its fields in the order that perf_event_open(2) gives, each held against
 * the record's size.
 */
#include <errno.h>

#include "profile/data/internal.h"

struct sample_cursor {
	const u8 *p, *end;
};

static bool take(struct sample_cursor *c, const u8 **out, u64 n)
{
	if (n > (u64)(c->end - c->p))
		return false;
	*out = c->p;
	c->p += n;
	return true;
}

static bool word(struct sample_cursor *c, u64 *v)
{
	if (c->end - c->p < 8)
		return false;
	*v = ap_get64(c->p);
	c->p += 8;
	return true;
}

static bool words(struct sample_cursor *c, const u8 **out, u64 n)
{
	return n <= (u64)(c->end - c->p) / 8 && take(c, out, 8 * n);
}

static bool pair(struct sample_cursor *c, u32 *a, u32 *b)
{
	u64 v;

	if (!word(c, &v))
		return false;
	memcpy(a, c->p - 8, 4);
	memcpy(b, c->p - 4, 4);
	return true;
}

static bool head(u64 type, struct sample_cursor *c, struct ap_sample *s)
{
	u32 rest;
	u64 id;

	return (!(type & AP_PERF_SAMPLE_IDENTIFIER) || word(c, &s->id)) &&
	       (!(type & AP_PERF_SAMPLE_IP) || word(c, &s->ip)) &&
	       (!(type & AP_PERF_SAMPLE_TID) || pair(c, &s->pid, &s->tid)) &&
	       (!(type & AP_PERF_SAMPLE_TIME) || word(c, &s->time)) &&
	       (!(type & AP_PERF_SAMPLE_ADDR) || word(c, &s->addr)) &&
	       (!(type & AP_PERF_SAMPLE_ID) ||
		word(c, type & AP_PERF_SAMPLE_IDENTIFIER ? &id : &s->id)) &&
	       (!(type & AP_PERF_SAMPLE_STREAM_ID) || word(c, &s->stream_id)) &&
	       (!(type & AP_PERF_SAMPLE_CPU) || pair(c, &s->cpu, &rest)) &&
	       (!(type & AP_PERF_SAMPLE_PERIOD) || word(c, &s->period));
}

static bool read_values(u64 format, struct sample_cursor *c, struct ap_sample *s)
{
	u64 each = 1 + !!(format & AP_PERF_FORMAT_ID) + !!(format & AP_PERF_FORMAT_LOST);
	u64 times = !!(format & AP_PERF_FORMAT_TOTAL_TIME_ENABLED) +
		    !!(format & AP_PERF_FORMAT_TOTAL_TIME_RUNNING);
	u64 n = 1, all;

	if (format & AP_PERF_FORMAT_GROUP) {
		if (c->end - c->p < 8)
			return false;
		n = ap_get64(c->p);
		times++; /* the number itself */
	}
	if (n > (u64)(c->end - c->p) / 8)
		return false;
	all = n * each + times;
	s->read_size = (u32)(8 * all);
	return words(c, &s->read, all);
}

static bool raw(struct sample_cursor *c, struct ap_sample *s)
{
	if (c->end - c->p < 4)
		return false;
	s->raw_size = ap_get32(c->p);
	c->p += 4;
	return take(c, &s->raw, s->raw_size);
}

static bool branches(u64 how, struct sample_cursor *c, struct ap_sample *s)
{
	return word(c, &s->nbranches) && (!(how & AP_BRANCH_HW_INDEX) || word(c, &s->hw_index)) &&
	       s->nbranches <= (u64)(c->end - c->p) / 24 &&
	       words(c, &s->branches, 3 * s->nbranches);
}

static bool regs(u64 mask, struct sample_cursor *c, u64 *abi, const u8 **out)
{
	return word(c, abi) && (!*abi || words(c, out, (u64)__builtin_popcountll(mask)));
}

static bool stack(struct sample_cursor *c, struct ap_sample *s)
{
	if (!word(c, &s->stack_size))
		return false;
	if (!s->stack_size)
		return true;
	return take(c, &s->stack, s->stack_size) && word(c, &s->stack_dyn);
}

static bool tail(const struct ap_perf_attr *attr, struct sample_cursor *c, struct ap_sample *s)
{
	u64 type = attr->sample_type;

	return (!(type & (AP_PERF_SAMPLE_WEIGHT | AP_PERF_SAMPLE_WEIGHT_STRUCT)) ||
		word(c, &s->weight)) &&
	       (!(type & AP_PERF_SAMPLE_DATA_SRC) || word(c, &s->data_src)) &&
	       (!(type & AP_PERF_SAMPLE_TRANSACTION) || word(c, &s->transaction)) &&
	       (!(type & AP_PERF_SAMPLE_REGS_INTR) ||
		regs(attr->sample_regs_intr, c, &s->regs_intr_abi, &s->regs_intr)) &&
	       (!(type & AP_PERF_SAMPLE_PHYS_ADDR) || word(c, &s->phys_addr)) &&
	       (!(type & AP_PERF_SAMPLE_CGROUP) || word(c, &s->cgroup)) &&
	       (!(type & AP_PERF_SAMPLE_DATA_PAGE_SIZE) || word(c, &s->data_page_size)) &&
	       (!(type & AP_PERF_SAMPLE_CODE_PAGE_SIZE) || word(c, &s->code_page_size));
}

static bool middle(const struct ap_perf_attr *attr, struct sample_cursor *c, struct ap_sample *s)
{
	u64 type = attr->sample_type;

	return (!(type & AP_PERF_SAMPLE_READ) || read_values(attr->read_format, c, s)) &&
	       (!(type & AP_PERF_SAMPLE_CALLCHAIN) ||
		(word(c, &s->nchain) && words(c, &s->chain, s->nchain))) &&
	       (!(type & AP_PERF_SAMPLE_RAW) || raw(c, s)) &&
	       (!(type & AP_PERF_SAMPLE_BRANCH_STACK) ||
		branches(attr->branch_sample_type, c, s)) &&
	       (!(type & AP_PERF_SAMPLE_REGS_USER) ||
		regs(attr->sample_regs_user, c, &s->regs_abi, &s->regs)) &&
	       (!(type & AP_PERF_SAMPLE_STACK_USER) || stack(c, s));
}

int ap_sample_parse(const struct ap_data_event *ev, const u8 *bytes, struct ap_sample *out)
{
	struct sample_cursor c = { bytes + AP_RECORD_HEADER, bytes + ap_get16(bytes + 6) };
	const struct ap_perf_attr *attr = &ev->attr;

	memset(out, 0, sizeof(*out));
	out->misc = ap_get16(bytes + 4);
	out->cpumode = out->misc & AP_PERF_RECORD_MISC_CPUMODE_MASK;
	out->cpu = ~0U;
	out->pid = out->tid = ~0U;
	/* what a sample does not say is what was asked for, a frequency included: as perf has it */
	out->period = attr->sample_period;
	if (!head(attr->sample_type, &c, out) || !middle(attr, &c, out) || !tail(attr, &c, out))
		return -EFAULT;
	return 0;
}

void ap_sample_trailer(const struct ap_data_event *ev, const u8 *bytes, struct ap_sample *out)
{
	const u8 *p = bytes + ap_get16(bytes + 6);
	u64 t = ev->attr.sample_type;
	u64 all = AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_TIME | AP_PERF_SAMPLE_ID |
		  AP_PERF_SAMPLE_STREAM_ID | AP_PERF_SAMPLE_CPU | AP_PERF_SAMPLE_IDENTIFIER;

	memset(out, 0, sizeof(*out));
	out->misc = ap_get16(bytes + 4);
	out->cpumode = out->misc & AP_PERF_RECORD_MISC_CPUMODE_MASK;
	out->cpu = ~0U;
	if (!(ev->attr.flags & AP_PERF_SAMPLE_ID_ALL) ||
	    p - bytes < (int)(AP_RECORD_HEADER + 8U * (u32)__builtin_popcountll(t & all)))
		return;
	if (t & AP_PERF_SAMPLE_IDENTIFIER)
		out->id = ap_get64(p -= 8);
	if (t & AP_PERF_SAMPLE_CPU)
		out->cpu = ap_get32(p -= 8);
	if (t & AP_PERF_SAMPLE_STREAM_ID)
		out->stream_id = ap_get64(p -= 8);
	if (t & AP_PERF_SAMPLE_ID)
		out->id = ap_get64(p -= 8);
	if (t & AP_PERF_SAMPLE_TIME)
		out->time = ap_get64(p -= 8);
	if (t & AP_PERF_SAMPLE_TID) {
		p -= 8;
		out->pid = ap_get32(p);
		out->tid = ap_get32(p + 4);
	}
}
