/* SPDX-License-Identifier: MIT */
/*
 * Events that a tracer opens on its child at the child's exec stop, as debuggers and Go's and libpfm4's examples do.  The
 * kernel's rule: they count the child's instructions from there on, whoever traces it, and the next stop is the program's
 * own: here its end.  The tracer is a thread, the process' first or another.  The image is this program again, which runs a loop of n turns, so two runs differ by 2 for each turn.
 */
/* CASE: session -- */
#include <sys/personality.h>
#include <sys/ptrace.h>

#include "check.h"

enum way { CONT, DETACH, OPTION, PIPE, VFORK, N_WAYS };
static const char *const names[] = { "PTRACE_CONT", "PTRACE_DETACH", "PTRACE_O_TRACEEXEC",
				     "a pipe that the exec closes", "vfork" };

static pid_t start(enum way way, const char *turns)
{
	int p[2] = { -1, -1 };
	char c;
	pid_t pid;

	if (way == PIPE && pipe2(p, O_CLOEXEC))
		exit(3);
	pid = way == VFORK ? vfork() : fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE); /* what the loader does depends on addresses */
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		if (way == OPTION)
			raise(SIGSTOP);
		execl("/proc/self/exe", "traced_exec", turns, (char *)0);
		_exit(9);
	}
	close(p[1]);
	/* nobody waits for the child before it has executed its image */
	if (way == PIPE && read(p[0], &c, 1))
		exit(3);
	close(p[0]);
	return pid;
}

static int open_on(pid_t pid, bool at_exec)
{
	struct perf_event_attr a = HWI;

	a.disabled = a.enable_on_exec = at_exec;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return xo(&a, pid, -1, -1, 0);
}

/* The stop at the exec, or the one that the option makes of it.  An event from before goes on in the new image. */
static int wait_for_exec(enum way way, pid_t pid, int *fd)
{
	int st;

	waitpid(pid, &st, 0);
	if (way != OPTION) {
		*fd = open_on(pid, false);
		return st == W_STOPCODE(SIGTRAP);
	}
	*fd = open_on(pid, true);
	ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXEC);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &st, 0);
	return st == (W_STOPCODE(SIGTRAP) | PTRACE_EVENT_EXEC << 16);
}

static u64 count(enum way way, const char *turns)
{
	u64 v[3] = { 0 };
	int st, fd;
	pid_t pid = start(way, turns);

	CHECK(wait_for_exec(way, pid, &fd), "%s: it stops at its exec", names[way]);
	CHECK(!ptrace(way == DETACH ? PTRACE_DETACH : PTRACE_CONT, pid, 0, 0), "%s: goes on",
	      names[way]);
	CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 7,
	      "%s: the next that is heard of it is its end (%x)", names[way], st);
	CHECK(read(fd, v, sizeof(v)) == sizeof(v) && v[1] && v[1] == v[2],
	      "%s: it was counted all the time", names[way]);
	close(fd);
	return v[0];
}

/* Opened before the exec, on the child or on its parent to be inherited: the exec moves it to the new image. */
static u64 count_over_exec(int is_inherited, const char *turns)
{
	struct perf_event_attr a = HWI;
	u64 n[2];
	pid_t pid;
	int st, fd;

	a.disabled = a.enable_on_exec = !is_inherited;
	a.inherit = is_inherited;
	fd = is_inherited ? xo(&a, 0, -1, -1, 0) : -1;
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execl("/proc/self/exe", "traced_exec", turns, (char *)0);
		_exit(9);
	}
	waitpid(pid, &st, 0);
	if (!is_inherited)
		fd = xo(&a, pid, -1, -1, 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &st, 0);
	n[0] = rd(fd);
	CHECK(is_inherited || !n[0], "before the exec: nothing at its stop (%llu)",
	      (unsigned long long)n[0]);
	ptrace(PTRACE_CONT, pid, 0, 0);
	waitpid(pid, &st, 0);
	n[1] = rd(fd);
	CHECK(st == 0x700 && n[1] > n[0] + 2000, "before the exec: counted to its end");
	close(fd);
	/* what the parent itself does meanwhile is not always the same */
	return is_inherited ? 0 : n[1];
}

/* A tracer that hears nothing of the exec: the new image is counted, or is not said to have been. */
static void untold(int is_seized)
{
	struct perf_event_attr a = HWI;
	u64 v[3] = { 0 };
	int st, fd, p[2];
	pid_t pid;
	char c;

	if (pipe2(p, O_CLOEXEC))
		exit(3);
	a.enable_on_exec = 1;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	pid = fork();
	if (!pid) {
		sigset_t trap;

		sigemptyset(&trap);
		sigaddset(&trap, SIGTRAP);
		sigprocmask(SIG_BLOCK, &trap, NULL);
		if (!is_seized)
			ptrace(PTRACE_TRACEME, 0, 0, 0);
		if (read(p[0], &c, 1) == 1)
			execl("/proc/self/exe", "traced_exec", "1000", (char *)0);
		_exit(9);
	}
	fd = xo(&a, pid, -1, -1, 0);
	if (is_seized)
		ptrace(PTRACE_SEIZE, pid, 0, 0);
	CHECK(write(p[1], "", 1) == 1, "untold of the exec: it goes on");
	waitpid(pid, &st, 0);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 7,
	      "untold: the next that is heard is its end (%x)", st);
	CHECK(read(fd, v, sizeof(v)) == sizeof(v) && (v[0] > 2000 || !v[2]),
	      "untold: counted or not, it says so (%llu in %llu)", (unsigned long long)v[0],
	      (unsigned long long)v[2]);
	close(fd);
	close(p[0]);
	close(p[1]);
}

/* The caller is the tracer. */
static void *trace(void *arg)
{
	u64 a, b;

	for (enum way way = 0; way < N_WAYS; way++) {
		a = count(way, "1000");
		b = count(way, "2000");
		CHECK(b - a == 2000, "%s: 1000 turns more are 2000 instructions (%lld)", names[way],
		      (long long)(b - a));
	}
	a = count_over_exec(0, "1000");
	b = count_over_exec(0, "2000");
	CHECK(b - a == 2000, "before the exec: 1000 turns more are 2000 instructions (%lld)",
	      (long long)(b - a));
	count_over_exec(1, "2000");
	untold(0);
	untold(1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t other;

	if (argc > 1) {
		spin((u64)atoi(argv[1]));
		return 7;
	}
	trace(NULL);
	CHECK(!pthread_create(&other, NULL, trace, NULL) && !pthread_join(other, NULL),
	      "a thread that is not the first is a tracer as well");
	return done();
}
