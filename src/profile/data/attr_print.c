/* SPDX-License-Identifier: MIT */
/*
 * An attr as text: the fields that are not zero, in the order of the struct, with names for bits.
 */
#include "print/print.h"
#include "profile/data/describe.h"

struct bit {
	u64 bit;
	const char *name;
};

static const struct bit sample_bits[] = {
	{ AP_PERF_SAMPLE_IP, "IP" },
	{ AP_PERF_SAMPLE_TID, "TID" },
	{ AP_PERF_SAMPLE_TIME, "TIME" },
	{ AP_PERF_SAMPLE_ADDR, "ADDR" },
	{ AP_PERF_SAMPLE_READ, "READ" },
	{ AP_PERF_SAMPLE_CALLCHAIN, "CALLCHAIN" },
	{ AP_PERF_SAMPLE_ID, "ID" },
	{ AP_PERF_SAMPLE_CPU, "CPU" },
	{ AP_PERF_SAMPLE_PERIOD, "PERIOD" },
	{ AP_PERF_SAMPLE_STREAM_ID, "STREAM_ID" },
	{ AP_PERF_SAMPLE_RAW, "RAW" },
	{ AP_PERF_SAMPLE_BRANCH_STACK, "BRANCH_STACK" },
	{ AP_PERF_SAMPLE_REGS_USER, "REGS_USER" },
	{ AP_PERF_SAMPLE_STACK_USER, "STACK_USER" },
	{ AP_PERF_SAMPLE_IDENTIFIER, "IDENTIFIER" },
	{ AP_PERF_SAMPLE_REGS_INTR, "REGS_INTR" },
	{ AP_PERF_SAMPLE_DATA_SRC, "DATA_SRC" },
	{ AP_PERF_SAMPLE_WEIGHT, "WEIGHT" },
	{ AP_PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR" },
	{ AP_PERF_SAMPLE_AUX, "AUX" },
	{ AP_PERF_SAMPLE_CGROUP, "CGROUP" },
	{ AP_PERF_SAMPLE_DATA_PAGE_SIZE, "DATA_PAGE_SIZE" },
	{ AP_PERF_SAMPLE_CODE_PAGE_SIZE, "CODE_PAGE_SIZE" },
	{ AP_PERF_SAMPLE_WEIGHT_STRUCT, "WEIGHT_STRUCT" },
	{ 0, NULL },
};

static const struct bit read_bits[] = {
	{ AP_PERF_FORMAT_TOTAL_TIME_ENABLED, "TOTAL_TIME_ENABLED" },
	{ AP_PERF_FORMAT_TOTAL_TIME_RUNNING, "TOTAL_TIME_RUNNING" },
	{ AP_PERF_FORMAT_ID, "ID" },
	{ AP_PERF_FORMAT_GROUP, "GROUP" },
	{ AP_PERF_FORMAT_LOST, "LOST" },
	{ 0, NULL },
};

static const struct bit branch_bits[] = {
	{ 1 << 0, "USER" },	  { 1 << 1, "KERNEL" },
	{ 1 << 2, "HV" },	  { 1 << 3, "ANY" },
	{ 1 << 4, "ANY_CALL" },	  { 1 << 5, "ANY_RETURN" },
	{ 1 << 6, "IND_CALL" },	  { 1 << 7, "ABORT_TX" },
	{ 1 << 8, "IN_TX" },	  { 1 << 9, "NO_TX" },
	{ 1 << 10, "COND" },	  { 1 << 11, "CALL_STACK" },
	{ 1 << 12, "IND_JUMP" },  { 1 << 13, "CALL" },
	{ 1 << 14, "NO_FLAGS" },  { 1 << 15, "NO_CYCLES" },
	{ 1 << 16, "TYPE_SAVE" }, { 1 << 17, "HW_INDEX" },
	{ 1 << 18, "PRIV_SAVE" }, { 0, NULL },
};

/* The flags before and behind precise_ip, which has two bits. */
static const struct bit flag_bits[] = {
	{ AP_PERF_DISABLED, "disabled" },
	{ AP_PERF_INHERIT, "inherit" },
	{ AP_PERF_PINNED, "pinned" },
	{ AP_PERF_EXCLUSIVE, "exclusive" },
	{ AP_PERF_EXCLUDE_USER, "exclude_user" },
	{ AP_PERF_EXCLUDE_KERNEL, "exclude_kernel" },
	{ AP_PERF_EXCLUDE_HV, "exclude_hv" },
	{ AP_PERF_EXCLUDE_IDLE, "exclude_idle" },
	{ AP_PERF_MMAP, "mmap" },
	{ AP_PERF_COMM, "comm" },
	{ AP_PERF_FREQ, "freq" },
	{ AP_PERF_INHERIT_STAT, "inherit_stat" },
	{ AP_PERF_ENABLE_ON_EXEC, "enable_on_exec" },
	{ AP_PERF_TASK, "task" },
	{ AP_PERF_WATERMARK, "watermark" },
	{ AP_PERF_PRECISE_IP, "precise_ip" },
	{ AP_PERF_MMAP_DATA, "mmap_data" },
	{ AP_PERF_SAMPLE_ID_ALL, "sample_id_all" },
	{ AP_PERF_EXCLUDE_HOST, "exclude_host" },
	{ AP_PERF_EXCLUDE_GUEST, "exclude_guest" },
	{ AP_PERF_EXCLUDE_CALLCHAIN_KERNEL, "exclude_callchain_kernel" },
	{ AP_PERF_EXCLUDE_CALLCHAIN_USER, "exclude_callchain_user" },
	{ AP_PERF_MMAP2, "mmap2" },
	{ AP_PERF_COMM_EXEC, "comm_exec" },
	{ AP_PERF_USE_CLOCKID, "use_clockid" },
	{ AP_PERF_CONTEXT_SWITCH, "context_switch" },
	{ AP_PERF_WRITE_BACKWARD, "write_backward" },
	{ AP_PERF_NAMESPACES, "namespaces" },
	{ AP_PERF_KSYMBOL, "ksymbol" },
	{ AP_PERF_BPF_EVENT, "bpf_event" },
	{ AP_PERF_AUX_OUTPUT, "aux_output" },
	{ AP_PERF_CGROUP, "cgroup" },
	{ AP_PERF_TEXT_POKE, "text_poke" },
	{ AP_PERF_BUILD_ID, "build_id" },
	{ AP_PERF_INHERIT_THREAD, "inherit_thread" },
	{ AP_PERF_REMOVE_ON_EXEC, "remove_on_exec" },
	{ AP_PERF_SIGTRAP, "sigtrap" },
	{ 0, NULL },
};

struct printer {
	FILE *out;
	const char *is;
	bool any;
};

static void label(struct printer *p, const char *name)
{
	ap_print(p->out, "%s%s%s", p->any ? ", " : "", name, p->is);
	p->any = true;
}

static void number(struct printer *p, const char *name, u64 v)
{
	if (!v)
		return;
	label(p, name);
	fprintf(p->out, "%llu", (unsigned long long)v);
}

static void hex(struct printer *p, const char *name, u64 v)
{
	if (!v)
		return;
	label(p, name);
	fprintf(p->out, "%#llx", (unsigned long long)v);
}

static void bits(struct printer *p, const char *name, u64 v, const struct bit *table)
{
	bool any = false;

	if (!v)
		return;
	label(p, name);
	for (; table->name; table++) {
		if (v & table->bit) {
			ap_print(p->out, "%s%s", any ? "|" : "", table->name);
			any = true;
		}
	}
}

static void flags(struct printer *p, u64 v)
{
	const struct bit *b;

	for (b = flag_bits; b->name; b++)
		number(p, b->name, (v & b->bit) / (b->bit & -b->bit));
}

static void print(const struct ap_perf_attr *attr, const char *is, FILE *out, bool any)
{
	struct printer p = { out, is, any };

	number(&p, "type", attr->type);
	number(&p, "size", attr->size);
	hex(&p, "config", attr->config);
	number(&p, "{ sample_period, sample_freq }", attr->sample_period);
	bits(&p, "sample_type", attr->sample_type, sample_bits);
	bits(&p, "read_format", attr->read_format, read_bits);
	flags(&p, attr->flags);
	number(&p, "{ wakeup_events, wakeup_watermark }", attr->wakeup_events);
	number(&p, "bp_type", attr->bp_type);
	hex(&p, "{ bp_addr, config1 }", attr->config1);
	hex(&p, "{ bp_len, config2 }", attr->config2);
	bits(&p, "branch_sample_type", attr->branch_sample_type, branch_bits);
	hex(&p, "sample_regs_user", attr->sample_regs_user);
	number(&p, "sample_stack_user", attr->sample_stack_user);
	if (attr->clockid) {
		label(&p, "clockid");
		fprintf(out, "%d", attr->clockid);
	}
	hex(&p, "sample_regs_intr", attr->sample_regs_intr);
	number(&p, "aux_watermark", attr->aux_watermark);
	number(&p, "sample_max_stack", attr->sample_max_stack);
	number(&p, "aux_sample_size", attr->aux_sample_size);
	number(&p, "sig_data", attr->sig_data);
}

void ap_attr_print(const struct ap_perf_attr *attr, const char *is, FILE *out)
{
	print(attr, is, out, true);
}

void ap_attr_print_first(const struct ap_perf_attr *attr, const char *is, FILE *out)
{
	print(attr, is, out, false);
}
