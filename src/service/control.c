/* SPDX-License-Identifier: MIT */
/*
 * ioctl of perf descriptors, and the two prctls.  What a command's argument points to is copied
 * here; what it means is the core's business.  Commands of other kinds are as the kernel has them
 * for every file, and the pipe beneath answers those.
 */
#include "abi/service.h"
#include "base/mem.h"
#include "base/str.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/hooks.h"
#include "service/request.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define FIONREAD   0x541bU
#define FILTER_MAX 4096U /* with the NUL, as the kernel has it */

/* The string of SET_FILTER; one that no request can carry is no filter that anybody knows. */
static s64 get_filter(struct ap_svc *svc, u64 from)
{
	u32 n = 0;

	for (; n < FILTER_MAX; n++) {
		char c;

		if (ap_hook_get(&c, from + n, 1))
			return -AP_EFAULT;
		if (n < AP_SVC_DATA_MAX)
			svc->data[n] = (u8)c;
		if (!c)
			break;
	}
	if (n >= AP_SVC_DATA_MAX)
		return -AP_EINVAL;
	svc->in_size = n + 1;
	return 0;
}

/* What the command reads from memory. */
static s64 get_in(struct ap_svc *svc, u32 cmd, u64 arg)
{
	struct ap_perf_attr attr;
	s64 ret;

	switch (cmd) {
	case AP_PERF_IOC_PERIOD:
		if (ap_hook_get(svc->data, arg, 8))
			return -AP_EFAULT;
		svc->in_size = 8;
		return 0;
	case AP_PERF_IOC_QUERY_BPF: /* other errors come before that of the address */
		svc->in_size = ap_hook_get(svc->data, arg, 8) ? 0 : 8;
		return 0;
	case AP_PERF_IOC_MODIFY_ATTRIBUTES:
		ret = ap_svc_attr(&attr, arg);
		if (ret)
			return ret;
		memcpy(svc->data, &attr, sizeof(attr));
		svc->in_size = sizeof(attr);
		return 0;
	case AP_PERF_IOC_SET_FILTER:
		return get_filter(svc, arg);
	default:
		return 0;
	}
}

/* The whole word says -1; as a number it is an int. */
static u64 output_of(u64 arg)
{
	u64 inode;

	if (arg == ~0ULL)
		return 0;
	inode = ap_fds_event((s32)arg);
	return inode ? inode : ~0ULL;
}

/* A number that is a program of BPF's: only the kernel can tell, by the name that it gives it. */
static s64 check_program(s32 fd)
{
	static const char prefix[] = "/proc/self/fd/", name[] = "anon_inode:bpf-prog";
	char path[32], text[sizeof(name)];
	struct ap_str s;

	s64 ret = ap_svc_sys(AP_NR_fcntl, (u64)fd, 1 /* F_GETFD */, 0, 0);

	if (ret < 0)
		return ret;
	ap_str_init(&s, path, sizeof(path));
	ap_str_add(&s, prefix);
	ap_str_u64(&s, (u64)fd);
	if (ap_svc_sys(AP_NR_readlink, (u64)path, (u64)text, sizeof(text), 0) != sizeof(name) - 1 ||
	    memcmp(text, name, sizeof(name) - 1))
		return -AP_EINVAL;
	return 0;
}

static bool is_perf_command(u32 cmd)
{
	switch (cmd) {
	case AP_PERF_IOC_ENABLE:
	case AP_PERF_IOC_DISABLE:
	case AP_PERF_IOC_REFRESH:
	case AP_PERF_IOC_RESET:
	case AP_PERF_IOC_PERIOD:
	case AP_PERF_IOC_SET_OUTPUT:
	case AP_PERF_IOC_SET_FILTER:
	case AP_PERF_IOC_ID:
	case AP_PERF_IOC_SET_BPF:
	case AP_PERF_IOC_PAUSE_OUTPUT:
	case AP_PERF_IOC_QUERY_BPF:
	case AP_PERF_IOC_MODIFY_ATTRIBUTES:
	case AP_PERF_IOC_RECORD_MUNMAP:
		return true;
	default:
		return false;
	}
}

static s64 ask(struct ap_request *r, u64 inode, u32 cmd, u64 arg)
{
	struct ap_svc *svc = r->svc;
	s64 ret;

	svc->arg[0] = inode;
	svc->arg[1] = cmd;
	svc->arg[2] = arg;
	ret = get_in(svc, cmd, arg);
	if (!ret)
		ret = ap_request_ask(r);
	if (ret >= 0 && svc->out_size && svc->out_size <= AP_SVC_DATA_MAX &&
	    ap_hook_put(arg + (cmd == AP_PERF_IOC_QUERY_BPF ? sizeof(u32) : 0), svc->data,
			svc->out_size))
		ret = -AP_EFAULT;
	return ret;
}

/* Of an event that is alone, with its group or without. */
static bool in_place(u64 inode, u32 cmd)
{
	switch (cmd) {
	case AP_PERF_IOC_ENABLE:
		return ap_svc_own_change(inode, AP_LOG_ENABLE);
	case AP_PERF_IOC_DISABLE:
		return ap_svc_own_change(inode, AP_LOG_DISABLE);
	case AP_PERF_IOC_RESET:
		return ap_svc_own_change(inode, AP_LOG_RESET);
	default:
		return false;
	}
}

bool ap_svc_ioctl(s32 fd, u64 inode, u64 cmd, u64 arg, s64 *ret)
{
	struct ap_request r;

	if ((u32)cmd == FIONREAD) {
		*ret = -AP_ENOTTY;
		return true;
	}
	if (ap_svc_is_perfctr(cmd)) {
		*ret = ap_svc_perfctr_ioctl(inode, (u32)cmd, arg);
		return true;
	}
	if (!is_perf_command((u32)cmd))
		return false;
	*ret = 0;
	if (in_place(inode, (u32)cmd))
		return true;
	if ((u32)cmd == AP_PERF_IOC_SET_BPF)
		*ret = check_program((s32)arg);
	if (*ret)
		return true;
	/* before the request: to look at a descriptor may take one of its own */
	if ((u32)cmd == AP_PERF_IOC_SET_OUTPUT && output_of(arg) == AP_SVC_NO_EVENT &&
	    ap_svc_is_kernels((s32)arg)) {
		/* as the kernel has it: whose ring is mapped writes there */
		*ret = -AP_EINVAL;
		if (ap_svc_mapped_at(inode, NULL, NULL))
			return true;
		*ret = ap_svc_rehome(fd, inode, (s32)arg);
		if (*ret != -AP_EINVAL)
			return true;
		*ret = ap_svc_take_ring(fd, inode, (s32)arg, &arg);
		if (*ret || !arg)
			return true;
	} else if ((u32)cmd == AP_PERF_IOC_SET_OUTPUT) {
		arg = output_of(arg);
	}
	*ret = ap_request_begin(&r, AP_SVC_IOCTL);
	if (*ret)
		return true;
	*ret = ask(&r, inode, (u32)cmd, arg);
	ap_request_end(&r);
	return true;
}

s64 ap_svc_prctl(bool enable)
{
	struct ap_request r;
	s64 ret = ap_request_begin(&r, AP_SVC_PRCTL);

	if (ret)
		return ret;
	r.svc->arg[0] = enable;
	ret = ap_request_ask(&r);
	ap_request_end(&r);
	return ret;
}
