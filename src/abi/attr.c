/* SPDX-License-Identifier: MIT */
/* Sizes as Linux's copy_struct_from_user() has them, checks as its perf_copy_attr(). */
#include "abi/attr.h"
#include "abi/errno.h"
#include "base/mem.h"

#define AUX_ACTION_BITS (AP_PERF_AUX_START_PAUSED | AP_PERF_AUX_PAUSE | AP_PERF_AUX_RESUME)

int ap_perf_attr_copy(const void *bytes, u32 size_field, u64 avail, struct ap_perf_attr *out,
		      u32 *size_back)
{
	u32 size = size_field ? size_field : AP_PERF_ATTR_SIZE_VER0;
	u32 known = sizeof(*out), n;
	const u8 *b = bytes;

	if (size < AP_PERF_ATTR_SIZE_VER0 || size > AP_PERF_ATTR_SIZE_MAX)
		goto too_big;
	if (size > avail)
		return -AP_EFAULT;
	for (n = known; n < size; n++)
		if (b[n])
			goto too_big;
	memset(out, 0, known);
	memcpy(out, bytes, size < known ? size : known);
	out->size = size;
	return 0;
too_big:
	*size_back = known;
	return -AP_E2BIG;
}

static int check_branches(struct ap_perf_attr *attr, bool may_kernel)
{
	u64 mask = attr->branch_sample_type;

	if (mask & ~(AP_PERF_SAMPLE_BRANCH_MAX - 1))
		return -AP_EINVAL;
	if (!(mask & ~AP_PERF_SAMPLE_BRANCH_PLM_ALL))
		return -AP_EINVAL;
	if (!(mask & AP_PERF_SAMPLE_BRANCH_PLM_ALL)) {
		if (!(attr->flags & AP_PERF_EXCLUDE_KERNEL))
			mask |= AP_PERF_SAMPLE_BRANCH_KERNEL;
		if (!(attr->flags & AP_PERF_EXCLUDE_USER))
			mask |= AP_PERF_SAMPLE_BRANCH_USER;
		if (!(attr->flags & AP_PERF_EXCLUDE_HV))
			mask |= AP_PERF_SAMPLE_BRANCH_HV;
		attr->branch_sample_type = mask;
	}
	if ((mask & (AP_PERF_SAMPLE_BRANCH_KERNEL | AP_PERF_SAMPLE_BRANCH_HV)) && !may_kernel)
		return -AP_EACCES;
	return 0;
}

static int check_regs(u64 mask, u64 known)
{
	if (!known)
		return mask ? -AP_ENOSYS : 0;
	return !mask || (mask & ~known) ? -AP_EINVAL : 0;
}

static int check_sample_data(const struct ap_perf_attr *attr, const struct ap_perf_attr_port *port)
{
	int r = 0;

	if (attr->sample_type & AP_PERF_SAMPLE_REGS_USER)
		r = check_regs(attr->sample_regs_user, port->regs);
	if (!r && (attr->sample_type & AP_PERF_SAMPLE_STACK_USER)) {
		if (!port->has_user_stack)
			r = -AP_ENOSYS;
		else if (attr->sample_stack_user >= 0xffff || attr->sample_stack_user % 8)
			r = -AP_EINVAL; /* a record's size has 16 bits */
	}
	if (!r && (attr->sample_type & AP_PERF_SAMPLE_REGS_INTR))
		r = check_regs(attr->sample_regs_intr, port->regs);
	return r;
}

int ap_perf_attr_check(struct ap_perf_attr *attr, const struct ap_perf_attr_port *port)
{
	const u64 weights = AP_PERF_SAMPLE_WEIGHT | AP_PERF_SAMPLE_WEIGHT_STRUCT;
	u64 flags = attr->flags;
	int r;

	if ((flags & ~AP_PERF_FLAGS_ALL) || attr->reserved_2 ||
	    (attr->reserved_3 & ~AUX_ACTION_BITS))
		return -AP_EINVAL;
	if (attr->sample_type & ~(AP_PERF_SAMPLE_MAX - 1))
		return -AP_EINVAL;
	if (attr->read_format & ~(AP_PERF_FORMAT_MAX - 1))
		return -AP_EINVAL;
	if (attr->sample_type & AP_PERF_SAMPLE_BRANCH_STACK) {
		r = check_branches(attr, port->may_kernel);
		if (r)
			return r;
	}
	r = check_sample_data(attr, port);
	if (r)
		return r;
	if ((attr->sample_type & weights) == weights)
		return -AP_EINVAL;
	if ((flags & AP_PERF_INHERIT_THREAD) && !(flags & AP_PERF_INHERIT))
		return -AP_EINVAL;
	if ((flags & AP_PERF_REMOVE_ON_EXEC) && (flags & AP_PERF_ENABLE_ON_EXEC))
		return -AP_EINVAL;
	if ((flags & AP_PERF_SIGTRAP) && !(flags & AP_PERF_REMOVE_ON_EXEC))
		return -AP_EINVAL;
	return 0;
}
