// SPDX-License-Identifier: MIT
/*
 * oracle: counts what a command retires by single-stepping it and everything it starts.
 *
 * It is the reference that `anyperf stat --deterministic` is compared with, so it gives the command
 * the same surroundings: the path that execvp would find, the caller's environment, signal mask
 * and dispositions, no address randomization, a fixed AT_RANDOM, and rseq(2) refused. All runs on
 * one CPU, because stepped threads would otherwise race in ways that no other run repeats.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "step.h"

enum { EXIT_OWN_FAILURE = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, EXIT_USAGE = 129 };

struct options {
	const char *output; /* NULL: stderr */
	const char *trace;
	const char *blocks;
	const char *samples;
	const char *event;
	uint64_t period;
	bool branches;
	uint64_t max_steps;
	char **command;
};

static const char usage_text[] =
	"usage: oracle [-o FILE] [--max-steps N] [--trace FILE] [--blocks FILE]\n"
	"              [--samples FILE --period N [--event NAME] [--branches]] [--] command [args]\n"
	"  -o FILE         write the counts there instead of stderr\n"
	"  --max-steps N   give up (status 124) after N steps\n"
	"  --trace FILE    write 'tid pc' for every retired instruction\n"
	"  --blocks FILE   write 'pc retired taken' for every pc, sorted\n"
	"  --samples FILE  write 'tid pc before after' for every Nth event of each thread\n";

static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "max-steps", required_argument, NULL, 'm' },
		{ "trace", required_argument, NULL, 't' },
		{ "blocks", required_argument, NULL, 'b' },
		{ "samples", required_argument, NULL, 's' },
		{ "period", required_argument, NULL, 'p' },
		{ "event", required_argument, NULL, 'e' },
		{ "branches", no_argument, NULL, 'B' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "+o:", longs, NULL)) != -1) {
		switch (c) {
		case 'o':
			options->output = optarg;
			break;
		case 'm':
			options->max_steps = strtoull(optarg, NULL, 0);
			break;
		case 't':
			options->trace = optarg;
			break;
		case 'b':
			options->blocks = optarg;
			break;
		case 's':
			options->samples = optarg;
			break;
		case 'p':
			options->period = strtoull(optarg, NULL, 0);
			break;
		case 'B':
			options->branches = true;
			break;
		case 'e':
			options->event = optarg;
			break;
		default:
			return -EINVAL;
		}
	}
	options->command = argv + optind;
	if (options->samples != NULL && options->period == 0)
		return -EINVAL;
	return options->command[0] != NULL ? 0 : -EINVAL;
}

static bool is_executable_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The path that execvp(3) would execute, kept in @path if it has to be made; NULL: none. */
static const char *find_command(const char *name, char *path, size_t size)
{
	const char *dir = getenv("PATH");

	if (strchr(name, '/') != NULL)
		return name;
	if (dir == NULL)
		dir = "/bin:/usr/bin";
	for (;;) {
		size_t len = strcspn(dir, ":");
		int n = snprintf(path, size, "%.*s%s%s", (int)len, dir, len > 0 ? "/" : "", name);

		if (n > 0 && (size_t)n < size && is_executable_file(path))
			return path;
		if (dir[len] == '\0')
			return NULL;
		dir += len + 1;
	}
}

static void pin_to_first_cpu(void)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all)) {
			CPU_SET(cpu, &one);
			break;
		}
	}
	sched_setaffinity(0, sizeof(one), &one);
}

/* In the child: waits until it is traced, then becomes the command. */
static void become_command(char **argv, int gate)
{
	char buffer[4096];
	const char *path = find_command(argv[0], buffer, sizeof(buffer));
	char go;
	int err;

	if (path == NULL) {
		fprintf(stderr, "oracle: %s: command not found\n", argv[0]);
		_exit(EXIT_NOT_FOUND);
	}
	if (personality(ADDR_NO_RANDOMIZE) < 0) {
		perror("oracle: personality");
		_exit(EXIT_OWN_FAILURE);
	}
	if (read(gate, &go, 1) != 1)
		_exit(EXIT_OWN_FAILURE);
	execve(path, argv, environ);
	err = errno;
	fprintf(stderr, "oracle: %s: %s\n", path, strerror(err));
	_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

static int start_command(struct stepper *stepper, char **argv)
{
	int gate[2];
	pid_t child;
	int ret;

	if (pipe2(gate, O_CLOEXEC) < 0)
		return -errno;
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		close(gate[1]);
		become_command(argv, gate[0]);
	}
	/* Like any launcher: what the terminal sends is for the command. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	close(gate[0]);
	ret = stepper_seize(stepper, child);
	if (ret == 0 && write(gate[1], "", 1) != 1)
		ret = -errno;
	close(gate[1]);
	return ret;
}

static FILE *open_output(const char *path)
{
	FILE *file = fopen(path, "we");

	if (file == NULL) {
		fprintf(stderr, "oracle: %s: %s\n", path, strerror(errno));
		exit(EXIT_OWN_FAILURE);
	}
	return file;
}

static void write_blocks(struct tally *tally, const char *path)
{
	FILE *file = open_output(path);

	tally_print_histogram(tally, file);
	fclose(file);
}

int main(int argc, char **argv)
{
	struct options options = { .event = "instructions" };
	struct tally tally = { 0 };
	struct stepper stepper = { .tally = &tally };
	FILE *out = stderr;
	int ret;

	if (parse_options(argc, argv, &options) < 0 ||
	    (tally.samples.event = tally_event_by_name(options.event)) < 0) {
		fputs(usage_text, stderr);
		return EXIT_USAGE;
	}
	if (options.blocks != NULL && tally_start_histogram(&tally) < 0)
		return EXIT_OWN_FAILURE;
	pin_to_first_cpu();
	stepper.max_steps = options.max_steps;
	ret = start_command(&stepper, options.command);
	if (ret < 0) {
		fprintf(stderr, "oracle: cannot trace: %s\n", strerror(-ret));
		return EXIT_OWN_FAILURE;
	}
	if (options.output != NULL)
		out = open_output(options.output);
	if (options.trace != NULL)
		tally.trace = open_output(options.trace);
	if (options.samples != NULL)
		tally.samples.out = open_output(options.samples);
	tally.samples.period = options.period;
	tally.samples.with_branches = options.branches;
	ret = stepper_run(&stepper);
	if (ret < 0) {
		fprintf(stderr, "oracle: gave up: %s\n", strerror(-ret));
		return ret == -ETIME ? 124 : EXIT_OWN_FAILURE;
	}
	if (stepper.is_counting)
		tally_print(&tally, out);
	if (tally.trace != NULL)
		fclose(tally.trace);
	if (tally.samples.out != NULL)
		fclose(tally.samples.out);
	if (options.blocks != NULL)
		write_blocks(&tally, options.blocks);
	ret = stepper.command_status;
	return WIFSIGNALED(ret) ? 128 + WTERMSIG(ret) : WEXITSTATUS(ret);
}
