/* SPDX-License-Identifier: MIT */
/* Traced tasks of a supervisor: none that is gone may keep a session alive, and none may gain rights by its exec. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/run/supervisor.h"
#include "tap/tap.h"

static pid_t gone_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	REQUIRE(pid > 0 && waitpid(pid, NULL, 0) == pid);
	return pid;
}

static void tasks_that_are_gone_are_dropped(void)
{
	struct ap_seized tasks[4] = { { .tid = gone_pid() },
				      { .tid = getpid() },
				      { .tid = gone_pid() },
				      { .tid = gone_pid() } };
	struct ap_supervisor sv = { .traced = tasks, .ntraced = 4, .traced_cap = 4 };

	/* the id of a thread that execs is gone for a moment: its stop is still to come */
	ap_handover_sweep(&sv, 1);
	EXPECT_U64(sv.ntraced, 4);
	ap_handover_sweep(&sv, 1 + 2000000000ULL);
	EXPECT_U64(sv.ntraced, 1);
	EXPECT(sv.traced[0].tid == getpid());
	ap_handover_forget(&sv);
	EXPECT_U64(sv.ntraced, 0);
}

static const char *gained(const char *before, const char *after)
{
	struct ap_creds a, b;

	REQUIRE(ap_creds_parse(before, &a) && ap_creds_parse(after, &b));
	return ap_creds_gained(&a, &b) ?: "nothing";
}

/* Texts as the kernel writes them: real, effective, saved and file system's. */
static void rights_that_an_exec_gives(void)
{
	static const char user[] =
		"Uid:\t9\t9\t9\t9\nGid:\t8\t8\t8\t8\nGroups:\t1 2\nCapPrm:\t0000000000000001\n";

	EXPECT_STR(gained(user, user), "nothing");
	EXPECT_STR(gained(user, "Uid:\t9\t9\t9\t9\nGid:\t8\t8\t8\t8\nCapPrm:\t0000000000000000\n"),
		   "nothing");
	EXPECT_STR(gained(user, "Uid:\t9\t0\t0\t0\nGid:\t8\t8\t8\t8\nCapPrm:\t0000000000000001\n"),
		   "set-uid");
	EXPECT_STR(gained(user, "Uid:\t9\t9\t9\t9\nGid:\t8\t0\t0\t0\nCapPrm:\t0000000000000001\n"),
		   "set-gid");
	EXPECT_STR(gained(user, "Uid:\t9\t9\t9\t9\nGid:\t8\t8\t8\t8\nCapPrm:\t0000008000000001\n"),
		   "it has gained capabilities");
	EXPECT(!ap_creds_parse("Uid:\t9\t9\t9\t9\nGid:\t8\t8\t8\t8\n", &(struct ap_creds){ 0 }));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(tasks_that_are_gone_are_dropped),
		TAP(rights_that_an_exec_gives),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
