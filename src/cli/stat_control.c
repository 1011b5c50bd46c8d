/* SPDX-License-Identifier: MIT */
/*
 * Commands are lines: enable [event], disable [event], ping, evlist, stop.  Each known one is answered
 * by "ack\n" where there is somebody to answer; what is not known is not, as in perf.  The descriptors
 * never block us: an answer that nobody takes is lost.
 */
#include "cli/stat_control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/control.h"
#include "cli/memory.h"
#include "cli/stat_count.h"

static int wrong(char *why, size_t size)
{
	snprintf(why, size, "needs fd:CTL[,ACK] (numbers) or fifo:CTL[,ACK] (paths)");
	return -EINVAL;
}

static bool parse_fd(const char *text, int *fd)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < 0 || n > 1 << 30)
		return false;
	*fd = (int)n;
	return true;
}

static int open_fds(struct ap_stat_control *ctl, const char *a, const char *b, char *why,
		    size_t size)
{
	int flags;

	if (!parse_fd(a, &ctl->fd) || (b && !parse_fd(b, &ctl->ack)))
		return wrong(why, size);
	flags = fcntl(ctl->fd, F_GETFL);
	if (flags < 0 || (b && fcntl(ctl->ack, F_GETFL) < 0)) {
		snprintf(why, size, "descriptor %d: %s", flags < 0 ? ctl->fd : ctl->ack,
			 strerror(EBADF));
		return -EINVAL;
	}
	(void)fcntl(ctl->fd, F_SETFL, flags | O_NONBLOCK);
	return 0;
}

static int open_fifo(const char *path, char *why, size_t size)
{
	/* for both ends: whoever leaves does not end it */
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		snprintf(why, size, "%s: %s", path, strerror(errno));
	return fd;
}

int ap_stat_control_open(struct ap_stat_control *ctl, const char *spec, char *why, size_t size)
{
	bool is_fd = !strncmp(spec, "fd:", 3), is_fifo = !strncmp(spec, "fifo:", 5);
	char *text, *comma;
	int ret = 0;

	*ctl = (struct ap_stat_control){ .fd = -1, .ack = -1, .owns = is_fifo };
	if (!is_fd && !is_fifo)
		return wrong(why, size);
	text = ap_xstrdup(strchr(spec, ':') + 1);
	comma = strchr(text, ',');
	if (comma)
		*comma++ = '\0';
	if (is_fd) {
		ret = open_fds(ctl, text, comma, why, size);
	} else {
		ctl->fd = open_fifo(text, why, size);
		if (ctl->fd >= 0 && comma)
			ctl->ack = open_fifo(comma, why, size);
		ret = ctl->fd < 0 || (comma && ctl->ack < 0) ? -EINVAL : 0;
	}
	free(text);
	if (ret)
		ap_stat_control_close(ctl);
	return ret;
}

void ap_stat_control_close(struct ap_stat_control *ctl)
{
	if (ctl->owns && ctl->fd >= 0)
		close(ctl->fd);
	if (ctl->owns && ctl->ack >= 0)
		close(ctl->ack);
	ctl->fd = ctl->ack = -1;
}

static void print_events(const struct ap_stat_count *c)
{
	for (size_t i = 0; i < c->opts->events->n; i++)
		fprintf(stderr, "%s\n", c->opts->events->sel[i].name);
}

static bool obey(struct ap_stat_count *c, char *line, u64 now_ns)
{
	char *name = line + strcspn(line, " \t");

	if (*name)
		*name++ = '\0';
	name += strspn(name, " \t");
	if (!strcmp(line, "enable") || !strcmp(line, "disable"))
		ap_stat_count_enable(c, *name ? name : NULL, line[0] == 'e', now_ns);
	else if (!strcmp(line, "evlist"))
		print_events(c);
	else if (!strcmp(line, "stop"))
		ap_client_stop(c->client);
	else
		return !strcmp(line, "ping");
	return true;
}

static void take_line(struct ap_stat_control *ctl, struct ap_stat_count *c, u64 now_ns)
{
	ctl->line[ctl->len] = '\0';
	if (!ctl->is_lost && obey(c, ctl->line, now_ns))
		ap_control_answer(ctl->ack);
	ctl->len = 0;
	ctl->is_lost = false;
}

bool ap_stat_control_ready(struct ap_stat_control *ctl, struct ap_stat_count *c, u64 now_ns)
{
	char buf[256];
	ssize_t n;

	while ((n = read(ctl->fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] == '\n' || buf[i] == '\0') {
				take_line(ctl, c, now_ns);
			} else if (ctl->len + 1 < sizeof(ctl->line)) {
				ctl->line[ctl->len++] = buf[i];
			} else {
				ctl->is_lost = true;
			}
		}
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}
