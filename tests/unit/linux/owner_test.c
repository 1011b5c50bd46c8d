/* SPDX-License-Identifier: MIT */
/*
 * Whose a segment is, by the kernel: a process that was sent the file of a party and has mapped it, as servers do with shared
 * memory, is no task of the session's.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "linux/session/owner.h"
#include "tap/tap.h"

#define NOBODY 65534

static struct ap_supervisor sv;
static struct ap_session_file *party;
static u32 seg;
static pid_t stranger;

static void open_session(void)
{
	const struct ap_session_config cfg = { .flags = AP_F_COUNT };
	const struct ap_seg init = { .pid = 1, .ns_pid = 1 };
	int fd = memfd_create("anyperf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	u32 p;

	sv.rights = AP_RIGHTS_MORE;
	REQUIRE(ap_session_new(&sv.ses, &cfg) == 0);
	REQUIRE(fd >= 0 && ap_session_party_new(&sv.ses, fd, &p) == 0);
	party = sv.ses.parties[p];
	ap_session_party_is_of(party, getpid());
	REQUIRE(ap_session_seg_new(party, &init, &seg) == 0);
}

/* Who its parent is: we, nobody any more, or a process that is no task. */
enum parent { OURS, ORPHAN, STRANGERS };

/* It has all of the segment in its memory, and goes on as uid. */
static pid_t mapper_of(enum parent parent, uid_t uid)
{
	int told[2];
	pid_t pid, first;

	REQUIRE(pipe(told) == 0);
	first = fork();
	REQUIRE(first >= 0);
	if (!first && parent != OURS && fork()) {
		while (parent == STRANGERS)
			pause();
		_exit(0);
	}
	if (!first) {
		void *p = mmap(NULL, AP_SEG_SIZE, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_NORESERVE, party->fd, (off_t)AP_SEG_OFF(seg));

		pid = getpid();
		if (p != MAP_FAILED && (uid == getuid() || !syscall(SYS_setresuid, uid, uid, uid)))
			(void)!write(told[1], &pid, sizeof(pid));
		close(told[1]);
		pause();
		_exit(0);
	}
	close(told[1]);
	if (parent == ORPHAN)
		REQUIRE(waitpid(first, NULL, 0) == first);
	REQUIRE(read(told[0], &pid, sizeof(pid)) == sizeof(pid));
	close(told[0]);
	stranger = parent == STRANGERS ? first : 0;
	return pid;
}

static pid_t mapper(uid_t uid)
{
	return mapper_of(OURS, uid);
}

static enum ap_owned look(pid_t pid)
{
	struct ap_seg head;

	REQUIRE(ap_session_seg_read(&sv.ses, seg, &head) == 0);
	return ap_owner_look(&sv, seg, &head, pid);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* With our rights: a party of others' has none of them that is not a task's child. */
static void a_server_with_our_rights_is_no_task(void)
{
	pid_t pid;

	open_session();
	pid = mapper(getuid());
	EXPECT_U64(look(pid), AP_OWNED_NOT);
	EXPECT(!ap_owner_is(&sv, seg, pid));
	end(pid);
}

static void one_that_was_there_before_is_no_task(void)
{
	pid_t pid;

	if (getuid())
		tap_lack("only root can become another user");
	open_session();
	pid = mapper_of(ORPHAN, NOBODY);
	EXPECT_U64(look(pid), AP_OWNED);
	party->born += 1000000;
	EXPECT_U64(look(pid), AP_OWNED_NOT);
	end(pid);
}

/* A service of a third user's that was started later: the process that has started it lives, and is no task. */
static void one_whose_parents_live_is_a_task_if_they_are(void)
{
	pid_t pid;

	if (getuid())
		tap_lack("only root can become another user");
	open_session();
	pid = mapper_of(STRANGERS, NOBODY);
	EXPECT_U64(look(pid), AP_OWNED_NOT);
	EXPECT(!ap_owner_is(&sv, seg, pid));
	sv.command = stranger;
	EXPECT_U64(look(pid), AP_OWNED);
	kill(pid, SIGKILL);
	end(stranger);
	/* nor is a child of ours that is none */
	sv.command = 0;
	pid = mapper(NOBODY);
	EXPECT_U64(look(pid), AP_OWNED_NOT);
	end(pid);
}

static struct ap_identity user(u32 id, u64 permitted)
{
	struct ap_identity of = { .uids = { id, id, id, id },
				  .gids = { 0 },
				  .permitted = permitted };

	REQUIRE(ap_creds_userns(getpid(), of.userns));
	return of;
}

/* One below init, whose parents nobody can ask any more: a task if the party's could do to it what they like. */
static void one_of_a_third_user_is_no_task(void)
{
	pid_t pid;

	if (getuid())
		tap_lack("only root can become another user");
	open_session();
	party->first = user(NOBODY - 1, 0);
	pid = mapper_of(ORPHAN, NOBODY);
	EXPECT_U64(look(pid), AP_OWNED_NOT);
	EXPECT(!ap_owner_is(&sv, seg, pid));
	party->first = user(NOBODY, 0);
	EXPECT_U64(look(pid), AP_OWNED);
	end(pid);
}

/* A service that was believed, and has become root since, or a set-uid program: the party is not root's by that. */
static void a_party_is_never_more_than_it_was(void)
{
	pid_t pid;

	if (getuid())
		tap_lack("only root can become another user");
	open_session();
	party->first = user(NOBODY, 0);
	pid = mapper(0);
	sv.command = pid;
	EXPECT(ap_owner_is(&sv, seg, pid));
	EXPECT_U64(party->first.uids[0], NOBODY);
	end(pid);
	/* and becomes less with whom it has in it */
	open_session();
	pid = mapper(NOBODY);
	sv.command = pid;
	EXPECT(ap_owner_is(&sv, seg, pid));
	EXPECT_U64(party->first.uids[0], NOBODY);
	EXPECT_U64(party->first.permitted, 0);
	sv.command = 0;
	end(pid);
}

static void who_reaches_whom(void)
{
	const u64 setuid = 1 << 7, setgid = 1 << 6, trace = 1 << 19;
	struct ap_identity a = user(1, 0), b = user(2, 0), saved = user(1, 0);
	struct ap_identity below = user(1, ~0ULL);
	const char *own = a.userns;

	strcpy(below.userns, "user:[1]");
	EXPECT(!ap_identity_reaches(&below, &a, own)); /* of the same ids, and from inside */
	saved.uids[2] = 2;
	EXPECT(ap_identity_reaches(&a, &a, own) && !ap_identity_reaches(&a, &b, own));
	EXPECT(ap_identity_reaches(&saved, &b, own) && !ap_identity_reaches(&b, &saved, own));
	a.permitted = setuid;
	EXPECT(ap_identity_reaches(&a, &b, own) && !ap_identity_reaches(&b, &a, own));
	b.gids[0] = 1;
	EXPECT(!ap_identity_reaches(&a, &b, own));
	a.permitted = setuid | setgid;
	EXPECT(ap_identity_reaches(&a, &b, own));
	b.permitted = 1;
	EXPECT(!ap_identity_reaches(&a, &b, own));
	a.permitted = trace;
	EXPECT(ap_identity_reaches(&a, &b, own));
	/* all capabilities of a namespace of its own are none here, and one that its user has made is his */
	EXPECT(!ap_identity_reaches(&below, &b, own));
	EXPECT(ap_identity_reaches(&saved, &below, own));
	below.uids[1] = 3;
	EXPECT(!ap_identity_reaches(&saved, &below, own));
	a.userns[0] = '\0';
	EXPECT(!ap_identity_reaches(&a, &a, own));
}

/* By whom the supervisor has put there itself, or by a descent from one. */
static void tasks_and_their_children_are(void)
{
	pid_t pid, child;

	open_session();
	pid = mapper(getuid());
	sv.command = pid;
	EXPECT_U64(look(pid), AP_OWNED);
	sv.command = getpid();
	child = mapper(getuid());
	EXPECT_U64(look(child), AP_OWNED);
	sv.command = 0;
	EXPECT_U64(look(child), AP_OWNED_NOT);
	end(pid);
	end(child);
}

/* Its memory may not be shown, to root either. */
static void init_is_no_task(void)
{
	open_session();
	EXPECT_U64(look(1), AP_OWNED_NOT);
}

/* Its number is looked at again behind the thread's descriptor. */
static void signals_go_to_tasks_alone(void)
{
	siginfo_t info = { .si_signo = SIGTERM, .si_code = AP_NUDGE_CODE };
	int status;
	pid_t pid;

	open_session();
	pid = mapper(getuid());
	EXPECT(!ap_owner_signal(&sv, seg, pid, pid, &info));
	EXPECT(waitpid(pid, &status, WNOHANG) == 0);
	sv.command = pid;
	EXPECT(ap_owner_signal(&sv, seg, pid, pid, &info));
	EXPECT(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGTERM);
	EXPECT(!ap_owner_signal(&sv, seg, pid, pid, &info));
}

/* A process of that number, which has nothing to do with the session; -1: it cannot be had. */
static pid_t of_number(pid_t pid)
{
	struct {
		u64 flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
		u64 set_tid, set_tid_size, cgroup;
	} args = { .exit_signal = SIGCHLD, .set_tid = (u64)(uintptr_t)&pid, .set_tid_size = 1 };
	pid_t got = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	while (!got)
		pause();
	return got;
}

/* The task has ended, and its number is a stranger's: what stands in the segment, and what was known of the task, says that number still. */
static void a_number_that_is_used_again_is_no_task(void)
{
	siginfo_t info = { .si_signo = SIGTERM, .si_code = AP_NUDGE_CODE };
	pid_t pid, other;
	int status;

	open_session();
	pid = mapper(getuid());
	sv.command = pid;
	EXPECT(ap_owner_is(&sv, seg, pid));
	end(pid);
	sv.command = 0;
	other = of_number(pid);
	if (other < 0)
		tap_lack("the number of a process cannot be chosen here");
	REQUIRE(other == pid);
	EXPECT_U64(ap_owner_of(&sv, seg), 0);
	EXPECT(!ap_owner_is(&sv, seg, pid));
	EXPECT(!ap_owner_is_child(&sv, seg, pid));
	EXPECT(!ap_owner_signal(&sv, seg, pid, pid, &info));
	EXPECT(waitpid(pid, &status, WNOHANG) == 0);
	end(pid);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(a_server_with_our_rights_is_no_task),
		TAP(one_that_was_there_before_is_no_task),
		TAP(one_whose_parents_live_is_a_task_if_they_are),
		TAP(one_of_a_third_user_is_no_task),
		TAP(a_party_is_never_more_than_it_was),
		TAP(who_reaches_whom),
		TAP(tasks_and_their_children_are),
		TAP(init_is_no_task),
		TAP(signals_go_to_tasks_alone),
		TAP(a_number_that_is_used_again_is_no_task),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
