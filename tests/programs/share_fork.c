/* SPDX-License-Identifier: MIT */
/* FLAGS: -O1 -g */
/*
 * As false_share.c, with two processes that share a page: by a fork of MAP_SHARED | MAP_ANONYMOUS memory; `shm`: of a System V
 * segment; `file PATH`: each maps the file by itself, and one of them is another image (it is run as `second PATH`); `private`: they
 * have copies, and share nothing; `killed`: two more children take turns for ever and are killed, before the others begin.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURNS 1000

struct line {
	volatile uint64_t word[8];
} __attribute__((aligned(64)));

static int pipes[2][2];

__attribute__((noinline)) static void turn(struct line *page, unsigned int me)
{
	page[0].word[me * 4]++;
	page[1].word[2]++;
	page[2 + me].word[0]++;
}

static int run(struct line *page, unsigned int me)
{
	char c = 0;

	if (me && write(pipes[0][1], &c, 1) != 1)
		return 1;
	for (int i = 0; i < TURNS; i++) {
		if (read(pipes[me][0], &c, 1) != 1)
			return 1;
		turn(page, me);
		if (write(pipes[!me][1], &c, 1) != 1)
			return 1;
	}
	return 0;
}

static struct line *map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, 4096))
		return MAP_FAILED;
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static struct line *map(const char *how, const char *path)
{
	int id;

	if (!strcmp(how, "file") || !strcmp(how, "second"))
		return map_file(path);
	if (!strcmp(how, "private"))
		return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (strcmp(how, "shm"))
		return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	id = shmget(IPC_PRIVATE, 4096, 0600);
	if (id < 0)
		return MAP_FAILED;
	how = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	return (struct line *)how;
}

/* Killed wherever they are. */
static int kill_some(struct line *page)
{
	pid_t pid[2];

	for (unsigned int me = 0; me < 2; me++) {
		pid[me] = fork();
		for (; !pid[me];)
			turn(page, me);
	}
	while (page[2].word[0] < 200000 || page[3].word[0] < 200000)
		;
	for (int i = 0; i < 2; i++)
		if (kill(pid[i], SIGKILL) || waitpid(pid[i], NULL, 0) != pid[i])
			return 1;
	return 0;
}

/* What both have by the end, of each line. */
static int look(const struct line *page, const char *how)
{
	if (!strcmp(how, "private") || !strcmp(how, "killed"))
		return 0;
	return page[0].word[0] != TURNS || page[0].word[4] != TURNS || page[1].word[2] != 2 * TURNS;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "anonymous", *path = argc > 2 ? argv[2] : NULL;
	struct line *page = map(how, path);
	int status;
	pid_t pid;

	if (page == MAP_FAILED)
		return 1;
	if (!strcmp(how, "second")) {
		for (int i = 0; i < 4; i++)
			pipes[i / 2][i % 2] = 10 + i;
		return run(page, 1);
	}
	if (!strcmp(how, "killed") && kill_some(page))
		return 1;
	if (pipe(pipes[0]) || pipe(pipes[1]))
		return 1;
	pid = fork();
	if (pid < 0)
		return 1;
	if (!pid && !strcmp(how, "file")) {
		for (int i = 0; i < 4; i++)
			if (dup2(pipes[i / 2][i % 2], 10 + i) < 0)
				_exit(1);
		execl("/proc/self/exe", argv[0], "second", path, (char *)NULL);
		_exit(1);
	}
	if (!pid)
		_exit(run(page, 1));
	if (run(page, 0) || waitpid(pid, &status, 0) != pid || status)
		return 1;
	return look(page, how);
}
