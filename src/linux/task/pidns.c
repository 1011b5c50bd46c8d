/* SPDX-License-Identifier: MIT */
/*
 * Names across pid namespaces.  A task knows its own pid only; we see it under another one, which
 * its NSpid line in /proc gives.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "inject/proc.h"
#include "linux/task/pidns.h"

static pid_t innermost(const char *line)
{
	u64 last = 0;

	while (isdigit((unsigned char)*line)) {
		last = ap_text_u64(&line, 10);
		while (*line == ' ' || *line == '\t')
			line++;
	}
	return (pid_t)last;
}

static bool is_in_pidns(pid_t pid, u64 pidns)
{
	char path[AP_PROC_PATH];
	struct stat st;

	return !stat(ap_proc_path(path, pid, "ns/pid"), &st) && st.st_ino == pidns;
}

pid_t ap_pidns_find(u64 pidns, pid_t inner)
{
	DIR *proc = pidns ? opendir("/proc") : NULL;
	struct dirent *entry;
	pid_t found = 0, unread = pidns && !proc ? -errno : 0;
	char text[4096];

	while (proc && !found && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		const char *line;
		s64 got;

		if (pid <= 0)
			continue;
		got = ap_proc_read(pid, "status", text, sizeof(text));
		if (got == -EMFILE || got == -ENFILE)
			unread = (pid_t)got;
		if (got < 0)
			continue;
		line = ap_status_find(text, "NSpid");
		if (line && innermost(line) == inner && is_in_pidns(pid, pidns))
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found ? found : unread;
}

/* What a thread of a process, both named as we see them, calls itself; 0 unknown. */
static pid_t inner_name(pid_t pid, const char *tid)
{
	char name[64], text[4096];
	const char *line;

	snprintf(name, sizeof(name), "task/%.32s/status", tid);
	if (ap_proc_read(pid, name, text, sizeof(text)) < 0)
		return 0;
	line = ap_status_find(text, "NSpid");
	return line ? innermost(line) : 0;
}

pid_t ap_pidns_find_thread(pid_t pid, pid_t inner)
{
	char path[AP_PROC_PATH];
	DIR *tasks = inner > 0 ? opendir(ap_proc_path(path, pid, "task")) : NULL;
	struct dirent *entry;
	pid_t found = 0;

	while (tasks && !found && (entry = readdir(tasks)))
		if (atoi(entry->d_name) > 0 && inner_name(pid, entry->d_name) == inner)
			found = (pid_t)atoi(entry->d_name);
	if (tasks)
		closedir(tasks);
	return found;
}

pid_t ap_pidns_inner(pid_t pid, pid_t tid)
{
	char name[32];

	snprintf(name, sizeof(name), "%d", (int)tid);
	return inner_name(pid, name);
}
