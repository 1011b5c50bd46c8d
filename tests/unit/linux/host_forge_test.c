/* SPDX-License-Identifier: MIT */
/*
 * A process of the session that forges what it asks for: events on pipes that it does not have, and a thread's number that
 * is another's, whom the kernel would then prompt by SIGTRAP.  Its requests are served without a supervisor's loop.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/host/host_internal.h"
#include "linux/run/supervisor.h"
#include "tap/tap.h"

static struct ap_supervisor sv;
static struct ap_host *host;
static struct ap_seg *seg;
static struct ap_slot *slot;
static struct ap_svc *svc;

/* A pipe of both processes', and one that was made behind the fork. */
static int both[2], ours[2];
static pid_t forger;

static void make_segment(void)
{
	const struct ap_seg init = { .pid = (u32)getpid(), .ns_pid = (u32)getpid() };
	u32 n;

	REQUIRE(ap_session_seg_new(&sv.ses, &init, &n) == 0 && n == 0);
	seg = mmap(NULL, AP_SEG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, sv.ses.fd,
		   (off_t)AP_SEG_OFF(0));
	REQUIRE(seg != MAP_FAILED);
	slot = (struct ap_slot *)((char *)seg + AP_SLOT_OFF(0));
	svc = (struct ap_svc *)((char *)slot + AP_SVC_OFF);
}

/* The forger does nothing: what it would write is written here, as the pages are shared. */
static void set_up(void)
{
	const struct ap_session_config cfg = { .flags = AP_F_COUNT | AP_F_SERVE };
	const struct ap_host_config host_cfg = { .paranoid = 2 };

	if (geteuid())
		tap_lack("rights that the programs do not have");
	REQUIRE(ap_session_new(&sv.ses, &cfg) == 0);
	REQUIRE(ap_host_new(&host, &sv, &host_cfg) == 0);
	make_segment();
	REQUIRE(pipe(both) == 0);
	forger = fork();
	while (!forger)
		pause();
	REQUIRE(forger > 0 && pipe(ours) == 0);
	slot->tid = slot->pid = seg->pid = seg->ns_pid = (u32)forger;
	slot->gen = 1;
	slot->state = AP_SLOT_LIVE;
	seg->nslots = 1;
	seg->state = AP_SEG_LIVE;
}

static void tear_down(void)
{
	kill(forger, SIGKILL);
	REQUIRE(waitpid(forger, NULL, 0) == forger);
}

static s64 ask(void)
{
	bool in_time;

	svc->state = AP_SVC_ASKED;
	seg->asking[0] |= 1;
	ap_board_of(sv.ses.head)->asking[0] |= 1;
	REQUIRE(ap_host_serve(host, &in_time) && svc->state == AP_SVC_DONE);
	return svc->ret;
}

static u64 inode_of(int fd)
{
	struct stat st;

	REQUIRE(fstat(fd, &st) == 0);
	return st.st_ino;
}

/* An event of the calling task: of its clock, and sampled, or of instructions. */
static s64 open_event(int fd, u64 inode, u64 period)
{
	struct ap_perf_attr attr = { .size = sizeof(attr), .flags = AP_PERF_EXCLUDE_KERNEL };

	attr.type = period ? AP_PERF_TYPE_SOFTWARE : AP_PERF_TYPE_HARDWARE;
	attr.config = AP_PERF_COUNT_HW_INSTRUCTIONS;
	if (period)
		attr.config = AP_PERF_COUNT_SW_TASK_CLOCK;
	attr.sample_period = period;
	memset(svc->arg, 0, sizeof(svc->arg));
	svc->op = AP_SVC_OPEN;
	svc->arg[1] = ~0ULL;
	svc->arg[4] = (u64)fd;
	svc->arg[5] = ~0ULL;
	svc->arg[6] = inode;
	memcpy(svc->data, &attr, sizeof(attr));
	svc->in_size = sizeof(attr);
	return ask();
}

static void an_event_is_on_a_pipe_of_its_own(void)
{
	set_up();
	EXPECT(open_event(ours[0], inode_of(ours[0]), 0) < 0);
	EXPECT(open_event(both[0], inode_of(ours[0]), 0) < 0);
	EXPECT(open_event(1000, inode_of(both[0]), 0) < 0);
	EXPECT(open_event(-1, inode_of(both[0]), 0) < 0);
	EXPECT(open_event(both[0], inode_of(both[0]), 0) == 0);
	/* a second one at the same pipe would take the first one's name */
	EXPECT(open_event(both[0], inode_of(both[0]), 0) < 0);
	tear_down();
}

static bool is_prompted(void)
{
	for (const struct ap_host_task *t = host->tasks; t; t = t->next)
		for (u32 kind = 0; kind < AP_PROMPT_N; kind++)
			if (t->prompt_fd[kind] >= 0)
				return true;
	return false;
}

static void no_other_task_is_prompted(void)
{
	static const pid_t init = 1;
	const pid_t others[] = { getppid(), init }; /* none has the segment */

	set_up();
	for (u32 i = 0; i < sizeof(others) / sizeof(*others); i++) {
		slot->tid = (u32)others[i];
		EXPECT(open_event(both[0], inode_of(both[0]), 1000000) < 0);
		slot->pid = (u32)others[i];
		EXPECT(open_event(both[0], inode_of(both[0]), 1000000) < 0);
		slot->tid = (u32)forger;
		EXPECT(open_event(both[0], inode_of(both[0]), 1000000) < 0);
		slot->pid = (u32)forger;
		EXPECT(!is_prompted());
	}
	/* it is itself again; it does not run, so it is not told anything */
	EXPECT(open_event(both[0], inode_of(both[0]), 1000000) == 0);
	if (ap_host_can_prompt(host))
		EXPECT(is_prompted());
	tear_down();
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(an_event_is_on_a_pipe_of_its_own),
						 TAP(no_other_task_is_prompted),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
