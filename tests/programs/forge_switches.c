/* SPDX-License-Identifier: MIT */
/*
 * A hostile task of a session: it turns on every switch for tests that the session's memory has a place for, by each
 * way that it has to that memory.  It says "forged", or "refused" where it has none.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "abi/session.h"

static bool forge(int fd)
{
	struct ap_session *s = MAP_FAILED;
	char path[40];
	int again;

	if (fd < 0)
		return false;
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED) {
		s = mmap(NULL, sizeof(*s), PROT_READ, MAP_SHARED, fd, 0);
		if (s != MAP_FAILED && mprotect(s, sizeof(*s), PROT_READ | PROT_WRITE))
			s = MAP_FAILED;
	}
	if (s == MAP_FAILED) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		again = open(path, O_RDWR);
		if (again >= 0)
			s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, again, 0);
	}
	if (s == MAP_FAILED)
		return false;
	s->switches = (struct ap_switches){
		.stress = ~0U, .fault = 20, .period = 1, .lane = 1, .hi = 1, .log = 9, .has_log = 1
	};
	s->lanes[0] = 1;
	s->nlanes = 1;
	return true;
}

int main(void)
{
	bool head = forge(prctl(AP_PRCTL, AP_PRCTL_HEAD_FD, 0, 0, 0));
	bool file = forge(prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0));

	puts(head || file ? "forged" : "refused");
	return 0;
}
