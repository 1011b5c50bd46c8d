/* SPDX-License-Identifier: MIT */
/*
 * task_gain PLAIN GAINING ROUNDS: a name in this folder leads to PLAIN when an exec of it begins, and to GAINING, which is
 * set-uid, set-gid or has capabilities, once somebody has opened PLAIN: so a look at the file before the exec says nothing of what is executed.
 * Both are this program, called without arguments: with more rights than the one that calls it makes a file seen.PID
 * and lives until somebody has removed that.  Prints how many times it had them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_US 2000
#define LOOKS	30000

static int look_gained(void)
{
	char name[64];
	int fd;

	if (!getauxval(AT_SECURE))
		return 1;
	snprintf(name, sizeof(name), "seen.%d", (int)getpid());
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return 2;
	close(fd);
	for (int i = 0; i < LOOKS && !access(name, F_OK); i++)
		usleep(LOOK_US);
	return 0;
}

static void lead(const char *to)
{
	unlink("new");
	if (symlink(to, "new") || rename("new", "name")) {
		perror("name");
		exit(2);
	}
}

static int round_of(const char *plain, const char *gaining)
{
	int fd = inotify_init1(IN_CLOEXEC), status = 0;
	char event[4096];
	pid_t child;

	lead(plain);
	if (fd < 0 || inotify_add_watch(fd, plain, IN_OPEN) < 0)
		return 2;
	child = fork();
	if (!child) {
		execl("./name", "name", NULL);
		_exit(2);
	}
	if (read(fd, event, sizeof(event)) < 0)
		return 2;
	lead(gaining);
	close(fd);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int argc, char **argv)
{
	int gained = 0;

	if (argc < 4)
		return look_gained();
	for (int i = 0; i < atoi(argv[3]); i++) {
		int ret = round_of(argv[1], argv[2]);

		if (ret > 1) {
			printf("round %d: failed\n", i);
			return 1;
		}
		gained += !ret;
	}
	printf("%d\n", gained);
	return 0;
}
