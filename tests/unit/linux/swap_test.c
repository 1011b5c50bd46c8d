/* SPDX-License-Identifier: MIT */
/*
 * Tasks that change what the supervisor has been told of while it looks: the file behind a descriptor, and the program that
 * is to be seized.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "inject/task.h"
#include "linux/run/supervisor.h"
#include "linux/session/owner.h"
#include "linux/task/now.h"
#include "tap/tap.h"

#define PLACE 50
#define TEXT  "what it was"

static struct ap_supervisor sv;

static void open_session(void)
{
	const struct ap_session_config cfg = { .flags = AP_F_COUNT };

	REQUIRE(ap_session_new(&sv.ses, &cfg) == 0);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Behind one number a new memfd, a FIFO and the victim, for ever. */
static pid_t swapper(int fifo, int victim)
{
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	while (!pid) {
		int fd = memfd_create("anyperf", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		dup2(fd, PLACE);
		close(fd);
		dup2(fifo, PLACE);
		dup2(victim, PLACE);
	}
	return pid;
}

static bool was_opened(int in)
{
	char event[4096] __attribute__((aligned(8)));

	return read(in, event, sizeof(event)) > 0;
}

/* Only an empty memfd becomes a party, nothing else is opened, and nothing of what is not one is changed. */
static void descriptors_that_are_swapped(void)
{
	char dir[] = "/tmp/swap_test.XXXXXX", path[64];
	int victim = memfd_create("victim", MFD_CLOEXEC | MFD_ALLOW_SEALING), fifo, in;
	u32 party, taken = 0;
	struct stat st, was, size;
	pid_t pid;

	open_session();
	REQUIRE(fstat(sv.ses.fd, &size) == 0);
	REQUIRE(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	REQUIRE(mkfifo(path, 0600) == 0);
	fifo = open(path, O_RDWR | O_CLOEXEC);
	in = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	REQUIRE(fifo >= 0 && inotify_add_watch(in, path, IN_OPEN) >= 0);
	REQUIRE(write(victim, TEXT, sizeof(TEXT)) == sizeof(TEXT) && fstat(victim, &was) == 0);
	pid = swapper(fifo, victim);
	for (u32 i = 0; i < 20000 && taken < 40; i++) {
		party = 0;
		if (ap_session_party_take(&sv.ses, pid, PLACE, &party))
			continue;
		taken++;
		REQUIRE(sv.ses.parties[party] && fstat(sv.ses.parties[party]->fd, &st) == 0);
		EXPECT(st.st_ino != was.st_ino);
		EXPECT_U64(st.st_size, size.st_size);
		ap_session_party_end(&sv.ses, party);
	}
	end(pid);
	EXPECT(taken > 0);
	EXPECT(!was_opened(in));
	REQUIRE(fstat(victim, &st) == 0);
	EXPECT_U64(st.st_size, sizeof(TEXT));
	EXPECT_U64(st.st_mode, was.st_mode);
	EXPECT_U64(fcntl(victim, F_GET_SEALS), 0);
	unlink(path);
	rmdir(dir);
}

/* --- how many */

/* So many parties as a task of this one gets. */
static u32 take(u32 from, u32 tries, u32 *last)
{
	u32 n = 0, party;

	*last = 0;
	for (u32 i = 0; i < tries; i++) {
		int fd = memfd_create("anyperf", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		party = from;
		REQUIRE(fd >= 0);
		if (!ap_session_party_take(&sv.ses, getpid(), fd, &party)) {
			*last = party;
			n++;
		}
		close(fd);
	}
	return n;
}

/* One that has left the first party leaves others their part, and all of them together leave half to the owner. */
static void who_leaves_again_and_again(void)
{
	u32 origin, child, last, n = 0;

	open_session();
	EXPECT_U64(take(0, 1, &origin), 1);
	EXPECT_U64(take(origin, 10, &child), 8);
	EXPECT_U64(take(child, 10, &last), 0);
	ap_session_party_end(&sv.ses, child);
	EXPECT_U64(take(origin, 10, &last), 1);
	for (u32 i = 0; i < 5; i++) {
		EXPECT_U64(take(0, 1, &child), 1);
		n += take(child, 70, &last);
	}
	EXPECT_U64(n, 32 - 8);
	EXPECT_U64(take(0, 70, &last), 63 - 32 - 6);
	ap_session_close(&sv.ses);
	memset(&sv, 0, sizeof(sv));
}

/* --- seizing */

enum what { EXECUTES, ENDS, SWAPS, NAMES_ANOTHER, WHAT_N };

static void spin(u32 n)
{
	for (volatile u32 i = 0; i < n; i++)
		;
}

/* In the session's segment: asks to be seized for an exec, and n turns later it is something else. */
static void ask(u32 seg, enum what what, pid_t victim, u32 n)
{
	char *at = mmap(NULL, AP_SEG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			sv.ses.fd, (off_t)AP_SEG_OFF(seg));
	struct ap_seg *head = (struct ap_seg *)at;
	struct ap_slot *slot = (struct ap_slot *)(at + AP_SLOT_OFF(0));

	if (at == MAP_FAILED)
		_exit(1);
	slot->at = (u64)(uintptr_t)slot;
	slot->pid = slot->tid = (u32)getpid();
	slot->exec_fd = sv.ses.fd;
	slot->exec_head = sv.ses.head_fd;
	slot->state = AP_SLOT_LIVE;
	head->nslots = 1;
	head->state = AP_SEG_LIVE;
	__atomic_store_n(&slot->req, AP_REQ_EXEC, __ATOMIC_RELEASE);
	spin(n);
	if (what == SWAPS)
		dup2(open("/dev/null", O_RDWR), sv.ses.fd);
	if (what == NAMES_ANOTHER)
		slot->pid = slot->tid = (u32)victim;
	if (what == NAMES_ANOTHER)
		spin(100000);
	if (what != ENDS)
		execl("/bin/true", "true", (char *)NULL);
	_exit(0);
}

static pid_t tracer_of(pid_t pid)
{
	char path[64], text[4096], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	p = strstr(text, "TracerPid:");
	return p ? (pid_t)atoi(p + 10) : -1;
}

/* What it is when it has been seized is what counts: it goes its way whatever it did, and nobody else is seized. */
static void tasks_that_become_another(void)
{
	u32 answers[AP_REQ_MOVE_DONE + 1] = { 0 };
	pid_t victim = fork();

	REQUIRE(victim >= 0);
	if (!victim)
		for (;;)
			pause();
	for (u32 i = 0; i < 240; i++) {
		struct ap_seg init = { .pid = 1 };
		struct ap_track *t;
		int status = 0, ended = -1;
		struct ap_slot slot;
		pid_t pid, got;
		u32 seg;

		memset(&sv, 0, sizeof(sv));
		sv.rights = AP_RIGHTS_MORE;
		sv.epfd = epoll_create1(EPOLL_CLOEXEC);
		open_session();
		fcntl(sv.ses.fd, F_SETFD, 0);
		fcntl(sv.ses.head_fd, F_SETFD, 0);
		REQUIRE(ap_session_seg_new(&sv.ses, &init, &seg) == 0);
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid) {
			struct ap_seg *head = ap_session_seg_map(&sv.ses, seg);

			head->pid = head->ns_pid = (u32)getpid();
			ask(seg, i % WHAT_N, victim, i / WHAT_N * 2000);
		}
		sv.command = pid;
		ap_tracks_learn(&sv);
		t = ap_track_of(&sv, seg);
		REQUIRE(t);
		for (u64 until = ap_now_ns() + 20000000000ULL; ended < 0 && ap_now_ns() < until;) {
			ap_handover_scan(&sv, t);
			got = waitpid(-1, &status, WNOHANG | __WALL);
			if (got == pid && (WIFEXITED(status) || WIFSIGNALED(status)))
				ended = status;
			else if (got > 0)
				(void)ap_handover_event(&sv, got, status);
		}
		EXPECT_U64((u64)(s64)ended, 0);
		EXPECT(tracer_of(victim) == 0);
		REQUIRE(ap_session_slot_read(&sv.ses, seg, 0, &slot) == 0);
		answers[slot.req <= AP_REQ_MOVE_DONE ? slot.req : 0]++;
		ap_handover_forget(&sv);
		ap_tracks_fini(&sv);
		ap_session_close(&sv.ses);
		close(sv.epfd);
	}
	/* some were in time, some were not */
	EXPECT(answers[AP_REQ_EXEC_ACK] > 0);
	EXPECT(answers[AP_REQ_EXEC_ACK] < 240);
	end(victim);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(descriptors_that_are_swapped),
		TAP(who_leaves_again_and_again),
		TAP(tasks_that_become_another),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
