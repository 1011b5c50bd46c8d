/* SPDX-License-Identifier: MIT */
/*
 * A hostile task of a session: it turns on every switch for tests that the session's memory has a place for, if it can
 * write there.  It says "forged", or "refused" where it has no way to.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "abi/service.h"
#include "abi/session.h"

int main(void)
{
	int fd = prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0);
	struct ap_session *s = MAP_FAILED;

	if (fd >= 0)
		s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED) {
		puts("refused");
		return 0;
	}
	s->switches = (struct ap_switches){
		.stress = ~0U, .fault = 20, .period = 1, .lane = 1, .hi = 1, .log = 9, .has_log = 1
	};
	s->lanes[0] = 1;
	s->nlanes = 1;
	puts("forged");
	return 0;
}
