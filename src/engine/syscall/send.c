/* SPDX-License-Identifier: MIT */
/*
 * Calls that send signals, while tracepoints are counted: the kernel passes signal_generate in the
 * sender, once for each process or thread that it sends to, also where that ignores it, and before
 * anybody can see what comes of it.  So it is counted before the call, and taken back where the
 * call fails.
 *
 * A group is counted as it is just before the call: nobody outside the kernel can hold it still.
 */
#include "base/mem.h"
#include "base/str.h"
#include "engine/client.h"
#include "engine/task/task.h"

#define SIGCONT 18
#define TO_ALL	((s32)-1)

struct proc_dirent {
	u64 ino, off;
	u16 len;
	u8 type;
	char name[];
};

/* As the kernel decides for each, which lets a session continue its own. */
static bool may_send(u32 pid, u32 sig)
{
	s64 ret = ap_sys2(AP_NR_kill, pid, 0);

	if (ret == -AP_EPERM && sig == SIGCONT)
		return ap_sys1(AP_NR_getsid, pid) == ap_sys1(AP_NR_getsid, 0);
	return !ret;
}

static bool is_meant(const struct ap_thread *t, u32 pid, s32 to)
{
	if (to == TO_ALL)
		return pid > 1 && pid != t->pid;
	return ap_sys1(AP_NR_getpgid, pid) == (to ? -(s64)to : ap_sys1(AP_NR_getpgid, 0));
}

/* Processes that kill(to, sig) reaches; 1 where /proc does not tell. */
static u32 count_group(const struct ap_thread *t, s32 to, u32 sig)
{
	s64 fd = ap_proc.seg->mute
			 ? -1
			 : ap_sys3(AP_NR_open, (u64) "/proc", AP_O_DIRECTORY | AP_O_CLOEXEC, 0);
	_Alignas(8) char buf[2048];
	u64 pid, n = 0;
	s64 len;

	if (fd < 0)
		return 1;
	while ((len = ap_sys3(AP_NR_getdents64, (u64)fd, (u64)buf, sizeof(buf))) > 0) {
		for (s64 at = 0; at < len; at += ((struct proc_dirent *)(buf + at))->len) {
			const char *name = ((struct proc_dirent *)(buf + at))->name;

			if (*name < '0' || *name > '9' || !ap_parse_u64(&name, &pid))
				continue;
			n += is_meant(t, (u32)pid, to) && may_send((u32)pid, sig);
		}
	}
	ap_sys1(AP_NR_close, (u64)fd);
	return (u32)n;
}

/* How many it sends to, if it does not fail. */
static u32 count_targets(const struct ap_thread *t, const struct ap_call *c)
{
	switch (c->nr) {
	case AP_NR_kill:
		if (!c->a[1])
			return 0;
		return (s32)c->a[0] > 0 ? 1 : count_group(t, (s32)c->a[0], (u32)c->a[1]);
	case AP_NR_tgkill:
	case AP_NR_rt_tgsigqueueinfo:
		return (u32)c->a[2] != 0;
	default:
		return (u32)c->a[1] != 0;
	}
}

s64 ap_call_send(struct ap_thread *t, struct ap_call *c)
{
	u32 n = ap_tracepoints_are_on() ? count_targets(t, c) : 0;
	s64 ret;

	if (n)
		ap_clients_tracepoint(t, AP_TRACE_SIGNAL_GENERATE, n);
	ret = ap_call_pass(t, c);
	/* a full queue is found out behind the tracepoint */
	if (n && ret < 0 && ret != -AP_EAGAIN)
		ap_clients_tracepoint(t, AP_TRACE_SIGNAL_GENERATE, -(s64)n);
	return ret;
}
