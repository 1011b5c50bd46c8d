/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include "world.h"

#define U    AP_PERF_EXCLUDE_KERNEL
#define HW   AP_PERF_TYPE_HARDWARE
#define SW   AP_PERF_TYPE_SOFTWARE
#define RAW  AP_PERF_TYPE_RAW
#define OK   0
#define ROW  .line = __LINE__
#define SELF .pid = 0, .cpu = -1

/* clang-format off */
const struct row open_rows[] = {
	/* it works */
	{ ROW, OK, SW, 9, U, SELF },
	{ ROW, OK, SW, 9, 0, SELF }, /* privileged */
	{ ROW, OK, HW, 1, U, SELF },
	{ ROW, OK, RAW, 1, U, SELF },
	{ ROW, OK, SW, 9, U, .pid = 100, .cpu = -1 },
	{ ROW, OK, SW, 9, U, .pid = 101, .cpu = 2 },
	{ ROW, OK, SW, 9, U, .pid = -1, .cpu = 3 },
	{ ROW, OK, SW, 9, U, SELF, .call_flags = AP_PERF_FLAG_FD_CLOEXEC },
	{ ROW, OK, SW, 9, U, SELF, .call_flags = AP_PERF_FLAG_FD_OUTPUT },
	{ ROW, OK, SW, 9, U, SELF, .call_flags = AP_PERF_FLAG_FD_NO_GROUP },
	/* flags, before anything else */
	{ ROW, AP_EINVAL, SW, 99, 1ULL << 63, .pid = -7, .cpu = -1, .call_flags = 16 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .call_flags = 1ULL << 40 },
	/* the attr in general, before who and what */
	{ ROW, AP_EINVAL, SW, 99, U | 1ULL << 38, .pid = -7, .cpu = -1 },
	{ ROW, AP_EINVAL, SW, 9, U | 1ULL << 63, SELF },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = 1ULL << 25 },
	{ ROW, OK, SW, 9, U, SELF, .sample_type = 1ULL << 24 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = 1ULL << 24 | 1ULL << 14 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .read_format = 1ULL << 5 },
	{ ROW, OK, SW, 9, U, SELF, .read_format = 31 },
	{ ROW, AP_EINVAL, SW, 9, U | AP_PERF_INHERIT_THREAD, SELF },
	{ ROW, OK, SW, 9, U | AP_PERF_INHERIT | AP_PERF_INHERIT_THREAD, SELF },
	{ ROW, AP_EINVAL, SW, 9, U | AP_PERF_REMOVE_ON_EXEC | AP_PERF_ENABLE_ON_EXEC, SELF },
	{ ROW, AP_EINVAL, SW, 9, U | AP_PERF_SIGTRAP, SELF },
	{ ROW, OK, SW, 9, U | AP_PERF_SIGTRAP | AP_PERF_REMOVE_ON_EXEC, SELF },
	{ ROW, AP_EINVAL, SW, 9, U | AP_PERF_SIGTRAP | AP_PERF_REMOVE_ON_EXEC, .pid = -1, .cpu = 0 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .period = 1ULL << 63 },
	{ ROW, OK, SW, 9, U, SELF, .period = 1ULL << 62 },
	{ ROW, OK, SW, 9, U | AP_PERF_FREQ, SELF, .period = 100000 },
	{ ROW, AP_EINVAL, SW, 99, U | AP_PERF_FREQ, .pid = -7, .cpu = -1, .period = 100001 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_BRANCH_STACK, .extra = 0 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_BRANCH_STACK, .extra = 1 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_BRANCH_STACK, .extra = 1 << 20 },
	{ ROW, AP_EOPNOTSUPP, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_BRANCH_STACK, .extra = 9 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_REGS_USER, .extra = 0 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_REGS_USER, .extra = 1 << 24 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_REGS_USER, .extra = 1 << 13 },
	{ ROW, AP_EOPNOTSUPP, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_REGS_USER, .extra = 1ULL << 40 },
	{ ROW, OK, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_REGS_USER, .extra = 0xff0fff },
	/* registers that nobody samples: only the vector ones are looked at */
	{ ROW, OK, SW, 9, U, SELF, .extra = 0xffffffff },
	{ ROW, AP_EOPNOTSUPP, SW, 9, U, SELF, .extra = 1ULL << 32 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_REGS_INTR, .extra = 0 },
	{ ROW, OK, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_STACK_USER, .extra = 0 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_STACK_USER, .extra = 12 },
	{ ROW, OK, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_STACK_USER, .extra = 65528 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_STACK_USER, .extra = 65536 },
	/* kernel mode does not exist on an emulated PMU, whoever asks; before the event is looked up */
	{ ROW, AP_EACCES, HW, 1, 0, SELF },
	{ ROW, AP_EACCES, RAW, 1, AP_PERF_EXCLUDE_USER, SELF },
	{ ROW, AP_EACCES, HW, 77, 0, .pid = -7, .cpu = -1 },
	{ ROW, AP_EACCES, AP_PERF_TYPE_HW_CACHE, 0, 0, SELF },
	{ ROW, OK, HW, 1, U | AP_PERF_EXCLUDE_USER, SELF },
	{ ROW, OK, HW, 1, U | AP_PERF_EXCLUDE_HV | AP_PERF_EXCLUDE_IDLE | AP_PERF_EXCLUDE_GUEST, SELF },
	{ ROW, OK, HW, 1, U | AP_PERF_EXCLUDE_HOST, SELF },
	/* cgroups: pid is a descriptor */
	{ ROW, AP_EINVAL, SW, 9, U, .pid = -1, .cpu = 0, .call_flags = AP_PERF_FLAG_PID_CGROUP },
	{ ROW, AP_EINVAL, SW, 9, U, .pid = 500, .cpu = -1, .call_flags = AP_PERF_FLAG_PID_CGROUP },
	{ ROW, AP_EBADF, SW, 9, U, .pid = 3, .cpu = 0, .call_flags = AP_PERF_FLAG_PID_CGROUP },
	{ ROW, AP_ENOENT, SW, 99, U, .pid = 3, .cpu = 0, .call_flags = AP_PERF_FLAG_PID_CGROUP },
	{ ROW, OK, SW, 9, U, .pid = 500, .cpu = 0, .call_flags = AP_PERF_FLAG_PID_CGROUP },
	{ ROW, OK, SW, 9, U, .pid = 500, .cpu = 0, .group = G_CG, .call_flags = AP_PERF_FLAG_PID_CGROUP },
	{ ROW, AP_EINVAL, SW, 9, U, .pid = 501, .cpu = 0, .group = G_CG, .call_flags = AP_PERF_FLAG_PID_CGROUP },
	{ ROW, AP_EINVAL, SW, 9, U, .pid = 500, .cpu = 1, .group = G_CG, .call_flags = AP_PERF_FLAG_PID_CGROUP },
	{ ROW, AP_EINVAL, SW, 9, U, .pid = -1, .cpu = 0, .group = G_CG },
	/* the group's descriptor, then the task, then the CPU, then the event */
	{ ROW, AP_EBADF, SW, 99, U, .pid = -7, .cpu = 99, .group = NOT_PERF },
	{ ROW, AP_EBADF, SW, 9, U, SELF, .group = -5 },
	{ ROW, AP_EBADF, SW, 9, U, SELF, .group = NOT_PERF, .call_flags = AP_PERF_FLAG_FD_NO_GROUP },
	{ ROW, AP_ENODEV, SW, 99, U, .pid = -7, .cpu = 99, .group = G_DEAD },
	{ ROW, AP_ENODEV, SW, 9, U, SELF, .group = G_DEAD, .call_flags = AP_PERF_FLAG_FD_NO_GROUP },
	{ ROW, AP_ESRCH, SW, 99, U, .pid = -7, .cpu = 99 },
	{ ROW, AP_ESRCH, SW, 9, U, .pid = 9999, .cpu = -1 },
	{ ROW, AP_EINVAL, SW, 99, U | AP_PERF_INHERIT, SELF, .group = G_SOFT },
	{ ROW, AP_EINVAL, SW, 99, U, SELF, .group = G_INHERIT },
	{ ROW, AP_EINVAL, SW, 99, U, .pid = -1, .cpu = -1 },
	{ ROW, AP_EINVAL, SW, 99, U, .pid = 0, .cpu = NCPUS },
	{ ROW, AP_EINVAL, SW, 99, U, .pid = 0, .cpu = -2 },
	{ ROW, AP_EINVAL, SW, 99, U, .pid = -1, .cpu = NCPUS },
	{ ROW, AP_EINVAL, SW, 99, U | AP_PERF_INHERIT, SELF, .sample_type = AP_PERF_SAMPLE_READ },
	{ ROW, OK, SW, 9, U | AP_PERF_INHERIT, SELF, .sample_type = AP_PERF_SAMPLE_READ | AP_PERF_SAMPLE_TID },
	{ ROW, OK, SW, 9, U | AP_PERF_INHERIT, SELF, .read_format = AP_PERF_FORMAT_GROUP },
	{ ROW, AP_ENOENT, SW, 99, U, SELF },
	{ ROW, AP_ENOENT, 999, 0, U, SELF },
	{ ROW, AP_ENOENT, HW, 77, U, SELF },
	{ ROW, AP_EINVAL, RAW, 0, U, SELF },
	{ ROW, AP_ENOENT, HW, 4ULL << 32 | 77, U, SELF },
	{ ROW, OK, HW, 4ULL << 32 | 1, U, SELF },
	{ ROW, AP_ENOENT, HW, 1ULL << 32 | 9, U, SELF },
	{ ROW, AP_EINVAL, AP_PERF_TYPE_BREAKPOINT, 0, U, SELF, .bp_type = AP_HW_BREAKPOINT_R },
	{ ROW, OK, AP_PERF_TYPE_BREAKPOINT, 0, U, SELF, .bp_type = AP_HW_BREAKPOINT_W },
	{ ROW, AP_EINVAL, TYPE_DYN, 0, U, SELF },
	{ ROW, OK, TYPE_DYN, 0, 0, SELF },
	{ ROW, AP_EOPNOTSUPP, TYPE_DYN, 0, 0, SELF, .period = 1 },
	{ ROW, AP_ENODEV, RAW, 1ULL << 31, U, SELF }, /* nobody can count that kind */
	/* what depends on the driver */
	{ ROW, AP_EOPNOTSUPP, SW, 9, U | AP_PERF_AUX_OUTPUT, SELF },
	{ ROW, AP_EOVERFLOW, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_CALLCHAIN, .extra = 128 },
	{ ROW, OK, SW, 9, U, SELF, .sample_type = AP_PERF_SAMPLE_CALLCHAIN, .extra = 127 },
	{ ROW, OK, SW, 9, U | AP_PERF_USE_CLOCKID, SELF, .extra = AP_CLOCK_MONOTONIC },
	{ ROW, OK, SW, 9, U | AP_PERF_USE_CLOCKID, SELF, .extra = AP_CLOCK_REALTIME },
	{ ROW, OK, SW, 9, U | AP_PERF_USE_CLOCKID, SELF, .extra = AP_CLOCK_TAI },
	{ ROW, AP_EINVAL, SW, 9, U | AP_PERF_USE_CLOCKID, SELF, .extra = 2 },
	{ ROW, AP_EINVAL, SW, 9, U | AP_PERF_USE_CLOCKID, SELF, .extra = 0xffffffff },
	{ ROW, AP_EINVAL, HW, 1, U | AP_PERF_USE_CLOCKID, SELF, .extra = AP_CLOCK_REALTIME },
	{ ROW, OK, HW, 1, U | AP_PERF_USE_CLOCKID, SELF, .extra = AP_CLOCK_MONOTONIC_RAW },
	{ ROW, OK, AP_PERF_TYPE_BREAKPOINT, 0, U | AP_PERF_USE_CLOCKID, SELF, .bp_type = AP_HW_BREAKPOINT_W,
	  .extra = AP_CLOCK_MONOTONIC },
	{ ROW, AP_EINVAL, AP_PERF_TYPE_BREAKPOINT, 0, U | AP_PERF_USE_CLOCKID, SELF, .bp_type = AP_HW_BREAKPOINT_W,
	  .extra = AP_CLOCK_REALTIME },
	/* groups */
	{ ROW, OK, SW, 9, U, SELF, .group = G_SOFT },
	{ ROW, OK, HW, 1, U, SELF, .group = G_SOFT },
	{ ROW, OK, SW, 9, U, SELF, .group = G_HARD },
	{ ROW, OK, HW, 1, U, SELF, .group = G_HARD },
	{ ROW, AP_EINVAL, TYPE_OTHER, 0, U, SELF, .group = G_HARD }, /* of another PMU */
	{ ROW, OK, SW, 9, U, SELF, .group = G_INHERIT, .call_flags = AP_PERF_FLAG_FD_NO_GROUP },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .group = G_MEMBER },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .group = G_CLOCK },
	{ ROW, OK, SW, 9, U | AP_PERF_USE_CLOCKID, SELF, .group = G_CLOCK, .extra = 1 },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .group = G_CPU },
	{ ROW, AP_EINVAL, SW, 9, U, .pid = 0, .cpu = 0, .group = G_CPU },
	{ ROW, OK, SW, 9, U, .pid = -1, .cpu = 0, .group = G_CPU },
	{ ROW, AP_EINVAL, SW, 9, U, .pid = -1, .cpu = 1, .group = G_CPU },
	{ ROW, AP_EINVAL, SW, 9, U, .pid = 101, .cpu = -1, .group = G_SOFT },
	{ ROW, AP_EINVAL, SW, 9, U | AP_PERF_PINNED, SELF, .group = G_SOFT },
	{ ROW, AP_EINVAL, SW, 9, U | AP_PERF_EXCLUSIVE, SELF, .group = G_SOFT },
	{ ROW, OK, SW, 9, U | AP_PERF_EXCLUSIVE | AP_PERF_PINNED, SELF },
	/* output: nobody has a buffer */
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .group = G_SOFT, .call_flags = AP_PERF_FLAG_FD_OUTPUT },
	{ ROW, AP_EINVAL, SW, 9, U, SELF, .group = G_SOFT,
	  .call_flags = AP_PERF_FLAG_FD_OUTPUT | AP_PERF_FLAG_FD_NO_GROUP },
};
/* clang-format on */

const u32 nr_open_rows = AP_ARRAY_SIZE(open_rows);

struct ap_perf_attr attr_of(const struct row *r)
{
	struct ap_perf_attr a = { .type = r->type,
				  .size = sizeof(a),
				  .config = r->config,
				  .flags = r->flags,
				  .sample_type = r->sample_type,
				  .sample_period = r->period,
				  .read_format = r->read_format,
				  .bp_type = r->bp_type };

	if (r->sample_type & AP_PERF_SAMPLE_BRANCH_STACK)
		a.branch_sample_type = r->extra;
	if (r->sample_type & AP_PERF_SAMPLE_REGS_USER)
		a.sample_regs_user = r->extra;
	if (r->sample_type & AP_PERF_SAMPLE_REGS_INTR)
		a.sample_regs_intr = r->extra;
	if (r->sample_type & AP_PERF_SAMPLE_STACK_USER)
		a.sample_stack_user = r->extra;
	if (r->sample_type & AP_PERF_SAMPLE_CALLCHAIN)
		a.sample_max_stack = r->extra;
	if (r->flags & AP_PERF_USE_CLOCKID)
		a.clockid = r->extra;
	else if (!r->sample_type)
		a.sample_regs_user = r->extra;
	return a;
}
