/* SPDX-License-Identifier: MIT */
/*
 * What a core shows of the other threads.  The kernel writes their registers as they are when it ends them.  Who waits in a system call has
 * the program's, but for the instruction pointer, which is the engine's: no debugger unwinds from there.  So before a thread
 * dies in a way that leaves a core it nudges those, and they make their calls once more, natively, where the
 * program makes them.  What interrupts a call cannot be seen any more by then.
 *
 * Threads that run show where in the engine or in translated code they are.
 */
#include "base/str.h"
#include "engine/runtime/filter.h"
#include "engine/signal/signal.h"
#include "sys/nr.h"

#define RLIMIT_CORE 4
/* QUIT ILL TRAP ABRT BUS FPE SEGV XCPU XFSZ SYS */
#define CORE_SIGNALS 0x830009f8ULL
#define THREADS	     256
#define LOOKS	     1000
#define SLICE_NS     100000

static u32 waiting[THREADS]; /* lock */

static s64 read_file(const char *path, char *to, u64 cap)
{
	s64 fd = ap_sys3(AP_NR_open, (u64)path, AP_O_CLOEXEC, 0), n;

	if (ap_is_err(fd))
		return fd;
	n = ap_sys3(AP_NR_read, (u64)fd, (u64)to, cap - 1);
	ap_sys1(AP_NR_close, (u64)fd);
	to[n > 0 ? n : 0] = 0;
	return n;
}

static bool leaves_core(u32 sig)
{
	u64 limit[2] = { 0 };
	char pattern[2];

	if (!(CORE_SIGNALS >> sig & 1) || ap_sys4(AP_NR_prlimit64, 0, RLIMIT_CORE, 0, (u64)limit))
		return false;
	/* a pipe is given it whatever the limit is */
	return limit[0] ||
	       (read_file("/proc/sys/kernel/core_pattern", pattern, 2) > 0 && pattern[0] == '|');
}

/* Of a thread that waits in a call; 0: it runs, or that cannot be told. */
static u64 pc_of(u32 tid)
{
	char text[256];
	struct ap_str path;
	const char *p;
	u64 pc = 0;

	ap_str_init(&path, text, sizeof(text));
	ap_str_add(&path, "/proc/self/task/");
	ap_str_u64(&path, tid);
	ap_str_add(&path, "/syscall");
	if (read_file(text, text, sizeof(text)) <= 0)
		return 0;
	p = strrchr(text, ' ');
	if (!p || p[1] != '0' || p[2] != 'x')
		return 0;
	p += 3;
	return ap_parse_hex(&p, &pc) ? pc : 0;
}

static bool is_there(u32 tid)
{
	u64 pc = pc_of(tid);

	return pc && !ap_in_blob(pc);
}

static u32 nudge_all(struct ap_thread *t)
{
	const u64 magic = AP_SESSION_MAGIC;
	struct ap_siginfo info = { .signo = AP_SIGTRAP, .code = AP_NUDGE_CODE };
	u32 n = 0;

	memcpy(info.rest, &magic, sizeof(magic));
	ap_lock_take(&ap_proc.lock);
	for (struct ap_thread *o = ap_proc.threads; o && n < THREADS; o = o->next) {
		if (o == t || o->process != t->process ||
		    !__atomic_load_n(&o->in_call, __ATOMIC_ACQUIRE))
			continue;
		if (!ap_sys4(AP_NR_rt_tgsigqueueinfo, t->pid, o->tid, AP_SIGTRAP, (u64)&info))
			waiting[n++] = o->tid;
	}
	ap_lock_drop(&ap_proc.lock);
	return n;
}

void ap_dump_before(struct ap_thread *t)
{
	u32 n, never = 0;

	/* of a vfork child nothing is left to show, and an init process may live on */
	if (ap_filter_any || t->is_vfork_child || t->pid == 1 || !leaves_core(t->pend_sig))
		return;
	__atomic_store_n(&ap_proc.dying, true, __ATOMIC_SEQ_CST);
	n = nudge_all(t);
	for (u32 k = 0, looks = 0; k < n; k++)
		while (!is_there(waiting[k]) && looks++ < LOOKS)
			ap_own_wait(&never, 0, SLICE_NS);
}
