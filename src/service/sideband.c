/* SPDX-License-Identifier: MIT */
/*
 * What a task tells of itself because some event records it: its birth, mappings, its name, cgroups.
 * Each is told before the call that made it returns, so that its record is there before the first
 * sample that needs it.  Signals that come meanwhile wait at the engine's door.
 *
 * Names and cgroups also change by writes to files.  Those are known by their names: once the program
 * has opened one for writing, each of its writes is looked at, and none before.
 */
#include "abi/service.h"
#include "base/mem.h"
#include "base/str.h"
#include "service/calls.h"
#include "service/hooks.h"
#include "service/request.h"
#include "service/sample.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define PR_SET_NAME  15
#define SHM_EXEC     0100000
#define LINK_CAP     256
#define PROC_MAGIC   0x9fa0
#define CGROUP_MAGIC 0x63677270 /* of cgroup2 */

static bool files_opened; /* any of those whose writes are told of */

static u32 orders(void)
{
	struct ap_hook_place p;

	ap_hook_place(&p);
	return __atomic_load_n(&p.slot->orders, __ATOMIC_ACQUIRE);
}

static void tell(u32 op, u64 a, u64 b)
{
	struct ap_request r;

	ap_request_begin_held(&r, op);
	r.svc->arg[0] = a;
	r.svc->arg[1] = b;
	ap_request_ask(&r);
}

void ap_service_begins(void)
{
	if (orders() & AP_ORDER_BORN)
		tell(AP_SVC_BORN, ap_svc_cpu(), 0);
}

/* Does the call make a mapping that somebody wants to hear of? */
static bool maps(const struct ap_service_call *c, u32 wanted)
{
	if (wanted & AP_ORDER_MAPPED_DATA)
		return true;
	if (!(wanted & AP_ORDER_MAPPED) || c->nr == AP_NR_brk)
		return false;
	/* whose protection is that of what was there */
	if (c->nr == AP_NR_remap_file_pages)
		return true;
	return c->a[2] & (c->nr == AP_NR_shmat ? SHM_EXEC : AP_PROT_X);
}

bool ap_svc_tells(const struct ap_service_call *c)
{
	switch (c->nr) {
	case AP_NR_mmap:
	case AP_NR_mprotect:
	case AP_NR_pkey_mprotect:
	case AP_NR_brk:
	case AP_NR_shmat:
	case AP_NR_remap_file_pages:
		return maps(c, orders());
	case AP_NR_prctl:
		return (u32)c->a[0] == PR_SET_NAME && orders() & AP_ORDER_COMM;
	case AP_NR_unshare:
	case AP_NR_setns:
		return orders() & AP_ORDER_NAMESPACES;
	case AP_NR_mkdir:
	case AP_NR_mkdirat:
		return orders() & AP_ORDER_CGROUP;
	default:
		return false;
	}
}

/* Whether it is one the supervisor sees: most folders are none. */
static void tell_cgroup(const struct ap_service_call *c)
{
	bool is_at = c->nr == AP_NR_mkdirat;
	struct ap_request r;
	u64 n = 0, path = c->a[is_at];

	ap_request_begin_held(&r, AP_SVC_CGROUP);
	do {
		if (n == AP_SVC_DATA_MAX || ap_hook_get(&r.svc->data[n], path + n, 1))
			return;
	} while (r.svc->data[n++]);
	r.svc->in_size = (u32)n;
	r.svc->arg[0] = 1;
	r.svc->arg[1] = is_at ? (u64)(s64)(s32)c->a[0] : (u64)AP_AT_FDCWD;
	ap_request_ask(&r);
}

void ap_svc_told(const struct ap_service_call *c)
{
	u64 start = c->nr == AP_NR_mmap ? (u64)c->ret : c->a[0];

	if (ap_is_err(c->ret))
		return;
	if (c->nr == AP_NR_prctl)
		tell(AP_SVC_COMM, 0, 0);
	else if (c->nr == AP_NR_unshare || c->nr == AP_NR_setns)
		tell(AP_SVC_NAMESPACES, 0, 0);
	else if (c->nr == AP_NR_mkdir || c->nr == AP_NR_mkdirat)
		tell_cgroup(c);
	else if (c->nr == AP_NR_brk && c->ret != (s64)c->a[0])
		return; /* it was asked for, or refused */
	else if (c->nr == AP_NR_brk)
		tell(AP_SVC_MAPPED, (u64)c->ret - 1, (u64)c->ret);
	else if (c->nr == AP_NR_shmat) /* however long */
		tell(AP_SVC_MAPPED, (u64)c->ret, (u64)c->ret + 1);
	else if (c->nr == AP_NR_remap_file_pages)
		tell(AP_SVC_MAPPED, c->a[0] & AP_PAGE_MASK,
		     (c->a[0] & AP_PAGE_MASK) + (c->a[1] & AP_PAGE_MASK));
	else
		tell(AP_SVC_MAPPED, start, start + AP_ALIGN_UP(c->a[1], AP_PAGE_SIZE));
}

/* --- by files */

static bool ends_in(const char *path, u64 len, const char *name)
{
	u64 n = strlen(name);

	return len >= n && !memcmp(path + len - n, name, n) &&
	       (len == n || path[len - n - 1] == '/');
}

static bool is_of_cgroup(const char *path, u64 len)
{
	return ends_in(path, len, "cgroup.procs") || ends_in(path, len, "cgroup.threads");
}

void ap_service_opened(const char *path, u64 len)
{
	if (ends_in(path, len, "comm") || is_of_cgroup(path, len))
		__atomic_store_n(&files_opened, true, __ATOMIC_RELEASE);
}

/* .../TID/comm */
static u64 tid_in(const char *path, u64 len)
{
	u64 at = len - strlen("/comm"), tid = 0;
	const char *p;

	while (at && path[at - 1] != '/')
		at--;
	p = path + at;
	return ap_parse_u64(&p, &tid) && *p == '/' ? tid : 0;
}

static bool is_on(s32 fd, u64 magic)
{
	u64 fs[16]; /* struct statfs: f_type comes first */

	return !ap_svc_sys(AP_NR_fstatfs, (u64)fd, (u64)fs, 0, 0) && fs[0] == magic;
}

void ap_service_wrote(s32 fd)
{
	char link[40], path[LINK_CAP];
	struct ap_str s;
	u32 wanted;
	s64 n;

	if (ap_likely(!__atomic_load_n(&files_opened, __ATOMIC_ACQUIRE)))
		return;
	wanted = orders() & (AP_ORDER_COMM | AP_ORDER_CGROUP);
	if (!wanted)
		return;
	ap_str_init(&s, link, sizeof(link));
	ap_str_add(&s, "/proc/self/fd/");
	ap_str_u64(&s, (u64)fd);
	n = ap_svc_sys(AP_NR_readlink, (u64)link, (u64)path, sizeof(path) - 1, 0);
	if (n <= 0)
		return;
	path[n] = 0;
	if (wanted & AP_ORDER_COMM && ends_in(path, (u64)n, "comm")) {
		u64 tid = tid_in(path, (u64)n);

		if (tid && is_on(fd, PROC_MAGIC))
			tell(AP_SVC_COMM, tid, 0);
	} else if (wanted & AP_ORDER_CGROUP && is_of_cgroup(path, (u64)n)) {
		if (is_on(fd, CGROUP_MAGIC))
			tell(AP_SVC_CGROUP, 0, 0);
	}
}
