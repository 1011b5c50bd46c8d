/* SPDX-License-Identifier: MIT */
/*
 * The hostile task's accomplice, outside of the session: it takes the descriptors of the session's file from the task, as its user may, and
 * writes where no engine has anything mapped: segments that nobody has, far behind all others and right behind them, each of which
 * says that it is taken, by whom, and that all of its slots are full of requests.
 *
 *	hostile_far SEED PID VICTIM...
 *
 * It goes on for as long as the process is there, and writes no more than some MiB.
 */
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "abi/service.h"
#include "abi/session.h"
#include "random.h"
#include "session_taken.h"

#define FILES  8
#define WRITES 12000

static char **names;
static uint32_t nnames;

static uint32_t somebody(void)
{
	return below(4) ? (uint32_t)atoi(names[below(nnames)]) : (uint32_t)any_number();
}

static uint32_t some_segment(void)
{
	switch (below(4)) {
	case 0:
		return (uint32_t)any() & ((1U << AP_PARTY_SHIFT) - 1);
	case 1:
		return below(2 * AP_SEGS_AHEAD + 8);
	default:
		return below(64);
	}
}

static void put(int fd, const void *what, size_t size, uint64_t off)
{
	(void)!pwrite(fd, what, size, (off_t)off);
}

/* As one that counts, from its head to a slot that asks. */
static void make_segment(int fd, uint32_t seg)
{
	const struct ap_seg head = { .taken = 1,
				     .state = below(8),
				     .pid = somebody(),
				     .ns_pid = somebody(),
				     .nslots = (uint32_t)any_number(),
				     .nshapes = (uint32_t)any_number(),
				     .parent_seg = some_segment(),
				     .child_pid = somebody(),
				     .asking = { any() } };
	const struct ap_slot slot = { .state = below(4),
				      .pid = somebody(),
				      .tid = somebody(),
				      .in_code = 1,
				      .gen = (uint32_t)any_number(),
				      .req = below(8),
				      .exec_fd = (int32_t)below(40),
				      .at = any_number() };
	uint64_t at = AP_SEG_OFF(seg) + AP_SLOT_OFF(below(4));

	put(fd, &head, sizeof(head), AP_SEG_OFF(seg));
	put(fd, &slot, sizeof(slot), at);
}

static void act(int fd)
{
	const uint32_t taken = 1;
	uint64_t word = any_number();

	switch (below(4)) {
	case 0:
		put(fd, &taken, sizeof(taken),
		    AP_SEG_OFF(some_segment()) + offsetof(struct ap_seg, taken));
		break;
	case 1:
		put(fd, &word, sizeof(word), any() % AP_SEG_OFF((1U << AP_PARTY_SHIFT) - 1));
		break;
	default:
		make_segment(fd, some_segment());
	}
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int fds[FILES], n;
	pid_t pid;

	if (argc < 3)
		return 2;
	names = argv + 2;
	nnames = (uint32_t)argc - 2;
	pid = atoi(argv[2]);
	random_seed(strtoull(argv[1], NULL, 0));
	n = session_take(pid, fds, FILES);
	if (n < 0)
		return -n;
	for (unsigned i = 0; n && !kill(pid, 0); i++) {
		if (i < WRITES)
			act(fds[below((uint32_t)n)]);
		if (i >= WRITES || !below(8))
			nanosleep(&pause, NULL);
	}
	return 0;
}
