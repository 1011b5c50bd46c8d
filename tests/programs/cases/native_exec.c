/* SPDX-License-Identifier: MIT */
/*
 * A task that executes what is not followed (here a set-uid program) lives on and counts no more.  Its numbers stand still from
 * there, times too: what was not counted is not said to have been.  Nobody can open another event on it; natively, that is
 * what the kernel says of a set-uid program, too.
 */
/* CASE: nobody session -- */
#include "check.h"

#define SU "/bin/su"

static pid_t start(int go, int in)
{
	pid_t pid = fork();
	char c;

	if (pid)
		return pid;
	if (read(go, &c, 1) != 1)
		_exit(1);
	dup2(in, 0);
	dup2(open("/dev/null", O_WRONLY), 2);
	execl(SU, "su", "root", (char *)0); /* waits for a password */
	_exit(9);
}

static int is_su(pid_t pid)
{
	char path[64], name[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "r");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = 0;
	if (f)
		fclose(f);
	return !strcmp(name, "su\n");
}

int main(void)
{
	struct perf_event_attr a = HWI;
	u64 first[3] = { 0 }, then[3] = { 0 };
	int go[2], in[2], fd, st = 0;
	struct stat file;
	pid_t pid;

	if (stat(SU, &file) || !(file.st_mode & S_ISUID) || !geteuid() || pipe(go) || pipe(in)) {
		printf("there is no set-uid program here\n");
		return 0;
	}
	signal(SIGPIPE, SIG_IGN);
	a.disabled = 0;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	pid = start(go[0], in[0]);
	close(in[0]);
	fd = xo(&a, pid, -1, -1, 0);
	CHECK(write(go[1], "", 1) == 1, "it goes on");
	while (!is_su(pid) && !waitpid(pid, &st, WNOHANG))
		;
	CHECK(!st, "it is another program");
	CHECK(read(fd, first, sizeof(first)) == sizeof(first) && first[0] > 0,
	      "what it did before was counted");
	for (int i = 0; i < 100; i++)
		spin(10000);
	CHECK(read(fd, then, sizeof(then)) == sizeof(then) && !memcmp(first, then, sizeof(then)),
	      "counts and times stand still");
	CHECK(peo(&a, pid, -1, -1, 0) == -1, "no event on it: %s", strerror(errno));
	close(in[1]);
	kill(pid, SIGKILL);
	waitpid(pid, &st, 0);
	return done();
}
