/* SPDX-License-Identifier: MIT */
/*
 * Stopping a whole process so that it does not notice.  A stop interrupts system calls; most of them
 * the kernel would restart by itself, which is done here by hand: the thread's registers go back to
 * before the call.  Some calls return EINTR for any reason to stop: those too, unless a signal waits.
 *
 * A signal that is on its way when a thread stops is put back into its queue: the kernel does so
 * itself when the tracer passes on a signal that is blocked by then.
 */
#include "linux/task/stopped.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "abi/boot.h"
#include "inject/proc.h"
#include "linux/task/now.h"
#include "linux/task/pidns.h"

#define STOP_NS		2000000000ULL
#define STEP_NS		100000L
#define RSEQ_UNREGISTER 1

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

#ifndef PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG 0x4210
#endif
#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211
#endif

struct dispatch_config {
	u64 mode, selector, offset, len;
};

struct rseq_config {
	u64 area;
	u32 size, sig, flags, pad;
};

struct rseq_section { /* the kernel's struct rseq_cs */
	u32 version, flags;
	u64 start, length, abort;
};

/* The next stop of a tracee, in *status; -ESRCH when it ended, -ETIMEDOUT. */
static int next_stop(pid_t tid, int *status)
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	u64 until = ap_now_ns() + STOP_NS;
	pid_t got;

	while ((got = waitpid(tid, status, WNOHANG | __WALL)) == 0 && ap_now_ns() < until)
		nanosleep(&step, NULL);
	if (!got)
		return -ETIMEDOUT;
	return got < 0 || !WIFSTOPPED(*status) ? -ESRCH : 0;
}

/* Not called for what SIGSTOP and its like do: the process stays stopped when it is let go. */
static int settle(struct ap_stopped_task *t)
{
	bool has_mask = false;
	int status, ret;

	for (;;) {
		ret = next_stop(t->tid, &status);
		if (ret)
			return ret;
		if (ap_wait_event(status) == PTRACE_EVENT_STOP)
			break;
		if (!has_mask)
			ret = ap_task_get_sigmask(t->tid, &t->mask)
				      ?: ap_task_set_sigmask(t->tid, ~0ULL);
		has_mask = true;
		if (!ret && ptrace(PTRACE_INTERRUPT, t->tid, 0, 0))
			ret = -errno;
		if (!ret &&
		    ptrace(PTRACE_CONT, t->tid, 0, ap_wait_event(status) ? 0 : WSTOPSIG(status)))
			ret = -errno;
		if (ret)
			return ret;
	}
	return has_mask ? 0
			: ap_task_get_sigmask(t->tid, &t->mask) ?:
				  ap_task_set_sigmask(t->tid, ~0ULL);
}

static u64 status_word(pid_t pid, pid_t tid, const char *name)
{
	char file[48], text[4096];
	const char *p;

	snprintf(file, sizeof(file), "task/%d/status", (int)tid);
	if (ap_proc_read(pid, file, text, sizeof(text)) < 0)
		return 0;
	p = ap_status_find(text, name);
	return p ? ap_text_u64(&p, 16) : 0;
}

/* Calls that give EINTR where others are restarted (signal(7)). */
static bool never_restarts(u64 nr)
{
	switch (nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return true;
	default:
		return false;
	}
}

static void undo_call(pid_t pid, struct ap_stopped_task *t)
{
	struct user_regs_struct *regs = &t->regs;
	u64 nr = regs->orig_rax;

	if ((s64)nr < 0)
		return;
	regs->orig_rax = (u64)-1;
	switch (-(s64)regs->rax) {
	case AP_ERESTARTSYS:
	case AP_ERESTARTNOINTR:
	case AP_ERESTARTNOHAND:
	case AP_ERESTART_RESTARTBLOCK:
		t->restart = (s64)regs->rax;
		break;
	case EINTR:
		if (never_restarts(nr) &&
		    !((status_word(pid, t->tid, "SigPnd") | status_word(pid, t->tid, "ShdPnd")) &
		      ~t->mask))
			t->restart = -AP_ERESTARTNOHAND;
		break;
	default:
		break;
	}
	if (!t->restart)
		return;
	regs->rip -= 2;
	regs->rax = t->restart == -AP_ERESTART_RESTARTBLOCK ? SYS_restart_syscall : nr;
}

int ap_stopped_take_task(struct ap_stopped *s, pid_t tid)
{
	struct ap_stopped_task *t;
	int ret;

	if (s->n == s->cap) {
		u32 cap = s->cap ? 2 * s->cap : 16;
		struct ap_stopped_task *more = realloc(s->tasks, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->tasks = more;
		s->cap = cap;
	}
	ret = ap_task_seize(tid);
	if (ret)
		return ret;
	t = &s->tasks[s->n++];
	*t = (struct ap_stopped_task){ .tid = tid };
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		ret = -errno;
	if (!ret)
		ret = settle(t);
	if (!ret)
		ret = ap_task_get_regs(tid, &t->regs);
	if (ret) {
		t->is_gone = true;
		return ret;
	}
	undo_call(s->pid, t);
	return ap_task_set_regs(tid, &t->regs);
}

static bool is_known(const struct ap_stopped *s, pid_t tid)
{
	for (u32 i = 0; i < s->n; i++)
		if (s->tasks[i].tid == tid)
			return true;
	return false;
}

static bool has_ended(pid_t pid, pid_t tid)
{
	char file[48], text[1024];
	struct ap_proc_stat st;

	snprintf(file, sizeof(file), "task/%d/stat", (int)tid);
	return ap_proc_read(pid, file, text, sizeof(text)) < 0 || !ap_stat_parse(text, &st) ||
	       st.state == 'Z' || st.state == 'X';
}

int ap_stopped_run(struct ap_stopped *s, struct ap_stopped_task *t,
		   const struct user_regs_struct *regs)
{
	const struct timespec moment = { .tv_nsec = 10 * STEP_NS };
	u64 mask = t->mask;
	int ret = ap_task_set_regs(t->tid, regs);

	if (!ret && ptrace(PTRACE_CONT, t->tid, 0, 0))
		ret = -errno;
	if (!ret) {
		nanosleep(&moment, NULL);
		ret = ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) ? -errno : settle(t);
	}
	t->mask = mask;
	t->restart = 0;
	if (!ret)
		ret = ap_task_get_regs(t->tid, &t->regs);
	if (!ret)
		undo_call(s->pid, t);
	return ret;
}

int ap_stopped_others(struct ap_stopped *s, int (*fn)(struct ap_stopped *s, pid_t tid))
{
	char path[AP_PROC_PATH];
	DIR *dir = opendir(ap_proc_path(path, s->pid, "task"));
	struct dirent *entry;
	int ret = 0;

	if (!dir)
		return -ESRCH;
	while (!ret && (entry = readdir(dir))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid > 0 && !is_known(s, tid) && !has_ended(s->pid, tid))
			ret = fn(s, tid);
	}
	closedir(dir);
	return ret;
}

/* Stops whoever is not stopped yet. */
static int take_other(struct ap_stopped *s, pid_t tid)
{
	int ret = ap_stopped_take_task(s, tid);

	return ret == -ESRCH ? 0 : ret;
}

static const char *stop_reason(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return "a thread does not stop: it waits in the kernel (for a vfork child, or a device)";
	case -ESRCH:
		return "it has ended";
	case -EPERM:
	case -EACCES:
		return "ptrace is refused";
	default:
		return "it cannot be stopped";
	}
}

int ap_stopped_take(struct ap_stopped *s, pid_t pid, const char **why)
{
	struct ap_auxv aux;
	u32 known = 0;
	int ret;

	*s = (struct ap_stopped){ .pid = pid };
	do {
		known = s->n;
		ret = ap_stopped_others(s, take_other);
	} while (!ret && s->n != known);
	if (!ret && (!s->n || ap_auxv_read(pid, &aux)))
		ret = -ESRCH;
	if (ret) {
		*why = stop_reason(ret);
		ap_stopped_release(s);
		return ret;
	}
	s->vdso = aux.vdso;
	return 0;
}

static int rseq_call(struct ap_stopped *s, const struct ap_stopped_task *t, u64 flags)
{
	const u64 args[6] = { t->rseq, t->rseq_size, flags, t->rseq_sig };
	struct ap_remote r = { 0 };
	s64 got;
	int ret = ap_remote_begin(&r, t->tid, s->vdso);

	if (ret)
		return ret;
	ret = ap_remote_call(&r, SYS_rseq, args, &got);
	if (!ret && got < 0)
		ret = (int)got;
	return ap_remote_end(&r) ?: ret;
}

/* In a critical section, which the stop has ended: it begins again, at its abort handler. */
static int abort_section(struct ap_stopped_task *t)
{
	struct rseq_section section;
	u64 at, none = 0;
	int ret = ap_task_read(t->tid, t->rseq + 8, &at, sizeof(at));

	if (ret || !at)
		return ret;
	ret = ap_task_read(t->tid, at, &section, sizeof(section))
		      ?: ap_task_write(t->tid, t->rseq + 8, &none, sizeof(none));
	if (ret || t->regs.rip - section.start >= section.length)
		return ret;
	t->regs.rip = section.abort;
	return ap_task_set_regs(t->tid, &t->regs);
}

static int take_rseq(struct ap_stopped *s, struct ap_stopped_task *t)
{
	struct rseq_config conf = { 0 };
	int ret;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, sizeof(conf), &conf) < 0)
		return -errno;
	if (!conf.area)
		return 0;
	t->rseq = conf.area;
	t->rseq_size = conf.size;
	t->rseq_sig = conf.sig;
	ret = abort_section(t) ?: rseq_call(s, t, RSEQ_UNREGISTER);
	t->is_rseq_off = !ret;
	return ret;
}

/* Before 6.4 the kernel does not say. */
bool ap_stopped_is_dispatched(const struct ap_stopped *s)
{
	struct dispatch_config conf;

	for (u32 i = 0; i < s->n; i++) {
		conf.mode = 0;
		if (!s->tasks[i].is_gone &&
		    !ptrace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, s->tasks[i].tid, sizeof(conf),
			    &conf) &&
		    conf.mode)
			return true;
	}
	return false;
}

void ap_stopped_dispatch(pid_t tid, const u64 config[4])
{
	const struct dispatch_config conf = { config[0], config[1], config[2], config[3] };

	if (conf.mode)
		ptrace(PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG, tid, sizeof(conf), &conf);
}

int ap_stopped_take_rseq(struct ap_stopped *s, const char **why)
{
	for (u32 i = 0; i < s->n; i++) {
		int ret = s->tasks[i].is_gone ? 0 : take_rseq(s, &s->tasks[i]);

		if (ret == -ESRCH) {
			s->tasks[i].is_gone = true;
		} else if (ret) {
			*why = ret == -EIO
				       ? "the kernel does not say which threads use rseq (needs 5.13)"
				       : "its use of rseq cannot be ended";
			return ret;
		}
	}
	return 0;
}

void ap_stopped_let_go(struct ap_stopped_task *t, const struct user_regs_struct *regs, bool blocked)
{
	if (t->is_gone)
		return;
	t->is_gone = true;
	/* a task that was killed meanwhile needs nothing */
	(void)!ap_task_set_regs(t->tid, regs);
	(void)!ap_task_set_sigmask(t->tid, blocked ? ~0ULL : t->mask);
	(void)ap_task_detach(t->tid, 0);
}

void ap_stopped_release(struct ap_stopped *s)
{
	for (u32 i = 0; i < s->n; i++) {
		struct ap_stopped_task *t = &s->tasks[i];

		if (t->is_rseq_off && !t->is_gone)
			(void)!rseq_call(s, t, 0);
		ap_stopped_let_go(t, &t->regs, false);
	}
}

void ap_stopped_fini(struct ap_stopped *s)
{
	free(s->tasks);
	*s = (struct ap_stopped){ 0 };
}
