/* SPDX-License-Identifier: MIT */
/*
 * Which CPU a session is of, as to raw codes and to what programs see: --cpu-id, else the one that --machine names,
 * else that of the session around us, else the host's.  docs/design/cpu-id.md.
 */
#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#include <sys/prctl.h>
#include <unistd.h>

#include "files/library.h"
#include "linux/session/machine.h"
#include "linux/session/options.h"
#include "model/machine.h"

static const struct known_cpu {
	const char *name;
	const char *machine; /* the nearest that the models have */
	u32 vendor_ebx;
	u8 family, model, stepping;
	const char *brand;
} cpus[] = {
	{ "zen", "zen3", AP_CPU_EBX_AMD, 0x17, 0x01, 2, "AMD EPYC 7601 32-Core Processor" },
	{ "zen2", "zen3", AP_CPU_EBX_AMD, 0x17, 0x31, 0, "AMD EPYC 7742 64-Core Processor" },
	{ "zen3", "zen3", AP_CPU_EBX_AMD, 0x19, 0x01, 1, "AMD EPYC 7763 64-Core Processor" },
	{ "zen4", "zen4", AP_CPU_EBX_AMD, 0x19, 0x11, 1, "AMD EPYC 9654 96-Core Processor" },
	{ "zen5", "zen4", AP_CPU_EBX_AMD, 0x1a, 0x02, 1, "AMD EPYC 9755 128-Core Processor" },
	{ "sandybridge", "skylake", AP_CPU_EBX_INTEL, 6, 0x2a, 7,
	  "Intel(R) Core(TM) i7-2600 CPU @ 3.40GHz" },
	{ "ivybridge", "skylake", AP_CPU_EBX_INTEL, 6, 0x3a, 9,
	  "Intel(R) Core(TM) i7-3770 CPU @ 3.40GHz" },
	{ "haswell", "skylake", AP_CPU_EBX_INTEL, 6, 0x3c, 3,
	  "Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz" },
	{ "broadwell", "skylake", AP_CPU_EBX_INTEL, 6, 0x4f, 1,
	  "Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz" },
	{ "skylake", "skylake", AP_CPU_EBX_INTEL, 6, 0x5e, 3,
	  "Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz" },
	{ "skylakex", "skylake", AP_CPU_EBX_INTEL, 6, 0x55, 4,
	  "Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz" },
	{ "cascadelake", "skylake", AP_CPU_EBX_INTEL, 6, 0x55, 7,
	  "Intel(R) Xeon(R) Platinum 8280 CPU @ 2.70GHz" },
	{ "icelake", "icelake", AP_CPU_EBX_INTEL, 6, 0x7e, 5,
	  "Intel(R) Core(TM) i7-1065G7 CPU @ 1.30GHz" },
	{ "icelakex", "icelake", AP_CPU_EBX_INTEL, 6, 0x6a, 6,
	  "Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz" },
	{ "sapphirerapids", "sapphirerapids", AP_CPU_EBX_INTEL, 6, 0x8f, 8,
	  "Intel(R) Xeon(R) Platinum 8480+" },
};

/* The vendors in words, as CPUID spells them: ebx, edx, ecx. */
static const char *const vendors[] = { "GenuineIntel", "AuthenticAMD", "HygonGenuine" };

static struct ap_cpu_id named, of_machine, around; /* signature 0: none */
static bool has_looked_around;

static void take(struct ap_cpu_id *id, const char *vendor, u32 family, u32 model, u32 stepping)
{
	u32 base = family < 0xf ? family : 0xf;

	memset(id, 0, sizeof(*id));
	id->signature = (family - base) << 20 | (model >> 4) << 16 | base << 8 | (model & 15) << 4 |
			stepping;
	memcpy(&id->vendor[0], vendor, 4);
	memcpy(&id->vendor[2], vendor + 4, 4);
	memcpy(&id->vendor[1], vendor + 8, 4);
}

static void take_known(struct ap_cpu_id *id, const struct known_cpu *c)
{
	take(id, vendors[c->vendor_ebx == AP_CPU_EBX_AMD], c->family, c->model, c->stepping);
	snprintf(id->brand, sizeof(id->brand), "%s", c->brand);
}

static const struct known_cpu *find(const char *name)
{
	for (size_t i = 0; i < AP_ARRAY_SIZE(cpus); i++)
		if (!strcmp(cpus[i].name, name))
			return &cpus[i];
	return NULL;
}

/* As perf writes it: GenuineIntel-6-55-4, the family in decimal, the rest in hexadecimal. */
static bool parse(struct ap_cpu_id *id, const char *text)
{
	unsigned int family, model, stepping = 0;
	char vendor[13];
	int end = 0;

	if (sscanf(text, "%12[A-Za-z]-%u-%x%n-%x%n", vendor, &family, &model, &end, &stepping,
		   &end) < 3 ||
	    text[end])
		return false;
	if (family < 4 || family > 0xf + 0xff || model > 0xff || stepping > 15 ||
	    (model > 15 && family != 6 && family < 0xf))
		return false;
	for (size_t i = 0; i < AP_ARRAY_SIZE(vendors); i++) {
		if (strcmp(vendors[i], vendor) != 0)
			continue;
		take(id, vendor, family, model, stepping);
		snprintf(id->brand, sizeof(id->brand), "%s family %u model %u", vendor, family,
			 model);
		return true;
	}
	return false;
}

int ap_run_cpu_id(const char *name, char *why, size_t size)
{
	const struct known_cpu *c = find(name);
	size_t n;

	if (c)
		take_known(&named, c);
	if (c || parse(&named, name))
		return 0;
	n = (size_t)snprintf(why, size, "is none of");
	for (size_t i = 0; i < AP_ARRAY_SIZE(cpus) && n < size; i++)
		n += (size_t)snprintf(why + n, size - n, " %s", cpus[i].name);
	if (n < size)
		snprintf(why + n, size - n, ", nor VENDOR-FAMILY-MODEL as in GenuineIntel-6-55");
	return -EINVAL;
}

void ap_cpu_id_of_machine(const char *name)
{
	const struct known_cpu *c = find(name);

	memset(&of_machine, 0, sizeof(of_machine));
	if (c)
		take_known(&of_machine, c);
}

/* An anyperf inside has the session's: what its clients are told and what is counted are of one CPU. */
static const struct ap_cpu_id *id_around(void)
{
	struct ap_session head;
	int fd;

	if (has_looked_around)
		return &around;
	has_looked_around = true;
	fd = prctl(AP_PRCTL, AP_PRCTL_HEAD_FD, 0, 0, 0);
	if (fd < 0)
		return &around;
	if (pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    head.magic == AP_SESSION_MAGIC)
		around = head.cpu_id;
	close(fd);
	return &around;
}

const struct ap_cpu_id *ap_host_cpu_id(void)
{
	const struct ap_cpu_id *id = named.signature	    ? &named
				     : of_machine.signature ? &of_machine
							    : id_around();

	return id->signature ? id : NULL;
}

/*
 * The C library has asked for these leaves when we started, and keeps what it was told: asking again would be a trip to the
 * hypervisor for each.
 */
static const unsigned int *told_to_libc(u32 leaf, u32 subleaf)
{
#if __has_include(<sys/platform/x86.h>)
	static const struct {
		u32 leaf, subleaf;
		unsigned int index;
	} known[] = {
		{ 7, 0, CPUID_INDEX_7 },
		{ 7, 1, CPUID_INDEX_7_ECX_1 },
		{ 0xd, 1, CPUID_INDEX_D_ECX_1 },
		{ 0x14, 0, CPUID_INDEX_14_ECX_0 },
		{ 0x19, 0, CPUID_INDEX_19 },
		{ 0x80000001, 0, CPUID_INDEX_80000001 },
		{ 0x80000007, 0, CPUID_INDEX_80000007 },
		{ 0x80000008, 0, CPUID_INDEX_80000008 },
	};

	for (size_t i = 0; i < AP_ARRAY_SIZE(known); i++)
		if (known[i].leaf == leaf && known[i].subleaf == subleaf)
			return __x86_get_cpuid_feature_leaf(known[i].index)->cpuid_array;
#endif
	return NULL;
}

struct ap_cpuid ap_cpu_ask(u32 leaf, u32 subleaf)
{
	const unsigned int *told = told_to_libc(leaf, subleaf);
	struct ap_cpuid r;

	/* eax, ebx, ecx, edx; all zero: it did not ask */
	if (told && (told[0] | told[1] | told[2] | told[3]))
		return (struct ap_cpuid){ told[0], told[1], told[2], told[3] };
	__cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
	return r;
}

static void ask_host(struct ap_cpu_id *id)
{
	u32 max;

	memset(id, 0, sizeof(*id));
	__cpuid(0, max, id->vendor[0], id->vendor[1], id->vendor[2]);
	__cpuid(1, id->signature, max, max, max);
}

enum ap_cpu ap_cpu_of_id(const struct ap_cpu_id *id)
{
	struct ap_cpuid zero = { 0, id->vendor[0], id->vendor[1], id->vendor[2] };

	return ap_cpu_of(&zero, id->signature);
}

/*
 * Libraries choose raw codes by CPUID.  The host is asked once, because in a virtual machine each CPUID is a
 * trip to the hypervisor, and each event name asks.
 */
enum ap_cpu ap_host_cpu(void)
{
	static struct ap_cpu_id host;
	const struct ap_cpu_id *id = ap_host_cpu_id();

	if (!id && !host.signature)
		ask_host(&host);
	return ap_cpu_of_id(id ? id : &host);
}

const char *ap_cpu_id_machine(void)
{
	for (size_t i = 0; named.signature && i < AP_ARRAY_SIZE(cpus); i++) {
		struct ap_cpu_id id;

		take_known(&id, &cpus[i]);
		if (id.signature == named.signature && id.vendor[0] == named.vendor[0])
			return cpus[i].machine;
	}
	return ap_host_cpu() == AP_CPU_ZEN ? "zen3" : "skylake";
}

/* --- libpfm4's tables */

/* As libpfm4's perfmon/pfmlib.h has it; size says which version a caller knows. */
struct pfm_pmu_info {
	const char *name, *desc;
	size_t size;
	int pmu, type, nevents, first_event, max_encoding, num_cntrs, num_fixed_cntrs;
	unsigned int is_present : 1, is_dfl : 1, reserved : 30;
};

#define PFM_CORE    1 /* pfm_pmu_type_t */
#define PFM_PMU_MAX 2048

typedef int pfm_get_info(int pmu, struct pfm_pmu_info *info);

/* Its functions, or NULL: it says nothing. */
static pfm_get_info *begin_pfm(void *lib)
{
	int (*initialize)(void);
	pfm_get_info *get_info;

	*(void **)&initialize = dlsym(lib, "pfm_initialize");
	*(void **)&get_info = dlsym(lib, "pfm_get_pmu_info");
	return initialize && get_info && !initialize() ? get_info : NULL;
}

/* A core's table that it has: the one of this name, NULL: of the CPU that we run on, not of its architecture alone. */
static bool has_core(pfm_get_info *get_info, const char *name)
{
	for (int i = 0; i < PFM_PMU_MAX; i++) {
		struct pfm_pmu_info info = { 0 };

		if (get_info(i, &info) || info.type != PFM_CORE)
			continue;
		if (name ? !strcmp(info.name, name)
			 : info.is_present && strcmp(info.name, "ix86arch") != 0)
			return true;
	}
	return false;
}

/* The newest of the vendor's that PAPI has presets for, else one that it knows. */
static const char *best_for(pfm_get_info *get_info, u32 vendor_ebx)
{
	static const struct {
		const char *pfm, *id;
		bool is_intel;
	} newest[] = {
		{ "amd64_fam19h_zen3", "zen3", false }, { "amd64_fam19h_zen4", "zen4", false },
		{ "amd64_fam17h_zen2", "zen2", false }, { "icx", "icelakex", true },
		{ "spr", "sapphirerapids", true },	{ "skx", "skylakex", true }
	};

	for (size_t i = 0; i < AP_ARRAY_SIZE(newest); i++)
		if (newest[i].is_intel == (vendor_ebx == AP_CPU_EBX_INTEL) &&
		    has_core(get_info, newest[i].pfm))
			return newest[i].id;
	return NULL;
}

bool ap_cpu_is_unknown_to_pfm(char *text, size_t size)
{
	const struct ap_cpu_id *id = ap_host_cpu_id();
	struct ap_cpu_id host;
	pfm_get_info *get_info = NULL;
	const char *best = NULL;
	void *lib;

	/* the library looks at this process' CPUID, which is not that of the session to come */
	if (id && id != &around)
		return false;
	ask_host(&host);
	lib = ap_library_open("libpfm.so.4");
	if (lib)
		get_info = begin_pfm(lib);
	if (get_info && !has_core(get_info, NULL))
		best = best_for(get_info, host.vendor[0]);
	if (lib)
		dlclose(lib);
	if (!best)
		return false;
	snprintf(text, size,
		 "the installed libpfm4 does not know this CPU (%.4s%.4s%.4s-%u-%X): its clients, "
		 "PAPI among them, find no events; --cpu-id %s shows them one that it knows",
		 (char *)&host.vendor[0], (char *)&host.vendor[2], (char *)&host.vendor[1],
		 ap_cpu_family(host.signature), ap_cpu_model(host.signature), best);
	return true;
}
