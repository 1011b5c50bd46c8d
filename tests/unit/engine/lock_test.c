/* SPDX-License-Identifier: MIT */
/* Locks are taken in the order of their ranks, and who does not is told both names. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/runtime/lock.h"
#include "tap/tap.h"

static struct ap_lock process, memory;

static void add(void)
{
	ap_lock_add(&process, AP_RANK_PROCESS, "process", NULL);
	ap_lock_add(&memory, AP_RANK_MEMORY, "memory", NULL);
}

/* In a child: what it says and its exit status. */
static int status_of(struct ap_lock *first, struct ap_lock *second, char said[256])
{
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	REQUIRE(pipe(fd) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		dup2(fd[1], 2);
		ap_lock_take(first);
		ap_lock_take(second);
		_exit(0);
	}
	close(fd[1]);
	n = read(fd[0], said, 255);
	said[n > 0 ? n : 0] = 0;
	close(fd[0]);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	return status;
}

static void in_order_they_are_taken(void)
{
	char said[256];

	add();
	EXPECT_U64(status_of(&process, &memory, said), 0);
	EXPECT_STR(said, "");
	ap_lock_take(&process);
	ap_lock_drop(&process);
	ap_lock_take(&memory);
	ap_lock_drop(&memory);
	ap_lock_take(&process);
	EXPECT(ap_lock_is_own(&process) && !ap_lock_is_own(&memory));
}

static void out_of_order_the_process_ends(void)
{
	char said[256];

	add();
	EXPECT_U64(WEXITSTATUS(status_of(&memory, &process, said)), 134);
	EXPECT_STR(said, "anyperf: the lock \"process\" is taken by a holder of \"memory\"\n");
}

static void one_that_is_held_is_not_taken_again(void)
{
	char said[256];

	add();
	EXPECT_U64(WEXITSTATUS(status_of(&memory, &memory, said)), 134);
	EXPECT_STR(said, "anyperf: the lock \"memory\" is taken by a holder of \"memory\"\n");
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(in_order_they_are_taken),
						 TAP(out_of_order_the_process_ends),
						 TAP(one_that_is_held_is_not_taken_again),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
