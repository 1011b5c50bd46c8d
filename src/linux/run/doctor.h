/* SPDX-License-Identifier: MIT */
/*
 * What this machine permits, found out by doing it: for `anyperf doctor` and for nobody else.
 */
#ifndef AP_LINUX_DOCTOR_H
#define AP_LINUX_DOCTOR_H

#include "base/types.h"

enum ap_doctor_verdict {
	AP_DOCTOR_OK,
	AP_DOCTOR_LESS, /* something does not work, or another way */
	AP_DOCTOR_NO	/* no program can be counted */
};

#define AP_DOCTOR_TEXT 300

struct ap_doctor_finding {
	const char *what; /* "ptrace" */
	enum ap_doctor_verdict verdict;
	char found
		[AP_DOCTOR_TEXT]; /* one line: what was found, and what works or does not for it */
	char change[AP_DOCTOR_TEXT]; /* what to do about it; empty where the verdict is OK */
};

/* The nth check, from 0, is made; false behind the last. */
bool ap_doctor_check(unsigned int nth, struct ap_doctor_finding *f);

#endif
