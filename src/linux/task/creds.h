/* SPDX-License-Identifier: MIT */
/*
 * The rights of a task, by the kernel (/proc/PID/status), and whether an exec has given it more.  creds.c has the rule.
 */
#ifndef AP_LINUX_CREDS_H
#define AP_LINUX_CREDS_H

#include <sys/types.h>

#include "base/types.h"

struct ap_creds {
	u32 euid, egid; /* as our user namespace calls them */
	u64 permitted;	/* capabilities */
	u32 filters;	/* of seccomp, so many; AP_CREDS_FILTERED: some */
};

#define AP_CREDS_FILTERED UINT32_MAX

/* The words of a text like /proc/PID/status.  False: it does not say them. */
bool ap_creds_parse(const char *text, struct ap_creds *creds);
bool ap_creds_read(pid_t tid, struct ap_creds *creds);
bool ap_creds_are_same(const struct ap_creds *a, const struct ap_creds *b);
/* The task's user namespace, as the kernel names it; false: it is not told. */
#define AP_USERNS_NAME 64
AP_MUST_CHECK bool ap_creds_userns(pid_t tid, char name[AP_USERNS_NAME]);
/*
 * What the kernel decides by which task may trace which, in words: the same for tasks that may trace each other, where both may be
 * dumped.  False: it is not told.
 */
#define AP_CREDS_TEXT 320
AP_MUST_CHECK bool ap_creds_text(pid_t tid, char text[AP_CREDS_TEXT]);
/* What the kernel looks at where a process traces another one, except whether that one is dumpable. */
struct ap_identity {
	char userns[AP_USERNS_NAME]; /* "": nothing is known */
	u32 uids[4], gids[4];	     /* real, effective, saved, of file systems */
	u64 permitted;
};
AP_MUST_CHECK bool ap_identity_read(pid_t tid, struct ap_identity *id);
AP_MUST_CHECK bool ap_identity_parse(const char *text, struct ap_identity *id);
/* Could a process of one become the other without an exec, or trace one that is?  own: the user namespace that root is root of. */
AP_MUST_CHECK bool ap_identity_reaches(const struct ap_identity *id, const struct ap_identity *to,
				       const char *own);
/* Why the task may not be touched after an exec, a constant text; NULL where it has got no more than it had. */
const char *ap_creds_gained(const struct ap_creds *before, const struct ap_creds *after);

#endif
