/* SPDX-License-Identifier: MIT */
/*
 * What a perf.data file is made of beyond the kernel's records: the file header, the sections that
 * it points to, and the records that tools write themselves (types from 64).  Facts from the
 * published description of the format (perf.data-file-format).  Nothing here is aligned in a file,
 * so readers use ap_get*().
 */
#ifndef AP_PROFILE_FORMAT_H
#define AP_PROFILE_FORMAT_H

#include <string.h>

#include "abi/perf.h"
#include "abi/record.h"
#include "base/types.h"

#define AP_DATA_MAGIC	      0x32454c4946524550ULL /* "PERFILE2" */
#define AP_DATA_MAGIC_SWAPPED 0x50455246494c4532ULL
#define AP_DATA_HEADER_SIZE   104U
#define AP_DATA_PIPE_SIZE     16U /* magic and size alone: a stream follows */

struct ap_data_section {
	u64 offset, size;
};

struct ap_data_header {
	u64 magic, size, attr_size;
	struct ap_data_section attrs, data, event_types;
	u64 features[4];
};

_Static_assert(sizeof(struct ap_data_header) == AP_DATA_HEADER_SIZE, "file header layout");

enum ap_feature {
	AP_FEAT_TRACING_DATA = 1,
	AP_FEAT_BUILD_ID,
	AP_FEAT_HOSTNAME,
	AP_FEAT_OSRELEASE,
	AP_FEAT_VERSION,
	AP_FEAT_ARCH,
	AP_FEAT_NRCPUS,
	AP_FEAT_CPUDESC,
	AP_FEAT_CPUID,
	AP_FEAT_TOTAL_MEM,
	AP_FEAT_CMDLINE,
	AP_FEAT_EVENT_DESC,
	AP_FEAT_CPU_TOPOLOGY,
	AP_FEAT_NUMA_TOPOLOGY,
	AP_FEAT_BRANCH_STACK,
	AP_FEAT_PMU_MAPPINGS,
	AP_FEAT_GROUP_DESC,
	AP_FEAT_AUXTRACE,
	AP_FEAT_STAT,
	AP_FEAT_CACHE,
	AP_FEAT_SAMPLE_TIME,
	AP_FEAT_MEM_TOPOLOGY,
	AP_FEAT_CLOCKID,
	AP_FEAT_DIR_FORMAT,
	AP_FEAT_BPF_PROG_INFO,
	AP_FEAT_BPF_BTF,
	AP_FEAT_COMPRESSED,
	AP_FEAT_CPU_PMU_CAPS,
	AP_FEAT_CLOCK_DATA,
	AP_FEAT_HYBRID_TOPOLOGY,
	AP_FEAT_PMU_CAPS,
	AP_FEAT_MAX,
	/*
	 * our own, beyond all that perf knows, which passes over it: what counts are
	 * (cli/stat_remarks.c)
	 */
	AP_FEAT_REMARKS = 255
};

#define AP_DATA_FEATURES 256 /* bits in the header */

/* Strings of feature sections fill multiples of this. */
#define AP_DATA_NAME_ALIGN 64

#define AP_RECORD_HEADER 8U

/* The tools' own; the kernel's are in abi/record.h. */
enum ap_tool_record {
	AP_RECORD_HEADER_ATTR = 64,
	AP_RECORD_EVENT_TYPE,
	AP_RECORD_TRACING_DATA,
	AP_RECORD_BUILD_ID,
	AP_RECORD_FINISHED_ROUND,
	AP_RECORD_ID_INDEX,
	AP_RECORD_AUXTRACE_INFO,
	AP_RECORD_AUXTRACE,
	AP_RECORD_AUXTRACE_ERROR,
	AP_RECORD_THREAD_MAP,
	AP_RECORD_CPU_MAP,
	AP_RECORD_STAT_CONFIG,
	AP_RECORD_STAT,
	AP_RECORD_STAT_ROUND,
	AP_RECORD_EVENT_UPDATE,
	AP_RECORD_TIME_CONV,
	AP_RECORD_HEADER_FEATURE,
	AP_RECORD_COMPRESSED,
	AP_RECORD_FINISHED_INIT,
	AP_RECORD_COMPRESSED2
};

#define AP_MISC_BUILD_ID_SIZE (1U << 15) /* of a tool's BUILD_ID record */

#define AP_BRANCH_HW_INDEX (1ULL << 17) /* attr.branch_sample_type */

static inline u16 ap_get16(const void *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u32 ap_get32(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u64 ap_get64(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Are its branches what a report is about?  Not where they stand for callchains: then there is no
 * feature BRANCH_STACK.
 */
static inline bool ap_attr_has_branches(const struct ap_perf_attr *a)
{
	bool is_chain = a->sample_type & AP_PERF_SAMPLE_CALLCHAIN &&
			a->branch_sample_type & AP_PERF_SAMPLE_BRANCH_CALL_STACK;

	return a->sample_type & AP_PERF_SAMPLE_BRANCH_STACK && !is_chain;
}

#endif
