/* SPDX-License-Identifier: MIT */
/*
 * `anyperf script` run beside the screen, its output read from a pipe.  A screen is for reading, so
 * what it takes is limited: the rest of a large file is for a pager.
 */
#include "cli/samples_text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "print/print.h"

#define LIMIT (16U << 20)

/* The script's pid, or -1; *out: where its output comes from. */
static pid_t start(char *const *argv, int *out)
{
	posix_spawn_file_actions_t files;
	int fd[2], ret;
	pid_t pid = -1;

	if (pipe2(fd, O_CLOEXEC))
		return -1;
	ret = posix_spawn_file_actions_init(&files);
	if (!ret) {
		ret = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
		if (!ret)
			ret = posix_spawn_file_actions_adddup2(&files, fd[1], 1);
		if (!ret)
			ret = posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
		if (!ret)
			ret = posix_spawn(&pid, "/proc/self/exe", &files, NULL, argv, environ);
		posix_spawn_file_actions_destroy(&files);
	}
	close(fd[1]);
	if (ret) {
		close(fd[0]);
		return -1;
	}
	*out = fd[0];
	return pid;
}

/* false: there is more than is taken. */
static bool copy(int fd, FILE *out)
{
	char bytes[65536];
	size_t total = 0;
	ssize_t n;

	while (total < LIMIT) {
		n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		fwrite(bytes, 1, (size_t)n, out); /* raw: anyperf script printed it */
		total += (size_t)n;
	}
	return false;
}

bool ap_samples_text(const char *path, const char *comm, const char *symbol, FILE *out)
{
	char name[] = "anyperf", script[] = "script", input[] = "-i", comms[] = "-c",
	     symbols[] = "-S";
	char *argv[10] = { name, script, input, (char *)path };
	int n = 4, fd, status = 0;
	bool is_whole;
	pid_t pid;

	if (comm) {
		argv[n++] = comms;
		argv[n++] = (char *)comm;
	}
	if (symbol) {
		argv[n++] = symbols;
		argv[n++] = (char *)symbol;
	}
	pid = start(argv, &fd);
	if (pid < 0)
		return false;
	is_whole = copy(fd, out);
	if (!is_whole) {
		ap_print(out, "\n(there is more: anyperf script -i %s | less)\n", path);
		kill(pid, SIGTERM);
	}
	close(fd);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return !is_whole || (WIFEXITED(status) && !WEXITSTATUS(status));
}
