/* SPDX-License-Identifier: MIT */
/*
 * An attr as it comes from a program: of any published size, older or newer than ours, and with
 * anything in it.  The service copies it in the program; the core checks what it is handed.
 */
#ifndef AP_ABI_ATTR_H
#define AP_ABI_ATTR_H

#include "abi/perf.h"
#include "base/types.h"

#define AP_PERF_ATTR_SIZE_MAX 4096U /* Linux: a page */

/*
 * size_field is what the program has in attr.size, and avail how many bytes can be read at bytes
 * (AP_PERF_ATTR_SIZE_MAX is enough).  -E2BIG: *size_back is to be stored into the program's
 * attr.size.  -EFAULT: there are fewer bytes than attr.size says.
 */
AP_MUST_CHECK int ap_perf_attr_copy(const void *bytes, u32 size_field, u64 avail,
				    struct ap_perf_attr *out, u32 *size_back);

/* What a port has: abi/perf.h has x86-64's registers. */
struct ap_perf_attr_port {
	u64 regs; /* that a sample may be asked for; 0: samples carry none (-ENOSYS) */
	bool has_user_stack;
	bool may_kernel; /* the caller may see what the kernel does: branch privilege levels */
};

/*
 * What is wrong with an attr whatever event it names: reserved bits, ranges, contradictions, in
 * Linux's order.  Completes branch_sample_type.
 */
AP_MUST_CHECK int ap_perf_attr_check(struct ap_perf_attr *attr,
				     const struct ap_perf_attr_port *port);

#endif
