/* SPDX-License-Identifier: MIT */
/*
 * Bringing a running process in.  All of its threads are stopped; the engine is put into the first,
 * which makes the others' places; then all start in the engine where they were.  Until the first
 * starts everything can be undone, and it is: the others are let go only when it has succeeded.
 *
 * The session's descriptor goes over a socket pair that the process makes: it works across
 * namespaces, and needs no permission of ours that a tracer has not.
 */
#include "linux/run/attach.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/boot.h"
#include "inject/inject.h"
#include "inject/proc.h"
#include "linux/session/blob_image.h"
#include "linux/task/creds.h"
#include "linux/task/now.h"
#include "linux/task/refusal.h"
#include "linux/task/stopped.h"

#define FD_CEILING 4096 /* launch.c has the reason */
#define READY_NS   5000000000ULL
#define STEP_NS	   200000L

struct attach {
	struct ap_supervisor *sv;
	struct ap_stopped stopped;
	struct ap_boot_thread *recs;
	struct ap_attached *out;
	const struct ap_session_file *party; /* of its file */
	struct ap_inject in;
};

static u64 recs_size(const struct attach *at)
{
	return AP_ALIGN_UP((u64)at->stopped.n * sizeof(*at->recs), AP_PAGE_SIZE);
}

/* --- the session's descriptor */

/* A remote call whose own failure is ours. */
static s64 call(struct ap_remote *r, long nr, u64 a, u64 b, u64 c, u64 d)
{
	const u64 args[6] = { a, b, c, d };
	s64 got;
	int ret = ap_remote_call(r, nr, args, &got);

	return ret ? ret : got;
}

static int send_fd(pid_t pid, int socket, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = room,
			      .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), end, ret = 0;

	if (pidfd < 0)
		return -errno;
	end = (int)syscall(SYS_pidfd_getfd, pidfd, socket, 0);
	ret = end < 0 ? -errno : 0;
	close(pidfd);
	if (ret)
		return ret;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(end, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		ret = -errno;
	close(end);
	return ret;
}

/* What recvmsg needs, as it lies in the process. */
struct letter {
	struct msghdr msg;
	struct iovec iov;
	s32 sockets[2];
	char byte[8];
	_Alignas(8) char control[CMSG_SPACE(sizeof(int))];
};

static s64 receive(struct ap_remote *r, u64 at, struct letter *l)
{
	struct cmsghdr *c = (struct cmsghdr *)l->control;
	s64 got;
	s32 fd;
	int ret;

	l->iov = (struct iovec){ (void *)(at + offsetof(struct letter, byte)), 1 };
	l->msg = (struct msghdr){ .msg_iov = (void *)(at + offsetof(struct letter, iov)),
				  .msg_iovlen = 1,
				  .msg_control = (void *)(at + offsetof(struct letter, control)),
				  .msg_controllen = sizeof(l->control) };
	ret = ap_task_write(r->tid, at, l, sizeof(*l));
	if (ret)
		return ret;
	got = call(r, SYS_recvmsg, (u64)l->sockets[1], at, MSG_CMSG_CLOEXEC | MSG_DONTWAIT, 0);
	if (got < 0)
		return got;
	ret = ap_task_read(r->tid, at, l, sizeof(*l));
	if (ret)
		return ret;
	if (l->msg.msg_controllen < CMSG_LEN(sizeof(int)) || c->cmsg_type != SCM_RIGHTS)
		return -EMFILE;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static bool is_open(pid_t pid, int fd)
{
	char path[AP_PROC_PATH], name[32];
	char target[8];

	snprintf(name, sizeof(name), "fd/%d", fd);
	return readlink(ap_proc_path(path, pid, name), target, sizeof(target)) >= 0;
}

/* By the process itself, which needs no right for its own limits; at: memory of it. */
static int ask_nofile(struct ap_remote *r, u64 at, struct rlimit *lim)
{
	s64 got = call(r, SYS_prlimit64, 0, RLIMIT_NOFILE, 0, at);

	return got < 0 ? (int)got : ap_task_read(r->tid, at, lim, sizeof(*lim));
}

static int set_nofile(struct ap_remote *r, u64 at, const struct rlimit *lim)
{
	return ap_task_write(r->tid, at, lim, sizeof(*lim))
		       ?: (int)call(r, SYS_prlimit64, 0, RLIMIT_NOFILE, at, 0);
}

/* As ap_fd_to_top, in another process; where: memory of it. */
static s64 to_top(struct ap_remote *r, pid_t pid, s64 fd, u64 where, u32 *share)
{
	struct rlimit lim, raised;
	s64 top, got = -EMFILE;
	int ret = ask_nofile(r, where, &lim);

	if (ret)
		return ret;
	top = lim.rlim_cur < FD_CEILING ? (s64)lim.rlim_cur - 1 : FD_CEILING - 1;
	raised = lim;
	raised.rlim_cur++;
	if (lim.rlim_cur < FD_CEILING && lim.rlim_cur < lim.rlim_max &&
	    !set_nofile(r, where, &raised)) {
		++*share;
		top++;
	}
	while (top > fd && is_open(pid, (int)top))
		top--;
	if (top > fd)
		got = call(r, SYS_fcntl, (u64)fd, 1030 /* F_DUPFD_CLOEXEC */, (u64)top, 0);
	(void)call(r, SYS_close, (u64)fd, 0, 0, 0);
	return got;
}

static void take_share_back(pid_t pid, u32 share)
{
	struct rlimit lim;

	if (share && !prlimit(pid, RLIMIT_NOFILE, NULL, &lim) && lim.rlim_cur > share) {
		lim.rlim_cur -= share;
		(void)prlimit(pid, RLIMIT_NOFILE, &lim, NULL);
	}
}

/* The number that one of our descriptors has in the process from now on; -errno. */
static s64 hand_over(struct attach *at, struct ap_remote *r, u64 where, int ours)
{
	struct letter l = { 0 };
	s64 got = call(r, SYS_socketpair, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0,
		       where + offsetof(struct letter, sockets));
	int ret;

	if (got < 0)
		return got;
	ret = ap_task_read(r->tid, where + offsetof(struct letter, sockets), l.sockets,
			   sizeof(l.sockets));
	if (ret)
		return ret;
	got = send_fd(at->stopped.pid, l.sockets[0], ours);
	if (!got)
		got = receive(r, where, &l);
	(void)call(r, SYS_close, (u64)l.sockets[0], 0, 0, 0);
	(void)call(r, SYS_close, (u64)l.sockets[1], 0, 0, 0);
	return got < 0 ? got : to_top(r, at->stopped.pid, got, where, &at->in.nofile_share);
}

static int hand_session(struct attach *at, struct ap_remote *r, u64 where)
{
	s64 got = hand_over(at, r, where, at->party->fd);

	if (got < 0)
		return (int)got;
	at->in.session_fd = (s32)got;
	got = hand_over(at, r, where, at->sv->ses.head_fd);
	if (got < 0)
		return (int)got;
	at->in.head_fd = (s32)got;
	return 0;
}

/* --- the engine's entry */

static void fill_record(struct ap_boot_thread *rec, const struct ap_stopped_task *t)
{
	const struct user_regs_struct *from = &t->regs;
	const u64 gpr[16] = { from->rax, from->rcx, from->rdx, from->rbx, from->rsp, from->rbp,
			      from->rsi, from->rdi, from->r8,  from->r9,  from->r10, from->r11,
			      from->r12, from->r13, from->r14, from->r15 };

	memcpy(rec->regs.gpr, gpr, sizeof(gpr));
	rec->regs.rip = from->rip;
	rec->regs.rflags = from->eflags;
	rec->gs_base = from->gs_base;
	rec->sigmask = t->mask;
	rec->restart = t->restart;
	rec->rseq = t->is_rseq_off ? t->rseq : 0;
	rec->rseq_size = t->rseq_size;
	rec->rseq_sig = t->rseq_sig;
}

static int prepare(struct ap_inject *in, struct ap_remote *r, u64 base, u64 extra_at)
{
	struct attach *at = (struct attach *)((char *)in - offsetof(struct attach, in));
	int ret = hand_session(at, r, extra_at + recs_size(at));

	if (ret)
		return ret;
	at->out->base = base;
	at->out->size = extra_at + in->extra - base;
	for (u32 i = 0; i < at->stopped.n; i++)
		fill_record(&at->recs[i], &at->stopped.tasks[i]);
	return ap_task_write(in->tid, extra_at, at->recs, at->stopped.n * sizeof(*at->recs));
}

/* --- whose memory it counts in */

static int new_party(struct attach *at, const char *creds)
{
	struct ap_supervisor *sv = at->sv;
	int fd = memfd_create("anyperf", MFD_CLOEXEC | MFD_ALLOW_SEALING), ret;
	struct ap_session_file *f;
	u32 party;

	if (fd < 0)
		return -errno;
	ret = ap_session_party_new(&sv->ses, fd, &party);
	if (ret)
		return ret;
	f = ap_session_party(&sv->ses, party << AP_PARTY_SHIFT);
	/* without it nobody else comes into it */
	f->creds = strdup(creds);
	ap_session_party_is_of(f, at->stopped.pid);
	ap_doorbell_join(&sv->bell, f);
	sv->is_stale = true; /* if it comes to nothing it is ended */
	at->party = f;
	return 0;
}

/*
 * With those that could trace it anyway, and nobody else: it may be another user's
 * (docs/design/trust.md).
 */
static int find_party(struct attach *at)
{
	char own[AP_CREDS_TEXT], creds[AP_CREDS_TEXT];
	const struct ap_session_file *f;

	if (!ap_creds_text(getpid(), own) || !ap_creds_text(at->stopped.pid, creds))
		return -EACCES;
	at->party = &at->sv->ses;
	if (!strcmp(own, creds))
		return 0;
	for (u32 p = 1; (f = ap_session_next_party(&at->sv->ses, &p));) {
		if (!f->creds || strcmp(f->creds, creds))
			continue;
		at->party = f;
		return 0;
	}
	return new_party(at, creds);
}

static int inject(struct attach *at, const char **why)
{
	struct ap_supervisor *sv = at->sv;
	struct ap_stopped_task *first = &at->stopped.tasks[0];
	u32 seg;
	int ret;

	*why = "no memory of the session's for its user";
	ret = find_party(at);
	if (ret)
		return ret;
	*why = "the session is full";
	ret = ap_handover_segment(sv, at->stopped.pid, 0, 0, at->party->party, &seg);
	if (ret)
		return ret;
	at->out->seg = seg;
	at->in = (struct ap_inject){ .tid = first->tid,
				     .proc_pid = at->stopped.pid,
				     .blob = ap_blob_start,
				     .blob_bytes = (u64)(ap_blob_end - ap_blob_start),
				     .session_fd = -1,
				     .head_fd = -1,
				     .seg = seg,
				     .flags = sv->ses.head->flags & ~AP_F_DETERMINISTIC,
				     .host_pid = (u32)at->stopped.pid,
				     .sigmask = first->mask,
				     .has_sigmask = true,
				     .extra = recs_size(at) + AP_PAGE_SIZE,
				     .nthreads = at->stopped.n,
				     .prepare = prepare };
	ret = ap_inject(&at->in, why);
	if (ret) {
		take_share_back(at->stopped.pid, at->in.nofile_share);
		ap_session_seg_discard(&sv->ses, seg);
	}
	return ret;
}

/* --- start */

static bool has_started(const struct attach *at)
{
	struct ap_seg head;

	return !ap_session_seg_read(&at->sv->ses, at->out->seg, &head) && head.state != AP_SEG_INIT;
}

static bool are_all_named(const struct attach *at)
{
	struct ap_slot slot;

	for (u32 i = 0; i < at->stopped.n && i < AP_SLOT_MAX; i++)
		if (!ap_session_slot_read(&at->sv->ses, at->out->seg, i, &slot) &&
		    slot.state == AP_SLOT_LIVE && !slot.tid)
			return false;
	return true;
}

static bool await(const struct attach *at, bool (*what)(const struct attach *at))
{
	const struct timespec step = { .tv_nsec = STEP_NS };
	u64 until = ap_now_ns() + READY_NS;
	bool yes;

	while (!(yes = what(at)) && ap_now_ns() < until && !kill(at->stopped.pid, 0))
		nanosleep(&step, NULL);
	return yes;
}

static int start(struct attach *at, const char **why)
{
	const struct ap_blob_header *header = (const struct ap_blob_header *)ap_blob_start;
	const u64 recs = at->out->base + header->image_size;
	struct user_regs_struct regs;

	/* it goes to the engine, signals blocked, as ap_inject has left it */
	at->stopped.tasks[0].is_gone = true;
	(void)ap_inject_release(&at->in);
	if (!await(at, has_started)) {
		*why = "the engine did not start in it";
		return -EIO;
	}
	for (u32 i = 1; i < at->stopped.n; i++) {
		regs = at->stopped.tasks[i].regs;
		regs.rip = at->out->base + header->attach;
		regs.rdi = recs + i * sizeof(struct ap_boot_thread);
		ap_stopped_let_go(&at->stopped.tasks[i], &regs, true);
	}
	(void)await(at, are_all_named);
	return 0;
}

static int bring_in(struct attach *at, const char **why)
{
	int ret = ap_task_check_64bit(at->stopped.tasks[0].tid);

	*why = "32-bit program";
	if (!ret && ap_stopped_is_dispatched(&at->stopped)) {
		*why = "it has system call user dispatch on, which would take the engine's own calls";
		ret = -ENOEXEC;
	}
	if (!ret)
		ret = ap_stopped_take_rseq(&at->stopped, why);
	if (ret)
		return ret;
	at->recs = calloc(at->stopped.n, sizeof(*at->recs));
	if (!at->recs) {
		*why = "out of memory";
		return -ENOMEM;
	}
	return inject(at, why) ?: start(at, why);
}

int ap_attach(struct ap_supervisor *sv, pid_t pid, struct ap_attached *a, char why[AP_ATTACH_WHY])
{
	struct attach at = { .sv = sv, .out = a };
	const char *text = "";
	int ret;

	*a = (struct ap_attached){ 0 };
	if (!ap_attach_may(pid, why))
		return -EPERM;
	ret = ap_stopped_take(&at.stopped, pid, &text);
	if (ret == -EPERM || ret == -EACCES) {
		ap_refusal_text(ret, why, AP_ATTACH_WHY);
	} else {
		if (!ret)
			ret = bring_in(&at, &text);
		snprintf(why, AP_ATTACH_WHY, "%s%s%s", text, ret && ret != -ENOEXEC ? ": " : "",
			 ret && ret != -ENOEXEC ? strerror(-ret) : "");
	}
	if (!ret) {
		a->pid = pid;
		a->fd = at.in.session_fd;
		a->head_fd = at.in.head_fd;
	}
	ap_stopped_release(&at.stopped);
	ap_stopped_fini(&at.stopped);
	free(at.recs);
	return ret;
}
