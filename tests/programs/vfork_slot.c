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
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/session.h"

#define STEP_NS	  1000000
#define STEPS_MAX 20000

static struct ap_board *board;
static s32 head_fd, session_fd;
static volatile const char *said = "asked in vain";

/* What the engine has mapped of the party's file, which both processes share: the slot whose thread is tid, and the board. */
static struct ap_slot *find_slot(pid_t process, u32 tid)
{
	struct ap_slot *found = NULL, *slot;
	unsigned long start, end, off;
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)process);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx rw-s %lx", &start, &end, &off) != 3 ||
		    !strstr(line, "/memfd:anyperf"))
			continue;
		slot = (struct ap_slot *)start;
		if (off == AP_BOARD_OFF)
			board = (struct ap_board *)start;
		else if (off >= AP_SEG_BASE && (off - AP_SEG_BASE) % AP_SEG_SIZE >= AP_SLOTS_OFF &&
			 slot->state == AP_SLOT_LIVE && slot->tid == tid)
			found = slot;
	}
	if (f)
		fclose(f);
	return board ? found : NULL;
}

/* The number of its descriptor, which the slot of a task that has asked for nothing does not say. */
static s32 find_fd(pid_t process, s32 from)
{
	char path[64], name[64];
	ssize_t n;

	for (s32 fd = from; fd > 2; fd--) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)process, fd);
		n = readlink(path, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = 0;
		if (strstr(name, "/memfd:anyperf"))
			return fd;
	}
	return -1;
}

static u32 ask(struct ap_slot *slot, u32 req)
{
	const struct timespec step = { .tv_nsec = STEP_NS };

	__atomic_store_n(&slot->req, req, __ATOMIC_RELEASE);
	__atomic_fetch_add(&board->looks, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&board->doorbell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &board->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
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
	struct ap_slot *slot = find_slot(parent, (u32)syscall(SYS_gettid));
	u32 tid, pid;

	session_fd = find_fd(parent, 4095);
	head_fd = find_fd(parent, session_fd - 1);
	if (!slot || head_fd < 0)
		_exit(2);
	tid = slot->tid;
	pid = slot->pid;
	slot->exec_fd = session_fd;
	slot->exec_head = head_fd;
	slot->tid = slot->pid = (u32)parent;
	if (ask(slot, AP_REQ_EXEC) != AP_REQ_EXEC_ACK)
		said = "not seized";
	else if (ask(slot, AP_REQ_CANCEL) == AP_REQ_CANCEL_ACK)
		said = "let go";
	slot->tid = tid;
	slot->pid = pid;
	slot->req = AP_REQ_NONE;
	_exit(0);
}

int main(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t self = getpid(), pid;
	char *argv[] = { "true", NULL };
	int status = 1;

	if (prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0) < 0)
		return 2;
	pid = clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &self);
	waitpid(pid, &status, 0);
	printf("%s, status %d\n", (const char *)said, status);
	fflush(stdout);
	execvp(argv[0], argv);
	return 1;
}
