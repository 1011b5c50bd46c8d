/* SPDX-License-Identifier: MIT */
/*
 * The rights of a task, by the kernel.  A program with more rights than the task had that executed it is not to be
 * counted: the engine in it would work in memory that the task's other processes can write, so they would have its
 * rights.  The task's own look at the file before the exec is not enough, as the name may lead elsewhere a moment later.
 *
 * Fewer capabilities are no reason: most programs lose some by an exec.  Another user or group is one, whichever it is.
 */
#include "linux/task/creds.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inject/proc.h"

#define STATUS_MAX                                                                                 \
	65536 /* a task may be in thousands of groups, which come before the capabilities */

/* Kernels before 5.10 say only that there are some. */
static u32 filters_of(const char *text)
{
	const char *mode = ap_status_find(text, "Seccomp"), *n;
	u32 filters = 0;

	n = ap_status_find(text, "Seccomp_filters");
	if (n && sscanf(n, "%u", &filters) == 1)
		return filters;
	return mode && (sscanf(mode, "%u", &filters) != 1 || filters) ? AP_CREDS_FILTERED : 0;
}

bool ap_creds_parse(const char *text, struct ap_creds *creds)
{
	const char *uid = ap_status_find(text, "Uid"), *gid = ap_status_find(text, "Gid");
	const char *permitted = ap_status_find(text, "CapPrm");
	unsigned long long caps;

	if (!uid || !gid || !permitted || sscanf(uid, "%*u %u", &creds->euid) != 1 ||
	    sscanf(gid, "%*u %u", &creds->egid) != 1 || sscanf(permitted, "%llx", &caps) != 1)
		return false;
	creds->permitted = caps;
	creds->filters = filters_of(text);
	return true;
}

bool ap_creds_read(pid_t tid, struct ap_creds *creds)
{
	char text[STATUS_MAX];

	return ap_proc_read(tid, "status", text, sizeof(text)) > 0 && ap_creds_parse(text, creds);
}

bool ap_creds_userns(pid_t tid, char name[AP_USERNS_NAME])
{
	char path[AP_PROC_PATH];
	ssize_t got = readlink(ap_proc_path(path, tid, "ns/user"), name, AP_USERNS_NAME - 1);

	name[got > 0 ? got : 0] = '\0';
	return got > 0;
}

bool ap_creds_text(pid_t tid, char out[AP_CREDS_TEXT])
{
	char text[STATUS_MAX], userns[AP_USERNS_NAME];
	static const char *const names[] = { "Uid", "Gid", "CapPrm" };
	size_t n;

	if (!ap_creds_userns(tid, userns) || ap_proc_read(tid, "status", text, sizeof(text)) <= 0)
		return false;
	n = (size_t)snprintf(out, AP_CREDS_TEXT, "%s", userns);
	for (u32 i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *p = ap_status_find(text, names[i]);

		if (!p)
			return false;
		n += (size_t)snprintf(out + n, AP_CREDS_TEXT - n, " %.*s", (int)strcspn(p, "\n"),
				      p);
		if (n >= AP_CREDS_TEXT)
			return false;
	}
	return true;
}

/* --- whom it reaches */

#define CAP_SETGID_	6
#define CAP_SETUID_	7
#define CAP_SYS_PTRACE_ 19

static bool has_cap(const struct ap_identity *id, u32 cap)
{
	return id->permitted >> cap & 1;
}

static bool parse_ids(const char *text, const char *name, u32 ids[4])
{
	const char *p = ap_status_find(text, name);

	return p && sscanf(p, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) == 4;
}

bool ap_identity_parse(const char *text, struct ap_identity *id)
{
	const char *permitted = ap_status_find(text, "CapPrm");
	unsigned long long caps;

	if (!parse_ids(text, "Uid", id->uids) || !parse_ids(text, "Gid", id->gids) || !permitted ||
	    sscanf(permitted, "%llx", &caps) != 1)
		return false;
	id->permitted = caps;
	return true;
}

bool ap_identity_read(pid_t tid, struct ap_identity *id)
{
	char text[STATUS_MAX];

	return ap_creds_userns(tid, id->userns) &&
	       ap_proc_read(tid, "status", text, sizeof(text)) > 0 && ap_identity_parse(text, id);
}

static bool are_among(const u32 to[4], const u32 ids[4])
{
	for (u32 i = 0; i < 4; i++)
		if (to[i] != ids[0] && to[i] != ids[1] && to[i] != ids[2] && to[i] != ids[3])
			return false;
	return true;
}

/*
 * In a user namespace that one may make below one's own all capabilities are had: its maker, which may trace all in it, is told by
 * the ids.  From inside a namespace the kernel lets nobody trace a process above it, whatever its ids are.
 */
bool ap_identity_reaches(const struct ap_identity *id, const struct ap_identity *to,
			 const char *own)
{
	const bool is_there = !strcmp(id->userns, to->userns);

	if (!id->userns[0] || (!is_there && strcmp(id->userns, own)))
		return false;
	if (has_cap(id, CAP_SYS_PTRACE_))
		return true;
	return (are_among(to->uids, id->uids) || has_cap(id, CAP_SETUID_)) &&
	       (are_among(to->gids, id->gids) || has_cap(id, CAP_SETGID_)) &&
	       (!is_there || !(to->permitted & ~id->permitted));
}

/* --- what an exec gives */

bool ap_creds_are_same(const struct ap_creds *a, const struct ap_creds *b)
{
	return a->euid == b->euid && a->egid == b->egid && a->permitted == b->permitted;
}

const char *ap_creds_gained(const struct ap_creds *before, const struct ap_creds *after)
{
	if (after->euid != before->euid)
		return "set-uid";
	if (after->egid != before->egid)
		return "set-gid";
	return after->permitted & ~before->permitted ? "it has gained capabilities" : NULL;
}
