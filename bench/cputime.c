/* SPDX-License-Identifier: MIT */
/*
 * cputime [-t SECONDS] [-i STDIN] [-o STDOUT] [-e STDERR] RESULT command [args]
 *
 * Runs a command and writes one line to the file RESULT: user and system seconds of the whole
 * tree (of all that was waited for), wall seconds, and the status as a shell would give it; and one line with its page faults.
 * A tree that takes longer than SECONDS of wall time is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t child;

static void fail(const char *what)
{
	perror(what);
	exit(125);
}

/* The tree ends with the time limit, and with us. */
static void on_signal(int sig)
{
	kill(-child, SIGKILL);
	if (sig != SIGALRM)
		_exit(128 + sig);
}

static void redirect(const char *path, int fd, int flags)
{
	int from;

	if (!path)
		return;
	from = open(path, flags, 0666);
	if (from < 0 || dup2(from, fd) < 0)
		fail(path);
	close(from);
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void run(const char *result, unsigned int limit, double start)
{
	struct rusage ru;
	double wall;
	int status;
	FILE *f;

	signal(SIGALRM, on_signal);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGHUP, on_signal);
	alarm(limit);
	while (wait4(child, &status, 0, &ru) < 0) {
		if (errno != EINTR)
			fail("wait4");
	}
	wall = now() - start;
	f = fopen(result, "w");
	if (!f)
		fail(result);
	fprintf(f, "%.4f %.4f %.4f %d\n", seconds(ru.ru_utime), seconds(ru.ru_stime), wall,
		WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	fprintf(f, "%ld\n", ru.ru_minflt + ru.ru_majflt);
	fclose(f);
}

int main(int argc, char **argv)
{
	const char *in = NULL, *out = NULL, *err = NULL;
	unsigned int limit = 0;
	double start;
	int opt;

	while ((opt = getopt(argc, argv, "+t:i:o:e:")) >= 0) {
		if (opt == 't')
			limit = (unsigned int)atoi(optarg);
		else if (opt == 'i')
			in = optarg;
		else if (opt == 'o')
			out = optarg;
		else if (opt == 'e')
			err = optarg;
		else
			return 125;
	}
	if (argc - optind < 2) {
		fprintf(stderr, "usage: cputime [-t s] [-i file] [-o file] [-e file] result cmd\n");
		return 125;
	}
	start = now();
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		setpgid(0, 0);
		redirect(in ? in : "/dev/null", 0, O_RDONLY);
		redirect(out, 1, O_WRONLY | O_CREAT | O_TRUNC);
		redirect(err, 2, O_WRONLY | O_CREAT | O_TRUNC);
		execv(argv[optind + 1], argv + optind + 1);
		perror(argv[optind + 1]);
		_exit(127);
	}
	setpgid(child, child);
	run(argv[optind], limit, start);
	return 0;
}
