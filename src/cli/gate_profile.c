/* SPDX-License-Identifier: MIT */
/*
 * Records the command with a fixed period of instructions and adds up its samples by function.
 * Recording is anyperf's own `record` in a process of its own, so that one command does not have to
 * know the inside of another;  the command's output of this run is thrown away, because it was
 * already seen.
 */
#include "cli/gate_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/memory.h"
#include "cli/profile.h"
#include "files/error.h"
#include "files/out.h"
#include "print/print.h"
#include "profile/hist/hist.h"
#include "profile/hist/hist_opts.h"
#include "profile/symbols/session.h"
#include "profile/text/intern.h"

#define COMMAND "anyperf gate"

extern char **environ;

static int fail(const char *what)
{
	ap_print(stderr, COMMAND ": --functions: %s\n", what);
	return AP_EXIT_FAILURE;
}

/* anyperf record ... -- command, the array to be freed with its period. */
static const char **command_line(const struct ap_gate_command *run, const char *path,
				 const char *period)
{
	const char *const fixed[] = { "anyperf", "record",	  "-q", "-o", path, "-c", period,
				      "-e",	 "instructions:u" };
	size_t n = 0, words = 0;
	const char **argv;

	while (run->argv[words])
		words++;
	argv = ap_xgrow(NULL, AP_ARRAY_SIZE(fixed) + 2 * run->nenv + words + 5, sizeof(*argv));
	memcpy(argv, fixed, sizeof(fixed));
	n = AP_ARRAY_SIZE(fixed);
	if (run->deterministic)
		argv[n++] = run->fixed_tsc ? "--deterministic=time" : "--deterministic";
	if (run->no_inherit)
		argv[n++] = "-i";
	if (run->wait_all)
		argv[n++] = "--wait-all";
	for (size_t i = 0; i < run->nenv; i++) {
		argv[n++] = "--env";
		argv[n++] = run->env[i];
	}
	argv[n++] = "--";
	memcpy(argv + n, run->argv, (words + 1) * sizeof(*argv));
	return argv;
}

static int spawn_record(const char **argv)
{
	posix_spawn_file_actions_t files;
	int ret, status = 0;
	pid_t pid;

	if (posix_spawn_file_actions_init(&files))
		ap_die("out of memory");
	ret = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	for (int fd = 1; fd <= 2 && !ret; fd++)
		ret = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
	if (!ret)
		ret = posix_spawn(&pid, "/proc/self/exe", &files, NULL, (char **)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (ret)
		return -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int add_entries(struct ap_gate_counts *g, const struct ap_hist *h)
{
	int ret = 0;

	for (u32 i = 0; h && i < ap_hist_entries(h) && !ret; i++) {
		const struct ap_hist_entry *e = ap_hist_entry(h, i);
		const char *file = e->dso ? e->dso->name : "[unknown]";
		const char *slash = strrchr(file, '/');
		const struct ap_gate_function f = { .name = (char *)(e->sym ? e->sym->name
									    : "[unknown]"),
						    .file = (char *)(slash ? slash + 1 : file),
						    .count = e->period };

		ret = ap_gate_add_function(g, &f);
	}
	return ret;
}

static int read_functions(struct ap_gate_counts *g, struct ap_data *d)
{
	struct ap_profile_session *s = ap_profile_calloc(1, sizeof(*s));
	struct ap_hist_opts keys;
	struct ap_data_rec rec;
	struct ap_fold *f;
	char why[400];
	bool is_lost;
	int ret;

	ap_hist_opts_init(&keys);
	keys.chain = AP_CHAIN_NONE;
	if (ap_hist_opts_columns(&keys, NULL, "dso,symbol", 0, why, sizeof(why)))
		ap_die("%s", why);
	ap_session_init(s);
	ap_session_build_ids(s, d);
	f = ap_fold_new(s, &keys);
	while (ap_data_next(d, &rec)) {
		if (rec.h.type != AP_PERF_RECORD_SAMPLE)
			ap_session_record(s, &rec);
		else
			ap_fold_sample(f, &rec);
	}
	ap_fold_finish(f);
	/* a difference of what came through by chance would be a made-up one */
	is_lost = s->lost || s->lost_samples;
	ret = is_lost ? -ENOBUFS : add_entries(g, ap_fold_hist(f, 0));
	ap_fold_free(f);
	ap_session_fini(s);
	free(s);
	return ret;
}

static int record_and_read(const struct ap_gate_command *run, struct ap_gate_counts *g,
			   const char *path)
{
	char period[24];
	struct ap_data *d;
	const char **argv;
	int status;

	snprintf(period, sizeof(period), "%" PRIu64, g->period);
	argv = command_line(run, path, period);
	status = spawn_record(argv);
	free(argv);
	if (status < 0)
		return fail("anyperf cannot start itself: is /proc there?");
	if (status && (!run->ignore_status || status >= AP_EXIT_FAILURE))
		return fail("the command failed when it was recorded");
	d = ap_profile_open(COMMAND, path, false);
	if (!d)
		return AP_EXIT_FAILURE;
	status = read_functions(g, d);
	if (status == -ENOMEM)
		ap_die("out of memory");
	if (ap_profile_close(COMMAND, path, d))
		return AP_EXIT_FAILURE;
	return status ? fail("samples were lost; record the baseline again, or do without") : 0;
}

int ap_gate_profile(const struct ap_gate_command *run, struct ap_gate_counts *g)
{
	int fd = ap_out_temporary("anyperf-gate"), ret;
	char *path;

	if (fd < 0) {
		ap_print(stderr, COMMAND ": --functions: no file can be made in TMPDIR: %s\n",
			 ap_file_error(fd));
		return AP_EXIT_FAILURE;
	}
	/* by our process's descriptor, which the program that is recorded does not inherit */
	path = ap_xasprintf("/proc/%d/fd/%d", (int)getpid(), fd);
	ret = record_and_read(run, g, path);
	free(path);
	close(fd);
	return ret;
}
