/* SPDX-License-Identifier: MIT */
/*
 * Signals of the foreground process while a command runs: held, and read from a signalfd by the
 * supervisor's loop, which passes on what was meant for the command.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/run/run_internal.h"

/* Our first thread makes the C library handle this one, and sigaction(3) does not let us look. */
#define SIGSETXID 33

void ap_signals_take(struct ap_run_state *run)
{
	struct ap_saved_signals *saved = &run->signals;
	struct sigaction ours = { .sa_sigaction = ap_doorbell_signal,
				  .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t set;

	/*
	 * blocked but for while the supervisor sleeps: the kernel keeps them even where they were
	 * ignored
	 */
	ap_supervisor_sigset(&set);
	sigprocmask(SIG_BLOCK, &set, &saved->mask);
	/* an inherited SIG_IGN of SIGCHLD would reap our children for us */
	sigfillset(&ours.sa_mask);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&set, sig) > 0)
			sigaction(sig, &ours, &saved->on[sig]);
	syscall(SYS_rt_sigaction, SIGSETXID, NULL, saved->on_setxid, NSIG / 8);
	/* one that the caller's handler had just before is this run's */
	if (run->opts->told && *run->opts->told)
		raise(*run->opts->told);
}

static void restore_dispositions(const void *arg)
{
	const struct ap_saved_signals *saved = arg;
	sigset_t set;

	ap_supervisor_sigset(&set);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&set, sig) > 0)
			sigaction(sig, &saved->on[sig], NULL);
}

void ap_signals_for_command(const void *arg)
{
	const struct ap_saved_signals *saved = arg;

	restore_dispositions(arg);
	if (saved->on_setxid[0] == (u64)SIG_IGN)
		syscall(SYS_rt_sigaction, SIGSETXID, saved->on_setxid, NULL, NSIG / 8);
}

static void note_end(struct ap_run_state *run, int sig)
{
	if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP)
		run->res->end_sig = sig;
}

void ap_signals_give_back(struct ap_run_state *run)
{
	const struct ap_saved_signals *saved = &run->signals;
	const struct ap_supervisor *sv = &run->sv;
	const struct timespec now = { 0 };
	sigset_t set;
	int sig;

	/*
	 * What came for the command, or of tasks that we have reaped, is nobody's business any more.  A series of runs has
	 * to end all the same: by what came in the supervisor's last sleep, by what it read after the times were taken, and by
	 * what nobody has read.
	 */
	for (u32 i = 0; i < sv->bell.ntold; i++)
		note_end(run, sv->bell.told[i].sig);
	if (sv->end_sig)
		run->res->end_sig = sv->end_sig;
	ap_supervisor_sigset(&set);
	for (sig = 1; sig < NSIG; sig++)
		if (sigismember(&saved->mask, sig) > 0)
			sigdelset(&set, sig);
	while ((sig = sigtimedwait(&set, NULL, &now)) > 0)
		note_end(run, sig);
	restore_dispositions(saved);
	sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}
