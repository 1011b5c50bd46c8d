/* SPDX-License-Identifier: MIT */
/*
 * Events by name, as a client asks for them; apart from all that opens them, for callers that only
 * read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/client/client.h"
#include "linux/host/host.h"
#include "linux/host/tree.h"
#include "pmu/names.h"
#include "pmu/tracepoint.h"

int ap_client_event_by_name(const char *name, size_t len, struct ap_perf_attr *attr)
{
	const struct ap_pmu_desc *desc;

	return ap_pmu_event_by_name(ap_pmu_arch(ap_host_cpu()), name, len, attr, &desc);
}

int ap_client_tracepoint(u64 id, const char **system, char **format)
{
	enum { ROOM = 16384 };
	struct ap_tracepoint point;
	struct ap_str text;
	u32 n;

	for (n = 0; ap_tracepoint_get(n, &point); n++) {
		if (point.id != id)
			continue;
		*format = malloc(ROOM);
		if (!*format)
			return -ENOMEM;
		ap_str_init(&text, *format, ROOM);
		*system = point.system;
		if (ap_tracepoint_format((u32)id, &text) && !text.cut)
			return 0;
		free(*format);
		return -ENOENT;
	}
	return -ENOENT;
}

const char *ap_client_header_page(void)
{
	return ap_tree_header_page;
}

const char *ap_client_header_event(void)
{
	return ap_tree_header_event;
}

/* All 0: nobody counts it. */
static struct ap_pmu_sum sum_of(const struct ap_perf_attr *attr)
{
	struct ap_pmu_sum sum = { 0 };

	if (attr->type != AP_PERF_TYPE_HARDWARE && attr->type != AP_PERF_TYPE_HW_CACHE &&
	    attr->type != AP_PERF_TYPE_RAW)
		return sum;
	if (ap_pmu_resolve(ap_pmu_arch(ap_host_cpu()), attr->type, attr->config, attr->config1,
			   &sum))
		return (struct ap_pmu_sum){ 0 };
	return sum;
}

u64 ap_client_event_kinds(const struct ap_perf_attr *attr)
{
	struct ap_pmu_sum sum = sum_of(attr);

	return sum.plus | sum.minus;
}

bool ap_client_is_derived(const struct ap_perf_attr *attr)
{
	struct ap_pmu_sum sum = sum_of(attr);

	return sum.is_locked || sum.in_slots || sum.minus;
}

bool ap_client_is_in_slots(const struct ap_perf_attr *attr)
{
	return sum_of(attr).in_slots;
}

bool ap_client_is_cache_event(const char *name, size_t len)
{
	u64 config;

	return ap_pmu_cache_name(name, len, &config);
}

_Static_assert(AP_CLIENT_NAME_MAX == AP_PMU_NAME_MAX, "a list names what can be asked for");

static void name_of_desc(const struct ap_pmu_desc *d, struct ap_client_name *out)
{
	snprintf(out->name, sizeof(out->name), "%s", d->name);
	out->alias = d->alias;
	out->meaning = d->text;
	out->is_counted = d->quality != AP_PMU_UNCOUNTED;
	out->is_modelled = d->quality == AP_PMU_MODELLED;
}

bool ap_client_name(enum ap_client_names which, unsigned int i, struct ap_client_name *out)
{
	const struct ap_pmu_arch *arch = ap_pmu_arch(ap_host_cpu());
	struct ap_tracepoint point;

	*out = (struct ap_client_name){ 0 };
	switch (which) {
	case AP_NAMES_OWN:
		if (i >= ap_pmu_nown)
			return false;
		name_of_desc(&ap_pmu_own[i], out);
		return true;
	case AP_NAMES_CACHE:
		if (i >= ap_pmu_ncache)
			return false;
		name_of_desc(&ap_pmu_cache[i], out);
		return true;
	case AP_NAMES_RAW:
		if (i >= arch->nraw)
			return false;
		name_of_desc(&arch->raw[i], out);
		return true;
	case AP_NAMES_TRACEPOINT:
		if (!ap_tracepoint_get(i, &point))
			return false;
		snprintf(out->name, sizeof(out->name), "%s:%s", point.system, point.name);
		out->meaning = "tracepoint";
		out->is_counted = true;
		return true;
	}
	return false;
}

void ap_client_encoding(const char *name, char *buf, u32 size)
{
	struct ap_perf_attr attr = { 0 };

	*buf = '\0';
	if (ap_client_event_by_name(name, strlen(name), &attr))
		return;
	if (attr.type != AP_PERF_TYPE_RAW)
		snprintf(buf, size, "type=%u config=0x%llx", attr.type,
			 (unsigned long long)attr.config);
	else if (attr.config1)
		snprintf(buf, size, "cpu/anyperf=0x%llx/", (unsigned long long)attr.config1);
	else
		snprintf(buf, size, "r%04llx", (unsigned long long)attr.config);
}
