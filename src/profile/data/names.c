/* SPDX-License-Identifier: MIT */
/*
 * What perf calls an event that has no name in the file: its kind's name, and letters for the
 * levels that it leaves out.
 */
#include <stdio.h>

#include "profile/data/data.h"

static const char *const hw_names[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const sw_names[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

static const char *const cache_names[] = { "L1-dcache", "L1-icache", "LLC", "dTLB",
					   "iTLB",	"branch",    "node" };
static const char *const op_names[][2] = { { "loads", "load" },
					   { "stores", "store" },
					   { "prefetches", "prefetch" } };

static void cache_name(u64 config, char *buf, size_t size)
{
	u64 id = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (id >= AP_ARRAY_SIZE(cache_names) || op >= AP_ARRAY_SIZE(op_names) || result > 1)
		snprintf(buf, size, "invalid-cache");
	else if (result)
		snprintf(buf, size, "%s-%s-misses", cache_names[id], op_names[op][1]);
	else
		snprintf(buf, size, "%s-%s", cache_names[id], op_names[op][0]);
}

static void breakpoint_name(const struct ap_perf_attr *attr, char *buf, size_t size)
{
	snprintf(buf, size, "mem:0x%llx:%s%s%s", (unsigned long long)attr->config1,
		 attr->bp_type & AP_HW_BREAKPOINT_R ? "r" : "",
		 attr->bp_type & AP_HW_BREAKPOINT_W ? "w" : "",
		 attr->bp_type & AP_HW_BREAKPOINT_X ? "x" : "");
}

static void add_modifiers(const struct ap_perf_attr *attr, char *buf, size_t size)
{
	u64 f = attr->flags,
	    levels = AP_PERF_EXCLUDE_USER | AP_PERF_EXCLUDE_KERNEL | AP_PERF_EXCLUDE_HV;
	size_t n = strlen(buf);
	char mods[16];
	int k = 0;
	u64 precise = (f & AP_PERF_PRECISE_IP) >> AP_PERF_PRECISE_IP_SHIFT;

	bool guest_left_out = false; /* what goes without saying */

	if (f & levels) {
		if (!(f & AP_PERF_EXCLUDE_KERNEL))
			mods[k++] = 'k';
		if (!(f & AP_PERF_EXCLUDE_USER))
			mods[k++] = 'u';
		if (!(f & AP_PERF_EXCLUDE_HV))
			mods[k++] = 'h';
		guest_left_out = true;
	}
	for (; precise; precise--) {
		mods[k++] = 'p';
		guest_left_out = true;
	}
	if ((f & AP_PERF_EXCLUDE_HOST) || !(f & AP_PERF_EXCLUDE_GUEST) != guest_left_out) {
		if (!(f & AP_PERF_EXCLUDE_HOST))
			mods[k++] = 'H';
		if (!(f & AP_PERF_EXCLUDE_GUEST))
			mods[k++] = 'G';
	}
	mods[k] = 0;
	if (k)
		snprintf(buf + n, size - n, ":%s", mods);
}

void ap_event_name(const struct ap_perf_attr *attr, char *buf, size_t size)
{
	switch (attr->type) {
	case AP_PERF_TYPE_HARDWARE:
		snprintf(buf, size, "%s",
			 attr->config < AP_ARRAY_SIZE(hw_names) ? hw_names[attr->config]
								: "unknown-hardware");
		break;
	case AP_PERF_TYPE_SOFTWARE:
		snprintf(buf, size, "%s",
			 attr->config < AP_ARRAY_SIZE(sw_names) ? sw_names[attr->config]
								: "unknown-software");
		break;
	case AP_PERF_TYPE_TRACEPOINT:
		snprintf(buf, size, "%s", "unknown tracepoint");
		return;
	case AP_PERF_TYPE_HW_CACHE:
		cache_name(attr->config, buf, size);
		break;
	case AP_PERF_TYPE_RAW:
		snprintf(buf, size, "raw 0x%llx", (unsigned long long)attr->config);
		break;
	case AP_PERF_TYPE_BREAKPOINT:
		breakpoint_name(attr, buf, size);
		break;
	default:
		snprintf(buf, size, "unknown attr type: %u", attr->type);
		return;
	}
	add_modifiers(attr, buf, size);
}
