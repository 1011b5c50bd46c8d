/* SPDX-License-Identifier: MIT */
/*
 * The process that records for `anyperf top`: `anyperf record -o -`, without an exec between.
 */
#include "cli/top.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/memory.h"
#include "cli/record.h"

/* How long a command may take to end after it was asked to, before it is left running. */
#define PATIENCE_MS 2000

/* Not ignored: the command would inherit that. */
static void no_reader(int sig)
{
	(void)sig;
}

static AP_NORETURN void record(const struct top_recorder *r, int fd, int argc, char **argv,
			       bool quiet, pid_t parent)
{
	struct sigaction act = { .sa_handler = no_reader };
	int status, null, output;

	/* when the reader dies, the command is to be ended first */
	sigaction(SIGPIPE, &act, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(AP_EXIT_FAILURE);
	/* the command prints where the tables go; beside a screen it goes where all else does */
	output = quiet ? -1 : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	record_set_command_output(output);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	close(r->fd);
	if (quiet) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null >= 0)
			dup2(null, STDIN_FILENO);
		close(null);
	}
	if (r->saved)
		dup2(fileno(r->saved), STDERR_FILENO);
	status = ap_cmd_record(argc, argv);
	fflush(NULL);
	_exit(status);
}

/* What the recorder says while the screen is on: shown when that is off. */
static FILE *memory_file(void)
{
	int fd = memfd_create("anyperf-top", MFD_CLOEXEC);
	FILE *f = fd >= 0 ? fdopen(fd, "w+") : NULL;

	if (fd >= 0 && !f)
		close(fd);
	return f;
}

int top_recorder_start(struct top_recorder *r, int argc, char **argv, bool quiet)
{
	pid_t parent = getpid();
	int fd[2], err;

	*r = (struct top_recorder){ .pid = -1, .fd = -1 };
	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	if (quiet && isatty(STDERR_FILENO)) {
		r->saved = memory_file();
		if (!r->saved) {
			err = -errno;
			close(fd[0]);
			close(fd[1]);
			return err;
		}
		fcntl(fileno(r->saved), F_SETFL, O_APPEND);
	}
	r->fd = fd[0];
	fflush(NULL);
	r->pid = fork();
	if (!r->pid)
		record(r, fd[1], argc, argv, quiet, parent);
	err = -errno;
	close(fd[1]);
	return r->pid < 0 ? err : 0;
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

/*
 * What is still written into the pipe would keep the recorder from ending.  True at its end; false
 * when the time has come and there still is more.
 */
static bool drain(int fd, u64 until)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char bytes[65536];
	ssize_t n;
	u64 now;

	for (;;) {
		now = now_ms();
		if (now >= until)
			return false;
		n = poll(&p, 1, until - now < 10000 ? (int)(until - now) : 10000);
		if (n > 0)
			n = read(fd, bytes, sizeof(bytes));
		else
			continue;
		if (!n || (n < 0 && errno != EINTR))
			return true;
	}
}

void top_recorder_stop(struct top_recorder *r)
{
	if (r->pid <= 0)
		return;
	kill(r->pid, SIGTERM);
	if (drain(r->fd, now_ms() + PATIENCE_MS))
		return;
	/* told twice it leaves a command that does not listen */
	kill(r->pid, SIGTERM);
	drain(r->fd, ~0ULL);
}

int top_recorder_wait(struct top_recorder *r)
{
	int status = 0;

	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	r->pid = -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void top_recorder_show(struct top_recorder *r)
{
	char bytes[65536];
	size_t n;

	if (!r->saved)
		return;
	rewind(r->saved);
	while ((n = fread(bytes, 1, sizeof(bytes), r->saved)))
		fwrite(bytes, 1, n, stderr); /* raw: the program's own, and the recorder's */
	fclose(r->saved);
	r->saved = NULL;
}
