/* SPDX-License-Identifier: MIT */
/*
 * Leaving a process that was attached to.  Its threads are brought to where the program's state is
 * complete, one by one, while the others run: a thread that waits in a system call of the program's
 * is stopped there; one in translated code comes to the dispatcher by itself once the cache is
 * flushed.  When all are parked, and stopped, the program's state is loaded into them at once.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "abi/boot.h"
#include "inject/proc.h"
#include "linux/run/attach.h"
#include "linux/session/blob_image.h"
#include "linux/task/now.h"
#include "linux/task/stopped.h"

#define LOOKS	   1000 /* at all of its threads */
#define BORROW_MAX 1000
#define SHORT	   16	      /* so many have a pause of a ms */
#define PAUSE_MIN  6000000ULL /* ns; then */
#define PAUSE_MAX  500000000ULL
#define MAPS_MAX   4096 /* of the engine; mem.c */

struct detach {
	struct ap_stopped stopped; /* first: its callbacks get it */
	struct ap_supervisor *sv;
	const struct ap_attached *a;
	bool is_flushed;
	bool is_missing;       /* somebody was not parked yet when he was looked at */
	struct ap_range *maps; /* to be unmapped */
	u32 nmaps;
	bool had_stop; /* a SIGSTOP came during a remote call */
};

static const struct ap_blob_header *header(void)
{
	return (const struct ap_blob_header *)ap_blob_start;
}

static bool is_at(const struct detach *d, const struct ap_stopped_task *t, u64 place)
{
	return t->restart && t->regs.rip == d->a->base + place;
}

static bool is_in_engine(const struct detach *d, const struct ap_stopped_task *t)
{
	return t->regs.rip >= d->a->base && t->regs.rip < d->a->base + header()->boot;
}

/* A thread whose engine stack is free does something for all, and parks. */
static int borrow(struct detach *d, struct ap_stopped_task *t, enum ap_leave what)
{
	struct user_regs_struct regs = t->regs;
	int ret;

	regs.rip = d->a->base + header()->borrow;
	regs.rdi = what;
	regs.orig_rax = (u64)-1;
	for (u32 i = 0; i < BORROW_MAX; i++) {
		ret = ap_stopped_run(&d->stopped, t, &regs);
		if (ret || is_at(d, t, header()->parked))
			return ret;
		regs = t->regs;
	}
	return -ETIMEDOUT;
}

/* Looks at a thread that is not parked yet, and moves it on. */
static int look(struct ap_stopped *s, pid_t tid)
{
	struct detach *d = (struct detach *)s;
	struct user_regs_struct regs, was;
	struct ap_stopped_task *t;
	u32 known = s->n;
	s64 restart;
	int ret = ap_stopped_take_task(s, tid);

	if (ret) {
		s->n = known;
		return ret == -ESRCH ? 0 : ret;
	}
	t = &s->tasks[s->n - 1];
	if (is_at(d, t, header()->parked))
		return 0;
	d->is_missing = true;
	regs = was = t->regs;
	restart = t->restart;
	if (is_at(d, t, header()->call)) {
		regs.rip = d->a->base + header()->leave;
		regs.rdi = restart == -AP_ERESTART_RESTARTBLOCK;
	} else if (!is_in_engine(d, t) && !d->is_flushed) {
		ret = borrow(d, t, AP_LEAVE_FLUSH);
		d->is_flushed = !ret;
		regs = was;
	}
	ap_stopped_let_go(t, &regs, false);
	s->n--;
	return ret;
}

/*
 * A thread waits for an answer of ours, or needs the CPU, to come to where it parks.  A look ends when each has had the CPU once, to
 * stop.  So it lasts as long as they wait for that, and a pause that is shorter would let none of them run.
 */
static void let_them_run(struct detach *d, u32 looks, u64 look_ns)
{
	u64 least = looks < SHORT ? PAUSE_MIN / 6 : PAUSE_MIN;
	u64 pause = look_ns < least ? least : look_ns;
	const struct timespec rest = { .tv_nsec = (long)(pause < PAUSE_MAX ? pause : PAUSE_MAX) };

	ap_supervisor_answer(d->sv);
	nanosleep(&rest, NULL);
	ap_supervisor_answer(d->sv);
}

static int park_all(struct detach *d)
{
	u32 parked;
	int ret;

	for (u32 i = 0; i < LOOKS; i++) {
		u64 begun = ap_now_ns();

		parked = d->stopped.n;
		d->is_missing = false;
		ret = ap_stopped_others(&d->stopped, look);
		if (ret)
			return ret;
		if (d->stopped.n && d->stopped.n == parked && !d->is_missing) {
			bool is_complete = true;

			for (u32 k = 0; k < parked; k++)
				is_complete &= !d->stopped.tasks[k].is_gone;
			return is_complete ? 0 : -ESRCH;
		}
		let_them_run(d, i, ap_now_ns() - begun);
	}
	return -ETIMEDOUT;
}

static void load(struct user_regs_struct *to, const struct ap_boot_thread *rec)
{
	const u64 *gpr = rec->regs.gpr;

	to->rax = gpr[0];
	to->rcx = gpr[1];
	to->rdx = gpr[2];
	to->rbx = gpr[3];
	to->rsp = gpr[4];
	to->rbp = gpr[5];
	to->rsi = gpr[6];
	to->rdi = gpr[7];
	to->r8 = gpr[8];
	to->r9 = gpr[9];
	to->r10 = gpr[10];
	to->r11 = gpr[11];
	to->r12 = gpr[12];
	to->r13 = gpr[13];
	to->r14 = gpr[14];
	to->r15 = gpr[15];
	to->rip = rec->regs.rip;
	to->eflags = rec->regs.rflags;
	to->gs_base = rec->gs_base;
	to->orig_rax = (u64)-1;
}

/* What the kernel holds of a thread's is the program's again. */
static int give_back(struct detach *d, struct ap_stopped_task *t, const struct ap_boot_thread *rec)
{
	const u64 rseq[6] = { rec->rseq, rec->rseq_size, 0, rec->rseq_sig };
	u64 record, stack[6] = { 0 };
	struct ap_remote r = { 0 };
	s64 got;
	int ret;

	record = t->regs.rbx;
	stack[0] = record + offsetof(struct ap_boot_thread, altstack);
	ret = ap_remote_begin(&r, t->tid, d->stopped.vdso);
	if (ret)
		return ret;
	ret = ap_remote_call(&r, SYS_sigaltstack, stack, &got);
	if (!ret && rec->rseq)
		ret = ap_remote_call(&r, SYS_rseq, rseq, &got);
	d->had_stop |= r.had_stop;
	return ap_remote_end(&r) ?: ret;
}

static int read_record(const struct ap_stopped_task *t, struct ap_boot_thread *rec)
{
	return ap_task_read(t->tid, t->regs.rbx, rec, sizeof(*rec));
}

/*
 * The engine's mappings, once no thread's registers lead there any more.  A process that may not be
 * without them (it shares its memory with another) keeps them all.
 */
static int read_maps(struct detach *d, const struct ap_stopped_task *t)
{
	struct ap_boot_thread rec;
	int ret = read_record(t, &rec);

	if (ret || rec.keeps_maps)
		return ret;
	if (rec.nmaps > MAPS_MAX)
		return -EINVAL;
	d->maps = calloc(rec.nmaps + 1, sizeof(*d->maps));
	if (!d->maps)
		return -ENOMEM;
	ret = ap_task_read(t->tid, rec.maps, d->maps, rec.nmaps * sizeof(*d->maps));
	d->maps[rec.nmaps] = (struct ap_range){ d->a->base, d->a->base + d->a->size, 0 };
	d->nmaps = rec.nmaps + 1;
	return ret;
}

/* Through a thread that has its own registers again; what fails leaves address space in use. */
static void tidy(struct detach *d, const struct ap_stopped_task *t)
{
	const u64 session[6] = { (u64)d->a->fd }, head[6] = { (u64)d->a->head_fd };
	struct ap_remote r = { 0 };
	s64 got;
	int ret = ap_remote_begin(&r, t->tid, d->stopped.vdso);

	if (ret)
		return;
	ret = ap_remote_call(&r, SYS_close, session, &got)
		      ?: ap_remote_call(&r, SYS_close, head, &got);
	for (u32 i = 0; i < d->nmaps && !ret; i++) {
		const u64 map[6] = { d->maps[i].start, d->maps[i].end - d->maps[i].start };

		ret = ap_remote_call(&r, SYS_munmap, map, &got);
	}
	(void)!ap_remote_end(&r);
	d->had_stop |= r.had_stop;
}

/*
 * All threads get the program's state, which they keep should we be killed; then nobody needs ours.
 */
static int load_all(struct detach *d)
{
	struct ap_stopped_task *tasks = d->stopped.tasks, first = tasks[0];
	struct ap_boot_thread rec;
	u64 dispatch[4] = { 0 };
	u32 n = d->stopped.n;
	int ret = borrow(d, &tasks[0], AP_LEAVE_RESTORE);

	if (!ret)
		ret = read_maps(d, &tasks[0]);
	tasks[0].regs = first.regs;
	for (u32 i = 0; i < n && !ret; i++) {
		ret = read_record(&tasks[i], &rec);
		if (!ret)
			ret = give_back(d, &tasks[i], &rec);
	}
	for (u32 i = 0; i < n && !ret; i++) {
		ret = read_record(&tasks[i], &rec);
		if (ret)
			break;
		load(&tasks[i].regs, &rec);
		tasks[i].mask = rec.sigmask;
		ret = ap_task_set_regs(tasks[i].tid, &tasks[i].regs)
			      ?: ap_task_set_sigmask(tasks[i].tid, rec.sigmask);
		if (!i) /* it makes calls of ours yet */
			memcpy(dispatch, rec.dispatch, sizeof(dispatch));
		else if (!ret)
			ap_stopped_dispatch(tasks[i].tid, rec.dispatch);
	}
	if (!ret) {
		tidy(d, &tasks[0]);
		ap_stopped_dispatch(tasks[0].tid, dispatch);
	}
	for (u32 i = 0; i < n && !ret; i++)
		ap_stopped_let_go(&tasks[i], &tasks[i].regs, false);
	return ret;
}

static void set_word(struct ap_supervisor *sv, u32 seg, u32 leave, bool done)
{
	struct ap_seg *page = ap_session_seg_map(&sv->ses, seg);

	if (!page)
		return;
	__atomic_store_n(&page->leave, leave, __ATOMIC_RELEASE);
	if (done)
		__atomic_store_n(&page->state, AP_SEG_EXECED, __ATOMIC_RELEASE);
	ap_session_page_unmap(page);
}

int ap_detach(struct ap_supervisor *sv, struct ap_attached *a)
{
	struct detach d = { .stopped = { .pid = a->pid }, .sv = sv, .a = a };
	struct ap_auxv aux;
	struct ap_seg head;
	int ret;

	/* it may have exec'd, or given up by itself */
	if (ap_session_seg_read(&sv->ses, a->seg, &head) || head.state != AP_SEG_LIVE ||
	    ap_auxv_read(a->pid, &aux))
		return -ESRCH;
	d.stopped.vdso = aux.vdso;
	set_word(sv, a->seg, AP_LEAVING, false);
	ret = park_all(&d);
	if (!ret)
		ret = load_all(&d);
	set_word(sv, a->seg, ret ? AP_LEAVING_NOT : 0, !ret);
	ap_stopped_release(&d.stopped);
	if (d.had_stop)
		kill(a->pid, SIGSTOP);
	ap_stopped_fini(&d.stopped);
	free(d.maps);
	sv->is_stale = true;
	return ret;
}
