/* SPDX-License-Identifier: MIT */
/*
 * anyperf inside a session of anyperf: the engine that runs us counts our command as well, so we
 * only ask for a sum of its own (a root) and read it from the outer session's file when the
 * command has ended.  The outer supervisor serves its execs and folds its segments.
 */
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/result.h"
#include "linux/run_internal.h"

/* For the outer supervisor to fold what has ended. */
#define FOLD_NS	       200000000ULL
#define FOLD_STEP_NS   500000L
#define SERVE_NS       5000000000ULL /* for it to begin to serve */
#define SUPERBLOCK_MAX 64

int ap_nested_session_fd(void)
{
	int fd = prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0);
	struct ap_session_file s;

	if (fd < 0)
		return -1;
	if (ap_session_open(&s, fd))
		return -1;
	/* -i: only we are counted, what we start is not */
	if (s.head->flags & AP_F_NO_INHERIT) {
		ap_session_close(&s);
		return -1;
	}
	return ap_session_unmap(&s);
}

static u32 own_root(const struct ap_session_file *s)
{
	u32 n = ap_session_nsegs(s);
	struct ap_seg head;

	for (u32 seg = 0; ap_session_next_seg(s, &seg, n); seg++)
		if (!ap_session_seg_read(s, seg, &head) && head.state == AP_SEG_LIVE &&
		    head.ns_pid == (u32)getpid())
			return head.root;
	return 0;
}

struct tally {
	unsigned int running;
	unsigned int ended; /* not folded yet */
	unsigned int cut_short;
};

static bool is_alive(const struct ap_seg *head)
{
	pid_t pid = (pid_t)(head->ns_pid ? head->ns_pid : head->pid);

	return pid > 0 && (!kill(pid, 0) || errno == EPERM);
}

/* Our own segments: what runs, what has ended. */
static void take_tally(const struct ap_session_file *s, u32 root, struct tally *tally)
{
	u32 n = ap_session_nsegs(s);
	struct ap_seg head;

	memset(tally, 0, sizeof(*tally));
	for (u32 seg = 0; ap_session_next_seg(s, &seg, n); seg++) {
		struct ap_sum sum = { 0 };

		if (ap_session_seg_read(s, seg, &head) || head.state == AP_SEG_FREE ||
		    head.state == AP_SEG_FOLDED || !ap_root_is_within(s, head.root, root))
			continue;
		if (head.state == AP_SEG_LIVE && is_alive(&head)) {
			tally->running++;
			continue;
		}
		tally->ended++;
		if (!ap_sum_segment(s, seg, &sum))
			tally->cut_short += sum.in_code + sum.short_tasks;
	}
}

static int read_counts(struct ap_run_state *run, const struct ap_session_file *s, u32 root)
{
	const struct timespec step = { .tv_nsec = FOLD_STEP_NS };
	u64 until = ap_now_ns() + FOLD_NS;
	struct tally tally;
	int ret;

	for (;;) {
		take_tally(s, root, &tally);
		if (!tally.ended && (!run->opts->wait_all || !tally.running))
			break;
		if (!run->opts->wait_all && ap_now_ns() >= until)
			break;
		nanosleep(&step, NULL);
	}
	if (run->opts->wait_all)
		run->res->wall_ns = ap_now_ns() - run->start_ns;
	ret = ap_result_take(run->res, s, root);
	run->res->tasks_running = tally.running;
	run->res->tasks_short += tally.cut_short;
	run->res->max_short = run->res->tasks_short ? SUPERBLOCK_MAX : 0;
	return ret;
}

/*
 * A session that was made for a table serves no perf events before somebody wants them.  Where that
 * cannot be, the program would get the kernel's answer and take it for ours.
 */
static bool is_served(const struct ap_run_options *opts, struct ap_session *head)
{
	const struct timespec step = { .tv_nsec = FOLD_STEP_NS };
	const struct ap_run_perf *perf = &opts->perf;
	u32 word = AP_SERVE_WORD(perf->paranoid, perf->counters,
				 (perf->user_only ? AP_SERVE_USER_ONLY : 0) |
					 (perf->is_paranoid_given ? AP_SERVE_PARANOID : 0)),
	    none = 0;
	u64 until = ap_now_ns() + SERVE_NS;

	if (__atomic_load_n(&head->flags, __ATOMIC_ACQUIRE) & AP_F_SERVE)
		return true;
	__atomic_compare_exchange_n(&head->serve, &none, word, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	__atomic_fetch_add(&head->doorbell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &head->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (!(__atomic_load_n(&head->flags, __ATOMIC_ACQUIRE) & AP_F_SERVE)) {
		if (__atomic_load_n(&head->serve, __ATOMIC_ACQUIRE) & AP_SERVE_REFUSED ||
		    ap_now_ns() >= until)
			return false;
		nanosleep(&step, NULL);
	}
	return true;
}

int ap_run_nested(struct ap_run_state *run, int session_fd)
{
	struct ap_session_file s;
	u32 root;
	int ret = ap_session_open(&s, session_fd);

	if (ret)
		return ap_run_complain(run, AP_EXIT_OURS, "cannot join the session around us: %s",
				       strerror(-ret));
	if (run->opts->perf.is_served && !is_served(run->opts, s.head)) {
		ap_session_close(&s);
		return ap_run_complain(run, AP_EXIT_OURS,
				       "the session around us cannot serve perf events");
	}
	if (run->opts->ntargets) {
		ap_session_close(&s);
		return ap_run_native(run, 0);
	}
	ret = ap_session_root_new(&s, own_root(&s), &root);
	if (ret) {
		ap_session_close(&s);
		return ap_run_complain(run, AP_EXIT_OURS, "more than %d nested sessions at once",
				       AP_ROOT_MAX - 1);
	}
	__atomic_fetch_or(&s.head->kinds, run->opts->kinds, __ATOMIC_RELEASE);
	ret = ap_run_native(run, root);
	if (!ret) {
		ret = read_counts(run, &s, root);
		if (ret)
			ret = ap_run_complain(run, AP_EXIT_OURS, "cannot read the counts: %s",
					      strerror(-ret));
		run->res->counted = (s.head->flags & AP_F_COUNT) || !run->opts->count;
		if (!run->res->counted)
			(void)!ap_result_add_note(run->res, AP_NOTE_INFO, 0,
						  "the session around us counts no such event");
	}
	ap_session_root_release(&s, root);
	ap_session_close(&s);
	return ret;
}
