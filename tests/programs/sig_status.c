/* SPDX-License-Identifier: MIT */
/* What /proc says of the dispositions: the program's, read again through one descriptor. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void show(const char *what, int fd)
{
	static char text[8192];
	ssize_t got, n = 0;
	char *line;

	lseek(fd, 0, SEEK_SET);
	while ((got = read(fd, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
		n += got;
	text[n] = 0;
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (!strncmp(line, "Sig", 3) && strncmp(line, "SigQ", 4))
			printf("%s: %s\n", what, line);
		else if (!strncmp(line, "Name:", 5) || !strncmp(line, "Threads:", 8))
			printf("%s: %s\n", what, line);
}

static void on(int sig)
{
	(void)sig;
}

int main(void)
{
	int fd = open("/proc/self/status", O_RDONLY);

	show("at first", fd);
	signal(SIGUSR1, on);
	signal(SIGSEGV, on);
	signal(SIGTRAP, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	show("some set", fd);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
	show("some unset", fd);
	close(fd);
	fd = open("/proc/thread-self/status", O_RDONLY);
	show("of the thread", fd);
	return 0;
}
