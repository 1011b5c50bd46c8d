/* SPDX-License-Identifier: MIT */
/* Our copy of the perf_event ABI against the installed header, which may be older but never differs. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <time.h>

#include "abi/errno.h"
#include "abi/perf.h"
#include "abi/record.h"
#include "tap/tap.h"

#define SAME(ours, theirs) EXPECT_U64((u64)(ours), (u64)(theirs))
#define FIELD(f, theirs)                                                                           \
	do {                                                                                       \
		SAME(offsetof(struct ap_perf_attr, f), offsetof(struct perf_event_attr, theirs));  \
		SAME(sizeof(((struct ap_perf_attr *)0)->f),                                        \
		     sizeof(((struct perf_event_attr *)0)->theirs));                               \
	} while (0)
#define PAGE(f, theirs)                                                                            \
	SAME(offsetof(struct ap_perf_page, f), offsetof(struct perf_event_mmap_page, theirs))

static void an_attr_has_the_kernels_layout(void)
{
	FIELD(type, type);
	FIELD(size, size);
	FIELD(config, config);
	FIELD(sample_period, sample_freq);
	FIELD(sample_type, sample_type);
	FIELD(read_format, read_format);
	FIELD(wakeup_events, wakeup_watermark);
	FIELD(bp_type, bp_type);
	FIELD(config1, bp_addr);
	FIELD(config2, bp_len);
	FIELD(branch_sample_type, branch_sample_type);
	FIELD(sample_regs_user, sample_regs_user);
	FIELD(sample_stack_user, sample_stack_user);
	FIELD(clockid, clockid);
	FIELD(sample_regs_intr, sample_regs_intr);
	FIELD(aux_watermark, aux_watermark);
	FIELD(sample_max_stack, sample_max_stack);
	FIELD(reserved_2, __reserved_2);
	FIELD(aux_sample_size, aux_sample_size);
	SAME(offsetof(struct ap_perf_attr, flags),
	     offsetof(struct perf_event_attr, read_format) + 8);
	SAME(AP_PERF_ATTR_SIZE_VER5, PERF_ATTR_SIZE_VER5);
	EXPECT(sizeof(struct perf_event_attr) <= sizeof(struct ap_perf_attr));
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* A bit field of the kernel's against our mask, in the word that both lie in. */
#define BIT(ours, field)                                                                           \
	do {                                                                                       \
		union {                                                                            \
			struct perf_event_attr theirs;                                             \
			struct ap_perf_attr ours_;                                                 \
		} u = { .ours_ = { 0 } };                                                          \
		u.theirs.field = ~0;                                                               \
		SAME(u.ours_.flags, ours);                                                         \
	} while (0)

static void flag_bits_are_where_they_should_be(void)
{
	BIT(AP_PERF_DISABLED, disabled);
	BIT(AP_PERF_INHERIT, inherit);
	BIT(AP_PERF_PINNED, pinned);
	BIT(AP_PERF_EXCLUSIVE, exclusive);
	BIT(AP_PERF_EXCLUDE_USER, exclude_user);
	BIT(AP_PERF_EXCLUDE_KERNEL, exclude_kernel);
	BIT(AP_PERF_EXCLUDE_HV, exclude_hv);
	BIT(AP_PERF_EXCLUDE_IDLE, exclude_idle);
	BIT(AP_PERF_MMAP, mmap);
	BIT(AP_PERF_COMM, comm);
	BIT(AP_PERF_FREQ, freq);
	BIT(AP_PERF_INHERIT_STAT, inherit_stat);
	BIT(AP_PERF_ENABLE_ON_EXEC, enable_on_exec);
	BIT(AP_PERF_TASK, task);
	BIT(AP_PERF_WATERMARK, watermark);
	BIT(AP_PERF_PRECISE_IP, precise_ip);
	BIT(AP_PERF_MMAP_DATA, mmap_data);
	BIT(AP_PERF_SAMPLE_ID_ALL, sample_id_all);
	BIT(AP_PERF_EXCLUDE_HOST, exclude_host);
	BIT(AP_PERF_EXCLUDE_GUEST, exclude_guest);
	BIT(AP_PERF_EXCLUDE_CALLCHAIN_KERNEL, exclude_callchain_kernel);
	BIT(AP_PERF_EXCLUDE_CALLCHAIN_USER, exclude_callchain_user);
	BIT(AP_PERF_MMAP2, mmap2);
	BIT(AP_PERF_COMM_EXEC, comm_exec);
	BIT(AP_PERF_USE_CLOCKID, use_clockid);
	BIT(AP_PERF_CONTEXT_SWITCH, context_switch);
	BIT(AP_PERF_WRITE_BACKWARD, write_backward);
	BIT(AP_PERF_NAMESPACES, namespaces);
	BIT(AP_PERF_KSYMBOL, ksymbol);
	BIT(AP_PERF_BPF_EVENT, bpf_event);
	BIT(AP_PERF_AUX_OUTPUT, aux_output);
	BIT(AP_PERF_CGROUP, cgroup);
	BIT(AP_PERF_TEXT_POKE, text_poke);
	BIT(AP_PERF_BUILD_ID, build_id);
	BIT(AP_PERF_INHERIT_THREAD, inherit_thread);
	BIT(AP_PERF_REMOVE_ON_EXEC, remove_on_exec);
	BIT(AP_PERF_SIGTRAP, sigtrap);
}

/* Likewise of the control page: 0 and 1 were one bit once, and bit 1 says that they are not. */
#define CAP(ours, field)                                                                           \
	do {                                                                                       \
		struct perf_event_mmap_page page = { .capabilities = 0 };                          \
		page.field = 1;                                                                    \
		SAME(ours, page.capabilities);                                                     \
	} while (0)

static void capability_bits_are_those_since_3_12(void)
{
	CAP(1, cap_bit0);
	CAP(AP_PERF_CAP_BIT0_IS_DEPRECATED, cap_bit0_is_deprecated);
	CAP(AP_PERF_CAP_USER_RDPMC, cap_user_rdpmc);
	CAP(AP_PERF_CAP_USER_TIME, cap_user_time);
	CAP(AP_PERF_CAP_USER_TIME_ZERO, cap_user_time_zero);
	CAP(AP_PERF_CAP_USER_TIME_SHORT, cap_user_time_short);
}

#endif

static void a_control_page_has_the_kernels_layout(void)
{
	PAGE(version, version);
	PAGE(compat_version, compat_version);
	PAGE(lock, lock);
	PAGE(index, index);
	PAGE(offset, offset);
	PAGE(time_enabled, time_enabled);
	PAGE(time_running, time_running);
	PAGE(capabilities, capabilities);
	PAGE(pmc_width, pmc_width);
	PAGE(time_shift, time_shift);
	PAGE(time_mult, time_mult);
	PAGE(time_offset, time_offset);
	PAGE(time_zero, time_zero);
	PAGE(size, size);
	PAGE(time_cycles, time_cycles);
	PAGE(time_mask, time_mask);
	PAGE(data_head, data_head);
	PAGE(data_tail, data_tail);
	PAGE(data_offset, data_offset);
	PAGE(data_size, data_size);
	PAGE(aux_head, aux_head);
	PAGE(aux_size, aux_size);
}

#define KERNEL(name) SAME(AP_##name, name)

static void types_and_events_are_the_kernels(void)
{
	KERNEL(PERF_TYPE_HARDWARE);
	KERNEL(PERF_TYPE_SOFTWARE);
	KERNEL(PERF_TYPE_TRACEPOINT);
	KERNEL(PERF_TYPE_HW_CACHE);
	KERNEL(PERF_TYPE_RAW);
	KERNEL(PERF_TYPE_BREAKPOINT);
	KERNEL(PERF_TYPE_MAX);
	KERNEL(PERF_COUNT_HW_CPU_CYCLES);
	KERNEL(PERF_COUNT_HW_INSTRUCTIONS);
	KERNEL(PERF_COUNT_HW_CACHE_REFERENCES);
	KERNEL(PERF_COUNT_HW_CACHE_MISSES);
	KERNEL(PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	KERNEL(PERF_COUNT_HW_BRANCH_MISSES);
	KERNEL(PERF_COUNT_HW_BUS_CYCLES);
	KERNEL(PERF_COUNT_HW_STALLED_CYCLES_FRONTEND);
	KERNEL(PERF_COUNT_HW_STALLED_CYCLES_BACKEND);
	KERNEL(PERF_COUNT_HW_REF_CPU_CYCLES);
	KERNEL(PERF_COUNT_HW_MAX);
	KERNEL(PERF_COUNT_HW_CACHE_L1D);
	KERNEL(PERF_COUNT_HW_CACHE_L1I);
	KERNEL(PERF_COUNT_HW_CACHE_LL);
	KERNEL(PERF_COUNT_HW_CACHE_DTLB);
	KERNEL(PERF_COUNT_HW_CACHE_ITLB);
	KERNEL(PERF_COUNT_HW_CACHE_BPU);
	KERNEL(PERF_COUNT_HW_CACHE_NODE);
	KERNEL(PERF_COUNT_HW_CACHE_MAX);
	KERNEL(PERF_COUNT_HW_CACHE_OP_READ);
	KERNEL(PERF_COUNT_HW_CACHE_OP_WRITE);
	KERNEL(PERF_COUNT_HW_CACHE_OP_PREFETCH);
	KERNEL(PERF_COUNT_HW_CACHE_OP_MAX);
	KERNEL(PERF_COUNT_HW_CACHE_RESULT_ACCESS);
	KERNEL(PERF_COUNT_HW_CACHE_RESULT_MISS);
	KERNEL(PERF_COUNT_HW_CACHE_RESULT_MAX);
	KERNEL(PERF_COUNT_SW_CPU_CLOCK);
	KERNEL(PERF_COUNT_SW_TASK_CLOCK);
	KERNEL(PERF_COUNT_SW_PAGE_FAULTS);
	KERNEL(PERF_COUNT_SW_CONTEXT_SWITCHES);
	KERNEL(PERF_COUNT_SW_CPU_MIGRATIONS);
	KERNEL(PERF_COUNT_SW_PAGE_FAULTS_MIN);
	KERNEL(PERF_COUNT_SW_PAGE_FAULTS_MAJ);
	KERNEL(PERF_COUNT_SW_ALIGNMENT_FAULTS);
	KERNEL(PERF_COUNT_SW_EMULATION_FAULTS);
	KERNEL(PERF_COUNT_SW_DUMMY);
	KERNEL(PERF_COUNT_SW_BPF_OUTPUT);
	EXPECT((int)AP_PERF_COUNT_SW_MAX >= (int)PERF_COUNT_SW_MAX);
	KERNEL(HW_BREAKPOINT_EMPTY);
	KERNEL(HW_BREAKPOINT_R);
	KERNEL(HW_BREAKPOINT_W);
	KERNEL(HW_BREAKPOINT_RW);
	KERNEL(HW_BREAKPOINT_X);
}

static void formats_and_flags_are_the_kernels(void)
{
	KERNEL(PERF_ATTR_SIZE_VER0);
	KERNEL(PERF_ATTR_SIZE_VER1);
	KERNEL(PERF_ATTR_SIZE_VER2);
	KERNEL(PERF_ATTR_SIZE_VER3);
	KERNEL(PERF_ATTR_SIZE_VER4);
	KERNEL(PERF_ATTR_SIZE_VER5);
	KERNEL(PERF_FORMAT_TOTAL_TIME_ENABLED);
	KERNEL(PERF_FORMAT_TOTAL_TIME_RUNNING);
	KERNEL(PERF_FORMAT_ID);
	KERNEL(PERF_FORMAT_GROUP);
	EXPECT(AP_PERF_FORMAT_MAX >= PERF_FORMAT_MAX);
	KERNEL(PERF_SAMPLE_IP);
	KERNEL(PERF_SAMPLE_TID);
	KERNEL(PERF_SAMPLE_TIME);
	KERNEL(PERF_SAMPLE_ADDR);
	KERNEL(PERF_SAMPLE_READ);
	KERNEL(PERF_SAMPLE_CALLCHAIN);
	KERNEL(PERF_SAMPLE_ID);
	KERNEL(PERF_SAMPLE_CPU);
	KERNEL(PERF_SAMPLE_PERIOD);
	KERNEL(PERF_SAMPLE_STREAM_ID);
	KERNEL(PERF_SAMPLE_RAW);
	KERNEL(PERF_SAMPLE_BRANCH_STACK);
	KERNEL(PERF_SAMPLE_REGS_USER);
	KERNEL(PERF_SAMPLE_STACK_USER);
	KERNEL(PERF_SAMPLE_PHYS_ADDR);
	KERNEL(PERF_SAMPLE_WEIGHT_STRUCT);
	EXPECT(AP_PERF_SAMPLE_MAX >= PERF_SAMPLE_MAX);
	KERNEL(PERF_SAMPLE_BRANCH_USER);
	KERNEL(PERF_SAMPLE_BRANCH_KERNEL);
	KERNEL(PERF_SAMPLE_BRANCH_HV);
	SAME(AP_PERF_SAMPLE_BRANCH_PLM_ALL,
	     PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV);
	EXPECT(AP_PERF_SAMPLE_BRANCH_MAX >= PERF_SAMPLE_BRANCH_MAX);
	KERNEL(PERF_FLAG_FD_NO_GROUP);
	KERNEL(PERF_FLAG_FD_OUTPUT);
	KERNEL(PERF_FLAG_PID_CGROUP);
	KERNEL(PERF_FLAG_FD_CLOEXEC);
	SAME(AP_PERF_IOC_FLAG_GROUP, PERF_IOC_FLAG_GROUP);
	KERNEL(CLOCK_MONOTONIC_RAW);
	KERNEL(CLOCK_BOOTTIME);
	KERNEL(CLOCK_TAI);
}

#define ERRNO(name) SAME(AP_##name, name)

static void errnos_are_the_kernels(void)
{
	ERRNO(EPERM);
	ERRNO(ENOENT);
	ERRNO(ESRCH);
	ERRNO(EINTR);
	ERRNO(EIO);
	ERRNO(E2BIG);
	ERRNO(EBADF);
	ERRNO(ECHILD);
	ERRNO(EAGAIN);
	ERRNO(ENOMEM);
	ERRNO(EACCES);
	ERRNO(EFAULT);
	ERRNO(EBUSY);
	ERRNO(EEXIST);
	ERRNO(ENODEV);
	ERRNO(EINVAL);
	ERRNO(EMFILE);
	ERRNO(ENOTTY);
	ERRNO(ENOSPC);
	ERRNO(ENAMETOOLONG);
	ERRNO(ENOSYS);
	ERRNO(ENODATA);
	ERRNO(EOVERFLOW);
	ERRNO(EOPNOTSUPP);
	ERRNO(ETIMEDOUT);
}

static void records_are_the_kernels(void)
{
	SAME(AP_PERF_RECORD_MMAP, PERF_RECORD_MMAP);
	SAME(AP_PERF_RECORD_LOST, PERF_RECORD_LOST);
	SAME(AP_PERF_RECORD_COMM, PERF_RECORD_COMM);
	SAME(AP_PERF_RECORD_EXIT, PERF_RECORD_EXIT);
	SAME(AP_PERF_RECORD_THROTTLE, PERF_RECORD_THROTTLE);
	SAME(AP_PERF_RECORD_UNTHROTTLE, PERF_RECORD_UNTHROTTLE);
	SAME(AP_PERF_RECORD_FORK, PERF_RECORD_FORK);
	SAME(AP_PERF_RECORD_READ, PERF_RECORD_READ);
	SAME(AP_PERF_RECORD_SAMPLE, PERF_RECORD_SAMPLE);
	SAME(AP_PERF_RECORD_MMAP2, PERF_RECORD_MMAP2);
	SAME(AP_PERF_RECORD_LOST_SAMPLES, PERF_RECORD_LOST_SAMPLES);
	SAME(AP_PERF_RECORD_SWITCH, PERF_RECORD_SWITCH);
	SAME(AP_PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_SWITCH_CPU_WIDE);
	SAME(AP_PERF_RECORD_NAMESPACES, PERF_RECORD_NAMESPACES);
	SAME(AP_PERF_RECORD_KSYMBOL, PERF_RECORD_KSYMBOL);
	SAME(AP_PERF_RECORD_BPF_EVENT, PERF_RECORD_BPF_EVENT);
	SAME(AP_PERF_RECORD_CGROUP, PERF_RECORD_CGROUP);
	SAME(AP_PERF_RECORD_TEXT_POKE, PERF_RECORD_TEXT_POKE);
	SAME(AP_PERF_RECORD_MISC_USER, PERF_RECORD_MISC_USER);
	SAME(AP_PERF_RECORD_MISC_GUEST_KERNEL, PERF_RECORD_MISC_GUEST_KERNEL);
	SAME(AP_PERF_RECORD_MISC_GUEST_USER, PERF_RECORD_MISC_GUEST_USER);
	SAME(AP_PERF_RECORD_MISC_MMAP_DATA, PERF_RECORD_MISC_MMAP_DATA);
	SAME(AP_PERF_RECORD_MISC_COMM_EXEC, PERF_RECORD_MISC_COMM_EXEC);
	SAME(AP_PERF_RECORD_MISC_SWITCH_OUT, PERF_RECORD_MISC_SWITCH_OUT);
	SAME(AP_PERF_RECORD_MISC_EXACT_IP, PERF_RECORD_MISC_EXACT_IP);
	SAME(AP_PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	SAME(AP_PERF_RECORD_MISC_MMAP_BUILD_ID, PERF_RECORD_MISC_MMAP_BUILD_ID);
	SAME(AP_PERF_CONTEXT_HV, PERF_CONTEXT_HV);
	SAME(AP_PERF_CONTEXT_KERNEL, PERF_CONTEXT_KERNEL);
	SAME(AP_PERF_CONTEXT_USER, PERF_CONTEXT_USER);
	SAME(AP_PERF_CONTEXT_GUEST, PERF_CONTEXT_GUEST);
	SAME(AP_PERF_CONTEXT_GUEST_KERNEL, PERF_CONTEXT_GUEST_KERNEL);
	SAME(AP_PERF_CONTEXT_GUEST_USER, PERF_CONTEXT_GUEST_USER);
	SAME(AP_PERF_CONTEXT_MAX, PERF_CONTEXT_MAX);
	SAME(AP_PERF_SAMPLE_REGS_ABI_64, PERF_SAMPLE_REGS_ABI_64);
	SAME(AP_PERF_NS_MAX, NR_NAMESPACES);
	SAME(sizeof(struct ap_perf_event_header), sizeof(struct perf_event_header));
	SAME(sizeof(struct ap_perf_branch_entry), sizeof(struct perf_branch_entry));
	SAME(AP_PERF_SAMPLE_BRANCH_HW_INDEX, PERF_SAMPLE_BRANCH_HW_INDEX);
}

#if defined(__x86_64__)
/* Numbers that depend on the machine: ours are x86-64's. */
static void ioctls_are_x86s(void)
{
	SAME(AP_PERF_IOC_ENABLE, PERF_EVENT_IOC_ENABLE);
	SAME(AP_PERF_IOC_DISABLE, PERF_EVENT_IOC_DISABLE);
	SAME(AP_PERF_IOC_REFRESH, PERF_EVENT_IOC_REFRESH);
	SAME(AP_PERF_IOC_RESET, PERF_EVENT_IOC_RESET);
	SAME(AP_PERF_IOC_PERIOD, PERF_EVENT_IOC_PERIOD);
	SAME(AP_PERF_IOC_SET_OUTPUT, PERF_EVENT_IOC_SET_OUTPUT);
	SAME(AP_PERF_IOC_SET_FILTER, PERF_EVENT_IOC_SET_FILTER);
	SAME(AP_PERF_IOC_ID, PERF_EVENT_IOC_ID);
	SAME(AP_PERF_IOC_SET_BPF, PERF_EVENT_IOC_SET_BPF);
	SAME(AP_PERF_IOC_PAUSE_OUTPUT, PERF_EVENT_IOC_PAUSE_OUTPUT);
	SAME(AP_PERF_IOC_QUERY_BPF, PERF_EVENT_IOC_QUERY_BPF);
	SAME(AP_PERF_IOC_MODIFY_ATTRIBUTES, PERF_EVENT_IOC_MODIFY_ATTRIBUTES);
}
#endif

int main(int argc, char **argv)
{
	/* clang-format off */
	static const struct tap_test tests[] = {
		TAP(an_attr_has_the_kernels_layout),
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		TAP(flag_bits_are_where_they_should_be),
		TAP(capability_bits_are_those_since_3_12),
#endif
		TAP(a_control_page_has_the_kernels_layout),
		TAP(types_and_events_are_the_kernels),
		TAP(formats_and_flags_are_the_kernels),
		TAP(errnos_are_the_kernels),
		TAP(records_are_the_kernels),
#if defined(__x86_64__)
		TAP(ioctls_are_x86s),
#endif
		{ 0 }
	};
	/* clang-format on */

	return tap_main(tests, argc, argv);
}
