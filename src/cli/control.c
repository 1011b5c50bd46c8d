/* SPDX-License-Identifier: MIT */
#include "cli/control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/memory.h"
#include "cli/options.h"
#include "files/error.h"
#include "files/in.h"
#include "print/print.h"

#define NEEDS "needs fd:CTL[,ACK] (numbers) or fifo:CTL[,ACK] (paths)"

static bool parse_fd(const char **p, int *fd)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(*p, &end, 10);
	if (errno || end == *p || n < 0 || n > INT_MAX)
		return false;
	*fd = (int)n;
	*p = end;
	return true;
}

static int open_fds(struct ap_control *c, const char *spec, char *why)
{
	const char *p = spec;

	if (!parse_fd(&p, &c->fd) || (*p == ',' && (p++, !parse_fd(&p, &c->ack))) || *p) {
		snprintf(why, AP_OPT_WHY, "%s", NEEDS);
		return -EINVAL;
	}
	for (int i = 0; i < 2; i++) {
		int fd = i ? c->ack : c->fd;

		if (fd < 0 || fcntl(fd, F_GETFD) >= 0)
			continue;
		snprintf(why, AP_OPT_WHY, "descriptor %d: %s", fd, strerror(errno));
		return -EINVAL;
	}
	return 0;
}

/* For reading and writing, so that it does not end when a writer goes. */
static int open_fifo(const char *path, char *why)
{
	int fd = ap_in_fifo(path);

	if (fd < 0)
		snprintf(why, AP_OPT_WHY, "%.200s: %s", path, ap_file_error(fd));
	return fd < 0 ? -1 : fd;
}

static int open_fifos(struct ap_control *c, const char *spec, char *why)
{
	char *path = ap_xstrdup(spec), *comma = strchr(path, ',');

	if (comma)
		*comma = '\0';
	c->owns_fds = true;
	c->fd = open_fifo(path, why);
	if (c->fd >= 0 && comma)
		c->ack = open_fifo(comma + 1, why);
	free(path);
	if (c->fd >= 0 && (!comma || c->ack >= 0))
		return 0;
	ap_control_close(c);
	return -EINVAL;
}

int ap_control_open(struct ap_control *c, const char *spec, char *why)
{
	*c = (struct ap_control){ .fd = -1, .ack = -1 };
	if (!strncmp(spec, "fd:", 3))
		return open_fds(c, spec + 3, why);
	if (!strncmp(spec, "fifo:", 5) && spec[5])
		return open_fifos(c, spec + 5, why);
	snprintf(why, AP_OPT_WHY, "%s", NEEDS);
	return -EINVAL;
}

void ap_control_close(struct ap_control *c)
{
	if (c->owns_fds && c->fd >= 0)
		close(c->fd);
	if (c->owns_fds && c->ack >= 0)
		close(c->ack);
	c->fd = c->ack = -1;
}

/* Ends the word and finds what follows it. */
static const char *cut_word(char *line)
{
	char *p = line + strcspn(line, " \t");

	if (*p)
		*p++ = '\0';
	return p + strspn(p, " \t");
}

static bool command_of(const char *line, enum ap_control_command *command)
{
	static const struct {
		const char *word;
		enum ap_control_command command;
	} words[] = { { "enable", AP_CONTROL_ENABLE },
		      { "disable", AP_CONTROL_DISABLE },
		      { "evlist", AP_CONTROL_EVLIST },
		      { "stop", AP_CONTROL_STOP },
		      { "ping", AP_CONTROL_PING } };

	for (size_t i = 0; i < AP_ARRAY_SIZE(words); i++) {
		if (!strcmp(line, words[i].word)) {
			*command = words[i].command;
			return true;
		}
	}
	return false;
}

/*
 * One byte at a time, and never without asking first: another process gave the descriptor, and may
 * have left it one that waits where it is empty.  AP_CONTROL_PING: a whole line is there.
 */
static enum ap_control_command read_line(struct ap_control *c)
{
	for (;;) {
		struct pollfd there = { .fd = c->fd, .events = POLLIN };
		ssize_t n;
		char byte;

		if (poll(&there, 1, 0) < 1)
			return AP_CONTROL_NONE;
		n = read(c->fd, &byte, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? AP_CONTROL_NONE : AP_CONTROL_CLOSED;
		if (!n)
			return AP_CONTROL_CLOSED;
		if (byte == '\n' || byte == '\0')
			return AP_CONTROL_PING;
		c->is_cut |= c->len + 1 >= sizeof(c->line);
		if (!c->is_cut)
			c->line[c->len++] = byte;
	}
}

enum ap_control_command ap_control_next(struct ap_control *c, const char **arg)
{
	*arg = "";
	for (;;) {
		enum ap_control_command command = read_line(c);
		bool is_cut = c->is_cut;

		if (command != AP_CONTROL_PING)
			return command;
		c->line[c->len] = '\0';
		c->len = 0;
		c->is_cut = false;
		*arg = cut_word(c->line);
		if (!is_cut && command_of(c->line, &command))
			return command;
		ap_print(stderr, "anyperf: --control: unknown command '%s'\n", c->line);
	}
}

/* Who asked may be gone: that is no reason to end, and less one to wait for. */
void ap_control_ack(const struct ap_control *c)
{
	/* with its zero, as perf: there are readers of 5 bytes */
	static const char word[] = "ack\n";
	static const struct timespec now = { 0 };
	struct pollfd there = { .fd = c->ack, .events = POLLOUT };
	sigset_t broken, old;

	if (c->ack < 0 || poll(&there, 1, 0) < 1 || !(there.revents & POLLOUT))
		return;
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken, &old);
	if (write(c->ack, word, sizeof(word)) < 0 && errno == EPIPE && !sigismember(&old, SIGPIPE))
		sigtimedwait(&broken, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
