/* SPDX-License-Identifier: MIT */
/*
 * A vfork child that scribbles into its slot of the session: it asks as if it were its parent, which
 * cannot stop before it ends, and waits until the supervisor has answered.  Says what became of it.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/session.h"

#define STEP_NS	  1000000
#define STEPS_MAX 20000

static struct ap_session *session;
static int session_fd;
static volatile const char *said = "asked in vain";

static void *map(u64 off, u64 size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, session_fd, (off_t)off);

	return p == MAP_FAILED ? NULL : p;
}

/* The slot whose thread is tid. */
static struct ap_slot *find_slot(u32 tid)
{
	for (u32 i = 0; i < ap_segs_end(session); i++) {
		struct ap_seg *seg = map(AP_SEG_OFF(i), 4096);

		for (u32 k = 0; seg && k < seg->nslots; k++) {
			struct ap_slot *slot = map(AP_SEG_OFF(i) + AP_SLOT_OFF(k), 4096);

			if (slot && slot->state == AP_SLOT_LIVE && slot->tid == tid)
				return slot;
		}
	}
	return NULL;
}

static u32 ask(struct ap_slot *slot, u32 req)
{
	const struct timespec step = { .tv_nsec = STEP_NS };

	__atomic_store_n(&slot->req, req, __ATOMIC_RELEASE);
	__atomic_fetch_add(&ap_board_of(session)->looks, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&ap_board_of(session)->doorbell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &ap_board_of(session)->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
	for (int i = 0; i < STEPS_MAX; i++) {
		u32 now = __atomic_load_n(&slot->req, __ATOMIC_ACQUIRE);

		if (now != req && now != AP_REQ_EXEC_TAKEN)
			return now;
		nanosleep(&step, NULL);
	}
	return req;
}

static int child(void *arg)
{
	pid_t parent = *(pid_t *)arg;
	struct ap_slot *slot = find_slot((u32)syscall(SYS_gettid));
	u32 tid;

	if (!slot)
		_exit(2);
	tid = slot->tid;
	slot->exec_fd = session_fd;
	slot->tid = (u32)parent;
	if (ask(slot, AP_REQ_EXEC) != AP_REQ_EXEC_ACK)
		said = "not seized";
	else if (ask(slot, AP_REQ_CANCEL) == AP_REQ_CANCEL_ACK)
		said = "let go";
	slot->tid = tid;
	slot->req = AP_REQ_NONE;
	_exit(0);
}

int main(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t self = getpid(), pid;
	char *argv[] = { "true", NULL };
	int status = 1;

	session_fd = prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0);
	session = session_fd >= 0 ? map(0, AP_NOTE_OFF) : NULL;
	if (!session)
		return 2;
	pid = clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &self);
	waitpid(pid, &status, 0);
	printf("%s, status %d\n", (const char *)said, status);
	fflush(stdout);
	execvp(argv[0], argv);
	return 1;
}
