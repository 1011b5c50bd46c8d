/* SPDX-License-Identifier: MIT */
/*
 * The supervisor's loop: signals, the doorbell and the ends of processes, each of which leads to
 * one look at the tasks and segments concerned.
 */
#include "linux/run/supervisor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "files/in.h"
#include "linux/client/client_internal.h"
#include "linux/host/host.h"
#include "linux/task/now.h"

/* timeout(1) sends its signal to the process and to its group: that is one telling, not two. */
#define ECHO_NS 200000000ULL
/* So long a command has time to hear of a signal that was sent to both of us. */
#define HEARD_NS 150000000ULL

/* What epoll says: a segment's number, or one of these. */
#define TAG_SIGNAL (~0ULL) /* else AP_SV_TAG_* */

/* Forks that nobody told us of are looked for this often; more seldom while there are none. */
#define TICK_MIN_MS    250
#define TICK_MAX_MS    2000
#define SETTLE_TICK_NS 5000000ULL
/* Turns of the loop without sleep from one look at the signals to the next. */
#define GLANCE_TURNS 16

/* perf_event_paranoid: what sessions begin with, and the strictest. */
#define LEVEL	  2
#define LEVEL_MAX 3

int ap_supervisor_init(struct ap_supervisor *sv)
{
	sigset_t set;
	int ret;

	ap_supervisor_sigset(&set);
	sv->sigfd = -1;
	sv->bell.is_running = sv->bell.has_thread = false;
	sv->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (sv->epfd < 0)
		return -errno;
	sv->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	ret = sv->sigfd < 0 ? -errno : 0;
	/* a sleep at a doorbell is interrupted by them */
	if (!ret && sv->ses.head)
		ret = ap_doorbell_start(&sv->bell, sv->ses.head, sv->epfd);
	else if (!ret)
		ret = ap_supervisor_watch(sv, sv->sigfd, TAG_SIGNAL, EPOLLIN);
	if (ret)
		ap_supervisor_fini(sv);
	return ret;
}

void ap_supervisor_fini(struct ap_supervisor *sv)
{
	ap_doorbell_stop(&sv->bell);
	ap_tracks_fini(sv);
	free(sv->traced);
	sv->traced = NULL;
	sv->ntraced = sv->traced_cap = 0;
	if (sv->sigfd >= 0)
		close(sv->sigfd);
	if (sv->epfd >= 0)
		close(sv->epfd);
	sv->sigfd = sv->epfd = -1;
}

static void command_ended(struct ap_supervisor *sv, int status, const struct rusage *ru)
{
	sv->command_ended = true;
	ap_tracks_reaped(sv, sv->command);
	sv->wait_status = status;
	sv->rusage = *ru;
	sv->end_ns = ap_now_ns();
	sv->is_stale = true;
}

/* Takes one task's state change; false when there is none. */
static bool reap_one(struct ap_supervisor *sv)
{
	siginfo_t si = { 0 };
	struct rusage ru;
	bool is_command;
	int status;

	if (waitid(P_ALL, 0, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) || !si.si_pid)
		return false;
	is_command = si.si_pid == sv->command && !sv->command_ended;
	if (is_command && sv->wants_account &&
	    (si.si_code == CLD_EXITED || si.si_code == CLD_KILLED || si.si_code == CLD_DUMPED))
		ap_account_before_reap(&sv->account, si.si_pid);
	if (wait4(si.si_pid, &status, WNOHANG | WUNTRACED | __WALL, &ru) <= 0)
		return true;
	(void)ap_handover_event(sv, si.si_pid, status);
	if (is_command && !WIFSTOPPED(status))
		command_ended(sv, status, &ru);
	return true;
}

/* Told to end a second time: the command does not listen, so we leave it. */
static void give_up(struct ap_supervisor *sv)
{
	sv->is_given_up = true;
	sv->is_interrupted = true;
	sv->end_ns = ap_now_ns();
	ap_account_rusage(sv->command, &sv->rusage);
}

/* Who sends a signal to a whole process group sends it to the command as well, which then has heard of it. */
static bool has_heard(const struct ap_supervisor *sv)
{
	const struct ap_heard *h = &ap_board_of(sv->ses.head)->heard[sv->pass_sig];

	return __atomic_load_n(&h->ns, __ATOMIC_ACQUIRE) + ECHO_NS > sv->pass_ns &&
	       __atomic_load_n(&h->from, __ATOMIC_RELAXED) == sv->pass_from;
}

static void pass_now(struct ap_supervisor *sv)
{
	if (sv->pass_sig && !sv->command_ended && !has_heard(sv))
		kill(sv->command, sv->pass_sig);
	sv->pass_sig = 0;
}

static void pass(struct ap_supervisor *sv, const struct ap_told *told)
{
	pass_now(sv);
	if (told->code != SI_USER || told->sig >= AP_HEARD_N || !sv->ses.head) {
		kill(sv->command, told->sig);
		return;
	}
	sv->pass_sig = told->sig;
	sv->pass_from = told->from;
	sv->pass_ns = ap_now_ns();
}

/* The keyboard's signals reach the command by themselves, it is in the same process group. */
static void pass_on(struct ap_supervisor *sv, const struct ap_told *told)
{
	bool is_from_kernel = told->code > 0;
	int sig = told->sig;
	bool is_telling = !is_from_kernel && (sig == SIGINT || sig == SIGTERM);
	bool is_echo = is_telling && sv->told_sig && ap_now_ns() - sv->told_ns < ECHO_NS;

	if (sig == SIGCHLD)
		return;
	if (is_telling || sig == SIGHUP)
		sv->end_sig = sig;
	if (!sv->command || sv->command_ended)
		sv->is_interrupted = true;
	else if (is_telling && sv->told_sig && !is_echo)
		give_up(sv);
	else if (is_echo ? sig != sv->told_sig
			 : !is_from_kernel || (sig != SIGINT && sig != SIGQUIT))
		pass(sv, told);
	if (is_telling && !is_echo) {
		sv->told_sig = sig;
		sv->told_ns = ap_now_ns();
	}
}

void ap_supervisor_glance(struct ap_supervisor *sv)
{
	struct signalfd_siginfo si;

	while (read(sv->sigfd, &si, sizeof(si)) == sizeof(si)) {
		const struct ap_told told = { .sig = (int)si.ssi_signo,
					      .code = si.ssi_code,
					      .from = si.ssi_pid };

		sv->has_children |= told.sig == SIGCHLD;
		pass_on(sv, &told);
	}
}

/* SIGCHLD is told once, and may have been heard in the middle of work. */
static void reap(struct ap_supervisor *sv)
{
	if (!sv->has_children)
		return;
	sv->has_children = false;
	while (reap_one(sv))
		;
}

static void read_signals(struct ap_supervisor *sv)
{
	ap_supervisor_glance(sv);
	sv->has_children = true;
	reap(sv);
}

/* What came while we slept.  Who is asked all the time does not sleep, and looks now and then. */
static void take_told(struct ap_supervisor *sv)
{
	u32 n = sv->bell.ntold;

	for (u32 i = 0; i < n; i++) {
		sv->has_children |= sv->bell.told[i].sig == SIGCHLD;
		pass_on(sv, &sv->bell.told[i]);
	}
	sv->bell.ntold = 0;
	if (n || ++sv->turns % GLANCE_TURNS == 0) {
		ap_supervisor_glance(sv);
		reap(sv);
	}
}

/* Takes what the descriptors have to say; false when they are silent. */
static bool take_events(struct ap_supervisor *sv, int ms)
{
	struct epoll_event events[32];
	int n = epoll_wait(sv->epfd, events, 32, ms);

	for (int i = 0; i < n; i++) {
		if (events[i].data.u64 == TAG_SIGNAL) {
			read_signals(sv);
		} else if (events[i].data.u64 & AP_SV_TAG_WAKE) {
			continue;
		} else if (events[i].data.u64 & AP_SV_TAG_CLIENT) {
			ap_client_ready(sv->client, (int)(u32)events[i].data.u64);
		} else {
			ap_tracks_gone(sv, (u32)events[i].data.u64);
			sv->is_stale = true;
		}
	}
	return n > 0;
}

/* Sends the deadline's SIGTERM; ns until the next thing to do by the clock. */
static u64 clock_work(struct ap_supervisor *sv, u64 until_ns, u64 next)
{
	u64 now = ap_now_ns();

	if (sv->deadline_ns && !sv->command_ended) {
		if (now >= sv->deadline_ns) {
			sv->is_timed_out = !sv->is_stopped;
			sv->deadline_ns = 0;
			kill(sv->command, SIGTERM);
		} else if (sv->deadline_ns < next) {
			next = sv->deadline_ns;
		}
	}
	if (sv->pass_sig && now >= sv->pass_ns + HEARD_NS)
		pass_now(sv);
	else if (sv->pass_sig && sv->pass_ns + HEARD_NS < next)
		next = sv->pass_ns + HEARD_NS;
	if (sv->client) {
		u64 due = ap_client_clock(sv->client, now);

		if (due && due < next)
			next = due;
	}
	if (until_ns && until_ns < next)
		next = until_ns;
	/* a wait for an end should not be long where there are no pidfds */
	if (until_ns && now + SETTLE_TICK_NS < next)
		next = now + SETTLE_TICK_NS;
	if (sv->host) {
		u64 after = ap_host_tick(sv->host, now);

		if (after && now + after < next)
			next = now + after;
	}
	return next > now ? next - now : 0;
}

static void look_at_tracks(struct ap_supervisor *sv)
{
	u32 looks = ap_session_looks(&sv->ses), untold = ap_session_untold(&sv->ses);
	bool looked = false;

	if (looks != sv->looks || (sv->host && untold != sv->untold))
		sv->is_stale = true;
	sv->untold = untold;
	sv->looks = looks;
	/* once and for all: whoever took it back would have others wait */
	sv->has_mute |= ap_session_is_mute(&sv->ses);
	while (sv->is_stale && !(looked && sv->is_given_up)) {
		looked = true;
		sv->is_stale = false;
		ap_handover_sweep(sv, ap_now_ns());
		ap_tracks_update(sv);
		reap(sv);
	}
}

/*
 * A task may ask for a stricter level, or for what the kernel permits.  To go below both that and what sessions begin with is
 * for the session's owner.
 */
static s32 level_of(s32 asked)
{
	FILE *in = ap_kernel_stream("/proc/sys/kernel/perf_event_paranoid");
	s32 least = LEVEL;

	if (in && (fscanf(in, "%d", &least) != 1 || least > LEVEL))
		least = LEVEL;
	if (in)
		fclose(in);
	if (asked < least)
		return least;
	return asked > LEVEL_MAX ? LEVEL_MAX : asked;
}

/* An anyperf inside wants perf events served.  What it wrote may be anything. */
static void start_host(struct ap_supervisor *sv, const struct ap_board *board)
{
	u32 word = __atomic_load_n(&board->serve, __ATOMIC_ACQUIRE);
	u32 counters = AP_SERVE_COUNTERS(word);
	struct ap_host_config cfg = { .is_paranoid_given = word & AP_SERVE_PARANOID,
				      .counters = counters < 64 ? counters : 64,
				      .max_sample_rate = board->serve_rate,
				      .user_only = word & AP_SERVE_USER_ONLY };

	if (!(word & AP_SERVE_WANTED) || sv->ses.head->serve & AP_SERVE_REFUSED)
		return;
	cfg.paranoid = level_of(AP_SERVE_LEVEL(word));
	if (!(sv->ses.head->flags & AP_F_COUNT) ||
	    (!sv->host && ap_host_new(&sv->host, sv, &cfg))) {
		__atomic_store_n(&sv->ses.head->serve, AP_SERVE_REFUSED, __ATOMIC_RELEASE);
		return;
	}
	ap_host_configure(sv->host, &cfg);
	__atomic_fetch_or(&sv->ses.head->flags, AP_F_SERVE, __ATOMIC_RELEASE);
}

bool ap_supervisor_answer(struct ap_supervisor *sv)
{
	bool in_time, any;

	if (!sv->host)
		return false;
	any = ap_host_serve(sv->host, &in_time);
	while (!ap_doorbell_is_rung(&sv->bell) && ap_host_settle(sv->host))
		;
	if (any)
		ap_doorbell_served(&sv->bell, in_time);
	return any;
}

/*
 * Waits for something to happen, and does what it asks for.  Deaths come before requests: a task that
 * waited for a child and then reads a counter finds the child's counts there.
 */
static void work(struct ap_supervisor *sv, u64 ns)
{
	const struct ap_session_file *f;

	if (!sv->bell.is_running) {
		(void)take_events(sv, (int)((ns + 999999) / 1000000));
		return;
	}
	ap_doorbell_wait(&sv->bell, ns);
	take_told(sv);
	if (ap_doorbell_has_news(&sv->bell)) {
		(void)take_events(sv, 0);
		ap_doorbell_resume(&sv->bell);
	} else if (sv->host && ap_host_is_watching(sv->host)) {
		(void)take_events(sv, 0);
	}
	look_at_tracks(sv);
	ap_session_kinds_look(&sv->ses);
	for (u32 p = 0;
	     !(sv->ses.head->flags & AP_F_SERVE) && (f = ap_session_next_party(&sv->ses, &p));)
		start_host(sv, ap_board_of(f->head));
	ap_supervisor_answer(sv);
}

void ap_supervisor_serve(struct ap_supervisor *sv, bool (*done)(struct ap_supervisor *sv),
			 u64 until_ns)
{
	u64 tick_ms = TICK_MIN_MS, tick_ns = ap_now_ns() + tick_ms * 1000000;

	while (!done(sv) && (!until_ns || ap_now_ns() < until_ns)) {
		u32 known = sv->nseen;
		u64 now;

		work(sv, clock_work(sv, until_ns, tick_ns));
		now = ap_now_ns();
		if (now >= tick_ns || until_ns) {
			sv->is_stale = true;
			if (sv->ses.head)
				look_at_tracks(sv);
		}
		if (sv->nseen != known)
			tick_ms = TICK_MIN_MS;
		else if (now >= tick_ns && tick_ms < TICK_MAX_MS)
			tick_ms *= 2;
		if (now >= tick_ns)
			tick_ns = now + tick_ms * 1000000;
	}
}
