/* SPDX-License-Identifier: MIT */
/*
 * Names across pid namespaces.  A task knows its own pid only; we see it under another one, which
 * its NSpid line in /proc gives.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "inject/proc.h"
#include "linux/supervisor.h"

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
	char text[4096];
	pid_t found = 0;

	while (proc && !found && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		const char *line;

		if (pid <= 0 || ap_proc_read(pid, "status", text, sizeof(text)) < 0)
			continue;
		line = ap_status_find(text, "NSpid");
		if (line && innermost(line) == inner && is_in_pidns(pid, pidns))
			found = pid;
	}
	if (proc)
		closedir(proc);
	return found;
}
