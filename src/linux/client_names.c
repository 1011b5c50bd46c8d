/* SPDX-License-Identifier: MIT */
/*
 * Events by name, as a client asks for them; apart from all that opens them, for who only reads.
 */
#include <cpuid.h>

#include "linux/client.h"
#include "linux/host.h"
#include "pmu/names.h"

/* Raw codes are the host CPU's: libraries choose them by CPUID. */
enum ap_cpu ap_host_cpu(void)
{
	struct ap_cpuid zero, one;

	__cpuid(0, zero.eax, zero.ebx, zero.ecx, zero.edx);
	__cpuid(1, one.eax, one.ebx, one.ecx, one.edx);
	return ap_cpu_of(&zero, one.eax);
}

int ap_client_event_by_name(const char *name, size_t len, struct ap_perf_attr *attr)
{
	const struct ap_pmu_desc *desc;

	return ap_pmu_event_by_name(ap_pmu_arch(ap_host_cpu()), name, len, attr, &desc);
}

u64 ap_client_event_kinds(const struct ap_perf_attr *attr)
{
	struct ap_pmu_sum sum;

	if (attr->type != AP_PERF_TYPE_HARDWARE && attr->type != AP_PERF_TYPE_HW_CACHE &&
	    attr->type != AP_PERF_TYPE_RAW)
		return 0;
	if (ap_pmu_resolve(ap_pmu_arch(ap_host_cpu()), attr->type, attr->config, attr->config1,
			   &sum))
		return 0;
	return sum.plus | sum.minus;
}
