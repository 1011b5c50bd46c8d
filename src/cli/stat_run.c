/* SPDX-License-Identifier: MIT */
/*
 * The runs of a measurement: what `anyperf stat` and `anyperf gate` have in common beside the
 * counting itself, so that both give the same numbers.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/engine_opts.h"
#include "cli/memory.h"
#include "cli/stat_count.h"
#include "cli/stat_regions.h"
#include "linux/run/run.h"
#include "print/print.h"

void ap_stat_choose_instruments(struct ap_run_options *run, const struct ap_evlist *events)
{
	size_t i;

	run->perf.is_wanted = ap_evlist_needs(events, AP_FROM_RAW) || events->cgroups;
	run->no_engine = !run->perf.is_wanted && !run->wait_all;
	for (i = 0; i < events->n; i++) {
		const struct ap_evsel *sel = &events->sel[i];

		if (sel->why || sel->desc->from != AP_FROM_RAW)
			continue;
		run->kinds |= sel->kinds;
		run->count |= sel->kinds != AP_KIND_BIT(AP_KIND_SYSCALL);
	}
}

static void add(struct ap_stat_count *c, const struct ap_run_result *res)
{
	const struct ap_stat_reading *readings;
	struct ap_stat_times times;

	readings = ap_stat_count_readings(c, res, &times);
	c->st->is_of_part = c->opts->delay_ms || c->control;
	if (c->opts->interval_ms && c->opts->has_summary) {
		ap_stat_restart(c->st);
		c->st->of_intervals = false;
	}
	if (!c->opts->interval_ms || c->opts->has_summary)
		ap_stat_add(c->st, readings, &times);
	ap_stat_add_result(c->st, res);
	if (c->st->regions)
		ap_stat_regions_take(c->st->regions, &res->regions);
}

/* What is asked for around a run.  It is not counted; false: it failed, and a line says so. */
static bool beside(const char *option, const char *command)
{
	int status;

	if (!command)
		return true;
	fflush(NULL);
	status = system(command);
	if (!status)
		return true;
	if (status < 0)
		ap_print(stderr, "anyperf: %s: cannot run a shell: %s\n", option, strerror(errno));
	else
		ap_print(stderr, "anyperf: %s: '%s' ended with status %d\n", option, command,
			 ap_engine_exit_status(status));
	return false;
}

/* --- between two runs */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
#define N_ENDS (sizeof(ends) / sizeof(*ends))

static volatile sig_atomic_t told;

static void note_told(int sig)
{
	told = sig;
}

/*
 * In a run the supervisor has these signals.  Between two of them they must not end us, or the counts of those before were lost.
 * An exec gives the command the default back.
 */
static void hold_ends(struct sigaction was[N_ENDS])
{
	const struct sigaction ours = { .sa_handler = note_told, .sa_flags = SA_RESTART };

	told = 0;
	for (size_t i = 0; i < N_ENDS; i++)
		if (!sigaction(ends[i], NULL, &was[i]) && was[i].sa_handler == SIG_DFL)
			sigaction(ends[i], &ours, NULL);
}

static void free_ends(const struct sigaction was[N_ENDS])
{
	for (size_t i = 0; i < N_ENDS; i++)
		sigaction(ends[i], &was[i], NULL);
}

static int run_series(struct ap_stat_count *c, struct ap_stat_runs *runs)
{
	struct ap_run_options run = *c->run;

	run.told = &told;
	for (unsigned int i = 0; !runs->repeat || i < runs->repeat; i++) {
		struct ap_run_result res;
		int ret, sig, end_sig;

		memset(&res, 0, sizeof(res));
		if (!beside("--pre", runs->pre))
			return AP_EXIT_FAILURE;
		if (runs->sync)
			sync();
		if (told) {
			runs->status = 128 + told;
			break;
		}
		ret = ap_run(&run, &res);
		if (ret)
			return ret;
		runs->status = ap_engine_exit_status(res.wait_status);
		runs->signal = sig = WIFSIGNALED(res.wait_status) ? WTERMSIG(res.wait_status) : 0;
		end_sig = res.end_sig ? res.end_sig : told;
		runs->timed_out = res.is_timed_out;
		/* as in perf, what ends as it was asked to has not failed */
		if (sig == SIGTERM && (res.is_timed_out || c->is_stopped))
			runs->status = 0;
		add(c, &res);
		ap_run_result_fini(&res);
		if (sig)
			ap_print(stderr, "%s: %s\n", c->run->argv[0], strsignal(sig));
		runs->post_failed |= !beside("--post", runs->post);
		/*
		 * Ctrl-C, and to be told to end, is meant for the measurement too, not for one run
		 * of many.
		 */
		if (sig == SIGINT || sig == SIGQUIT || end_sig) {
			/* the last one may have ended well, and the series has not */
			if (i + 1 != runs->repeat && !runs->status && end_sig && !c->is_stopped)
				runs->status = 128 + end_sig;
			break;
		}
		if (runs->show && !runs->show(c))
			break;
		if (runs->until_failure && (runs->status || runs->timed_out))
			break;
	}
	return 0;
}

int ap_stat_run(struct ap_stat_count *c, struct ap_stat_runs *runs)
{
	struct sigaction was[N_ENDS];
	int ret;

	hold_ends(was);
	ret = run_series(c, runs);
	free_ends(was);
	return ret;
}
