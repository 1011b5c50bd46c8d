/* SPDX-License-Identifier: MIT */
/* Events of what a machine does not have, by its kinds: they are refused, whatever they are called. */
#include "abi/errno.h"
#include "abi/perf.h"
#include "fake.h"
#include "tap/tap.h"

#define K(k) AP_KIND_BIT(AP_KIND_##k)

#define CACHE(id, op, result)                                                                      \
	(AP_PERF_COUNT_HW_CACHE_##id | AP_PERF_COUNT_HW_CACHE_OP_##op << 8 |                       \
	 AP_PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static struct fake f;

static void begin(u64 absent)
{
	fake_prepare(&f);
	f.config.absent = absent;
	fake_start(&f, AP_CPU_SKYLAKE);
}

static void begin_issuing(u64 absent, u32 issue)
{
	fake_prepare(&f);
	f.config.absent = absent;
	f.config.issue = issue;
	fake_start(&f, AP_CPU_ICELAKE);
}

static struct ap_event *open_event(u32 type, u64 config, u64 config1, int want)
{
	struct ap_perf_attr attr = { .type = type, .config = config, .config1 = config1 };
	struct ap_event *e = NULL;

	attr.size = sizeof(attr);
	if (!EXPECT_U64(fake_open(&f, &attr, 0, -1, &e), want))
		tap_note("type %u config %llx config1 %llx", type, (unsigned long long)config,
			 (unsigned long long)config1);
	return e;
}

static void try_event(u32 type, u64 config, u64 config1, int want)
{
	struct ap_event *e = open_event(type, config, config1, want);

	if (e)
		fake_close(&f, e);
}

static void what_a_machine_lacks_is_refused(void)
{
	static const struct {
		u64 absent;
		u32 type;
		u64 config, config1;
	} rows[] = {
		{ K(DTLB_LOAD_WALK), AP_PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS), 0 },
		{ K(DTLB_LOAD_WALK), AP_PERF_TYPE_RAW, 0x11d0, 0 },
		{ K(DTLB_LOAD_WALK), AP_PERF_TYPE_RAW, 0, 47 },
		{ K(ITLB_MISS), AP_PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, ACCESS), 0 },
		{ K(L2_LOAD) | K(L2_STORE) | K(L2_CODE), AP_PERF_TYPE_RAW, 0xe724, 0 },
		/* the last level is asked for as much, and is not meant */
		{ K(L2_LOAD) | K(L2_STORE) | K(L2_CODE), AP_PERF_TYPE_RAW, 0x2724, 0 },
		{ K(L2_LOAD), AP_PERF_TYPE_RAW, 0, 40 },
		{ K(L2_LOAD), AP_PERF_TYPE_RAW, 0, 42 },
		{ K(STALL_L2_MISS), AP_PERF_TYPE_RAW, 0, 62 },
		{ K(NODE_LOAD_MISS), AP_PERF_TYPE_HW_CACHE, CACHE(NODE, READ, MISS), 0 },
		{ K(BUS_CYCLES), AP_PERF_TYPE_HARDWARE, AP_PERF_COUNT_HW_BUS_CYCLES, 0 },
	};

	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		begin(rows[i].absent);
		try_event(rows[i].type, rows[i].config, rows[i].config1, -AP_ENOENT);
		fake_end(&f);
		begin(0);
		try_event(rows[i].type, rows[i].config, rows[i].config1, 0);
		fake_end(&f);
	}
}

static void a_part_of_a_sum_may_be_lacking(void)
{
	begin(K(L2_CODE));
	try_event(AP_PERF_TYPE_RAW, 0xe724, 0, 0);
	try_event(AP_PERF_TYPE_RAW, 0xe424, 0, -AP_ENOENT);
	fake_end(&f);
}

static void exact_events_are_on_every_machine(void)
{
	begin(AP_KINDS_MODEL);
	try_event(AP_PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, ACCESS), 0, 0);
	try_event(AP_PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS), 0, 0);
	try_event(AP_PERF_TYPE_HARDWARE, AP_PERF_COUNT_HW_INSTRUCTIONS, 0, 0);
	try_event(AP_PERF_TYPE_HARDWARE, AP_PERF_COUNT_HW_CPU_CYCLES, 0, -AP_ENOENT);
	fake_end(&f);
}

/* Hits are requests less misses: somebody has to count both, and the machine to have them. */
static void differences_are_counted_as_well(void)
{
	struct ap_event *e;

	begin(0);
	f.refused = K(LLC_CODE);
	try_event(AP_PERF_TYPE_RAW, 0xc424, 0, -AP_EOPNOTSUPP);
	f.refused = 0;
	e = open_event(AP_PERF_TYPE_RAW, 0xc424, 0, 0);
	f.host.raw[AP_KIND_L2_CODE] = 10;
	f.host.raw[AP_KIND_LLC_CODE] = 4;
	EXPECT_U64(fake_read(&f, e), 6);
	fake_close(&f, e);
	fake_end(&f);
	begin(K(L2_LOAD));
	try_event(AP_PERF_TYPE_RAW, 0x0151, 0, -AP_ENOENT);
	fake_end(&f);
}

/* As `#pipe.issue * cycles` of the top-down metrics has them, on the fixed counter and on others. */
static void slots_are_cycles_by_the_width(void)
{
	static const u64 codes[] = { 0x0400, 0x01a4 };

	for (u32 i = 0; i < AP_ARRAY_SIZE(codes); i++) {
		struct ap_event *e;

		begin_issuing(0, 5);
		f.host.raw[AP_KIND_CYCLES] = 1000;
		e = open_event(AP_PERF_TYPE_RAW, codes[i], 0, 0);
		EXPECT_U64(fake_read(&f, e), 0);
		f.host.raw[AP_KIND_CYCLES] += 7;
		EXPECT_U64(fake_read(&f, e), 35);
		fake_enable(&f, e, false);
		f.host.raw[AP_KIND_CYCLES] += 100;
		fake_enable(&f, e, true);
		f.host.raw[AP_KIND_CYCLES] += 1;
		EXPECT_U64(fake_read(&f, e), 40);
		fake_close(&f, e);
		fake_end(&f);
		begin_issuing(0, 0);
		try_event(AP_PERF_TYPE_RAW, codes[i], 0, -AP_ENOENT);
		fake_end(&f);
		begin_issuing(K(CYCLES), 5);
		try_event(AP_PERF_TYPE_RAW, codes[i], 0, -AP_ENOENT);
		fake_end(&f);
		begin_issuing(0, 5);
		f.refused = K(CYCLES);
		try_event(AP_PERF_TYPE_RAW, codes[i], 0, -AP_EOPNOTSUPP);
		fake_end(&f);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(what_a_machine_lacks_is_refused),	TAP(a_part_of_a_sum_may_be_lacking),
		TAP(exact_events_are_on_every_machine), TAP(differences_are_counted_as_well),
		TAP(slots_are_cycles_by_the_width),	{ 0 }
	};
	return tap_main(tests, argc, argv);
}
