/* SPDX-License-Identifier: MIT */
/*
 * CPUID's answers of another CPU: who it is is that CPU's, what it can do and how large its caches are the
 * host's, in the leaves in which the other vendor has them.
 */
#include "abi/cpuid.h"

#include <string.h>

#include "tap/tap.h"

#define FEATURES 0x12345678U

/* A host with 48 KiB of L1D in 12 ways, 32 KiB of L1I in 8, 1 MiB of L2 in 8, 32 MiB of L3 in 16. */
static struct ap_cpuid cache(u32 subleaf)
{
	static const struct {
		u32 type, level, ways, sets;
	} caches[] = { { 1, 1, 12, 64 }, { 2, 1, 8, 64 }, { 3, 2, 8, 2048 }, { 3, 3, 16, 32768 } };

	if (subleaf >= AP_ARRAY_SIZE(caches))
		return (struct ap_cpuid){ 0 };
	return (struct ap_cpuid){ .eax = caches[subleaf].type | caches[subleaf].level << 5,
				  .ebx = 63 | (caches[subleaf].ways - 1) << 22,
				  .ecx = caches[subleaf].sets - 1 };
}

static struct ap_cpuid amd(u32 leaf, u32 subleaf)
{
	switch (leaf) {
	case 0:
		return (struct ap_cpuid){ 0x10, AP_CPU_EBX_AMD, 0x444d4163, 0x69746e65 };
	case 1:
		return (struct ap_cpuid){ 0xa10f11, 1, FEATURES, FEATURES };
	case 0x80000000:
		return (struct ap_cpuid){ 0x80000028, AP_CPU_EBX_AMD, 0, 0 };
	case 0x80000001:
		return (struct ap_cpuid){ 0xa10f11, 2, FEATURES, FEATURES };
	case 0x80000006:
		return (struct ap_cpuid){ 7, 7, 1024U << 16 | 6U << 12 | 64, 7 };
	case 0x8000001d:
		return cache(subleaf);
	case 2:
	case 4:
		return (struct ap_cpuid){ 0 };
	}
	return (struct ap_cpuid){ leaf, leaf, leaf, leaf };
}

static struct ap_cpuid intel(u32 leaf, u32 subleaf)
{
	switch (leaf) {
	case 0:
		return (struct ap_cpuid){ 0x1b, AP_CPU_EBX_INTEL, 0x6c65746e, 0x49656e69 };
	case 4:
		return cache(subleaf);
	case 0x80000000:
		return (struct ap_cpuid){ 0x80000008, 0, 0, 0 };
	case 0x80000005:
		return (struct ap_cpuid){ 0 };
	}
	return (struct ap_cpuid){ leaf, leaf, leaf, leaf };
}

static struct ap_cpu_id skylake = { 0x506e3,
				    { AP_CPU_EBX_INTEL, 0x6c65746e, 0x49656e69 },
				    "A Skylake" };
static struct ap_cpu_id zen3 = { 0xa00f11, { AP_CPU_EBX_AMD, 0x444d4163, 0x69746e65 }, "A Zen 3" };

static struct ap_cpuid as(const struct ap_cpu_id *id, ap_cpuid_ask *host, u32 leaf, u32 subleaf)
{
	struct ap_cpuid r = host(leaf, subleaf);

	ap_cpuid_as(id, leaf, subleaf, host, &r);
	return r;
}

static void who_it_is_is_answered(void)
{
	struct ap_cpuid r = as(&skylake, amd, 0, 0), brand[3];

	EXPECT_U64(r.eax, 0x10);
	EXPECT_U64(r.ebx, AP_CPU_EBX_INTEL);
	EXPECT_U64(r.ecx, 0x6c65746e);
	EXPECT_U64(r.edx, 0x49656e69);
	r = as(&skylake, amd, 1, 0);
	EXPECT_U64(r.eax, 0x506e3);
	EXPECT_U64(ap_cpu_family(r.eax), 6);
	EXPECT_U64(ap_cpu_model(r.eax), 94);
	EXPECT_U64(as(&zen3, intel, 1, 0).eax, 0xa00f11);
	EXPECT_U64(as(&zen3, amd, 0x80000001, 0).eax, 0xa00f11);
	EXPECT_U64(ap_cpu_family(0xa00f11), 25);
	EXPECT_U64(ap_cpu_model(0xa00f11), 1);
	for (u32 i = 0; i < 3; i++)
		brand[i] = as(&zen3, intel, 0x80000002 + i, 0);
	EXPECT_STR((const char *)brand, "A Zen 3");
}

static void what_it_can_do_stays(void)
{
	struct ap_cpuid r = as(&skylake, amd, 1, 0), host = amd(7, 0);

	EXPECT_U64(r.ecx, FEATURES);
	EXPECT_U64(r.edx, FEATURES);
	r = as(&skylake, amd, 7, 0);
	EXPECT(!memcmp(&r, &host, sizeof(r)));
	EXPECT_U64(as(&skylake, amd, 0x80000001, 0).edx, FEATURES);
	EXPECT_U64(as(&skylake, amd, 0xb, 1).eax, 0xb);
	EXPECT_U64(as(&skylake, amd, 0x40000000, 0).eax, 0x40000000);
}

static void caches_are_the_hosts_in_the_vendors_leaves(void)
{
	struct ap_cpuid r;

	for (u32 i = 0; i < 6; i++) {
		struct ap_cpuid want = cache(i);

		r = as(&skylake, amd, 4, i);
		EXPECT(!memcmp(&r, &want, sizeof(r)));
		r = as(&zen3, intel, 0x8000001d, i);
		EXPECT(!memcmp(&r, &want, sizeof(r)));
		EXPECT_U64(as(&skylake, amd, 0x8000001d, i).eax, 0);
		EXPECT_U64(as(&zen3, intel, 4, i).eax, 0);
	}
	EXPECT_U64(as(&skylake, amd, 2, 0).eax, 0x00feff01); /* "leaf 4 has it" */
	r = as(&zen3, intel, 0x80000005, 0);
	EXPECT_U64(r.ecx, 48U << 24 | 12U << 16 | 1U << 8 | 64);
	EXPECT_U64(r.edx, 32U << 24 | 8U << 16 | 1U << 8 | 64);
	r = as(&zen3, intel, 0x80000006, 0);
	EXPECT_U64(r.ecx, 1024U << 16 | 6U << 12 | 1U << 8 | 64);
	EXPECT_U64(r.edx, 64U << 18 | 8U << 12 | 1U << 8 | 64);
	r = as(&skylake, amd, 0x80000006, 0);
	EXPECT_U64(r.ecx, 1024U << 16 | 6U << 12 | 64);
	EXPECT_U64(r.edx | r.eax | r.ebx, 0);
}

static void another_vendors_leaves_are_empty(void)
{
	EXPECT_U64(as(&skylake, amd, 0x80000000, 0).eax, 0x80000008);
	EXPECT_U64(as(&skylake, amd, 0x8000001e, 0).eax, 0);
	EXPECT_U64(as(&zen3, intel, 0x80000000, 0).eax, 0x8000001d);
	EXPECT_U64(as(&zen3, intel, 0x14, 0).eax, 0);
	/* of the host's own vendor they are what they are */
	EXPECT_U64(as(&zen3, amd, 0x8000001e, 0).eax, 0x8000001e);
	EXPECT_U64(as(&skylake, intel, 0x14, 0).eax, 0x14);
}

static struct ap_cpuid virtual_features; /* what leaf 1 and leaf 7 say beside the rest */

static struct ap_cpuid in_a_vm(u32 leaf, u32 subleaf)
{
	struct ap_cpuid r = amd(leaf, subleaf);

	if (leaf == 1)
		r.ecx = virtual_features.ecx;
	if (leaf == 7)
		r = (struct ap_cpuid){ subleaf, 5, 6, virtual_features.edx };
	if (leaf == 0xd)
		r = (struct ap_cpuid){ subleaf ? subleaf : 0x207, 1, 2, 3 };
	return r;
}

static void what_all_cpus_say_is_asked_once(void)
{
	static const u32 others[] = { 1, 0xb, 0x8000001e, 0x40000000, 0xa, 0x80000022 };
	struct ap_cpuid_row rows[AP_CPUID_ROWS];
	const struct ap_cpuid *r;
	u32 n;

	virtual_features = (struct ap_cpuid){ .ecx = 1U << 31 };
	n = ap_cpuid_list(in_a_vm, rows);
	EXPECT(n > 10 && n < AP_CPUID_ROWS);
	for (u32 i = 0; i < n; i++) {
		struct ap_cpuid want = in_a_vm(rows[i].leaf, rows[i].subleaf);

		r = ap_cpuid_find(rows, n, rows[i].leaf, rows[i].subleaf);
		REQUIRE(r != NULL);
		EXPECT(!memcmp(r, &want, sizeof(want)));
	}
	/* without a subleaf ecx is anything; with one it chooses */
	EXPECT(ap_cpuid_find(rows, n, 0, 1234) == ap_cpuid_find(rows, n, 0, 0));
	EXPECT(ap_cpuid_find(rows, n, 0xd, 9) != NULL);
	EXPECT(ap_cpuid_find(rows, n, 0xd, 3) == NULL);
	EXPECT(ap_cpuid_find(rows, n, 7, 2) == NULL);
	for (u32 i = 0; i < AP_ARRAY_SIZE(others); i++)
		EXPECT(ap_cpuid_find(rows, n, others[i], 0) == NULL);
}

static void cpus_that_may_differ_are_asked_each_time(void)
{
	struct ap_cpuid_row rows[AP_CPUID_ROWS];

	virtual_features = (struct ap_cpuid){ 0 };
	EXPECT_U64(ap_cpuid_list(in_a_vm, rows), 0);
	virtual_features = (struct ap_cpuid){ .ecx = 1U << 31, .edx = 1U << 15 };
	EXPECT_U64(ap_cpuid_list(in_a_vm, rows), 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(who_it_is_is_answered),
						 TAP(what_it_can_do_stays),
						 TAP(caches_are_the_hosts_in_the_vendors_leaves),
						 TAP(another_vendors_leaves_are_empty),
						 TAP(what_all_cpus_say_is_asked_once),
						 TAP(cpus_that_may_differ_are_asked_each_time),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
