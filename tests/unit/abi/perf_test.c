/* SPDX-License-Identifier: MIT */
/* Our copy of the perf_event ABI against the installed header, which may be older but never differs. */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <time.h>

#include "abi/errno.h"
#include "abi/perf.h"
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

static void numbers_are_the_kernels(void)
{
	SAME(AP_PERF_TYPE_MAX, PERF_TYPE_MAX);
	SAME(AP_PERF_TYPE_BREAKPOINT, PERF_TYPE_BREAKPOINT);
	SAME(AP_PERF_TYPE_RAW, PERF_TYPE_RAW);
	SAME(AP_PERF_COUNT_HW_MAX, PERF_COUNT_HW_MAX);
	SAME(AP_PERF_COUNT_SW_BPF_OUTPUT, PERF_COUNT_SW_BPF_OUTPUT);
	SAME(AP_PERF_COUNT_SW_DUMMY, PERF_COUNT_SW_DUMMY);
	EXPECT(AP_PERF_FORMAT_MAX >= PERF_FORMAT_MAX);
	EXPECT(AP_PERF_SAMPLE_MAX >= PERF_SAMPLE_MAX);
	SAME(AP_PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_PHYS_ADDR);
	SAME(AP_PERF_SAMPLE_WEIGHT_STRUCT, PERF_SAMPLE_WEIGHT_STRUCT);
	EXPECT(AP_PERF_SAMPLE_BRANCH_MAX >= PERF_SAMPLE_BRANCH_MAX);
	SAME(AP_PERF_SAMPLE_BRANCH_HV, PERF_SAMPLE_BRANCH_HV);
	SAME(AP_PERF_FLAG_FD_NO_GROUP, PERF_FLAG_FD_NO_GROUP);
	SAME(AP_PERF_FLAG_FD_OUTPUT, PERF_FLAG_FD_OUTPUT);
	SAME(AP_PERF_FLAG_PID_CGROUP, PERF_FLAG_PID_CGROUP);
	SAME(AP_PERF_FLAG_FD_CLOEXEC, PERF_FLAG_FD_CLOEXEC);
	SAME(AP_HW_BREAKPOINT_W, HW_BREAKPOINT_W);
	SAME(AP_HW_BREAKPOINT_RW, HW_BREAKPOINT_RW);
	SAME(AP_HW_BREAKPOINT_X, HW_BREAKPOINT_X);
	SAME(AP_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW);
	SAME(AP_CLOCK_BOOTTIME, CLOCK_BOOTTIME);
	SAME(AP_CLOCK_TAI, CLOCK_TAI);
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
#endif
		TAP(a_control_page_has_the_kernels_layout),
		TAP(numbers_are_the_kernels),
		TAP(errnos_are_the_kernels),
#if defined(__x86_64__)
		TAP(ioctls_are_x86s),
#endif
		{ 0 }
	};
	/* clang-format on */

	return tap_main(tests, argc, argv);
}
