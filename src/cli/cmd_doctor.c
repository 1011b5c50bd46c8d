/* SPDX-License-Identifier: MIT */
/*
 * `anyperf doctor`: what this machine permits, what works therefore, and what to change.  The
 * checks are linux/run/doctor.h's; the last one is here, since it counts a program as a user would:
 * by anyperf itself.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/opt_rows.h"
#include "linux/run/doctor.h"
#include "linux/run/run.h"
#include "print/print.h"

#define COMMAND "anyperf doctor"
#define SELF	"/proc/self/exe"

struct doctor_args {
	bool quiet;
};

#define OPT_ARGS struct doctor_args

static const struct ap_opt doctor_opts[] = {
	FLAG('q', "quiet", quiet, "print only what does not work, or works less"),
	{ 0 },
};

/* clang-format off */
const struct ap_opt_spec ap_spec_doctor = {
	COMMAND, "[-q]", doctor_opts,
	{ { "", "say of each thing whether it works here" },
	  { "-q", "say only what does not" } },
};
/* clang-format on */

static const char *const marks[] = { "ok", "less", "NO" };

extern char **environ;

static void print(const struct doctor_args *args, const struct ap_doctor_finding *f)
{
	if (args->quiet && f->verdict == AP_DOCTOR_OK)
		return;
	ap_print(stdout, " %-5s %-18s %s\n", marks[f->verdict], f->what, f->found);
	if (f->change[0])
		ap_print(stdout, "       %-18s to change that: %s\n", "", f->change);
}

/*
 * Runs anyperf on itself; its first line on stderr, without the end, goes to line.  The exit status
 * or -errno.
 */
static int run_self(char *line, int size)
{
	const char *const argv[] = { "anyperf", "stat", "-x,",	   "-e", "instructions:u",
				     "--",	SELF,	"version", NULL };
	posix_spawn_file_actions_t files;
	int ends[2], status = 0, ret;
	FILE *in;
	pid_t pid;

	if (pipe(ends))
		return -errno;
	if (posix_spawn_file_actions_init(&files) ||
	    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", 2, 0) ||
	    posix_spawn_file_actions_adddup2(&files, ends[1], 2) ||
	    posix_spawn_file_actions_addclose(&files, ends[0]))
		ap_die("out of memory");
	ret = posix_spawn(&pid, SELF, &files, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	in = ret ? NULL : fdopen(ends[0], "r");
	if (!in) {
		close(ends[0]);
		return ret ? -ret : -ENOMEM;
	}
	if (!fgets(line, size, in))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	while (fgetc(in) != EOF)
		;
	fclose(in);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void check_counting(struct ap_doctor_finding *f)
{
	char line[200], *end;
	int ret = run_self(line, sizeof(line));
	unsigned long long n = strtoull(line, &end, 10);

	*f = (struct ap_doctor_finding){ .what = "counting" };
	if (!ret && n && *end == ',') {
		snprintf(f->found, sizeof(f->found), "'anyperf version' retired %llu instructions",
			 n);
		return;
	}
	f->verdict = AP_DOCTOR_NO;
	if (ret < 0)
		snprintf(f->found, sizeof(f->found), SELF " cannot be started: %s", strerror(-ret));
	else
		snprintf(f->found, sizeof(f->found), "'anyperf version' was not counted: %s", line);
	snprintf(f->change, sizeof(f->change),
		 "what stands above; else 'anyperf stat -v' says more");
}

int ap_cmd_doctor(int argc, char **argv)
{
	static const char *const verdicts[] = { "everything works", "some things work less",
						"no program can be counted" };
	enum ap_doctor_verdict worst = AP_DOCTOR_OK;
	struct doctor_args args = { 0 };
	struct ap_doctor_finding f;
	bool more = true;
	int rest, status;

	if (!ap_opts_begin(&ap_spec_doctor, &args, argc, argv, &rest, &status))
		return status;
	if (rest < argc)
		return ap_opts_wrong(&ap_spec_doctor, "takes no argument", argv[rest]);
	for (unsigned int i = 0; more; i++) {
		more = ap_doctor_check(i, &f);
		if (!more)
			check_counting(&f);
		print(&args, &f);
		if (f.verdict > worst)
			worst = f.verdict;
	}
	ap_print(stdout, "\n %s\n", verdicts[worst]);
	return (int)worst;
}
