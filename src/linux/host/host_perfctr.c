/* SPDX-License-Identifier: MIT */
/*
 * perfctr's requests, and what happens to tasks that have a state.  Descriptors are files as those
 * of perf events, without an event; the states behind them are perfctr/virtual.c's, whose world is
 * here.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/errno.h"
#include "inject/proc.h"
#include "linux/host/host_perfctr.h"
#include "linux/session/owner.h"
#include "linux/task/refusal.h"

#define VERSION	     "2.6 (anyperf)"
#define SAMPLE_TICKS 1
#define PROT_W	     2

/* --- the service's world */

static void free_state(struct ap_host_vctr *p)
{
	ap_host_vctr_disarm(p);
	ap_host_page_give(p->host, p->page_at);
	free(p);
}

static int world_make(void *world, void *thread, struct ap_vctr **v)
{
	struct ap_host *host = world;
	struct ap_host_vctr *p = calloc(1, sizeof(*p));
	int ret;

	if (!p)
		return -ENOMEM;
	p->host = host;
	ret = ap_host_page_take(host, &p->page_at);
	if (ret) {
		free(p);
		return ret;
	}
	ret = ap_host_vctr_cpu_init(host, &p->drv, &p->cache, &p->model, &p->cpu, 1);
	if (ret) {
		free_state(p);
		return ret;
	}
	p->v.drv = &p->drv;
	ap_host_vctr_start(p, thread);
	*v = &p->v;
	return 0;
}

static void world_free(void *world, struct ap_vctr *v)
{
	(void)world;
	free_state(ap_host_vctr_of(v));
}

static struct ap_vctr **world_slot(void *world, void *thread)
{
	(void)world;
	return &((struct ap_host_task *)thread)->vctr;
}

/* ptrace's own rule: traced by the very thread that asks, and stopped for it. */
static int world_may_access(void *world, void *caller, void *owner)
{
	const struct ap_host_task *by = caller, *t = owner;
	struct ap_proc_stat st;

	(void)world;
	if (ap_tracer_of(t->tid) != by->tid || ap_stat_read(t->tid, &st) ||
	    (st.state != 't' && st.state != 'T'))
		return -ESRCH;
	return 0;
}

static void world_signal(void *world, void *owner, s32 signo, u32 mask)
{
	struct ap_host_vctr *p = ap_host_vctr_of(((struct ap_host_task *)owner)->vctr);

	(void)world;
	p->due = (struct ap_svc_overflow){ .signo = signo, .mask = mask };
}

/* No CPU of a session is forbidden: each state has its own. */
static int world_forbid(void *world, void *owner, u64 cpus)
{
	(void)world;
	(void)owner;
	(void)cpus;
	return 0;
}

static const struct ap_vctr_ops ops = {
	.make = world_make,
	.free = world_free,
	.slot = world_slot,
	.may_access = world_may_access,
	.signal = world_signal,
	.forbid = world_forbid,
	.sample_ticks = SAMPLE_TICKS,
};

static void interrupted(void *arg, unsigned long pc)
{
	(void)pc;
	ap_vctr_interrupt(arg);
}

static void vector(void *arg)
{
	ap_x86ctr_interrupt(arg, 0);
}

/* --- operations: the state is as of now before, and in force after */

static void clear_pmcs(const struct ap_host_task *t)
{
	struct ap_pmcs *at;

	if (!ap_host_task_is_in_slot(t))
		return;
	at = &ap_host_slot(t->seg, t->slot)->pmcs;
	at->n = 0;
	__atomic_fetch_add(&at->seq, 2, __ATOMIC_RELEASE);
}

/* Who asks for another's state has stopped it: its owner is off its CPU meanwhile. */
static struct ap_host_task *enter(struct ap_vctr *v, const struct ap_host_task *caller)
{
	struct ap_host_task *owner = v ? v->owner : NULL;

	if (!owner)
		return NULL;
	ap_host_vctr_feed(ap_host_vctr_of(v));
	if (owner != caller)
		ap_vctr_suspend_thread(v);
	return owner;
}

static int leave(struct ap_vctr *v, const struct ap_host_task *caller, struct ap_host_task *owner,
		 bool is_changed)
{
	struct ap_host_vctr *p = v ? ap_host_vctr_of(v) : NULL;
	int ret = 0;

	if (!p)
		return 0;
	if (!v->owner) {
		if (owner) {
			ap_host_vctr_disarm(p);
			clear_pmcs(owner);
		}
		ap_host_vctr_publish(p);
		return 0;
	}
	if (owner != caller)
		ap_vctr_resume_thread(v);
	if (is_changed)
		ret = ap_host_vctr_arm(p);
	ap_host_vctr_publish(p);
	return ret;
}

/* What cannot be counted here (no lane is left for an overflow) stops the state. */
static s64 control(struct ap_vctr *v, struct ap_host_task *caller, const struct ap_svc *svc)
{
	static const struct ap_vctr_control off;
	struct ap_vctr_control c;
	struct ap_host_task *owner;
	int ret =
		ap_ctr_decode(&ap_ctr_layout_control, (const u32 *)svc->data, svc->in_size / 4, &c);
	int err;

	if (ret)
		return ret;
	owner = enter(v, caller);
	ret = ap_vctr_control(v, caller, &c);
	err = leave(v, caller, owner, true);
	if (!err)
		return ret;
	owner = enter(v, caller);
	(void)!ap_vctr_control(v, caller, &off);
	(void)!leave(v, caller, owner, true);
	return err;
}

static s64 give_words(struct ap_svc *svc, s32 n)
{
	if (n < 0)
		return n;
	svc->out_size = (u32)n * 4;
	return 0;
}

static u32 room(const struct ap_svc *svc)
{
	return svc->arg[3] < AP_SVC_DATA_MAX / 4 ? (u32)svc->arg[3] : AP_SVC_DATA_MAX / 4;
}

static s64 read_state(struct ap_vctr *v, struct ap_host_task *caller, struct ap_svc *svc)
{
	struct ap_host_task *owner = enter(v, caller);
	struct ap_x86ctr_sum sum;
	struct ap_vctr_control c;
	int ret = ap_vctr_read(v, caller, &sum, &c);

	(void)!leave(v, caller, owner, false);
	if (ret)
		return ret;
	if ((u32)svc->arg[1] == AP_VPERFCTR_READ_SUM)
		return give_words(
			svc, ap_ctr_encode(&ap_ctr_layout_sum, &sum, (u32 *)svc->data, room(svc)));
	return give_words(svc,
			  ap_ctr_encode(&ap_ctr_layout_control, &c, (u32 *)svc->data, room(svc)));
}

static s64 on_state(struct ap_vctr *v, struct ap_host_task *caller, struct ap_svc *svc)
{
	struct ap_host_task *owner;
	int ret, err;

	switch ((u32)svc->arg[1]) {
	case AP_VPERFCTR_CONTROL:
		return control(v, caller, svc);
	case AP_VPERFCTR_READ_SUM:
	case AP_VPERFCTR_READ_CONTROL:
		return read_state(v, caller, svc);
	case AP_VPERFCTR_UNLINK:
	case AP_VPERFCTR_IRESUME:
		owner = enter(v, caller);
		ret = (u32)svc->arg[1] == AP_VPERFCTR_UNLINK ? ap_vctr_unlink(v, caller)
							     : ap_vctr_iresume(v, caller);
		err = leave(v, caller, owner, !ret);
		return ret ? ret : err;
	default:
		return -EINVAL;
	}
}

/*
 * Whoever has waited for the owner may ask before we hear of its end.  That may end descriptors as
 * well.
 */
static s64 on_state_of_any(struct ap_host *host, struct ap_vctr *v, struct ap_host_task *caller,
			   struct ap_svc *svc)
{
	struct ap_host_task *owner = v ? v->owner : NULL;
	s64 ret;

	if (!owner || owner == caller || !ap_host_task_is_gone(host, owner))
		return on_state(v, caller, svc);
	ap_vctr_get(v);
	ap_host_task_end(host, owner);
	ret = on_state(v, caller, svc);
	ap_vctr_put(v);
	return ret;
}

/* --- descriptors */

static s64 open_file(struct ap_host *host, struct ap_host_task *t, const struct ap_svc *svc,
		     enum ap_host_perfctr what, struct ap_host_file **f)
{
	int ret = ap_host_file_open(host, t, (s32)svc->arg[4], svc->arg[5], f);

	if (ret)
		return ret;
	(*f)->perfctr = what;
	(*f)->pidns = t->seg ? t->seg->head->pidns : 0;
	return 0;
}

static int find_owner(struct ap_host *host, struct ap_host_task *caller, s32 tid,
		      struct ap_host_task **owner)
{
	struct ap_task *task;
	int ret = 0;

	*owner = caller;
	if (!tid)
		return 0;
	ret = ap_host_find_task(host, caller->core, tid, &task);
	if (!ret)
		*owner = ap_task_host(task);
	return ret;
}

static s64 open_state(struct ap_host *host, struct ap_host_task *caller, const struct ap_svc *svc)
{
	bool creat = (u32)svc->arg[1] == AP_VPERFCTR_CREAT;
	struct ap_host_task *owner;
	struct ap_host_file *f;
	struct ap_vctr *v;
	s64 ret = find_owner(host, caller, (s32)svc->arg[2], &owner);

	if (!ret)
		ret = ap_vctr_open(&ops, host, caller, owner, creat, &v);
	if (ret)
		return ret;
	if (creat && owner != caller)
		ap_vctr_resume_thread(v); /* a task is always on its own CPU */
	if (creat) {
		ap_host_vctr_of(v)->model.interrupt = vector;
		ap_host_vctr_of(v)->model.interrupt_arg = v->drv;
		ap_x86ctr_set_ihandler(v->drv, interrupted, v);
	}
	if (!ret)
		ret = open_file(host, caller, svc, AP_HOST_PERFCTR_STATE, &f);
	if (ret) {
		if (creat)
			ap_vctr_exit_thread(v);
		ap_vctr_put(v);
		return ret;
	}
	f->vctr = v;
	if (v)
		ap_host_vctr_publish(ap_host_vctr_of(v));
	return 0;
}

s64 ap_host_perfctr_mmap(struct ap_host *host, struct ap_host_task *t, struct ap_host_file *f,
			 u64 bytes, u64 prot, u64 offset, u64 *where)
{
	struct ap_host_vctr *p;
	int ret = 0;

	/* its page is in the first party's file */
	if (AP_PARTY_OF(t->seg->index))
		return -EACCES;
	if (f->perfctr == AP_HOST_PERFCTR_DEVICE)
		return -ENODEV;
	if (!bytes || bytes > AP_PAGE_SIZE || offset || prot & PROT_W || !f->vctr)
		return -EPERM;
	p = ap_host_vctr_of(f->vctr);
	f->page_off = p->page_at;
	if (!p->is_mapped && p->v.owner) {
		p->is_mapped = true;
		ap_host_vctr_feed(p);
		ret = ap_host_vctr_arm(p);
		ap_host_vctr_publish(p);
	}
	if (!ret)
		ret = ap_host_mapper_add(f, t->seg->index);
	*where = host->pages.off + f->page_off;
	return ret;
}

/* --- what the device says */

static s64 info(struct ap_host *host, struct ap_svc *svc)
{
	struct ap_ctr_info out = { .abi_version = AP_PERFCTR_ABI,
				   .driver_version = VERSION,
				   .cpu_khz = ap_host_vctr_khz(host),
				   .tsc_to_cpu_mult = 1 };
	struct ap_x86ctr_cache cache;
	struct ap_x86model_cpu cpu;
	struct ap_x86model model;
	struct ap_x86ctr drv;
	int ret = ap_host_vctr_cpu_init(host, &drv, &cache, &model, &cpu, 1);

	if (ret)
		return ret;
	out.cpu_type = drv.ctr.type;
	out.cpu_features = drv.ctr.features;
	return give_words(svc,
			  ap_ctr_encode(&ap_ctr_layout_info, &out, (u32 *)svc->data, room(svc)));
}

static s64 cpus(struct ap_svc *svc, bool is_forbidden)
{
	u32 ncpus = ap_host_count_cpus(), n = (ncpus + 31) / 32, *out = (u32 *)svc->data;

	out[0] = n;
	svc->out_size = 4;
	if (svc->arg[3] < n)
		return -EOVERFLOW;
	if (n > AP_SVC_DATA_MAX / 4 - 1)
		return -EINVAL;
	memset(out + 1, 0, n * 4ULL);
	for (u32 i = 0; !is_forbidden && i < ncpus; i++)
		out[1 + i / 32] |= 1U << i % 32;
	svc->out_size = 4 + n * 4;
	return 0;
}

static s64 on_file(struct ap_host *host, struct ap_host_task *caller, struct ap_host_file *f,
		   struct ap_svc *svc)
{
	switch ((u32)svc->arg[1]) {
	case AP_PERFCTR_IOC_ABI:
		*(u32 *)svc->data = AP_PERFCTR_ABI;
		svc->out_size = 4;
		return 0;
	case AP_PERFCTR_IOC_INFO:
		return info(host, svc);
	case AP_PERFCTR_IOC_CPUS:
	case AP_PERFCTR_IOC_FORBIDDEN:
		return cpus(svc, (u32)svc->arg[1] == AP_PERFCTR_IOC_FORBIDDEN);
	case AP_VPERFCTR_CREAT:
	case AP_VPERFCTR_OPEN:
		return f->perfctr == AP_HOST_PERFCTR_DEVICE ? open_state(host, caller, svc)
							    : -EINVAL;
	default:
		return f->perfctr == AP_HOST_PERFCTR_STATE
			       ? on_state_of_any(host, f->vctr, caller, svc)
			       : ap_host_gctr_serve(host, caller, svc);
	}
}

s64 ap_host_perfctr_serve(struct ap_host *host, struct ap_host_task *caller, struct ap_svc *svc)
{
	struct ap_host_file *f;

	svc->out_size = 0;
	if (svc->in_size > AP_SVC_DATA_MAX)
		return -EINVAL;
	if (!svc->arg[0])
		return open_file(host, caller, svc, AP_HOST_PERFCTR_DEVICE, &f);
	f = ap_host_file_named(host, svc->arg[0]);
	if (!f || !ap_host_file_is_held(host, f, caller))
		return -EBADF;
	return f->perfctr ? on_file(host, caller, f, svc) : -ENOTTY;
}

/* --- what happens to tasks */

bool ap_host_perfctr_overflowed(struct ap_host_task *t, const struct ap_event *event,
				struct ap_svc_overflow *due)
{
	struct ap_host_vctr *p = t->vctr ? ap_host_vctr_of(t->vctr) : NULL;
	bool is_ours = false;

	for (u32 i = 0; p && i < p->nmarks; i++)
		is_ours |= p->marks[i] == event;
	if (!is_ours)
		return false;
	ap_host_vctr_feed(p);
	ap_vctr_sample_thread(&p->v);
	(void)!ap_host_vctr_arm(p);
	ap_host_vctr_publish(p);
	*due = p->due;
	p->due.signo = 0;
	return due->signo > 0 && due->signo < NSIG;
}

bool ap_host_perfctr_send(const struct ap_host_task *t, const struct ap_svc_overflow *due)
{
	const struct ap_svc_sent sent = { .signo = due->signo,
					  .code = AP_SVC_SENT_CODE,
					  .mask = due->mask,
					  .magic = AP_SESSION_MAGIC };
	siginfo_t info = { 0 };

	_Static_assert(sizeof(sent) <= sizeof(info), "a siginfo begins so");
	memcpy(&info, &sent, sizeof(sent));
	return t->tid > 0 && t->seg &&
	       ap_owner_signal(t->host->sv, t->seg->index, t->pid, t->tid, &info);
}

void ap_host_perfctr_exit(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_vctr *v = t->vctr;

	(void)host;
	if (!v)
		return;
	ap_host_vctr_feed(ap_host_vctr_of(v));
	ap_host_vctr_disarm(ap_host_vctr_of(v));
	clear_pmcs(t);
	ap_vctr_get(v);
	ap_vctr_exit_thread(v);
	ap_host_vctr_publish(ap_host_vctr_of(v));
	ap_vctr_put(v);
}

void ap_host_perfctr_exec(struct ap_host *host, struct ap_host_task *t)
{
	struct ap_vctr *v = t->vctr;

	(void)host;
	if (!v)
		return;
	ap_host_vctr_feed(ap_host_vctr_of(v));
	ap_vctr_get(v);
	ap_vctr_exec_thread(v);
	(void)!leave(v, t, t, false);
	ap_vctr_put(v);
}
