/* SPDX-License-Identifier: MIT */
/* What a task may do to another, by the kernel's rules, as far as /proc tells. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inject/proc.h"
#include "linux/host/host_internal.h"

#define CAP_SYS_PTRACE (1ULL << 19)
#define STATUS_MAX     8192

static bool four(const char *text, const char *name, u32 ids[4])
{
	const char *p = ap_status_find(text, name);

	for (unsigned int i = 0; p && i < 4; i++) {
		while (*p == ' ' || *p == '\t')
			p++;
		ids[i] = (u32)ap_text_u64(&p, 10);
	}
	return p != NULL;
}

int ap_cred_parse(const char *status, struct ap_cred *cred)
{
	const char *p = ap_status_find(status, "CapEff");

	if (!p || !four(status, "Uid", cred->uid) || !four(status, "Gid", cred->gid))
		return -EINVAL;
	cred->cap_effective = ap_text_u64(&p, 16);
	return 0;
}

bool ap_cred_may_read(const struct ap_cred *reader, const struct ap_cred *target, bool is_dumpable)
{
	bool is_same = true;

	for (unsigned int i = 0; i < 3; i++)
		is_same &= target->uid[i] == reader->uid[3] && target->gid[i] == reader->gid[3];
	return (is_same && is_dumpable) || reader->cap_effective & CAP_SYS_PTRACE;
}

static bool read_cred(const struct ap_host_task *t, struct ap_cred *cred)
{
	char name[64], text[STATUS_MAX];

	snprintf(name, sizeof(name), "task/%d/status", (int)t->tid);
	/* looked at behind the reading: it was that process' */
	return t->tid > 0 && ap_proc_read(t->pid, name, text, sizeof(text)) > 0 &&
	       !ap_cred_parse(text, cred) && ap_host_task_is_itself(t->host, t);
}

/* The files of a task that may not be dumped belong to root. */
static bool is_dumpable(const struct ap_host_task *t, const struct ap_cred *cred)
{
	char path[AP_PROC_PATH];
	struct stat st;

	return !stat(ap_proc_path(path, t->pid, "environ"), &st) && st.st_uid == cred->uid[1];
}

bool ap_host_may_trace(void *world, struct ap_task *caller, struct ap_task *target)
{
	const struct ap_host_task *from = ap_task_host(caller), *to = ap_task_host(target);
	struct ap_cred reader, traced;

	(void)world;
	if (from == to || (from->pid && from->pid == to->pid))
		return true;
	return read_cred(from, &reader) && read_cred(to, &traced) &&
	       ap_cred_may_read(&reader, &traced, is_dumpable(to, &traced));
}

bool ap_host_is_root(const struct ap_host_task *t)
{
	struct ap_cred cred;

	return read_cred(t, &cred) && !cred.uid[1];
}

bool ap_host_is_privileged(void *world, struct ap_task *caller)
{
	const struct ap_host *host = world;
	struct ap_cred cred;

	if (host->config.is_paranoid_given)
		return false;
	return read_cred(ap_task_host(caller), &cred) && cred.uid[1] == geteuid();
}
