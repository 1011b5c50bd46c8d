/* SPDX-License-Identifier: MIT */
/*
 * Which processes live, from the records as they pass: a file that begins in the middle of a
 * recording has to name them and their mappings anew.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/record.h"
#include "cli/memory.h"
#include "cli/record.h"

static size_t find(const struct record_tasks *tasks, pid_t pid)
{
	size_t i = 0;

	while (i < tasks->n && tasks->pid[i] != pid)
		i++;
	return i;
}

void record_tasks_add(struct record_tasks *tasks, pid_t pid)
{
	if (find(tasks, pid) < tasks->n)
		return;
	tasks->pid = ap_xgrow(tasks->pid, tasks->n + 1, sizeof(*tasks->pid));
	tasks->pid[tasks->n++] = pid;
}

void record_tasks_note(struct record_tasks *tasks, const char *record)
{
	struct ap_perf_event_header h;
	struct ap_perf_record_task task;
	size_t at;

	memcpy(&h, record, sizeof(h));
	if ((h.type != AP_PERF_RECORD_FORK && h.type != AP_PERF_RECORD_EXIT) ||
	    h.size < sizeof(h) + sizeof(task))
		return;
	memcpy(&task, record + sizeof(h), sizeof(task));
	if (task.pid != task.tid)
		return;
	if (h.type == AP_PERF_RECORD_FORK) {
		record_tasks_add(tasks, (pid_t)task.pid);
		return;
	}
	at = find(tasks, (pid_t)task.pid);
	if (at < tasks->n)
		tasks->pid[at] = tasks->pid[--tasks->n];
}
