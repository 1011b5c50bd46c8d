/* SPDX-License-Identifier: MIT */
/* From a name to an attr.  See names.h. */
#include "pmu/names.h"

#include "abi/errno.h"
#include "base/mem.h"
#include "base/str.h"
#include "pmu/software.h"
#include "pmu/tracepoint.h"

static char fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == ':' ? '.' : c;
}

/* Vendors write INST_RETIRED.ANY_P, libpfm INST_RETIRED:ANY_P and perf either in small letters. */
static bool is_alike(const char *a, const char *b)
{
	if (!b)
		return false;
	for (; *a && fold(*a) == fold(*b); a++, b++)
		;
	return !*a && !*b;
}

static bool is_same(const char *a, const char *b)
{
	return b && !strcmp(a, b);
}

/* 0x1f or 31, up to the end of the text */
static bool parse_number(const char *s, u64 *v)
{
	bool ok;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		s += 2;
		ok = ap_parse_hex(&s, v);
	} else {
		ok = ap_parse_u64(&s, v);
	}
	return ok && !*s;
}

static void set_raw(struct ap_perf_attr *attr, u64 config, u64 config1)
{
	attr->type = AP_PERF_TYPE_RAW;
	attr->config = config;
	attr->config1 = config1;
}

static int find_table(const struct ap_pmu_arch *arch, const char *name, struct ap_perf_attr *attr)
{
	u32 i;

	for (i = 0; i < AP_PERF_COUNT_HW_MAX; i++) {
		const struct ap_pmu_desc *d = &ap_pmu_generic[i];

		if (is_same(name, d->name) || is_same(name, d->alias)) {
			attr->type = AP_PERF_TYPE_HARDWARE;
			attr->config = i;
			return 0;
		}
	}
	for (i = 0; i < ap_pmu_nown; i++) {
		const struct ap_pmu_desc *d = &ap_pmu_own[i];

		if (is_same(name, d->name) || is_same(name, d->alias)) {
			set_raw(attr, 0, d->config1);
			return 0;
		}
	}
	for (i = 0; i < AP_PERF_COUNT_SW_MAX; i++) {
		if (is_same(name, ap_pmu_soft[i].name) || is_same(name, ap_pmu_soft[i].alias)) {
			attr->type = AP_PERF_TYPE_SOFTWARE;
			attr->config = i;
			return 0;
		}
	}
	for (i = 0; i < arch->nraw; i++) {
		const struct ap_pmu_desc *d = &arch->raw[i];

		if (is_alike(name, d->name) || is_alike(name, d->alias)) {
			set_raw(attr, d->config, 0);
			return 0;
		}
	}
	return -AP_ENOENT;
}

/* Puts v into the bits of "config:0-7,32-35"; false where it does not fit. */
static bool put_bits(const char *bits, u64 v, struct ap_perf_attr *attr)
{
	u64 *word = !strncmp(bits, "config1", 7) ? &attr->config1 : &attr->config;
	const char *p = strchr(bits, ':') + 1;
	u64 from, to, width;

	for (;; p++) {
		if (!ap_parse_u64(&p, &from))
			return false;
		to = from;
		if (*p == '-') {
			p++;
			if (!ap_parse_u64(&p, &to))
				return false;
		}
		width = to - from + 1;
		*word |= (v & ((1ULL << width) - 1)) << from;
		v >>= width;
		if (*p != ',')
			return !v;
	}
}

/* A name of events/: the CPU's code where it has one, as the file there says. */
static int put_event(const struct ap_pmu_arch *arch, const char *name, struct ap_perf_attr *attr)
{
	u64 config = 0;
	u32 i;

	for (i = 0; i < AP_PERF_COUNT_HW_MAX; i++) {
		if (is_same(name, ap_pmu_generic[i].name) || is_same(name, ap_pmu_generic[i].alias))
			config = arch->generic[i];
	}
	attr->config |= config;
	if (config)
		return 0;
	for (i = 0; i < ap_pmu_nown; i++) {
		if (is_same(name, ap_pmu_own[i].name) || is_same(name, ap_pmu_own[i].alias)) {
			attr->config1 |= ap_pmu_own[i].config1;
			return 0;
		}
	}
	return -AP_EINVAL;
}

/* The value of "key=value", or 1 of a key alone. */
static int put_term(const struct ap_pmu_arch *arch, char *term, struct ap_perf_attr *attr)
{
	const struct ap_pmu_format *f;
	char *equals = strchr(term, '=');
	u64 v = 1;

	if (equals) {
		*equals = '\0';
		if (!parse_number(equals + 1, &v))
			return -AP_EINVAL;
		if (!strcmp(term, "config")) {
			attr->config = v;
			return 0;
		}
		if (!strcmp(term, "config1")) {
			attr->config1 = v;
			return 0;
		}
	}
	for (f = arch->format; f->name; f++) {
		if (!strcmp(term, f->name))
			return put_bits(f->bits, v, attr) ? 0 : -AP_EINVAL;
	}
	return equals ? -AP_EINVAL : put_event(arch, term, attr);
}

/* What stands between the slashes of cpu/.../. */
static int parse_terms(const struct ap_pmu_arch *arch, char *terms, struct ap_perf_attr *attr)
{
	char *slash = strchr(terms, '/'), *comma;
	int err = 0;

	if (!slash || slash[1])
		return -AP_EINVAL;
	*slash = '\0';
	set_raw(attr, 0, 0);
	while (*terms && !err) {
		comma = strchr(terms, ',');
		if (comma)
			*comma = '\0';
		err = put_term(arch, terms, attr);
		terms = comma ? comma + 1 : terms + strlen(terms);
	}
	return err;
}

/*
 * ADDR[/LEN][:ACCESS], as perf has it: 4 bytes of data or a long of code, rw where nothing is said.
 */
static int parse_mem(char *s, struct ap_perf_attr *attr)
{
	char *colon = strchr(s, ':'), *slash;
	u64 len = 0;

	attr->type = AP_PERF_TYPE_BREAKPOINT;
	attr->bp_type = AP_HW_BREAKPOINT_RW;
	if (colon) {
		*colon = '\0';
		attr->bp_type = 0;
		for (colon++; *colon; colon++) {
			u32 bit = *colon == 'r'	  ? AP_HW_BREAKPOINT_R
				  : *colon == 'w' ? AP_HW_BREAKPOINT_W
				  : *colon == 'x' ? AP_HW_BREAKPOINT_X
						  : 0;

			if (!bit || attr->bp_type & bit)
				return -AP_EINVAL;
			attr->bp_type |= bit;
		}
		if (!attr->bp_type)
			return -AP_EINVAL;
	}
	slash = strchr(s, '/');
	if (slash) {
		*slash = '\0';
		if (!parse_number(slash + 1, &len))
			return -AP_EINVAL;
	}
	attr->config2 = len ? len : attr->bp_type == AP_HW_BREAKPOINT_X ? 8 : 4;
	return parse_number(s, &attr->config1) ? 0 : -AP_EINVAL;
}

static int parse(const struct ap_pmu_arch *arch, char *name, struct ap_perf_attr *attr)
{
	const char *hex = name + 1;
	u32 id;
	u64 v;

	if (!strncmp(name, "cpu/", 4))
		return parse_terms(arch, name + 4, attr);
	if (!strncmp(name, "mem:", 4))
		return parse_mem(name + 4, attr);
	if (!find_table(arch, name, attr))
		return 0;
	if (ap_pmu_cache_name(name, strlen(name), &attr->config)) {
		attr->type = AP_PERF_TYPE_HW_CACHE;
		return 0;
	}
	if (name[0] == 'r' && ap_parse_hex(&hex, &v) && !*hex) {
		set_raw(attr, v, 0);
		return 0;
	}
	id = ap_tracepoint_find(name, strlen(name));
	if (!id)
		return -AP_ENOENT;
	attr->type = AP_PERF_TYPE_TRACEPOINT;
	attr->config = id;
	return 0;
}

int ap_pmu_event_by_name(const struct ap_pmu_arch *arch, const char *name, size_t len,
			 struct ap_perf_attr *attr, const struct ap_pmu_desc **desc)
{
	struct ap_perf_attr found = { 0 };
	char buf[AP_PMU_NAME_MAX];
	int err;

	if (!len || len >= sizeof(buf))
		return -AP_ENOENT;
	memcpy(buf, name, len);
	buf[len] = '\0';
	err = parse(arch, buf, &found);
	if (err)
		return err;
	attr->type = found.type;
	attr->config = found.config;
	attr->config1 = found.config1;
	attr->config2 = found.config2;
	attr->bp_type = found.bp_type;
	if (desc)
		*desc = ap_pmu_desc_of(arch, attr);
	return 0;
}

const struct ap_pmu_desc *ap_pmu_desc_of(const struct ap_pmu_arch *arch,
					 const struct ap_perf_attr *attr)
{
	u64 config = attr->config & (arch->select | arch->refused);
	u32 i;

	if (attr->type == AP_PERF_TYPE_HARDWARE)
		return attr->config < AP_PERF_COUNT_HW_MAX ? &ap_pmu_generic[attr->config] : NULL;
	if (attr->type == AP_PERF_TYPE_HW_CACHE)
		return ap_pmu_cache_find(attr->config);
	if (attr->type != AP_PERF_TYPE_RAW)
		return NULL;
	for (i = 0; !config && i < ap_pmu_nown; i++) {
		if (ap_pmu_is_own(&ap_pmu_own[i], attr->config1))
			return &ap_pmu_own[i];
	}
	return ap_pmu_raw_find(arch, config);
}
