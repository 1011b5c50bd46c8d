/* SPDX-License-Identifier: MIT */
/*
 * Signals of the foreground process while a command runs: held, and read from a signalfd by the
 * supervisor's loop, which passes on what was meant for the command.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/run_internal.h"

/* Our first thread makes the C library handle this one, and sigaction(3) does not let us look. */
#define SIGSETXID 33

void ap_signals_take(struct ap_saved_signals *saved)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t set;

	/* blocked, and read by the supervisor: the kernel keeps them even where they are ignored */
	ap_supervisor_sigset(&set);
	sigprocmask(SIG_BLOCK, &set, &saved->mask);
	/* an inherited SIG_IGN would reap our children for us */
	sigaction(SIGCHLD, &dfl, &saved->on_chld);
	syscall(SYS_rt_sigaction, SIGSETXID, NULL, saved->on_setxid, NSIG / 8);
}

static void restore_dispositions(const void *arg)
{
	const struct ap_saved_signals *saved = arg;

	sigaction(SIGCHLD, &saved->on_chld, NULL);
}

void ap_signals_for_command(const void *arg)
{
	const struct ap_saved_signals *saved = arg;

	restore_dispositions(arg);
	if (saved->on_setxid[0] == (u64)SIG_IGN)
		syscall(SYS_rt_sigaction, SIGSETXID, saved->on_setxid, NULL, NSIG / 8);
}

void ap_signals_give_back(const struct ap_saved_signals *saved)
{
	const struct timespec now = { 0 };
	sigset_t set;

	/* what came for the command, or of tasks that we have reaped, is nobody's business any more */
	ap_supervisor_sigset(&set);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&saved->mask, sig) > 0)
			sigdelset(&set, sig);
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	restore_dispositions(saved);
	sigprocmask(SIG_SETMASK, &saved->mask, NULL);
}
