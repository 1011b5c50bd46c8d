/* SPDX-License-Identifier: MIT */
/*
 * Requests.  A request lies in memory that its process may write at any time: it is copied once, and
 * the copy is what is checked and served.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/host/host_internal.h"
#include "linux/session/owner.h"
#include "linux/task/refusal.h"

#define TOKEN 0 /* stands for a descriptor: ap_host.token_inode */

struct request {
	struct ap_svc svc;
	struct ap_host_task *task;
	struct ap_host_seg *seg;
	u32 slot;
};

typedef s64 serve_fn(struct ap_host *host, struct request *r);

/* The answer's data, as much as fits; the rest waits for READ_MORE. */
static s64 give(struct request *r, const void *data, u64 size)
{
	u64 first = size < AP_SVC_DATA_MAX ? size : AP_SVC_DATA_MAX;

	memcpy(r->svc.data, data, first);
	r->svc.out_size = (u32)first;
	if (size > first) {
		r->task->more = malloc(size);
		if (!r->task->more)
			return -ENOMEM;
		memcpy(r->task->more, data, size);
		r->task->more_size = size;
	}
	return (s64)size;
}

static struct ap_host_file *file_of(struct ap_host *host, const struct request *r)
{
	struct ap_host_file *f = ap_host_file_named(host, r->svc.arg[0]);

	return f && ap_host_file_is_held(host, f, r->task) ? f : NULL;
}

/* Whoever has waited for a task may open beside its events before we hear of its end. */
static void end_if_gone(struct ap_host *host, const struct request *r, u64 inode)
{
	struct ap_host_file *f = ap_host_file_find(host, inode);
	struct ap_task *core = f && f->event ? ap_event_task(f->event) : NULL;
	struct ap_host_task *t = core ? ap_task_host(core) : NULL;

	if (t && t != r->task && ap_host_task_is_gone(host, t))
		ap_host_task_end(host, t);
}

/* Debug registers may be those of descriptors that went with a process, and nobody has told us yet. */
static int open_event(struct ap_host *host, const struct request *r,
		      const struct ap_open_args *args, struct ap_event **out)
{
	int ret;

	if (args->group_fd == TOKEN)
		end_if_gone(host, r, host->token_inode);
	ret = ap_core_open(host->core, r->task->core, args, out);
	if (ret != -ENOSPC)
		return ret;
	(void)ap_host_tasks_end_gone(host);
	ap_host_files_sweep(host);
	return ap_core_open(host->core, r->task->core, args, out);
}

/* Whose it is: 0, ours, AP_SVC_NATIVE, which is answered already, or an error. */
static int take_open(struct ap_host *host, struct request *r, const struct ap_open_args *args,
		     struct ap_perf_attr *attr, bool *is_probe)
{
	u64 group = r->svc.arg[2], config;
	int ret = ap_host_probe_take(host, r->task, args, group, attr, is_probe);

	if (ret || *is_probe)
		return ret;
	ret = ap_host_kernel_before(host, args, group, &config);
	if (ret == AP_SVC_NATIVE)
		(void)give(r, &config, sizeof(config));
	return ret;
}

/* The kernel may have what we could not open. */
static int open_failed(struct ap_host *host, struct request *r, const struct ap_open_args *args,
		       int error)
{
	u64 config;
	int ret = ap_host_kernel_after(host, r->task->core, args, error, &config);

	if (ret == AP_SVC_NATIVE)
		(void)give(r, &config, sizeof(config));
	return ret;
}

static s64 serve_open(struct ap_host *host, struct request *r)
{
	const u64 *arg = r->svc.arg;
	struct ap_perf_attr attr;
	struct ap_open_args args = { .attr = &attr,
				     .pid = (s32)arg[0],
				     .cpu = (s32)arg[1],
				     .group_fd = arg[2] ? TOKEN : -1,
				     .flags = arg[3] };
	struct ap_host_file *f;
	bool is_probe;
	int ret;

	if (r->svc.in_size != sizeof(attr))
		return -EINVAL;
	memcpy(&attr, r->svc.data, sizeof(attr));
	ret = take_open(host, r, &args, &attr, &is_probe);
	if (ret)
		return ret;
	host->token_inode = arg[2];
	ret = ap_host_file_open(host, r->task, (s32)arg[4], arg[6], &f);
	if (ret)
		return ret;
	f->is_of_cpu = args.cpu >= 0;
	f->pidns = r->seg->head->pidns;
	host->ncpu_files += f->is_of_cpu;
	if (f->is_of_cpu)
		ret = ap_host_cpus_use(host, ap_host_count_cpus());
	if (!ret)
		ret = open_event(host, r, &args, &f->event);
	if (ret) {
		ap_host_file_free(host, f);
		return is_probe ? ret : open_failed(host, r, &args, ret);
	}
	ap_event_set_host(f->event, f);
	if (args.attr->sample_period)
		ap_host_sampler_file(host, f);
	if (ap_event_task(f->event)) {
		ap_host_task_found_on_cpu(host, ap_task_host(ap_event_task(f->event)));
		ap_host_task_order(ap_task_host(ap_event_task(f->event)));
	}
	ap_host_pub_add(host, f);
	ap_host_know_all(host);
	ap_host_spread_kinds(host, r->seg->index);
	return 0;
}

static s64 serve_close(struct ap_host *host, struct request *r)
{
	struct ap_host_file *f = ap_host_file_named(host, r->svc.arg[0]);

	if (f)
		ap_host_file_check(host, f);
	else if (!r->svc.arg[0])
		ap_host_files_closed(host);
	ap_host_spread_kinds(host, r->seg->index); /* counters are to be lowered */
	return 0;
}

/* A group cannot be added up while a child has another one: it may be a child that was killed. */
s64 ap_host_read(struct ap_host *host, struct ap_event *event, void *buf, u64 size)
{
	s64 got;

	ap_host_task_let_leave(host, ap_event_task(event));
	got = ap_core_read(host->core, event, buf, size);
	if (got == -ECHILD && ap_host_tasks_end_gone(host))
		got = ap_core_read(host->core, event, buf, size);
	return got;
}

static s64 serve_read(struct ap_host *host, struct request *r)
{
	struct ap_host_file *f = file_of(host, r);
	u64 size = r->svc.arg[1];
	s64 got;

	if (!f)
		return -EBADF;
	if (f->perfctr)
		return -EINVAL;
	got = ap_host_read(host, f->event, host->buf, size < AP_HOST_BUF ? size : AP_HOST_BUF);
	return got > 0 ? give(r, host->buf, (u64)got) : got;
}

static s64 serve_sample_read(struct ap_host *host, struct request *r)
{
	u64 size = r->svc.arg[1] < AP_SVC_DATA_MAX ? r->svc.arg[1] : AP_SVC_DATA_MAX;
	s64 got = ap_host_sampler_read(host, r->task, r->svc.arg[0], host->buf, size);

	return got > 0 ? give(r, host->buf, (u64)got) : got;
}

static s64 serve_limit(struct ap_host *host, struct request *r)
{
	return ap_host_limit_write(host, r->task, r->svc.arg[0], (const char *)r->svc.data,
				   r->svc.in_size);
}

/* The rest of the last read, from arg 0 on; others' requests do not disturb it. */
static s64 serve_read_more(struct ap_host *host, struct request *r)
{
	const struct ap_host_task *t = r->task;
	u64 from = r->svc.arg[0], left;

	(void)host;
	if (!t->more || from >= t->more_size)
		return -EINVAL;
	left = t->more_size - from;
	if (left > AP_SVC_DATA_MAX)
		left = AP_SVC_DATA_MAX;
	memcpy(r->svc.data, t->more + from, left);
	r->svc.out_size = (u32)left;
	return (s64)left;
}

/* An event has begun to want more of its tasks, whoever they are. */
static void order_all(struct ap_host *host)
{
	ap_host_know_all(host);
	for (struct ap_host_task *t = host->tasks; t; t = t->next)
		ap_host_task_order(t);
}

static s64 serve_ioctl(struct ap_host *host, struct request *r)
{
	struct ap_host_file *f = file_of(host, r);
	struct ap_ioctl_args args = { .cmd = (u32)r->svc.arg[1],
				      .arg = r->svc.arg[2],
				      .in = r->svc.data,
				      .in_size = r->svc.in_size,
				      .out = host->buf,
				      .out_size = AP_SVC_DATA_MAX };
	s64 ret;

	if (!f)
		return -EBADF;
	if (f->perfctr)
		return -EINVAL;
	if (args.cmd == AP_PERF_IOC_SET_OUTPUT && args.arg == AP_SVC_KERNELS) {
		struct ap_svc_rehome what;

		ret = ap_host_kernel_rehome(r->task, f->event, &what);
		if (ret == AP_SVC_NATIVE)
			(void)give(r, &what, sizeof(what));
		return ret;
	}
	if (args.cmd == AP_PERF_IOC_SET_OUTPUT) {
		host->token_inode = args.arg;
		args.arg = args.arg ? TOKEN : (u64)-1;
	}
	memset(host->buf, 0, AP_SVC_DATA_MAX);
	ret = ap_core_ioctl(host->core, r->task->core, f->event, &args);
	if (!ret && args.cmd == AP_PERF_IOC_RECORD_MUNMAP)
		order_all(host);
	if (ret >= 0 && args.cmd == AP_PERF_IOC_ID)
		(void)give(r, host->buf, sizeof(u64));
	if (ret >= 0 && args.cmd == AP_PERF_IOC_QUERY_BPF)
		(void)give(r, host->buf,
			   args.out_size < AP_SVC_DATA_MAX ? args.out_size : AP_SVC_DATA_MAX);
	return ret;
}

static s64 serve_prctl(struct ap_host *host, struct request *r)
{
	/* its events may be on anybody */
	for (struct ap_host_task *t = host->tasks; t; t = t->next)
		ap_host_sync(host, t);
	ap_core_prctl(host->core, r->task->core, r->svc.arg[0] != 0);
	return 0;
}

static s64 serve_mmap(struct ap_host *host, struct request *r)
{
	struct ap_host_file *f = file_of(host, r);
	u64 got[2] = { 0, 0 }; /* where it is; it is to be read only */
	s64 ret;

	if (!f)
		return -EBADF;
	ret = (f->perfctr ? ap_host_perfctr_mmap : ap_host_mmap)(
		host, r->task, f, r->svc.arg[1], r->svc.arg[2], r->svc.arg[3], &got[0]);
	got[1] = f->perfctr == AP_HOST_PERFCTR_STATE;
	if (!ret)
		(void)give(r, got, sizeof(got));
	return ret;
}

static s64 serve_munmap(struct ap_host *host, struct request *r)
{
	struct ap_host_file *f = ap_host_file_named(host, r->svc.arg[0]);

	if (!f)
		return -EBADF;
	ap_host_munmap(host, f, r->seg->index);
	ap_host_file_check(host, f);
	return 0;
}

/* Of a CPU, or of another task: the thread cannot know.  The instruction itself is counted, and is not in what it reads. */
static s64 serve_pmc(struct ap_host *host, struct request *r)
{
	struct ap_host_file *f = file_of(host, r);
	struct ap_event_public event;
	const struct ap_task *task;
	u64 value;

	if (!f || !f->event)
		return -EBADF;
	task = ap_event_task(f->event);
	ap_host_task_found_on_cpu(host, r->task);
	if (!ap_core_pmc(host->core, f->event, (u32)r->svc.arg[1], &value))
		return -ENODATA;
	ap_event_public(f->event, &event);
	if (event.counts & AP_KIND_BIT(AP_KIND_INSTR) &&
	    (task ? task == r->task->core : event.cpu == r->task->cpu))
		value--;
	(void)give(r, &value, sizeof(value));
	return 0;
}

static s64 serve_what(struct ap_host *host, struct request *r)
{
	int ref = r->svc.arg[0] > INT_MAX ? -EBADF
					  : ap_host_fd_ref(host, r->task, (s32)r->svc.arg[0]);
	u64 inode;

	if (ref < 0)
		return ref;
	inode = ap_host_fd_pipe(ref);
	close(ref);
	return inode && ap_host_file_find(host, inode) ? (s64)inode : 0;
}

/* --- what happens to watched tasks */

/* A task names segments of its own party, or none. */
static struct ap_host_seg *named_seg(struct ap_host *host, const struct ap_host_task *by,
				     const u64 *arg)
{
	if (arg[0] > UINT32_MAX || arg[1] >= AP_SLOT_MAX || !by->seg ||
	    AP_PARTY_OF(arg[0]) != AP_PARTY_OF(by->seg->index))
		return NULL;
	return ap_host_seg(host, (u32)arg[0]);
}

/* A place in a segment of the asker's process. */
static bool is_own(struct ap_host *host, const struct request *r, const struct ap_host_seg *seg)
{
	return seg == r->seg || ap_owner_is(host->sv, seg->index, r->task->pid);
}

/* Or in one that it has made for a child, in which nobody counts. */
static bool is_own_childs(struct ap_host *host, const struct request *r,
			  const struct ap_host_seg *seg)
{
	struct ap_seg head;

	for (u32 i = 0; i < AP_SLOT_MAX; i++)
		if (seg->by_slot[i] && seg->by_slot[i]->tid)
			return false;
	return !ap_session_seg_read(host->ses, seg->index, &head) && head.state <= AP_SEG_INIT &&
	       ap_owner_is(host->sv, head.parent_seg, r->task->pid);
}

static s64 serve_fork(struct ap_host *host, struct request *r)
{
	const u64 *arg = r->svc.arg;
	struct ap_host_seg *seg = named_seg(host, r->task, arg);
	struct ap_host_task *child;
	bool is_told;
	int ret;

	/* a child's is asked about first: else the list of the asker's mappings is read for each fork */
	if (!seg || (seg == r->seg && arg[1] == r->slot) ||
	    (seg != r->seg && !is_own_childs(host, r, seg) && !is_own(host, r, seg)))
		return -EINVAL;
	if (!ap_task_is_watched(r->task->core)) {
		ap_host_task_order(r->task);
		return 0;
	}
	child = ap_host_task_child(host, seg, (u32)arg[1]);
	if (!child)
		return -ENOMEM;
	ret = ap_host_task_made_in(child, r->seg);
	if (!ret)
		ret = ap_core_fork(host->core, r->task->core, child->core, arg[2] != 0);
	is_told = ap_task_tells(r->task->core) & (AP_TELL_TASK | AP_TELL_NAMESPACES);
	if (ret || (!ap_task_is_watched(child->core) && !is_told)) {
		ap_host_task_end_as(host, child, AP_HOST_LEFT);
		return ret;
	}
	child->is_unborn = true;
	child->is_awaited = is_told || ap_host_world_splits(r->task);
	r->task->nunborn++;
	child->parent_pid = arg[2] ? r->task->parent_pid : r->task->pid;
	child->parent_tid = arg[2] ? r->task->parent_tid : r->task->tid;
	child->maker_tid = r->task->tid;
	/* until it is seen elsewhere, which may be never */
	if (r->task->cpu >= 0)
		ap_host_task_on_cpu(host, child, r->task->cpu);
	ret = ap_host_cgroup_born(host, child);
	ap_host_task_order(child);
	return ret;
}

/* A child that has not run yet.  Its segment may be given up by now, where the call has failed. */
static bool has_made(struct ap_host *host, const struct request *r, const struct ap_host_task *t)
{
	struct ap_host_seg *maker = t->maker_seg ? ap_host_seg_known(host, t->maker_seg - 1) : NULL;

	return maker && is_own(host, r, maker);
}

static s64 end_slot(struct ap_host *host, const struct request *r, const u64 *arg,
		    enum ap_host_ending ending)
{
	struct ap_host_seg *seg = named_seg(host, r->task, arg);
	struct ap_host_task *t = seg ? seg->by_slot[arg[1]] : NULL;

	if (t && !is_own(host, r, seg) && !has_made(host, r, t))
		return -EINVAL;
	/* a vfork child's parent may be faster than the news of the child's exec */
	if (t && !ap_host_task_waits(host, t))
		ap_host_task_end_as(host, t, ending);
	return 0;
}

static s64 serve_fork_failed(struct ap_host *host, struct request *r)
{
	return end_slot(host, r, r->svc.arg, AP_HOST_LEFT);
}

static s64 serve_exit(struct ap_host *host, struct request *r)
{
	if (r->svc.arg[0])
		return end_slot(host, r, r->svc.arg + 1, AP_HOST_LIVES);
	ap_host_task_end_as(host, r->task, AP_HOST_EXITED);
	return 0;
}

/* The others run until the kernel ends them; what they counted is taken from their slots then. */
static s64 serve_exit_group(struct ap_host *host, struct request *r)
{
	ap_host_task_end_as(host, r->task, AP_HOST_EXITED);
	return 0;
}

/* --- samplers and side-band */

static s64 serve_born(struct ap_host *host, struct request *r)
{
	struct ap_host_task *t = r->task;

	ap_host_born(host, t, (s32)r->svc.arg[0]);
	/* its birth was all that anybody wanted to know */
	if (!ap_task_is_watched(t->core))
		ap_host_task_end_as(host, t, AP_HOST_LEFT);
	return 0;
}

static s64 serve_mapped(struct ap_host *host, struct request *r)
{
	return ap_host_mapped(host, r->task, r->svc.arg[0], r->svc.arg[1]);
}

static s64 serve_unmapping(struct ap_host *host, struct request *r)
{
	(void)host;
	return ap_host_unmapping(r->task, r->svc.arg[0], r->svc.arg[1], (u32)r->svc.arg[2]);
}

static s64 serve_unmapped(struct ap_host *host, struct request *r)
{
	(void)host;
	ap_host_unmapped(r->task, r->svc.arg[0], r->svc.arg[1], (u32)r->svc.arg[2]);
	return 0;
}

static s64 serve_comm(struct ap_host *host, struct request *r)
{
	return ap_host_comm(host, r->task, (u32)r->svc.arg[0]);
}

static s64 serve_namespaces(struct ap_host *host, struct request *r)
{
	return ap_host_namespaces(host, r->task);
}

static s64 serve_cgroup(struct ap_host *host, struct request *r)
{
	const char *path = (const char *)r->svc.data;

	if (!r->svc.arg[0]) {
		ap_host_cgroups_look(host);
		return 0;
	}
	if (!r->svc.in_size || path[r->svc.in_size - 1])
		return -EINVAL;
	return ap_host_cgroup_made(host, r->task, (s32)r->svc.arg[1], path);
}

static s64 serve_wake(struct ap_host *host, struct request *r)
{
	struct ap_svc_overflow due = { 0 };
	struct ap_event *event = ap_host_sampler_wake(host, r->task, r->svc.arg[0]);

	r->svc.out_size = 0;
	if (!event)
		return -EINVAL;
	if (ap_host_perfctr_overflowed(r->task, event, &due) && due.signo) {
		if (__atomic_load_n(&r->seg->head->mute, __ATOMIC_ACQUIRE))
			due.is_sent = ap_host_perfctr_send(r->task, &due);
		(void)give(r, &due, sizeof(due));
	}
	return 0;
}

static s64 serve_perfctr(struct ap_host *host, struct request *r)
{
	return ap_host_perfctr_serve(host, r->task, &r->svc);
}

static s64 serve_moved(struct ap_host *host, struct request *r)
{
	if (r->svc.arg[0] >= ap_host_count_cpus())
		return -EINVAL;
	ap_host_task_on_cpu(host, r->task, (s32)r->svc.arg[0]);
	return 0;
}

static s64 serve_async(struct ap_host *host, struct request *r)
{
	struct ap_host_file *f = file_of(host, r);

	if (!f)
		return -EBADF;
	f->is_async = r->svc.arg[1] != 0;
	f->holder_pid = r->task->pid;
	f->holder_fd = (s32)r->svc.arg[2];
	ap_host_file_keep(host, f);
	ap_host_sampler_file(host, f);
	return 0;
}

static s64 serve_polled(struct ap_host *host, struct request *r)
{
	struct ap_host_file *f = ap_host_file_find(host, r->svc.arg[0]);

	return f && ap_host_file_is_held(host, f, r->task) ? ap_host_file_polled(host, f) : 0;
}

static s64 serve_quiet(struct ap_host *host, struct request *r)
{
	ap_host_quiet(host, r->task->pid);
	return 0;
}

static s64 serve_held(struct ap_host *host, struct request *r)
{
	const struct ap_ring_map of = { .party = AP_PARTY_OF(r->task->seg->index) };
	u32 name = (u32)r->svc.arg[0];

	if (!ap_host_writer_is_dead(host, &of, name))
		return 0;
	ap_core_writer_died(host->core, of.party, name);
	/* and whatever else is to be done about it */
	host->sv->is_stale = true;
	return 0;
}

/* As the supervisor's own hand-over ends.  The thread that does not trace the task has nothing to say of it. */
static s64 serve_traced_exec(struct ap_host *host, struct request *r)
{
	u32 inner = (u32)r->svc.arg[0], seg = (u32)r->svc.arg[1];
	const struct ap_host_seg *by = r->task->seg;
	pid_t pid = by ? ap_host_outer_name(host, by, inner) : 0;
	struct ap_seized from = { .tid = pid, .seg = (u32)r->svc.arg[2] };
	struct ap_seg head;

	if (pid <= 0 || ap_tracer_of(pid) != r->task->tid)
		return -EPERM;
	if (seg != AP_HOST_NATIVE &&
	    (AP_PARTY_OF(seg) != AP_PARTY_OF(by->index) ||
	     ap_session_seg_read(host->ses, seg, &head) || head.state != AP_SEG_INIT ||
	     head.ns_pid != inner || head.pidns != by->head->pidns || head.parent_seg != from.seg))
		return -EINVAL;
	ap_host_execed(host, &from, pid, seg);
	return 0;
}

static s64 serve_nop(struct ap_host *host, struct request *r)
{
	(void)host;
	(void)r;
	return 0;
}

static s64 serve_use(struct ap_host *host, struct request *r)
{
	(void)r;
	__atomic_store_n(&host->ses->head->perf_used, 1, __ATOMIC_RELEASE);
	return 0;
}

static s64 serve_tree(struct ap_host *host, struct request *r)
{
	(void)r;
	return ap_host_tree(host);
}

static serve_fn *const serve[] = {
	[AP_SVC_NOP] = serve_nop,
	[AP_SVC_OPEN] = serve_open,
	[AP_SVC_CLOSE] = serve_close,
	[AP_SVC_READ] = serve_read,
	[AP_SVC_READ_MORE] = serve_read_more,
	[AP_SVC_IOCTL] = serve_ioctl,
	[AP_SVC_PRCTL] = serve_prctl,
	[AP_SVC_MMAP] = serve_mmap,
	[AP_SVC_MUNMAP] = serve_munmap,
	[AP_SVC_PMC] = serve_pmc,
	[AP_SVC_WHAT] = serve_what,
	[AP_SVC_TREE] = serve_tree,
	[AP_SVC_USE] = serve_use,
	[AP_SVC_FORK] = serve_fork,
	[AP_SVC_FORK_FAILED] = serve_fork_failed,
	[AP_SVC_EXIT] = serve_exit,
	[AP_SVC_EXIT_GROUP] = serve_exit_group,
	[AP_SVC_BORN] = serve_born,
	[AP_SVC_MAPPED] = serve_mapped,
	[AP_SVC_COMM] = serve_comm,
	[AP_SVC_WAKE] = serve_wake,
	[AP_SVC_MOVED] = serve_moved,
	[AP_SVC_ASYNC] = serve_async,
	[AP_SVC_POLLED] = serve_polled,
	[AP_SVC_QUIET] = serve_quiet,
	[AP_SVC_NAMESPACES] = serve_namespaces,
	[AP_SVC_CGROUP] = serve_cgroup,
	[AP_SVC_HELD] = serve_held,
	[AP_SVC_PERFCTR] = serve_perfctr,
	[AP_SVC_UNMAPPING] = serve_unmapping,
	[AP_SVC_UNMAPPED] = serve_unmapped,
	[AP_SVC_SAMPLE_READ] = serve_sample_read,
	[AP_SVC_LIMIT] = serve_limit,
	[AP_SVC_TRACED_EXEC] = serve_traced_exec,
};

/* --- the slot */

/* False when nothing is asked there. */
static bool take(struct request *r, const struct ap_svc *svc)
{
	u32 state = __atomic_load_n(&svc->state, __ATOMIC_ACQUIRE);

	if (state != AP_SVC_ASKED && state != AP_SVC_ASLEEP)
		return false;
	memcpy(&r->svc, svc, offsetof(struct ap_svc, data));
	if (r->svc.in_size > AP_SVC_DATA_MAX)
		r->svc.in_size = AP_SVC_DATA_MAX;
	memcpy(r->svc.data, svc->data, r->svc.in_size);
	r->svc.out_size = 0;
	return true;
}

/* False when the task had gone to sleep. */
static bool answer(struct ap_svc *svc, const struct request *r, s64 ret)
{
	/* taken back while we were stopped, maybe for another one */
	if (svc->turn != r->svc.turn ||
	    __atomic_load_n(&svc->state, __ATOMIC_ACQUIRE) == AP_SVC_IDLE)
		return true;
	memcpy(svc->data, r->svc.data, r->svc.out_size);
	svc->out_size = r->svc.out_size;
	svc->ret = ret;
	/* pairs with the task's load of state, after which it reads the answer */
	if (__atomic_exchange_n(&svc->state, AP_SVC_DONE, __ATOMIC_ACQ_REL) != AP_SVC_ASLEEP)
		return true;
	syscall(SYS_futex, &svc->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return false;
}

/* Who wants to be alone on the PMU is not kept from it by what is closed. */
static bool may_be_exclusive(const struct ap_svc *svc)
{
	struct ap_perf_attr attr;

	if (svc->op != AP_SVC_OPEN)
		return svc->op == AP_SVC_IOCTL || svc->op == AP_SVC_PRCTL;
	memcpy(&attr, svc->data, sizeof(attr));
	return attr.flags & AP_PERF_EXCLUSIVE;
}

static s64 serve_one(struct ap_host *host, struct request *r)
{
	struct ap_host_task *t = ap_host_task_at(host, r->seg, r->slot);

	if (!t)
		return -ESRCH;
	if (r->svc.op >= AP_ARRAY_SIZE(serve) || !serve[r->svc.op])
		return -EINVAL;
	r->task = t;
	host->epoch++;
	ap_host_diaries_drain(host);
	ap_host_wakes_look(host);
	host->asker = t;
	ap_host_task_time_is(t, r->svc.cpu_time);
	/* 0: the task may not ask for the time any more */
	host->asker_is_timed = r->svc.cpu_time;
	if (host->asker_is_timed)
		t->time_at = host->epoch;
	ap_host_sync(host, t);
	if (host->nclosed && may_be_exclusive(&r->svc))
		ap_host_settle_all(host);
	if (r->svc.op != AP_SVC_READ_MORE) {
		free(t->more);
		t->more = NULL;
	}
	return serve[r->svc.op](host, r);
}

/* Nothing is asked there: its log may have news. */
static void sync_slot(struct ap_host *host, struct ap_host_seg *seg, u32 slot)
{
	host->epoch++;
	if (seg->by_slot[slot])
		ap_host_sync(host, seg->by_slot[slot]);
	ap_host_let_go(host);
}

bool ap_host_serve_slot(struct ap_host *host, struct ap_host_seg *seg, u32 slot)
{
	struct ap_svc *svc = (struct ap_svc *)((char *)ap_host_slot(seg, slot) + AP_SVC_OFF);
	struct request r = { .seg = seg, .slot = slot };
	s64 ret;

	if (!take(&r, svc)) {
		sync_slot(host, seg, slot);
		return false;
	}
	ret = serve_one(host, &r);
	host->asker = NULL;
	ap_host_let_go(host);
	host->in_time &= answer(svc, &r, ret);
	return true;
}
