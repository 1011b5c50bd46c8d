/* SPDX-License-Identifier: MIT */
/*
 * Pipes take less than they are given, and another process that shares one may have made it
 * non-blocking.
 */
#include "profile/text/write_fd.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

int ap_write_some(int fd, const char *data, size_t size, size_t *done)
{
	struct pollfd full = { .fd = fd, .events = POLLOUT };

	*done = 0;
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && poll(&full, 1, -1) >= 0)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		*done += (size_t)n;
		size -= (size_t)n;
	}
	return 0;
}

int ap_write_all(int fd, const char *data, size_t size)
{
	size_t done;

	return ap_write_some(fd, data, size, &done);
}
