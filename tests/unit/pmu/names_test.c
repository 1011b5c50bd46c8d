/* SPDX-License-Identifier: MIT */
/* Names to attrs and back to what sysfs says of them. */
#include <stdio.h>
#include <string.h>

#include "abi/errno.h"
#include "pmu/describe.h"
#include "pmu/names.h"
#include "pmu/software.h"
#include "pmu/tracepoint.h"
#include "tap/tap.h"

static const enum ap_cpu cpus[] = { AP_CPU_OTHER, AP_CPU_SKYLAKE, AP_CPU_ICELAKE, AP_CPU_ZEN };

static int find(enum ap_cpu cpu, const char *name, struct ap_perf_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	return ap_pmu_event_by_name(ap_pmu_arch(cpu), name, strlen(name), attr, NULL);
}

static const struct {
	const char *name;
	enum ap_cpu cpu;
	int err;
	u32 type;
	u64 config, config1, config2;
	u32 bp_type;
} rows[] = {
	{ "instructions", AP_CPU_ZEN, 0, 0, 1, 0, 0, 0 },
	{ "branches", AP_CPU_ZEN, 0, 0, 4, 0, 0, 0 },
	{ "branch-instructions", AP_CPU_ZEN, 0, 0, 4, 0, 0, 0 },
	{ "cycles", AP_CPU_ZEN, 0, 0, 0, 0, 0, 0 },
	{ "loads", AP_CPU_ZEN, 0, 4, 0, 9, 0, 0 },
	{ "conditional-branches", AP_CPU_OTHER, 0, 4, 0, 3, 0, 0 },
	{ "cs", AP_CPU_OTHER, 0, 1, 3, 0, 0, 0 },
	{ "task-clock", AP_CPU_OTHER, 0, 1, 1, 0, 0, 0 },
	{ "cgroup-switches", AP_CPU_OTHER, 0, 1, 11, 0, 0, 0 },
	{ "r00c0", AP_CPU_ZEN, 0, 4, 0xc0, 0, 0, 0 },
	{ "r5101C4", AP_CPU_SKYLAKE, 0, 4, 0x5101c4, 0, 0, 0 },
	{ "cpu/event=0xc0,umask=0x1/", AP_CPU_SKYLAKE, 0, 4, 0x1c0, 0, 0, 0 },
	{ "cpu/event=0xc4,umask=32/", AP_CPU_SKYLAKE, 0, 4, 0x20c4, 0, 0, 0 },
	{ "cpu/event=0x1d0/", AP_CPU_ZEN, 0, 4, 0x1000000d0, 0, 0, 0 },
	{ "cpu/event=0x1d0/", AP_CPU_SKYLAKE, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "cpu/event=0xc0,inv,cmask=0x10/", AP_CPU_SKYLAKE, 0, 4, 0x108000c0, 0, 0, 0 },
	{ "cpu/config=0xc0,config1=3/", AP_CPU_ZEN, 0, 4, 0xc0, 3, 0, 0 },
	{ "cpu/instructions/", AP_CPU_ZEN, 0, 4, 0xc0, 0, 0, 0 },
	{ "cpu/branches/", AP_CPU_SKYLAKE, 0, 4, 0xc4, 0, 0, 0 },
	{ "cpu/instructions/", AP_CPU_OTHER, 0, 4, 0, 1, 0, 0 },
	{ "cpu/cycles/", AP_CPU_OTHER, 0, 4, 0, 23, 0, 0 },
	{ "cpu/stores/", AP_CPU_ZEN, 0, 4, 0, 10, 0, 0 },
	{ "cpu/task-clock/", AP_CPU_ZEN, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "cpu/event=/", AP_CPU_ZEN, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "cpu/event=0xc0", AP_CPU_ZEN, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "cpu/event=0xc0/x", AP_CPU_ZEN, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "cpu/umask=0x100/", AP_CPU_ZEN, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "cpu/edge=2/", AP_CPU_ZEN, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "INST_RETIRED.ANY_P", AP_CPU_SKYLAKE, 0, 4, 0xc0, 0, 0, 0 },
	{ "inst_retired.any_p", AP_CPU_SKYLAKE, 0, 4, 0xc0, 0, 0, 0 },
	{ "INST_RETIRED:ANY_P", AP_CPU_SKYLAKE, 0, 4, 0xc0, 0, 0, 0 },
	{ "BR_INST_RETIRED:COND", AP_CPU_SKYLAKE, 0, 4, 0x1c4, 0, 0, 0 },
	{ "BR_INST_RETIRED:COND", AP_CPU_ICELAKE, 0, 4, 0x11c4, 0, 0, 0 },
	{ "INST_RETIRED:ANY_P", AP_CPU_ZEN, -AP_ENOENT, 0, 0, 0, 0, 0 },
	{ "ex_ret_instr", AP_CPU_ZEN, 0, 4, 0xc0, 0, 0, 0 },
	{ "mem:0x1000", AP_CPU_ZEN, 0, 5, 0, 0x1000, 4, 3 },
	{ "mem:0x1000/8:w", AP_CPU_ZEN, 0, 5, 0, 0x1000, 8, 2 },
	{ "mem:0x1000:x", AP_CPU_ZEN, 0, 5, 0, 0x1000, 8, 4 },
	{ "mem:0x1000:wr", AP_CPU_ZEN, 0, 5, 0, 0x1000, 4, 3 },
	{ "mem:0x1000:ww", AP_CPU_ZEN, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "mem:0x1000:", AP_CPU_ZEN, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "mem:main", AP_CPU_ZEN, -AP_EINVAL, 0, 0, 0, 0, 0 },
	{ "signal:signal_deliver", AP_CPU_ZEN, 0, 2, 61444, 0, 0, 0 },
	{ "syscalls:sys_exit_read", AP_CPU_ZEN, 0, 2, 62465, 0, 0, 0 },
	{ "syscalls:sys_enter_reed", AP_CPU_ZEN, -AP_ENOENT, 0, 0, 0, 0, 0 },
	{ "rfoo", AP_CPU_ZEN, -AP_ENOENT, 0, 0, 0, 0, 0 },
	{ "r", AP_CPU_ZEN, -AP_ENOENT, 0, 0, 0, 0, 0 },
	{ "instruction", AP_CPU_ZEN, -AP_ENOENT, 0, 0, 0, 0, 0 },
	{ "Instructions", AP_CPU_ZEN, -AP_ENOENT, 0, 0, 0, 0, 0 },
	{ "", AP_CPU_ZEN, -AP_ENOENT, 0, 0, 0, 0, 0 },
	{ ":", AP_CPU_ZEN, -AP_ENOENT, 0, 0, 0, 0, 0 },
};

static void names_are_what_perf_makes_of_them(void)
{
	struct ap_perf_attr attr;
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		bool ok = EXPECT_U64(find(rows[i].cpu, rows[i].name, &attr), rows[i].err);

		ok = EXPECT_U64(attr.type, rows[i].type) && ok;
		ok = EXPECT_U64(attr.config, rows[i].config) && ok;
		ok = EXPECT_U64(attr.config1, rows[i].config1) && ok;
		ok = EXPECT_U64(attr.config2, rows[i].config2) && ok;
		ok = EXPECT_U64(attr.bp_type, rows[i].bp_type) && ok;
		if (!ok)
			tap_note("name %s", rows[i].name);
	}
}

static void check_name(enum ap_cpu cpu, const char *name, const struct ap_pmu_desc *want)
{
	const struct ap_pmu_desc *got = NULL;
	struct ap_perf_attr attr = { 0 };

	if (!name)
		return;
	EXPECT_U64(ap_pmu_event_by_name(ap_pmu_arch(cpu), name, strlen(name), &attr, &got), 0);
	/* our own of the same name as a generic event are the same */
	if (!EXPECT(got && !strcmp(got->name, want->name) &&
		    (got == want || got->sum.plus == want->sum.plus)))
		tap_note("name %s on %s", name, ap_pmu_arch(cpu)->name);
}

static void check_table(enum ap_cpu cpu, const struct ap_pmu_desc *table, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		check_name(cpu, table[i].name, &table[i]);
		check_name(cpu, table[i].alias, &table[i]);
	}
}

static void every_name_and_alias_is_found(void)
{
	struct ap_perf_attr attr;
	u32 c, i;

	for (c = 0; c < AP_ARRAY_SIZE(cpus); c++) {
		const struct ap_pmu_arch *arch = ap_pmu_arch(cpus[c]);

		check_table(cpus[c], ap_pmu_generic, AP_PERF_COUNT_HW_MAX);
		check_table(cpus[c], ap_pmu_own, ap_pmu_nown);
		check_table(cpus[c], arch->raw, arch->nraw);
	}
	for (i = 0; i < AP_PERF_COUNT_SW_MAX; i++) {
		EXPECT_U64(find(AP_CPU_OTHER, ap_pmu_soft[i].name, &attr), 0);
		EXPECT_U64(attr.config, i);
	}
}

struct files {
	const struct ap_pmu_arch *arch;
	char text[65536];
	size_t len;
	u32 n, events;
};

/* One line per file, and each event must come back as what it says. */
static int collect(void *ctx, const char *path, const char *text)
{
	struct files *f = ctx;
	size_t n = strlen(text);

	EXPECT(n > 0 && text[n - 1] == '\n');
	f->len +=
		(size_t)snprintf(f->text + f->len, sizeof(f->text) - f->len, "%s: %s", path, text);
	f->n++;
	if (!strncmp(path, "cpu/events/", 11)) {
		struct ap_tracepoint point;
		u32 i;
		struct ap_perf_attr by_terms = { 0 }, by_name = { 0 };
		struct ap_pmu_sum a, b;
		char name[128];
		int len = snprintf(name, sizeof(name), "cpu/%.*s/", (int)n - 1, text);

		f->events++;
		/* perf's grammar knows an event's name everywhere, also where a tracepoint begins */
		for (i = 0; ap_tracepoint_get(i, &point) && i < 100; i++)
			EXPECT(strcmp(path + 11, point.system));
		EXPECT_U64(ap_pmu_event_by_name(f->arch, name, (size_t)len, &by_terms, NULL), 0);
		EXPECT_U64(
			ap_pmu_event_by_name(f->arch, path + 11, strlen(path + 11), &by_name, NULL),
			0);
		EXPECT_U64(ap_pmu_resolve(f->arch, by_terms.type, by_terms.config, by_terms.config1,
					  &a),
			   0);
		EXPECT_U64(
			ap_pmu_resolve(f->arch, by_name.type, by_name.config, by_name.config1, &b),
			0);
		if (!EXPECT(a.plus == b.plus && a.minus == b.minus))
			tap_note("%s", path);
	}
	return 0;
}

static bool has_line(const struct files *f, const char *line)
{
	const char *at = strstr(f->text, line);

	return at && (at == f->text || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static void sysfs_lists_what_is_counted(void)
{
	static struct files f;
	u32 c;

	for (c = 0; c < AP_ARRAY_SIZE(cpus); c++) {
		memset(&f, 0, sizeof(f));
		f.arch = ap_pmu_arch(cpus[c]);
		EXPECT_U64(ap_pmu_describe_sysfs(f.arch, collect, &f), 0);
		EXPECT_U64(f.events, ap_pmu_nown);
		EXPECT(has_line(&f, "cpu/type: 4"));
		EXPECT(has_line(&f, "software/type: 1"));
		EXPECT(has_line(&f, "tracepoint/type: 2"));
		EXPECT(has_line(&f, "breakpoint/type: 5"));
		EXPECT(has_line(&f, "cpu/events/loads: anyperf=0x09"));
		EXPECT(has_line(&f, "cpu/format/anyperf: config1:0-7"));
		EXPECT(has_line(&f, cpus[c] == AP_CPU_OTHER
					    ? "cpu/events/instructions: anyperf=0x01"
					    : "cpu/events/instructions: event=0xc0"));
		EXPECT(has_line(&f, cpus[c] == AP_CPU_OTHER ? "cpu/events/cpu-cycles: anyperf=0x17"
				    : cpus[c] == AP_CPU_ZEN ? "cpu/events/cpu-cycles: event=0x76"
							    : "cpu/events/cpu-cycles: event=0x3c"));
	}
	EXPECT(has_line(&f, "cpu/format/event: config:0-7,32-35"));
	EXPECT(has_line(&f, "cpu/events/branch-instructions: event=0xc2"));
}

static int refuse(void *ctx, const char *path, const char *text)
{
	(void)path;
	(void)text;
	return --*(int *)ctx ? 0 : -AP_ENOMEM;
}

static void a_full_tree_stops_the_tale(void)
{
	int n;

	for (n = 1; n < 40; n++) {
		int left = n;

		EXPECT_U64(ap_pmu_describe_sysfs(ap_pmu_arch(AP_CPU_ZEN), refuse, &left),
			   -AP_ENOMEM);
		EXPECT_U64(left, 0);
		left = n;
		EXPECT_U64(ap_pmu_describe_tracefs(refuse, &left), -AP_ENOMEM);
		EXPECT_U64(left, 0);
	}
}

static u64 next_random(void)
{
	static u64 x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* Pieces of names in any order: an attr or a clean refusal, and what is found can be described. */
static void garbage_gets_an_attr_or_an_errno(void)
{
	static const char *const pieces[] = {
		"cpu/",
		"event=",
		"umask=",
		"0x",
		"ffffffffffffffffff",
		",",
		"/",
		"=",
		"config1=",
		"r",
		"mem:",
		":",
		"signal",
		"signal_deliver",
		"rw",
		"x",
		"c0",
		"",
		"1",
		"loads",
		".",
		"inv",
		"INST_RETIRED",
		"any",
		"ANY",
		"_P",
		"instructions",
	};
	u32 i, n, found = 0;

	for (i = 0; i < 200000; i++) {
		const struct ap_pmu_arch *arch = ap_pmu_arch(cpus[next_random() % 4]);
		const struct ap_pmu_desc *desc = NULL;
		struct ap_perf_attr attr = { 0 };
		char name[256];
		int len = 0, err;

		for (n = (u32)(next_random() % 7); n; n--)
			len += snprintf(name + len, sizeof(name) - (size_t)len, "%s",
					pieces[next_random() % AP_ARRAY_SIZE(pieces)]);
		name[len] = '!'; /* behind the end: not part of it */
		err = ap_pmu_event_by_name(arch, name, (size_t)len, &attr, &desc);
		found += !err;
		if (!EXPECT(!err || err == -AP_ENOENT || err == -AP_EINVAL) ||
		    !EXPECT(err || attr.type < AP_PERF_TYPE_MAX) ||
		    !EXPECT(err || attr.type != AP_PERF_TYPE_HARDWARE || desc))
			tap_note("%.*s", len, name);
	}
	EXPECT(found > 1000);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(names_are_what_perf_makes_of_them), TAP(every_name_and_alias_is_found),
		TAP(sysfs_lists_what_is_counted),	TAP(a_full_tree_stops_the_tale),
		TAP(garbage_gets_an_attr_or_an_errno),	{ 0 }
	};
	return tap_main(tests, argc, argv);
}
