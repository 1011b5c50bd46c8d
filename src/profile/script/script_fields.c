/* SPDX-License-Identifier: MIT */
/*
 * -F: which fields, per type of event: "comm,tid,ip", "sw:ip,sym", "+addr,-dso".  A field that the
 * samples do not have is left out where nobody asked for it, else refused.
 */
#include <errno.h>
#include <string.h>

#include "profile/script/script_internal.h"

static const struct field {
	const char *name;
	u32 bit;
	u64 needs; /* sample_type */
	const char *what;
} fields[] = {
	{ "comm", AP_FIELD_COMM, 0, "" },
	{ "tid", AP_FIELD_TID, AP_PERF_SAMPLE_TID, "TID" },
	{ "pid", AP_FIELD_PID, AP_PERF_SAMPLE_TID, "TID" },
	{ "time", AP_FIELD_TIME, AP_PERF_SAMPLE_TIME, "TIME" },
	{ "cpu", AP_FIELD_CPU, AP_PERF_SAMPLE_CPU, "CPU" },
	{ "event", AP_FIELD_EVENT, 0, "" },
	{ "ip", AP_FIELD_IP, AP_PERF_SAMPLE_IP, "IP" },
	{ "sym", AP_FIELD_SYM, 0, "" },
	{ "dso", AP_FIELD_DSO, 0, "" },
	{ "addr", AP_FIELD_ADDR, AP_PERF_SAMPLE_ADDR, "ADDR" },
	{ "symoff", AP_FIELD_SYMOFF, 0, "" },
	{ "srcline", AP_FIELD_SRCLINE, 0, "" },
	{ "period", AP_FIELD_PERIOD, 0, "" },
	{ "uregs", AP_FIELD_UREGS, AP_PERF_SAMPLE_REGS_USER, "UREGS" },
	{ "iregs", AP_FIELD_IREGS, AP_PERF_SAMPLE_REGS_INTR, "IREGS" },
	{ "brstack", AP_FIELD_BRSTACK, AP_PERF_SAMPLE_BRANCH_STACK, "BRSTACK" },
	{ "weight", AP_FIELD_WEIGHT, AP_PERF_SAMPLE_WEIGHT | AP_PERF_SAMPLE_WEIGHT_STRUCT,
	  "WEIGHT" },
	{ "phys_addr", AP_FIELD_PHYS_ADDR, AP_PERF_SAMPLE_PHYS_ADDR, "PHYS_ADDR" },
	{ "misc", AP_FIELD_MISC, 0, "" },
	{ "trace", AP_FIELD_TRACE, 0, "" },
	{ "brstacksym", AP_FIELD_BRSTACKSYM, AP_PERF_SAMPLE_BRANCH_STACK, "BRSTACK" },
	{ "data_page_size", AP_FIELD_DATA_PAGE_SIZE, AP_PERF_SAMPLE_DATA_PAGE_SIZE,
	  "DATA_PAGE_SIZE" },
	{ "code_page_size", AP_FIELD_CODE_PAGE_SIZE, AP_PERF_SAMPLE_CODE_PAGE_SIZE,
	  "CODE_PAGE_SIZE" },
	{ "ins_lat", AP_FIELD_INS_LAT, AP_PERF_SAMPLE_WEIGHT_STRUCT, "WEIGHT_STRUCT" },
	{ "data_src", AP_FIELD_DATA_SRC, AP_PERF_SAMPLE_DATA_SRC, "DATA_SRC" },
};

static const struct {
	const char *name;
	u32 type;
} types[] = {
	{ "hw", AP_PERF_TYPE_HARDWARE },
	{ "sw", AP_PERF_TYPE_SOFTWARE },
	{ "trace", AP_PERF_TYPE_TRACEPOINT },
	{ "raw", AP_PERF_TYPE_RAW },
};

static const struct field *find_field(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(fields); i++) {
		if (strlen(fields[i].name) == len && !strncmp(fields[i].name, name, len))
			return &fields[i];
	}
	return NULL;
}

/* One word; first: the first without a sign replaces what is the default. */
static int apply(struct ap_script *c, const char *w, size_t len, u32 from, u32 to, bool *replaced,
		 char *why, size_t size)
{
	char sign = *w == '+' || *w == '-' ? *w : 0;
	const struct field *f = find_field(w + !!sign, len - !!sign);
	u32 t;

	if (!f) {
		snprintf(why, size, "unknown field '%.*s' (--help lists them)", (int)len, w);
		return -EINVAL;
	}
	if (!sign && !*replaced) {
		for (t = from; t < to; t++)
			c->fields[t] = c->asked[t] = 0;
		*replaced = true;
	}
	for (t = from; t < to; t++) {
		if (sign == '-') {
			c->fields[t] &= ~f->bit;
			if (f->bit == AP_FIELD_SYM)
				c->fields[t] &= ~AP_FIELD_SYMOFF;
		} else {
			c->fields[t] |= f->bit;
			c->asked[t] |= f->bit;
		}
	}
	return 0;
}

static int parse(struct ap_script *c, const char *text, char *why, size_t size)
{
	u32 from = 0, to = AP_SCRIPT_TYPES;
	const char *colon = strchr(text, ':');
	bool replaced = false;
	size_t i, len;
	int r;

	if (colon) {
		for (i = 0; i < AP_ARRAY_SIZE(types); i++) {
			if (!strncmp(text, types[i].name, strlen(types[i].name)) &&
			    text + strlen(types[i].name) == colon)
				break;
		}
		if (i == AP_ARRAY_SIZE(types)) {
			snprintf(why, size, "unknown type of event '%.*s' (hw, sw, trace, raw)",
				 (int)(colon - text), text);
			return -EINVAL;
		}
		from = types[i].type;
		to = from + 1;
		text = colon + 1;
	}
	for (; *text; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		r = len ? apply(c, text, len, from, to, &replaced, why, size) : 0;
		if (r)
			return r;
	}
	return 0;
}

static int check_event(struct ap_script *c, const struct ap_data_event *ev, char *why, size_t size)
{
	u32 type = ap_script_type(ev);
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];

		if (!(c->fields[type] & f->bit) || !f->needs || (ev->attr.sample_type & f->needs))
			continue;
		if (c->asked[type] & f->bit) {
			snprintf(
				why, size,
				"Samples for '%s' event do not have %s attribute set. Cannot print "
				"'%s' field.",
				ev->name, f->what, f->name);
			return -EINVAL;
		}
		c->fields[type] &= ~f->bit;
	}
	return 0;
}

int ap_script_check(struct ap_script *c, char *why, size_t size)
{
	int r = c->opts.fields ? parse(c, c->opts.fields, why, size) : 0;
	u32 i, type, seen = 0;

	/* the first of each type speaks for all, as with perf */
	for (i = 0; !r && i < ap_data_nevents(c->d); i++) {
		type = ap_script_type(ap_data_event(c->d, i));
		if (!(seen & 1U << type))
			r = check_event(c, ap_data_event(c->d, i), why, size);
		seen |= 1U << type;
	}
	return r;
}
