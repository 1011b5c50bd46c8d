/* SPDX-License-Identifier: MIT */
/*
 * fork, and clone without CLONE_VM: the child has a copy of everything, on the same engine stack.
 *
 * Its segment is allocated by the parent, in state INIT and without a pid, so that the supervisor
 * cannot miss a child that is killed early; the child puts it over its parent's at the same
 * addresses before it runs anything that counts.  The locks are held across the call, so that the
 * tables which the child inherits are whole.  With CLONE_VFORK the parent stays in the call until
 * the child's exec or end, so the child says in the parent's slot that it has its copy, and whoever
 * waits for a lock takes it over.
 *
 * Where the process has a userfaultfd, the kernel may keep the parent in the call until another thread has read of the fork,
 * and that thread may need the locks before it does.  So the call is made without them there.  Nobody else writes while the
 * kernel copies a page, nor goes on behind it, so the child's copy of a lock says whether what it guards is whole; if it is not, the
 * child mends it as after its holder's death.
 */
#include "base/mem.h"
#include "base/str.h"
#include "engine/cache/smc.h"
#include "engine/client.h"
#include "engine/count/profile.h"
#include "engine/runtime/filter.h"
#include "engine/runtime/resident.h"
#include "engine/syscall/taken.h"
#include "engine/task/party.h"
#include "engine/task/task.h"
#include "engine/thread/cradle.h"
#include "engine/thread/still.h"
#include "engine/translate/heir.h"
#include "service/service.h"

#define NO_SEG	   UINT32_MAX
#define SI_PID	   4	      /* index of si_pid in a siginfo of 32-bit words */
#define TOLD_LOOKS (1U << 14) /* some hundred microseconds */
#define TOLD_WAITS (1U << 11) /* about a second, or more */
#define TOLD_NS	   500000

/* What a child is going to have.  Process lock, until the child has it. */
struct birth {
	u32 seg;       /* NO_SEG: nothing */
	bool is_apart; /* its party is not to have it */
	u32 nshapes;
	u64 random;			/* where its numbers begin */
	struct ap_seg *head;		/* in the window, or in a cradle */
	const struct ap_cradle *cradle; /* NULL where the child maps what it needs */
	bool is_torn;			/* in the child: what the process lock guards is */
};

static bool same_pidns(const struct ap_seg *seg)
{
	return !seg->pidns || seg->pidns == ap_proc.session->pidns;
}

/* It is told its number, and finds a way to its own %gs. */
static bool can_lie_in_cradle(const struct ap_clone *k)
{
	return !(k->flags & (AP_CLONE_VFORK | AP_CLONE_NEWPID)) &&
	       (ap_proc.has_fsgsbase || ap_filter_allows_nr(AP_NR_arch_prctl));
}

static void find_place(struct birth *b, const struct ap_clone *k)
{
	b->seg = NO_SEG;
	b->cradle = NULL;
	if (!ap_cradle_is_needed()) {
		b->head = ap_segment_new(&b->seg);
		return;
	}
	b->cradle = can_lie_in_cradle(k) ? ap_cradle_take() : NULL;
	if (!b->cradle)
		return;
	b->head = b->cradle->seg;
	b->seg = b->cradle->index;
	b->head->parent_seg = ap_proc.seg_index;
	b->head->mute = ap_proc.seg->mute;
}

/* What a segment of this code says of it. */
static void take_over(struct ap_seg *to)
{
	const struct ap_seg *own = ap_proc.seg;

	to->nshapes = own->nshapes;
	to->kinds_ack = own->kinds_ack;
	to->lanes_ack = own->lanes_ack;
	to->lane_gen_ack = own->lane_gen_ack;
	to->carry = own->carry;
	to->watch_ack = own->watch_ack;
	to->data_ack = own->data_ack;
	to->counters = own->counters;
	to->smc_at = own->smc_at;
	memcpy(to->comm, own->comm, sizeof(own->comm));
	memcpy((char *)to + AP_SHAPES_OFF, ap_proc.shapes, own->nshapes * sizeof(u64));
}

/* Allocates the child's segment and fills in what the parent knows. */
static void prepare(struct birth *b, const struct ap_clone *k)
{
	const struct ap_seg *own = ap_proc.seg;
	struct ap_seg *head;

	b->nshapes = own->nshapes;
	find_place(b, k);
	if (b->seg == NO_SEG)
		return;
	head = b->head;
	head->root = own->root;
	take_over(head);
	__atomic_store_n(&head->state, AP_SEG_INIT, __ATOMIC_RELEASE);
}

u64 ap_task_pidns(void)
{
	struct ap_kstat st;

	if (ap_sys4(AP_NR_newfstatat, (u64)AP_AT_FDCWD, (u64) "/proc/self/ns/pid", (u64)&st, 0))
		return 0;
	return st.ino;
}

/* Field 22 of /proc/self/stat, counted from the end of the name, which may hold anything. */
static u64 start_time(void)
{
	s64 fd = ap_sys3(AP_NR_open, (u64) "/proc/self/stat", AP_O_CLOEXEC, 0), n;
	char text[512];
	const char *p;
	u64 v = 0;

	if (fd < 0)
		return 0;
	n = ap_sys3(AP_NR_read, (u64)fd, (u64)text, sizeof(text) - 1);
	ap_sys1(AP_NR_close, (u64)fd);
	text[n > 0 ? n : 0] = 0;
	p = strrchr(text, ')');
	for (u32 field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p && ap_parse_u64(&p, &v) ? v : 0;
}

static void name_segment(struct ap_seg *seg, u32 pid)
{
	seg->pidns = ap_task_pidns();
	seg->start_time = start_time();
	if (same_pidns(seg))
		seg->pid = pid;
	__atomic_store_n(&seg->ns_pid, pid, __ATOMIC_RELEASE);
}

/*
 * The exit of a helper sends no signal, but becomes SIGCHLD when its parent has exec'd.  It must
 * not stay pending where the program blocks that.
 */
static void reap_helper(u32 pid)
{
	const u64 sigchld = 1ULL << (AP_SIGCHLD - 1);
	const struct ap_timespec now = { 0 };
	s32 info[32] = { 0 };

	ap_exec_helper_end(pid);
	if (ap_sys4(AP_NR_rt_sigtimedwait, (u64)&sigchld, (u64)info, (u64)&now, 8) < 0)
		return;
	if (info[SI_PID] != (s32)pid) /* the program's own, from before the exec */
		ap_sys3(AP_NR_rt_sigqueueinfo, ap_proc.seg->ns_pid, AP_SIGCHLD, (u64)info);
}

void ap_task_init(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);

	t->tid = (u32)ap_sys0(AP_NR_gettid);
	t->pid = (u32)ap_sys0(AP_NR_getpid);
	t->lock_id = t->tid;
	t->process = t->serial;
	slot->tid = t->tid;
	slot->pid = t->pid;
	ap_fd_set_cloexec(t, true);
	ap_proc.seg->pidns = ap_task_pidns();
	__atomic_store_n(&ap_proc.seg->ns_pid, t->pid, __ATOMIC_RELEASE);
	ap_proc.ptracer = ap_proc.boot->ptracer;
	if (!ap_proc.boot->nthreads)
		ap_ptracer_restore(t);
	if (ap_proc.boot->helper_pid)
		reap_helper(ap_proc.boot->helper_pid);
}

static void begin(struct ap_thread *t)
{
	struct ap_slot *slot = ap_thread_slot(t);

	slot->pid = t->pid;
	__atomic_store_n(&slot->tid, t->tid, __ATOMIC_RELEASE);
	__atomic_store_n(&ap_proc.seg->state, AP_SEG_LIVE, __ATOMIC_RELEASE);
	ap_service_begins();
}

/* Of what the old file was mapped for, what does not go by itself. */
static bool map_party(void)
{
	return !ap_slot_map_file(ap_proc.board, AP_BOARD_SIZE, AP_BOARD_OFF) &&
	       ap_clients_move_shared() && ap_service_moves();
}

/*
 * As a fork's child that is its parent: a segment that has counted nothing, over the old one, and so for each thread's slot.
 * What was counted is with the supervisor by now.
 */
int ap_task_move(struct ap_thread *t, s32 file, u32 seg)
{
	struct ap_seg *to = ap_mem_map(0, AP_SLOTS_OFF);
	const u32 nslots = ap_proc.seg->nslots;
	const bool poked = __atomic_load_n(&ap_proc.board->npoked, __ATOMIC_ACQUIRE);
	int ret;

	if (!to)
		return -AP_ENOMEM;
	ap_fd_replace(t, file);
	ret = (int)ap_segment_map(to, seg);
	if (!ret)
		take_over(to);
	ap_mem_unmap(to, AP_SLOTS_OFF);
	ap_segment_drop_window();
	/* what threads are in the middle of is read in their old slots, which may be emptied once the segment is given up */
	if (!ret && ap_proc.nthreads > 1) {
		ap_proc.seg_index = seg;
		ret = ap_thread_renew_all();
	}
	/* the last that is written there */
	__atomic_store_n(&ap_proc.seg->state, AP_SEG_EXECED, __ATOMIC_RELEASE);
	ret = ret ?: (int)ap_segment_map(ap_proc.seg, seg);
	if (ret)
		return ret;
	ap_proc.seg_index = seg;
	if (!map_party())
		return -AP_ENOMEM;
	ap_smc_moved(poked);
	if (ap_proc.seg->mute)
		ap_slot_set_mute(true);
	ap_cradle_drop();
	if (ap_proc.nthreads > 1) {
		ap_proc.seg->nslots = nslots;
		ap_clients_renew_all();
	} else {
		ret = ap_thread_fork_child(t);
	}
	if (ret)
		return ret;
	name_segment(ap_proc.seg, t->pid);
	begin(t);
	return 0;
}

static void be_child(struct ap_thread *t, const struct ap_clone *k, struct birth *b)
{
	ap_proc.still = 0; /* the parent's */
	t->is_still = t->forks_unlocked = 0;
	ap_mem_fork_child();
	b->is_torn = ap_lock_reset(&ap_proc.lock);
	if (b->is_torn)
		ap_signal_mend(); /* it is read soon */
	ap_proc.session_fd = ap_fd(t);
	ap_proc.head_fd = ap_head_fd(t);
	t->own_fd = t->own_head = 0;
	ap_limits_fork_child(t);
	t->is_vfork_child = 0;
	t->dispatch.is_on = false;
	ap_mlock_future = 0;
	ap_traced_child(t, &t->traced, k->flags);
	ap_tracer_in_child();
	t->ptracer = ap_proc.ptracer = 0;
	t->tid_at = k->tid_at;
	t->start_flags = AP_CLONE_VFORK; /* nobody tells it its number */
	t->tid = ap_task_tid(t);
	t->pid = 0;
	t->lock_id = t->tid;
	t->foreign = 0;
	t->process = t->serial;
	t->pid = ap_task_pid(t);
	t->regs.gpr[0] = 0;
	if (k->sp)
		t->regs.gpr[4] = k->sp;
	if (k->flags & AP_CLONE_SETTLS)
		ap_thread_note_fs(t);
	if (!(k->flags & AP_CLONE_FILES))
		ap_fd_unshare();
	if (k->flags & AP_CLONE_NEWUSER)
		ap_party_leave(t);
	if (k->flags & AP_CLONE_CLEAR_SIGHAND)
		ap_signal_clear_handlers(t);
	ap_signal_fork_child(t);
	ap_taken_in_child();
	ap_heir_begin();
	ap_service_in_child();
}

/* Sleeps where its filter lets it, once its parent takes long: nobody wakes it. */
static u32 told_pid(const u32 *at)
{
	u32 pid = 0;

	for (u32 n = 0; !pid && n < TOLD_LOOKS + TOLD_WAITS; n++) {
		if (n < TOLD_LOOKS)
			__builtin_ia32_pause();
		else
			ap_own_wait(at, 0, TOLD_NS);
		pid = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	}
	return pid;
}

/* Makes no other call: whatever it is, the filter may not know it. */
static int lie_in_cradle(struct ap_thread *t, const struct birth *b)
{
	u32 pid = told_pid(&b->head->ns_pid);

	if (!pid) /* its parent was killed, or is stopped */
		return -AP_ESRCH;
	t->tid = t->pid = t->lock_id = pid;
	if (ap_profile_fork_child(b->seg, b->cradle->profile))
		return -AP_ENOMEM;
	ap_proc.seg = b->head;
	ap_proc.seg_index = b->seg;
	ap_proc.shapes = (u64 *)((char *)b->head + AP_SHAPES_OFF);
	ap_proc.seg->nshapes = b->nshapes;
	ap_thread_move(t, b->cradle->area);
	return 0;
}

static int attach_child(struct ap_thread *t, const struct birth *b)
{
	s64 ret;

	if (b->seg == NO_SEG)
		return -AP_EAGAIN;
	if (b->cradle)
		return lie_in_cradle(t, b);
	ret = ap_segment_map(ap_proc.seg, b->seg);
	ret = ret ?: ap_profile_fork_child(b->seg, NULL);
	if (ret)
		return (int)ret;
	ap_proc.seg_index = b->seg;
	ap_proc.seg->nshapes = b->nshapes;
	ret = ap_thread_fork_child(t);
	if (ret)
		return (int)ret;
	name_segment(ap_proc.seg, t->pid); /* whose names the slot's are */
	return 0;
}

/* To where the program's instruction ends, as ap_syscall would have. */
static void step_over(struct ap_thread *t)
{
	t->regs.rip += 2;
	t->regs.gpr[1] = t->regs.rip;
	t->regs.gpr[11] = t->regs.rflags;
}

/* The child goes its way without the engine, which only leaves its memory behind. */
AP_NORETURN static void leave(struct ap_thread *t, const struct ap_clone *k, const struct birth *b)
{
	ap_lock_take(&ap_proc.lock);
	if (b->is_torn)
		ap_smc_mend(); /* some may be protected that are not noted yet */
	ap_smc_give_back_all();
	ap_party_forsake(t);
	ap_sig_give_back(t);
	ap_lock_drop(&ap_proc.lock);
	if (!(k->flags & AP_CLONE_FILES))
		ap_sys1(AP_NR_close, (u64)ap_proc.head_fd);
	step_over(t);
	ap_sig_go_native(t);
}

/* Why the child is not counted. */
static const char *lack_of(const struct birth *b, int error)
{
	if (b->is_apart)
		return ": another thread of the process that forks it has been changing its credentials for three seconds";
	if (error == -AP_ESRCH)
		return ": a forked process's parent was stopped or killed in the fork";
	return ": no room in the session for a forked process";
}

static void run_child(struct ap_thread *t, const struct ap_clone *k, struct birth *b, u64 mask)
{
	const char *why;
	int error;

	be_child(t, k, b);
	ap_proc.random = b->random;
	if (ap_proc.flags & AP_F_NO_INHERIT)
		leave(t, k, b);
	error = attach_child(t, b);
	if (error) {
		ap_note2(AP_NOTE_NOT_COUNTED, "not counted: ", ap_proc.seg->comm,
			 lack_of(b, error));
		leave(t, k, b);
	}
	t = ap_self();
	if (b->is_torn)
		ap_mend_process();
	begin(t);
	if (!b->cradle) {
		why = ap_party_move(t);
		if (why) {
			step_over(t);
			ap_go_native(t, why);
		}
		ap_sig_set_mask(mask);
		return;
	}
	/* the stack that it came on stays behind */
	step_over(t);
	if (ap_tracepoints_are_on())
		ap_clients_call_ends(t, k->nr, 0);
	ap_sig_set_mask(mask);
	ap_redispatch(t);
}

static s64 raw_clone(struct ap_thread *t, const struct ap_clone *k)
{
	struct ap_clone raw = *k;

	if (k->nr != AP_NR_clone3) { /* fork looks at none of it */
		raw.raw[1] = 0;
	} else {
		raw.args[0] &= ~AP_CLONE_CLEAR_SIGHAND;
		raw.args[5] = raw.args[6] = 0;
		raw.raw[0] = (u64)raw.args;
	}
	if (t->forks_unlocked) /* and does not wait before it has said all of the child */
		return ap_syscall_do(t, raw.nr, raw.raw);
	return ap_still_call(t, raw.nr, raw.raw); /* for long, where the child is a vfork's */
}

/* In the parent: a name for the child that it has not given itself yet, or cannot. */
static void name_child(const struct birth *b, u32 pid)
{
	struct ap_seg *head = b->head;

	if (b->cradle) {
		head->pidns = ap_proc.seg->pidns;
		if (same_pidns(head))
			head->pid = pid;
		__atomic_store_n(&head->ns_pid, pid, __ATOMIC_RELEASE);
		return;
	}
	if (head->state != AP_SEG_INIT || head->ns_pid)
		return;
	if (same_pidns(ap_proc.seg))
		head->pid = pid;
	else
		head->child_pid = pid;
}

/* The locks are the caller's across the call, or nobody's. */
static void call_begin(struct ap_thread *t)
{
	if (ap_unlikely(ap_resident_is_served())) {
		t->forks_unlocked = 1;
		ap_lock_drop(&ap_proc.lock);
	} else {
		ap_mem_fork_begin();
	}
}

/* True: the process lock is the caller's, and what b says of the child is in its place. */
static bool call_end(struct ap_thread *t, const struct birth *b)
{
	if (ap_likely(!t->forks_unlocked)) {
		ap_mem_fork_end();
		return ap_lock_end_loan(&ap_proc.lock);
	}
	ap_lock_take(&ap_proc.lock);
	t->forks_unlocked = 0;
	/* another thread may have had the window */
	if (b->seg == NO_SEG || b->cradle || !ap_segment_show(b->seg))
		return true;
	ap_lock_drop(&ap_proc.lock);
	return false;
}

/* Lock held, and given back. */
static void end_in_parent(const struct birth *b, s64 ret)
{
	if (b->seg != NO_SEG && ret < 0)
		b->head->state = AP_SEG_EXECED;
	else if (b->seg != NO_SEG)
		name_child(b, (u32)ret);
	ap_lock_drop(&ap_proc.lock);
}

static void lend(u32 *done)
{
	__atomic_store_n(done, 0, __ATOMIC_RELAXED);
	ap_lock_lend(&ap_proc.lock, done);
	ap_mem_fork_lend(done);
}

s64 ap_task_fork(struct ap_thread *t, struct ap_clone *k)
{
	bool counted = !(ap_proc.flags & AP_F_NO_INHERIT), joins;
	struct ap_slot *slot = ap_thread_slot(t);
	struct birth b = { .seg = NO_SEG };
	bool told = false;
	u64 mask;
	s64 ret;

	if (!ap_call_block(t, &mask))
		return AP_SYSCALL_UNTOUCHED;
	if (!*k->random) /* once, though a signal has the call made again, or want of room */
		*k->random = ap_random_next();
	b.random = *k->random;
	ap_lock_take(&ap_proc.lock);
	joins = ap_party_join(t);
	b.is_apart = !joins;
	if (counted && joins) {
		ap_heir_before_fork();
		prepare(&b, k);
	}
	if (b.seg != NO_SEG)
		told = ap_service_forks(b.seg, 0, false);
	if (k->flags & AP_CLONE_FILES) {
		ap_service_files_shared();
		ap_procfs_files_shared();
		ap_fd_share(t);
	}
	ap_clients_before_fork(t, b.random);
	call_begin(t);
	if (k->flags & AP_CLONE_VFORK && !t->forks_unlocked)
		lend(&slot->has_copy);
	ret = raw_clone(t, k);
	if (!ret) {
		__atomic_store_n(&slot->has_copy, 1, __ATOMIC_RELEASE); /* the parent's slot yet */
		run_child(t, k, &b, mask);
		return 0;
	}
	if (call_end(t, &b))
		end_in_parent(&b, ret);
	if (told && ret < 0)
		ap_service_fork_failed(b.seg, 0, false);
	ap_sig_set_mask(mask);
	return ret;
}
