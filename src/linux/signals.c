/* SPDX-License-Identifier: MIT */
/*
 * Signals of the foreground process while a command runs: the keyboard's are the command's, the
 * ends of tasks are read from a signalfd, TERM and HUP are passed on to the command.
 */
#include <time.h>

#include "linux/run_internal.h"

void ap_signals_take(struct ap_saved_signals *saved)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, dfl = { .sa_handler = SIG_DFL };
	sigset_t set;

	ap_supervisor_sigset(&set);
	sigprocmask(SIG_BLOCK, &set, &saved->mask);
	sigaction(SIGINT, &ignore, &saved->on_int);
	sigaction(SIGQUIT, &ignore, &saved->on_quit);
	/* an inherited SIG_IGN would reap our children for us */
	sigaction(SIGCHLD, &dfl, &saved->on_chld);
}

void ap_signals_restore_dispositions(const void *arg)
{
	const struct ap_saved_signals *saved = arg;

	sigaction(SIGINT, &saved->on_int, NULL);
	sigaction(SIGQUIT, &saved->on_quit, NULL);
	sigaction(SIGCHLD, &saved->on_chld, NULL);
}

void ap_signals_give_back(const struct ap_saved_signals *saved)
{
	const struct timespec now = { 0 };
	sigset_t chld;

	/* SIGCHLDs of tasks that we have reaped are nobody's business */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	if (!sigismember(&saved->mask, SIGCHLD))
		while (sigtimedwait(&chld, NULL, &now) > 0)
			;
	ap_signals_restore_dispositions(saved);
	sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}
