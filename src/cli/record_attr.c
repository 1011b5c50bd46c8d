/* SPDX-License-Identifier: MIT */
/*
 * From options to attrs, as perf chooses them: what a sample holds is the same for all events, so
 * that readers find the id of its event where they look for it.
 */
#include "cli/record.h"

#define DEFAULT_FREQ 4000

#define BRANCH_USER	  (1ULL << 0)
#define BRANCH_CALL_STACK (1ULL << 11)
#define BRANCH_NO_FLAGS	  (1ULL << 14)
#define BRANCH_NO_CYCLES  (1ULL << 15)

static void fill_period(const struct record *r, struct record_event *ev)
{
	const struct record_opts *o = r->opts;
	struct ap_perf_attr *attr = &ev->attr;

	if (attr->type == AP_PERF_TYPE_SOFTWARE && attr->config == AP_PERF_COUNT_SW_DUMMY)
		return;
	if (ev->terms.period || ev->terms.freq) {
		attr->sample_period = ev->terms.freq ? ev->terms.freq : ev->terms.period;
		attr->flags |= ev->terms.freq ? AP_PERF_FREQ : 0;
		return;
	}
	if (o->count || attr->type == AP_PERF_TYPE_TRACEPOINT) {
		attr->sample_period = o->count ? o->count : 1;
		return;
	}
	attr->flags |= AP_PERF_FREQ;
	attr->sample_period = o->freq ? o->freq : DEFAULT_FREQ;
}

enum ap_evchain record_chain_of(const struct record *r, const struct record_event *ev)
{
	enum ap_evchain chain = r->opts->chain;

	if (ev->terms.has_chain)
		return ev->terms.chain;
	return chain == AP_EVCHAIN_NONE && ev->terms.max_stack ? AP_EVCHAIN_FP : chain;
}

static u32 stack_size_of(const struct record *r, const struct record_event *ev)
{
	u32 size = r->opts->stack_size ? r->opts->stack_size : AP_EVTERM_STACK_DEFAULT;

	return ev->terms.stack_size ? ev->terms.stack_size : size;
}

static bool has_dwarf_chain(const struct record *r)
{
	for (size_t i = 0; i < r->nevents; i++)
		if (record_chain_of(r, &r->event[i]) == AP_EVCHAIN_DWARF)
			return true;
	return false;
}

static void fill_chain(const struct record *r, struct record_event *ev)
{
	const struct record_opts *o = r->opts;
	struct ap_perf_attr *attr = &ev->attr;
	enum ap_evchain chain = record_chain_of(r, ev);

	attr->flags |= o->user_chains ? AP_PERF_EXCLUDE_CALLCHAIN_KERNEL : 0;
	attr->flags |= o->kernel_chains ? AP_PERF_EXCLUDE_CALLCHAIN_USER : 0;
	if (chain == AP_EVCHAIN_NONE)
		return;
	attr->sample_type |= AP_PERF_SAMPLE_CALLCHAIN;
	attr->sample_max_stack = ev->terms.max_stack;
	if (chain == AP_EVCHAIN_DWARF) {
		attr->sample_type |= AP_PERF_SAMPLE_REGS_USER | AP_PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user |= RECORD_ALL_REGS;
		attr->sample_stack_user = stack_size_of(r, ev);
		attr->flags |= AP_PERF_EXCLUDE_CALLCHAIN_USER;
	} else if (chain == AP_EVCHAIN_LBR) {
		attr->sample_type |= AP_PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type =
			BRANCH_USER | BRANCH_CALL_STACK | BRANCH_NO_FLAGS | BRANCH_NO_CYCLES;
	}
}

static void fill_sample(const struct record *r, struct record_event *ev)
{
	const struct record_opts *o = r->opts;
	struct ap_perf_attr *attr = &ev->attr;
	bool has_cpu = o->system_wide || o->cpus;

	attr->sample_type |= AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_TID;
	attr->sample_type |= ev->terms.time == AP_EVTERM_NO ? 0 : AP_PERF_SAMPLE_TIME;
	attr->sample_type |= o->sample;
	if (!o->count || attr->flags & AP_PERF_FREQ || r->nevents > 1)
		attr->sample_type |= AP_PERF_SAMPLE_PERIOD;
	if (r->nevents > 1)
		attr->sample_type |= AP_PERF_SAMPLE_IDENTIFIER;
	if (has_cpu || o->raw)
		attr->sample_type |= AP_PERF_SAMPLE_CPU;
	if (o->data)
		attr->sample_type |= AP_PERF_SAMPLE_ADDR | AP_PERF_SAMPLE_DATA_SRC;
	if (o->raw)
		attr->sample_type |= AP_PERF_SAMPLE_RAW;
	if (o->branches) {
		attr->sample_type |= AP_PERF_SAMPLE_BRANCH_STACK;
		attr->branch_sample_type = o->branches;
	}
	fill_chain(r, ev);
	if (o->intr_regs) {
		attr->sample_type |= AP_PERF_SAMPLE_REGS_INTR;
		attr->sample_regs_intr = o->intr_regs;
	}
	if (o->user_regs) {
		attr->sample_type |= AP_PERF_SAMPLE_REGS_USER;
		attr->sample_regs_user |= o->user_regs;
	}
}

/* perf's evlist has RAW for tracepoints; all events have it then, or none. */
static bool has_tracepoint(const struct record *r)
{
	for (size_t i = 0; i < r->nevents; i++)
		if (r->event[i].attr.type == AP_PERF_TYPE_TRACEPOINT)
			return true;
	return false;
}

static void fill_tracking(const struct record *r, struct ap_perf_attr *attr)
{
	attr->flags |= AP_PERF_MMAP | AP_PERF_MMAP2 | AP_PERF_COMM | AP_PERF_COMM_EXEC |
		       AP_PERF_TASK | r->opts->tracking;
	/* an unwinder looks for its tables in mappings that are not code */
	if (r->opts->data || has_dwarf_chain(r))
		attr->flags |= AP_PERF_MMAP_DATA;
	if (r->opts->mmap_build_ids)
		attr->flags |= AP_PERF_BUILD_ID;
}

/* Who begins it: the exec of the command, we, or the leader of its group. */
static void fill_start(const struct record *r, struct record_event *ev)
{
	const struct record_opts *o = r->opts;
	bool leads = &r->event[ev->leader] == ev;

	if (!leads)
		return;
	ev->attr.flags |= AP_PERF_DISABLED;
	if (o->run.argv && !o->run.ntargets && !o->system_wide && (!o->delay_ms || ev->is_tracking))
		ev->attr.flags |= AP_PERF_ENABLE_ON_EXEC;
}

void record_attr_fill(const struct record *r, struct record_event *ev, bool tracks)
{
	const struct record_opts *o = r->opts;
	struct ap_perf_attr *attr = &ev->attr;

	attr->read_format = AP_PERF_FORMAT_ID | AP_PERF_FORMAT_LOST;
	attr->flags |= AP_PERF_SAMPLE_ID_ALL;
	if (ev->terms.inherit ? ev->terms.inherit == AP_EVTERM_YES : !o->no_inherit)
		attr->flags |= AP_PERF_INHERIT;
	if (o->per_thread_counts)
		attr->flags |= AP_PERF_INHERIT_STAT;
	if (o->user_only)
		attr->flags |= AP_PERF_EXCLUDE_KERNEL | AP_PERF_EXCLUDE_HV;
	if (o->kernel_only)
		attr->flags |= AP_PERF_EXCLUDE_USER | AP_PERF_EXCLUDE_HV;
	if (o->has_clock) {
		attr->flags |= AP_PERF_USE_CLOCKID;
		attr->clockid = o->clock;
	}
	fill_period(r, ev);
	if (o->no_samples) {
		attr->flags &= ~(u64)AP_PERF_FREQ;
		attr->sample_period = 0;
	}
	if (o->overwrite && !ev->is_tracking)
		attr->flags |= AP_PERF_WRITE_BACKWARD;
	if (o->no_buffering)
		attr->wakeup_events = 1;
	fill_sample(r, ev);
	if (has_tracepoint(r))
		attr->sample_type |= AP_PERF_SAMPLE_RAW | AP_PERF_SAMPLE_CPU;
	if (tracks)
		fill_tracking(r, attr);
	fill_start(r, ev);
}
