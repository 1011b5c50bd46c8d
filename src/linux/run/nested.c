/* SPDX-License-Identifier: MIT */
/*
 * anyperf inside a session of anyperf: the engine that runs us counts our command as well, and the
 * session's core serves our perf_event_open.  A part of the tree of our own (a root) says what of
 * it was not counted and what runs on.  The outer supervisor serves its execs and folds its
 * segments.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "linux/host/host.h"
#include "linux/run/run_internal.h"
#include "linux/session/result.h"
#include "linux/task/now.h"
#include "model/machine.h"

/* For the outer supervisor to fold what has ended. */
#define FOLD_NS	       200000000ULL
#define FOLD_STEP_NS   500000L
#define SERVE_NS       5000000000ULL /* for it to begin to serve */
#define SUPERBLOCK_MAX 64

bool ap_nested_join(struct ap_session_file *around)
{
	if (ap_session_join(around))
		return false;
	/* -i: only we are counted, what we start is not */
	if (!(around->head->flags & AP_F_NO_INHERIT))
		return true;
	ap_session_close(around);
	return false;
}

/* Our engine does it for us. */
static int ask(enum ap_prctl_op op, u64 arg, u64 more)
{
	int ret = prctl(AP_PRCTL, op, (unsigned long)arg, (unsigned long)more, 0);

	return ret < 0 ? -errno : ret;
}

static u32 own_root(const struct ap_session_file *s)
{
	struct ap_seg head;

	for (u32 seg = 0; ap_session_next_seg(s, &seg); seg++)
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
	struct ap_seg head;

	memset(tally, 0, sizeof(*tally));
	for (u32 seg = 0; ap_session_next_seg(s, &seg); seg++) {
		if (ap_session_seg_read(s, seg, &head) || head.state == AP_SEG_FREE ||
		    head.state == AP_SEG_FOLDED || !ap_root_is_within(s, head.root, root))
			continue;
		if (head.state == AP_SEG_LIVE && is_alive(&head)) {
			tally->running++;
			continue;
		}
		tally->ended++;
		tally->cut_short += ap_session_in_code(s, seg);
	}
}

struct ap_nested {
	struct ap_session_file s;
	u32 root;
	struct tally tally;
};

void ap_nested_settle(struct ap_run_state *run)
{
	const struct timespec step = { .tv_nsec = FOLD_STEP_NS };
	struct ap_nested *n = run->nested;
	u64 until = ap_now_ns() + FOLD_NS;

	for (;;) {
		take_tally(&n->s, n->root, &n->tally);
		if (!n->tally.ended && (!run->opts->wait_all || !n->tally.running))
			break;
		if (!run->opts->wait_all && ap_now_ns() >= until)
			break;
		nanosleep(&step, NULL);
	}
	if (!run->opts->wait_all)
		return;
	run->sv.end_ns = ap_now_ns();
	run->res->wall_ns = run->sv.end_ns - run->start_ns;
}

static int take_result(struct ap_run_state *run)
{
	const struct ap_nested *n = run->nested;
	struct ap_run_result *res = run->res;
	int ret = ap_result_take(res, &n->s, n->root);

	res->tasks_running = n->tally.running;
	res->tasks_short += n->tally.cut_short;
	res->max_short = res->tasks_short ? SUPERBLOCK_MAX : 0;
	return ret ? ap_run_complain(run, AP_EXIT_OURS, "out of memory for notes: %s",
				     strerror(-ret))
		   : 0;
}

/*
 * A session that was made for a table serves no perf events before somebody wants them.  Where that
 * cannot be, the program would get the kernel's answer and take it for ours.
 */
static bool is_served(const struct ap_run_options *opts, const struct ap_session *head)
{
	const struct timespec step = { .tv_nsec = FOLD_STEP_NS };
	const struct ap_run_perf *perf = &opts->perf;
	u32 word = AP_SERVE_WORD(perf->paranoid, perf->counters,
				 (perf->user_only ? AP_SERVE_USER_ONLY : 0) |
					 (perf->is_paranoid_given ? AP_SERVE_PARANOID : 0));
	u64 until = ap_now_ns() + SERVE_NS;

	if (__atomic_load_n(&head->flags, __ATOMIC_ACQUIRE) & AP_F_SERVE)
		return true;
	if (ask(AP_PRCTL_SERVE, word, perf->max_sample_rate))
		return false;
	while (!(__atomic_load_n(&head->flags, __ATOMIC_ACQUIRE) & AP_F_SERVE)) {
		if (__atomic_load_n(&head->serve, __ATOMIC_ACQUIRE) & AP_SERVE_REFUSED ||
		    ap_now_ns() >= until)
			return false;
		nanosleep(&step, NULL);
	}
	return true;
}

/* Models are the session's: what was asked for would stand beside another machine's counts. */
static int check_machine(struct ap_run_state *run, const struct ap_session *head)
{
	struct ap_machine around;

	memcpy(&around, head->machine, sizeof(around));
	if (!run->opts->machine || !memcmp(run->opts->machine, &around, sizeof(around)))
		return 0;
	around.name[sizeof(around.name) - 1] = '\0';
	return ap_run_complain(
		run, AP_EXIT_OURS,
		"the session around us models %s, not %s: give --machine to the outer anyperf",
		around.name, run->opts->machine->name);
}

/* So are raw codes: named here by one CPU's table, they would be counted by another's. */
static int check_cpu(struct ap_run_state *run, const struct ap_session *head)
{
	if (head->codes == (u32)ap_host_cpu())
		return 0;
	return ap_run_complain(
		run, AP_EXIT_OURS,
		"the session around us has the raw events of another CPU: give --cpu-id, or --machine, to the outer anyperf");
}

/* A session that counts nothing cannot serve; then there are no events, and that is said. */
static int begin(struct ap_run_state *run, const struct ap_session *head)
{
	const struct ap_run_perf *perf = &run->opts->perf;

	if (!perf->is_served && !perf->is_wanted)
		return 0;
	run->is_served_around = is_served(run->opts, head);
	if (!run->is_served_around && perf->is_served)
		return ap_run_complain(run, AP_EXIT_OURS,
				       "the session around us cannot serve perf events");
	if (!run->is_served_around)
		(void)!ap_result_add_note(run->res, AP_NOTE_INFO, 0,
					  "the session around us counts no such event");
	return 0;
}

/* Code that is translated from now on counts them. */
static void want_kinds(const struct ap_session *head, u64 kinds)
{
	const struct timespec step = { .tv_nsec = FOLD_STEP_NS };
	u64 until = ap_now_ns() + SERVE_NS;

	if (!(kinds & ~head->kinds) || ask(AP_PRCTL_KINDS, kinds, 0))
		return;
	while (kinds & ~__atomic_load_n(&head->kinds, __ATOMIC_SEQ_CST) && ap_now_ns() < until)
		nanosleep(&step, NULL);
}

static int run_command(struct ap_run_state *run, const struct ap_session_file *s)
{
	struct ap_nested n = { .s = *s };
	int ret = ask(AP_PRCTL_ROOT_NEW, own_root(&n.s), 0);

	if (ret < 0)
		return ap_run_complain(run, AP_EXIT_OURS, "more than %d nested sessions at once",
				       AP_ROOT_MAX - 1);
	n.root = (u32)ret;
	want_kinds(n.s.head, run->opts->kinds);
	run->nested = &n;
	ret = ap_run_native(run, n.root);
	if (!ret)
		ret = take_result(run);
	(void)ask(AP_PRCTL_ROOT_RELEASE, n.root, 0);
	return ret;
}

int ap_run_nested(struct ap_run_state *run, struct ap_session_file *around)
{
	int ret = check_machine(run, around->head);

	if (!ret)
		ret = check_cpu(run, around->head);
	if (!ret)
		ret = begin(run, around->head);
	if (!ret)
		ret = run->opts->ntargets ? ap_run_native(run, 0) : run_command(run, around);
	ap_session_close(around);
	return ret;
}
