/* SPDX-License-Identifier: MIT */
/*
 * Paths that a task names: looked up as the task would, below its root and by its rights, and not
 * for ever.  as_task.c says how.
 */
#ifndef AP_LINUX_AS_TASK_H
#define AP_LINUX_AS_TASK_H

#include <sys/types.h>

#include "abi/session.h"
#include "base/types.h"

struct ap_host_task;

struct ap_as_task {
	pid_t pid, tid;
	u32 party;    /* below AP_PARTY_MAX: it bears what does not answer */
	bool is_less; /* its rights may be less than ours */
	/* The number is still that task's.  Asked behind what was read by it, where is_less. */
	bool (*is_itself)(const struct ap_as_task *as);
	const struct ap_host_task *task; /* for is_itself */
};

/*
 * What the task would find by the path, an O_PATH reference; or -errno.  dirfd: a descriptor of the
 * task's, or AT_FDCWD.  -ETIMEDOUT: some file system does not answer.  -EAGAIN: too many have not
 * answered tasks of its party.  -ESRCH: the number is not the task's any more.
 */
AP_MUST_CHECK int ap_as_open(const struct ap_as_task *as, s32 dirfd, const char *path);
/*
 * Does what may wait for a file system of the task's, in a thread where that may do harm.  arg is
 * the caller's again, but for -ETIMEDOUT: then the thread drops it when it is through.  Where fn
 * itself says that it is -EIO.
 */
AP_MUST_CHECK s64 ap_as_wait(const struct ap_as_task *as, s64 (*fn)(void *arg),
			     void (*drop)(void *arg), void *arg);

#endif
