/* SPDX-License-Identifier: MIT */
/* FLAGS: -O2 -static */
/*
 *	limited [--foreground] [-k SECONDS] SECONDS COMMAND...
 *
 * timeout(1) for tests, which must not know how busy the machine is.  What ends the command is not the time that goes by:
 * it has taken so many seconds of CPU, with its children, or it takes none at all for as many looks, a second apart.  Under load
 * both come as late as everything else does.  Its statuses are timeout's: the command's, 124, 137 where it had to be killed.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 64 /* of a tree of processes: a loop would be a pid that was given anew */

static bool foreground;
static pid_t command;

/* Of a process and of those children that it has waited for, in ticks. */
static unsigned long long own_time(pid_t pid)
{
	unsigned long long t[4] = { 0 };
	char path[64], text[1024];
	const char *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 14; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3]) != 4)
		return 0;
	return t[0] + t[1] + t[2] + t[3];
}

static unsigned long long tree_time(pid_t pid, int depth)
{
	unsigned long long sum = own_time(pid);
	char path[64 + 256];
	struct dirent *d;
	DIR *dir;
	FILE *f;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = depth < DEPTH ? opendir(path) : NULL;
	while (dir && (d = readdir(dir))) {
		if (*d->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid, d->d_name);
		f = fopen(path, "r");
		while (f && fscanf(f, "%d", &child) == 1)
			sum += tree_time(child, depth + 1);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return sum;
}

/* To the command and, as timeout does, to all of its group, which is ours. */
static void send(int sig)
{
	kill(command, sig);
	if (foreground)
		return;
	kill(0, sig);
	/* our own is blocked: nobody has it any more */
	signal(sig, SIG_IGN);
	signal(sig, SIG_DFL);
}

/* Its status, where it has one. */
static bool has_ended(int *status)
{
	if (waitpid(command, status, WNOHANG) != command)
		return false;
	*status = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
	return true;
}

static int watch(const sigset_t *set, long limit, long grace)
{
	const unsigned long long ticks = (unsigned long long)sysconf(_SC_CLK_TCK);
	const struct timespec second = { 1, 0 };
	unsigned long long now, was = 0;
	long idle = 0, late = 0;
	int sig, status;

	for (;;) {
		sig = sigtimedwait(set, NULL, &second);
		if (has_ended(&status))
			return late ? 124 : status;
		if (sig == SIGCHLD || (sig < 0 && errno == EINTR))
			continue;
		if (sig > 0) {
			send(sig);
			continue;
		}
		if (late) {
			if (late++ > grace) {
				if (!foreground) /* with us */
					send(SIGKILL);
				kill(command, SIGKILL);
				return 137;
			}
			continue;
		}
		now = tree_time(command, 0);
		idle = now == was ? idle + 1 : 0;
		was = now;
		if (now < (unsigned long long)limit * ticks && idle < limit)
			continue;
		fprintf(stderr, "limited: %s %ld s\n",
			idle < limit ? "has taken" : "nothing goes on for", limit);
		late = 1;
		send(SIGTERM);
		kill(command, SIGCONT);
	}
}

int main(int argc, char **argv)
{
	static const int caught[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	long limit, grace = 1000000000;
	void (*child_ends)(int);
	sigset_t set, old;
	int i = 1;

	if (i < argc && !strcmp(argv[i], "--foreground"))
		foreground = i++;
	if (i + 1 < argc && !strcmp(argv[i], "-k")) {
		grace = atol(argv[i + 1]);
		i += 2;
	}
	limit = i < argc ? atol(argv[i++]) : 0;
	if (i >= argc || limit <= 0 || grace <= 0) {
		fprintf(stderr, "usage: limited [--foreground] [-k SECONDS] SECONDS COMMAND...\n");
		return 125;
	}
	sigemptyset(&set);
	for (size_t k = 0; k < sizeof(caught) / sizeof(caught[0]); k++)
		sigaddset(&set, caught[k]);
	sigprocmask(SIG_BLOCK, &set, &old);
	child_ends = signal(SIGCHLD, SIG_DFL);
	if (!foreground)
		setpgid(0, 0);
	command = fork();
	if (command < 0)
		return 125;
	if (!command) {
		signal(SIGCHLD, child_ends);
		sigprocmask(SIG_SETMASK, &old, NULL);
		execvp(argv[i], argv + i);
		fprintf(stderr, "limited: %s: %s\n", argv[i], strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	/* who stops in the background at the terminal is not seen by anybody */
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	return watch(&set, limit, grace);
}
