/* SPDX-License-Identifier: MIT */
/*
 * Requests as a task makes them, served without a supervisor's loop: what they count, and that
 * nothing which a process can write into its pages does harm.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux/host/host_internal.h"
#include "linux/run/supervisor.h"
#include "linux/session/owner.h"
#include "linux/task/now.h"
#include "sampling/ring.h"
#include "tap/tap.h"

static struct ap_supervisor sv;
static struct ap_host *host;
static struct ap_seg *segs[2];

static struct ap_slot *slot_of(u32 seg)
{
	return (struct ap_slot *)((char *)segs[seg] + AP_SLOT_OFF(0));
}

static struct ap_svc *svc_of(u32 seg)
{
	return (struct ap_svc *)((char *)slot_of(seg) + AP_SVC_OFF);
}

/* A segment of ours with one live thread. */
static void make_seg(u32 want)
{
	const struct ap_seg init = { .pid = (u32)getpid(), .ns_pid = (u32)getpid() };
	u32 seg;

	REQUIRE(ap_session_seg_new(&sv.ses, &init, &seg) == 0 && seg == want);
	segs[seg] = mmap(NULL, AP_SEG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			 sv.ses.fd, (off_t)AP_SEG_OFF(seg));
	REQUIRE(segs[seg] != MAP_FAILED);
}

static void be_born(u32 seg, u32 gen)
{
	struct ap_slot *slot = slot_of(seg);

	slot->tid = slot->pid = (u32)getpid();
	slot->gen = gen;
	slot->state = AP_SLOT_LIVE;
	segs[seg]->nslots = 1;
	segs[seg]->state = AP_SEG_LIVE;
}

static void set_up(void)
{
	const struct ap_session_config cfg = { .flags = AP_F_COUNT | AP_F_SERVE };
	const struct ap_host_config host_cfg = { .paranoid = 2 };

	REQUIRE(ap_session_new(&sv.ses, &cfg) == 0);
	REQUIRE(ap_host_new(&host, &sv, &host_cfg) == 0);
	make_seg(0);
	make_seg(1);
	be_born(0, 1);
}

static bool ask(u32 seg)
{
	bool in_time;

	svc_of(seg)->state = AP_SVC_ASKED;
	segs[seg]->asking[0] |= 1;
	ap_board_of(sv.ses.head)->asking[0] |= 1ULL << seg;
	return ap_host_serve(host, &in_time) && svc_of(seg)->state == AP_SVC_DONE;
}

static s64 call(u32 seg, u32 op, u64 a, u64 b, u64 c)
{
	struct ap_svc *svc = svc_of(seg);

	svc->op = op;
	svc->cpu_time += 1000;
	svc->arg[0] = a;
	svc->arg[1] = b;
	svc->arg[2] = c;
	svc->in_size = 0;
	REQUIRE(ask(seg));
	return svc->ret;
}

/* An instructions event of the calling task, on a CPU or -1; its inode, the read end in *fd. */
static u64 open_event_on(int *fd, u64 flags, s32 cpu)
{
	struct ap_perf_attr attr = { .size = sizeof(attr),
				     .type = AP_PERF_TYPE_HARDWARE,
				     .config = AP_PERF_COUNT_HW_INSTRUCTIONS,
				     .flags = flags | AP_PERF_EXCLUDE_KERNEL };
	struct ap_svc *svc = svc_of(0);
	struct stat st;
	int ends[2];

	REQUIRE(pipe(ends) == 0 && fstat(ends[0], &st) == 0);
	close(ends[1]);
	*fd = ends[0];
	memset(svc->arg, 0, sizeof(svc->arg));
	svc->op = AP_SVC_OPEN;
	svc->arg[1] = (u64)(s64)cpu;
	svc->arg[4] = (u64)ends[0];
	svc->arg[5] = ~0ULL;
	svc->arg[6] = st.st_ino;
	memcpy(svc->data, &attr, sizeof(attr));
	svc->in_size = sizeof(attr);
	REQUIRE(ask(0) && svc->ret == 0);
	return st.st_ino;
}

static u64 open_event(int *fd, u64 flags)
{
	return open_event_on(fd, flags, -1);
}

static u64 value(u64 inode)
{
	u64 v;

	REQUIRE(call(0, AP_SVC_READ, inode, 8, 0) == 8);
	memcpy(&v, svc_of(0)->data, sizeof(v));
	return v;
}

static void counts_what_the_slot_gains(void)
{
	u64 *shapes, *counts, inode;
	int fd;

	set_up();
	shapes = (u64 *)((char *)segs[0] + AP_SHAPES_OFF);
	counts = (u64 *)((char *)slot_of(0) + AP_SLOT_COUNTS_OFF);
	slot_of(0)->extra[AP_VEC_INSTR] = 100;
	inode = open_event(&fd, 0);
	slot_of(0)->extra[AP_VEC_INSTR] += 7;
	shapes[3] = AP_VEC_ONE(AP_VEC_INSTR) * 5;
	segs[0]->nshapes = 4;
	counts[3] = 1000;
	EXPECT_U64(value(inode), 5007);
	EXPECT(call(0, AP_SVC_IOCTL, inode, AP_PERF_IOC_DISABLE, 0) == 0);
	counts[3] += 10;
	EXPECT_U64(value(inode), 5007);
	EXPECT(call(0, AP_SVC_READ, inode + 1, 8, 0) < 0);
	EXPECT(call(0, AP_SVC_READ, inode, 4, 0) < 0);
	close(fd);
	EXPECT(call(0, AP_SVC_CLOSE, inode, 0, 0) == 0);
	EXPECT(call(0, AP_SVC_READ, inode, 8, 0) < 0);
}

static struct ap_log *log_of(u32 seg)
{
	return (struct ap_log *)((char *)slot_of(seg) + AP_LOG_OFF);
}

static void write_log(u64 inode, u32 op, u64 raw, u64 time)
{
	struct ap_log *log = log_of(0);
	struct ap_log_entry *entry = (void *)((char *)slot_of(0) + AP_SLOT_LOG_OFF);

	EXPECT(!(log->state & AP_LOG_HOLD));
	entry[(log->state & AP_LOG_HEAD) % AP_LOG_MAX] =
		(struct ap_log_entry){ .inode = inode, .op = op, .raw = raw, .time = time };
	log->state++;
}

static void what_was_done_in_place_comes_first(void)
{
	u64 inode;
	int fd;

	set_up();
	slot_of(0)->extra[AP_VEC_INSTR] = 100;
	inode = open_event(&fd, 0);
	slot_of(0)->extra[AP_VEC_INSTR] = 200;
	write_log(inode, AP_LOG_DISABLE, 150, 5000);
	write_log(inode, AP_LOG_ENABLE, 160, 6000);
	EXPECT_U64(value(inode), 50 + 40);
	EXPECT_U64(log_of(0)->done, 2);
	write_log(inode, AP_LOG_RESET, 200, 0);
	write_log(inode, AP_LOG_DISABLE, 203, 7000);
	slot_of(0)->extra[AP_VEC_INSTR] = 300;
	EXPECT(call(0, AP_SVC_IOCTL, inode, AP_PERF_IOC_ENABLE, 0) == 0);
	slot_of(0)->extra[AP_VEC_INSTR] = 310;
	EXPECT_U64(value(inode), 13);
	close(fd);
	write_log(inode, AP_LOG_CLOSE, 0, 0);
	EXPECT(call(0, AP_SVC_READ, inode, 8, 0) < 0);
	EXPECT_U64(log_of(0)->done, 5);
}

/* Nobody waits for it, but whoever the event could keep from its counter. */
static void a_close_in_place_is_seen_when_there_is_time(void)
{
	u64 inode;
	int fd, other;

	set_up();
	inode = open_event(&fd, 0);
	close(fd);
	write_log(inode, AP_LOG_CLOSE, 0, 0);
	open_event(&fd, 0);
	EXPECT_U64(host->nfiles, 2);
	EXPECT(ap_host_settle(host));
	EXPECT_U64(host->nfiles, 1);
	EXPECT(!ap_host_settle(host));
	inode = svc_of(0)->arg[6];
	other = dup(fd);
	close(fd);
	write_log(inode, AP_LOG_CLOSE, 0, 0);
	EXPECT(call(0, AP_SVC_NOP, 0, 0, 0) == 0);
	EXPECT(ap_host_settle(host)); /* it was not the last one */
	EXPECT_U64(host->nfiles, 1);
	close(other);
	write_log(inode, AP_LOG_CLOSE, 0, 0);
	open_event(&fd, AP_PERF_EXCLUSIVE);
	EXPECT_U64(host->nfiles, 1);
	EXPECT(!ap_host_settle(host));
}

/* As many as are remembered; of more it is asked at once. */
static void closes_in_place_do_not_pile_up(void)
{
	int fds[AP_HOST_CLOSED_MAX + 5];

	set_up();
	for (u32 i = 0; i < AP_ARRAY_SIZE(fds); i++) {
		u64 inode = open_event(&fds[i], 0);

		close(fds[i]);
		write_log(inode, AP_LOG_CLOSE, 0, 0);
	}
	EXPECT(call(0, AP_SVC_NOP, 0, 0, 0) == 0);
	EXPECT_U64(host->nfiles, AP_HOST_CLOSED_MAX);
	while (ap_host_settle(host))
		;
	EXPECT_U64(host->nfiles, 0);
	EXPECT(!(slot_of(0)->orders & AP_ORDER_WATCHED));
}

static void a_scribbled_log_does_no_harm(void)
{
	u64 inode, v;
	int fd;

	set_up();
	slot_of(0)->extra[AP_VEC_INSTR] = 100;
	inode = open_event(&fd, 0);
	slot_of(0)->extra[AP_VEC_INSTR] = 200;
	write_log(inode, AP_LOG_DISABLE, ~0ULL, ~0ULL); /* as of now */
	write_log(inode, AP_LOG_ENABLE, 7, 0);		/* not before the last change */
	write_log(inode, 77, 0, 0);
	write_log(inode, 0, 0, 0);
	write_log(inode + 1, AP_LOG_RESET, 0, 0);
	write_log(0, AP_LOG_CLOSE, 0, 0);
	write_log(inode, AP_LOG_CLOSE, 0, 0); /* is open nevertheless */
	slot_of(0)->extra[AP_VEC_INSTR] = 201;
	EXPECT(call(0, AP_SVC_NOP, 0, 0, 0) == 0);
	v = value(inode);
	EXPECT_U64(v, 101);
	log_of(0)->state += 12345; /* more than there is room for */
	EXPECT_U64(value(inode), v);
	log_of(0)->state = ~0ULL;
	EXPECT_U64(value(inode), v);
	EXPECT_U64(log_of(0)->done, AP_LOG_HEAD);
	close(fd);
	EXPECT(call(0, AP_SVC_CLOSE, inode, 0, 0) == 0);
	EXPECT(call(0, AP_SVC_READ, inode, 8, 0) < 0);
}

static void children_join_their_parent(void)
{
	u64 inode;
	int fd;

	set_up();
	inode = open_event(&fd, AP_PERF_INHERIT);
	EXPECT(slot_of(0)->orders & AP_ORDER_WATCHED);
	EXPECT(call(0, AP_SVC_FORK, 1, 0, 0) == 0);
	EXPECT(slot_of(1)->orders & AP_ORDER_WATCHED);
	be_born(1, 2);
	slot_of(1)->extra[AP_VEC_INSTR] = 300;
	slot_of(0)->extra[AP_VEC_INSTR] += 20;
	EXPECT_U64(value(inode), 320);
	slot_of(1)->extra[AP_VEC_INSTR] += 5;
	EXPECT(call(1, AP_SVC_EXIT_GROUP, 0, 0, 0) == 0);
	slot_of(1)->extra[AP_VEC_INSTR] += 1000;
	EXPECT_U64(value(inode), 325);
}

/* Killed: its slot is all that there is. */
static void the_killed_are_counted(void)
{
	u64 inode;
	int fd;

	set_up();
	inode = open_event(&fd, AP_PERF_INHERIT);
	EXPECT(call(0, AP_SVC_FORK, 1, 0, 0) == 0);
	be_born(1, 2);
	slot_of(1)->extra[AP_VEC_INSTR] = 77;
	ap_host_seg_ended(host, 1);
	EXPECT_U64(value(inode), 77);
}

/* Made and ended between two looks, by a parent that nobody answered: before its memory goes it is its parent's child. */
static void who_was_not_told_of_is_counted_at_its_end(void)
{
	u64 inode;
	int fd;

	set_up();
	inode = open_event(&fd, AP_PERF_INHERIT);
	ap_host_adopt(host);
	segs[1]->parent_seg = 0;
	be_born(1, 2);
	slot_of(1)->tid = slot_of(1)->pid = 0;
	slot_of(1)->extra[AP_VEC_INSTR] = 5;
	segs[1]->state = AP_SEG_EXITED;
	ap_board_of(sv.ses.head)->untold++;
	ap_host_adopt_last(host, 1);
	ap_host_seg_ended(host, 1);
	EXPECT_U64(value(inode), 5);
}

static void an_exec_goes_on(void)
{
	struct ap_seized from = { .tid = getpid(), .seg = 0, .slot = 0 };
	u64 inode;
	int fd;

	set_up();
	inode = open_event(&fd, 0);
	slot_of(0)->extra[AP_VEC_INSTR] = 40;
	ap_host_exec_asked(host, 0, 0);
	/* as a parent does after its vfork child */
	memset(slot_of(0), 0, sizeof(struct ap_slot));
	ap_host_execed(host, &from, getpid(), 1);
	be_born(1, 9);
	slot_of(1)->extra[AP_VEC_INSTR] = 2;
	be_born(0, 3);
	EXPECT(call(1, AP_SVC_READ, inode, 8, 0) == 8);
	EXPECT_U64(*(u64 *)(void *)svc_of(1)->data, 42);
}

/* The area that a sampled event is mapped to, with a lock that somebody holds. */
static struct ap_ring *ring_held_by(u32 name)
{
	struct ap_ring *ring;
	u64 inode, where;
	int fd;

	inode = open_event(&fd, 0);
	EXPECT(call(0, AP_SVC_MMAP, inode, 5 * 4096, 3) == 0);
	memcpy(&where, svc_of(0)->data, sizeof(where));
	ring = (struct ap_ring *)(host->pages.area + (where - host->pages.off) - AP_PAGE_SIZE);
	EXPECT_U64(ring->lock, 0);
	ring->lock = name;
	return ring;
}

/* Nobody has told the supervisor that the process is gone: it is asked. */
static void the_dead_hold_no_ring(void)
{
	struct ap_ring *ring;
	siginfo_t info;
	pid_t child;
	u32 name = AP_RING_NAME(1, 0);

	set_up();
	be_born(1, 2);
	ring = ring_held_by(name);
	child = fork();
	if (!child)
		for (;;)
			pause();
	slot_of(1)->pid = slot_of(1)->tid = (u32)child;
	EXPECT(call(0, AP_SVC_HELD, name, 0, 0) == 0);
	EXPECT_U64(ring->lock, name);
	kill(child, SIGKILL);
	REQUIRE(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
	/* also before its parent has waited for it */
	EXPECT(call(0, AP_SVC_HELD, name, 0, 0) == 0);
	EXPECT_U64(ring->lock, 0);
	REQUIRE(waitpid(child, NULL, 0) == child);
	ring->lock = name;
	EXPECT(call(0, AP_SVC_HELD, AP_RING_NAME(0, 0), 0, 0) == 0);
	EXPECT_U64(ring->lock, name);
	EXPECT(call(0, AP_SVC_HELD, name, 0, 0) == 0);
	EXPECT_U64(ring->lock, 0);
	EXPECT(!ap_host_writer_is_dead(host, &(struct ap_ring_map){ 0 }, AP_RING_CORE));
	EXPECT(!ap_host_writer_is_dead(host, &(struct ap_ring_map){ 0 }, AP_RING_NAME(0, 0)));
	EXPECT(ap_host_writer_is_dead(host, &(struct ap_ring_map){ 0 }, AP_RING_NAME(0, 1)));
	EXPECT(ap_host_writer_is_dead(host, &(struct ap_ring_map){ 0 }, AP_RING_NAME(2, 0)));
}

/* Its samplers were locked while it wrote: nobody has to wait for that. */
static void a_dead_writers_locks_are_free(void)
{
	struct ap_ring *ring;

	set_up();
	be_born(1, 2);
	ring = ring_held_by(AP_RING_NAME(1, 0));
	EXPECT(call(1, AP_SVC_NOP, 0, 0, 0) == 0);
	host->samplers = calloc(1, sizeof(*host->samplers));
	slot_of(1)->sampler_lock = AP_RING_NAME(1, 0);
	ap_host_writer_ended(host, ap_host_seg(host, 1)->by_slot[0]);
	EXPECT_U64(ring->lock, 0);
	EXPECT_U64(slot_of(1)->sampler_lock, 0);
	/* its slot was given back before anybody looked */
	ring->lock = slot_of(1)->sampler_lock = AP_RING_NAME(1, 0);
	slot_of(1)->state = AP_SLOT_FREE;
	ap_host_writer_ended(host, ap_host_seg(host, 1)->by_slot[0]);
	EXPECT_U64(ring->lock, 0);
	EXPECT_U64(slot_of(1)->sampler_lock, 0);
	/* and is another thread's, which writes */
	ring->lock = slot_of(1)->sampler_lock = AP_RING_NAME(1, 0);
	be_born(1, 3);
	ap_host_writer_ended(host, ap_host_seg(host, 1)->by_slot[0]);
	EXPECT_U64(ring->lock, AP_RING_NAME(1, 0));
	EXPECT_U64(slot_of(1)->sampler_lock, AP_RING_NAME(1, 0));
	free(host->samplers);
	host->samplers = NULL;
}

static u64 next(u64 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Numbers that are small, huge, or those of something that exists. */
static u64 some_number(u64 *seed, u64 inode)
{
	u64 r = next(seed);

	switch (r % 5) {
	case 0:
		return r >> 8 & 15;
	case 1:
		return inode;
	case 2:
		return ~0ULL - (r >> 8 & 3);
	case 3:
		return 0x2400 + (r >> 8 & 15);
	default:
		return next(seed);
	}
}

static void rubbish_is_answered(void)
{
	const unsigned int rounds = tap_option("--exhaustive") ? 2000000 : 100000;
	u64 seed = 88172645463325252ULL, inode;
	int fd;

	set_up();
	inode = open_event(&fd, AP_PERF_INHERIT);
	for (unsigned int i = 0; i < rounds; i++) {
		struct ap_svc *svc = svc_of(0);

		svc->op = (u32)(next(&seed) % 29);
		for (u32 k = 0; k < 8; k++)
			svc->arg[k] = some_number(&seed, inode);
		svc->in_size = (u32)some_number(&seed, sizeof(struct ap_perf_attr));
		svc->out_size = (u32)next(&seed);
		svc->cpu_time = some_number(&seed, 5);
		for (u32 k = 0; k < 20; k++)
			((u64 *)(void *)svc->data)[k] =
				some_number(&seed, sizeof(struct ap_perf_attr));
		if (!(i % 64)) {
			segs[0]->nshapes = (u32)next(&seed);
			segs[0]->nslots = (u32)next(&seed);
			segs[1]->state = (u32)next(&seed) % 8;
			ap_board_of(sv.ses.head)->asking[next(&seed) % AP_ASKING_N] = next(&seed);
			segs[0]->asking[next(&seed) % AP_ARRAY_SIZE(segs[0]->asking)] = next(&seed);
		}
		REQUIRE(ask(0));
		EXPECT(svc->out_size <= AP_SVC_DATA_MAX);
	}
	close(fd);
}

/* Nobody who has not the segment in its memory is named by it, and one that asks as such is nobody. */
static void a_strangers_name_is_nobodys(void)
{
	pid_t pid, tid;

	if (geteuid())
		tap_lack("rights that the programs do not have");
	set_up();
	EXPECT(ap_host_names(host, ap_host_seg(host, 0), 0, &pid, &tid) == 0 && pid == getpid());
	/* prove's, which runs the test; and who has no parent here any more */
	slot_of(0)->pid = slot_of(0)->tid = (u32)getppid();
	EXPECT(ap_host_names(host, ap_host_seg(host, 0), 0, &pid, &tid) == -ESRCH);
	EXPECT(call(0, AP_SVC_NOP, 0, 0, 0) == -ESRCH);
	slot_of(0)->pid = slot_of(0)->tid = 1;
	EXPECT(call(0, AP_SVC_NOP, 0, 0, 0) == -ESRCH);
	slot_of(0)->pid = (u32)getpid();
	EXPECT(call(0, AP_SVC_NOP, 0, 0, 0) == -ESRCH);
	slot_of(0)->tid = (u32)getpid();
	EXPECT(call(0, AP_SVC_NOP, 0, 0, 0) == 0);
	/* nor by a segment that has not begun */
	segs[1]->state = AP_SEG_INIT;
	segs[1]->pid = (u32)getppid();
	EXPECT(!ap_owner_is_child(&sv, 1, getppid()));
	EXPECT(ap_owner_is_child(&sv, 1, getpid()));
}

/* Another process, which counts in segment 1 and has nothing of the first. */
static pid_t make_other(void)
{
	pid_t pid = fork();

	if (!pid) {
		munmap(segs[0], AP_SEG_SIZE);
		slot_of(1)->cwd = 1; /* it has done so */
		for (;;)
			pause();
	}
	REQUIRE(pid > 0);
	while (!__atomic_load_n(&slot_of(1)->cwd, __ATOMIC_ACQUIRE))
		usleep(1000);
	slot_of(1)->tid = slot_of(1)->pid = segs[1]->pid = segs[1]->ns_pid = (u32)pid;
	slot_of(1)->gen = 1;
	slot_of(1)->state = AP_SLOT_LIVE;
	segs[1]->nslots = 1;
	segs[1]->state = AP_SEG_LIVE;
	return pid;
}

/* An event is its descriptor's: who names its inode, which is no secret, and has none, may do nothing with it. */
static void an_event_is_theirs_who_have_its_descriptor(void)
{
	u64 inode;
	pid_t pid;
	int fd;

	if (geteuid())
		tap_lack("rights that the programs do not have");
	set_up();
	pid = make_other();
	inode = open_event(&fd, 0);
	slot_of(0)->extra[AP_VEC_INSTR] += 9;
	EXPECT(call(1, AP_SVC_NOP, 0, 0, 0) == 0);
	EXPECT(call(1, AP_SVC_READ, inode, 8, 0) == -EBADF);
	EXPECT(call(1, AP_SVC_IOCTL, inode, AP_PERF_IOC_DISABLE, 0) == -EBADF);
	EXPECT(call(1, AP_SVC_IOCTL, inode, AP_PERF_IOC_RESET, 0) == -EBADF);
	EXPECT(call(1, AP_SVC_MMAP, inode, 4096, PROT_READ) == -EBADF);
	EXPECT(call(1, AP_SVC_CLOSE, inode, 0, 0) == 0);
	slot_of(0)->extra[AP_VEC_INSTR] += 1;
	EXPECT_U64(value(inode), 10);
	kill(pid, SIGKILL);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
}

/* Nor does a task end in the books because another one says so. */
static void others_are_not_told_of(void)
{
	u64 inode;
	pid_t pid;
	int fd;

	if (geteuid())
		tap_lack("rights that the programs do not have");
	set_up();
	pid = make_other();
	inode = open_event(&fd, 0);
	EXPECT(call(1, AP_SVC_EXIT, 1, 0, 0) == -EINVAL);
	EXPECT(call(1, AP_SVC_FORK_FAILED, 0, 0, 0) == -EINVAL);
	EXPECT(call(1, AP_SVC_FORK, 0, 0, 0) == -EINVAL);
	EXPECT(call(1, AP_SVC_FORK, 0, 5, 1) == -EINVAL);
	slot_of(0)->extra[AP_VEC_INSTR] += 5;
	EXPECT_U64(value(inode), 5);
	kill(pid, SIGKILL);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
}

static bool is_over;

static void *flip(void *arg)
{
	struct ap_slot *slot = arg;

	for (u32 n = 1; !__atomic_load_n(&is_over, __ATOMIC_RELAXED); n++) {
		__atomic_store_n(&slot->carry_seq, n, __ATOMIC_RELAXED);
		__atomic_store_n(&slot->sampler_lock, n | 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Words that change all the time are not waited for: the test has an end. */
static void nobody_is_waited_for_for_ever(void)
{
	pthread_t t;
	int fd;

	set_up();
	segs[0]->carry = 1;
	REQUIRE(pthread_create(&t, NULL, flip, slot_of(0)) == 0);
	for (u32 i = 0; i < 20; i++) {
		(void)value(open_event(&fd, 0));
		ap_host_sampler_lock(host, ap_host_task_at(host, ap_host_seg(host, 0), 0));
		ap_host_sampler_unlock(host, ap_host_task_at(host, ap_host_seg(host, 0), 0), true);
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
}

/* What the supervisor would take for it is mapped, all 64 MiB of it, and read: no memory is given to it. */
static void a_segment_that_nobody_has_is_none(void)
{
	struct stat before, after;

	set_up();
	REQUIRE(fstat(sv.ses.fd, &before) == 0);
	ap_board_of(sv.ses.head)->nsegs = 1000;
	EXPECT(!ap_host_seg(host, 2));
	EXPECT(!ap_host_seg(host, 999));
	EXPECT(!ap_host_seg(host, sv.ses.max_segs));
	EXPECT(!ap_host_seg(host, UINT32_MAX));
	REQUIRE(fstat(sv.ses.fd, &after) == 0);
	EXPECT_U64(after.st_blocks, before.st_blocks);
}

static void the_limit_of_mapped_pages_holds(void)
{
	u64 inode, where[2];
	int fd;

	set_up();
	inode = open_event(&fd, 0);
	EXPECT(call(0, AP_SVC_MMAP, inode, 4 * 4096, 3) < 0);
	svc_of(0)->arg[3] = 0;
	EXPECT(call(0, AP_SVC_MMAP, inode, 4096, 3) == 0);
	memcpy(&where[0], svc_of(0)->data, sizeof(u64));
	EXPECT(where[0] >= AP_SEG_OFF(sv.ses.head->max_segs));
	EXPECT(call(0, AP_SVC_MMAP, inode, 9 * 4096, 3) < 0);
	EXPECT(call(0, AP_SVC_MMAP, inode, 4096, 3) == 0);
	memcpy(&where[1], svc_of(0)->data, sizeof(u64));
	EXPECT_U64(where[1], where[0]);
	EXPECT(call(0, AP_SVC_MUNMAP, inode, 0, 0) == 0);
	EXPECT_U64(host->pages.locked, 0);
	/* the mapping is gone and the descriptor: so is the event */
	EXPECT(call(0, AP_SVC_MMAP, inode, 4096, 3) == 0);
	close(fd);
	EXPECT(call(0, AP_SVC_CLOSE, inode, 0, 0) == 0);
	EXPECT(call(0, AP_SVC_READ, inode, 8, 0) == 8);
	EXPECT(call(0, AP_SVC_MUNMAP, inode, 0, 0) == 0);
	EXPECT(call(0, AP_SVC_READ, inode, 8, 0) < 0);
}

static bool has_withdrawn;

/* As the engine does where the supervisor takes too long. */
static void *withdraw(void *arg)
{
	struct ap_slot *slot = arg;
	u32 now;

	do {
		now = AP_REQ_EXEC_TAKEN;
		has_withdrawn = __atomic_compare_exchange_n(&slot->req, &now, AP_REQ_HELPER, false,
							    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	} while (!has_withdrawn && now == AP_REQ_MOVE);
	return NULL;
}

/* A request that is taken back while it is served: the task stays for both sides, or has moved for both. */
static void a_move_is_for_both_or_for_nobody(void)
{
	const struct ap_track track = { .seg = 0 };
	struct ap_slot *slot;
	pthread_t t;
	u64 inode;
	int fd;

	set_up();
	sv.host = host;
	slot = slot_of(0);
	inode = open_event(&fd, 0);
	slot->exec_fd = memfd_create("party", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	slot->exec_head = sv.ses.head_fd;
	REQUIRE(slot->exec_fd >= 0);
	slot->req = AP_REQ_MOVE;
	REQUIRE(pthread_create(&t, NULL, withdraw, slot) == 0);
	ap_handover_scan(&sv, &track);
	pthread_join(t, NULL);
	if (!has_withdrawn) {
		EXPECT_U64(slot->req, AP_REQ_EXEC_ACK);
		EXPECT(AP_PARTY_OF(slot->moved) == 1);
		EXPECT(!ap_host_seg(host, 0)->by_slot[0]);
		EXPECT(ap_host_seg(host, slot->moved)->by_slot[0]);
		return;
	}
	EXPECT_U64(slot->req, AP_REQ_HELPER);
	EXPECT(ap_host_seg(host, 0)->by_slot[0]);
	slot->extra[AP_VEC_INSTR] += 7;
	EXPECT_U64(value(inode), 7);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	REQUIRE(sched_setaffinity(0, sizeof(set), &set) == 0);
}

static int next_cpu(int after)
{
	cpu_set_t set;

	REQUIRE(sched_getaffinity(0, sizeof(set), &set) == 0);
	while (++after < CPU_SETSIZE && !CPU_ISSET(after, &set))
		;
	return after;
}

/* Ticks until the core has nothing to do by the clock, or has something; false: it stays as it is. */
static bool becomes_idle(bool idle)
{
	for (u32 i = 0; i < 1000 && host->is_idle != idle; i++) {
		slot_of(0)->extra[AP_VEC_INSTR]++; /* it runs */
		(void)ap_host_tick(host, ap_now_ns());
		usleep(1000);
	}
	return host->is_idle == idle;
}

/* Two events that wait for one counter take turns from when their task comes to their CPU: nobody asks for it. */
static void a_move_is_work_for_the_core(void)
{
	const struct ap_host_config one_counter = { .paranoid = 2, .counters = 1 };
	int first = next_cpu(-1), second = next_cpu(first), fd[2];

	if (second >= CPU_SETSIZE)
		tap_lack("two CPUs");
	set_up();
	ap_host_configure(host, &one_counter);
	stay_on(first);
	(void)open_event_on(&fd[0], 0, second);
	(void)open_event_on(&fd[1], 0, second);
	EXPECT(becomes_idle(true));
	stay_on(second);
	EXPECT(becomes_idle(false));
	stay_on(first);
	EXPECT(becomes_idle(true));
	close(fd[0]);
	close(fd[1]);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(counts_what_the_slot_gains),
						 TAP(what_was_done_in_place_comes_first),
						 TAP(a_close_in_place_is_seen_when_there_is_time),
						 TAP(closes_in_place_do_not_pile_up),
						 TAP(a_scribbled_log_does_no_harm),
						 TAP(children_join_their_parent),
						 TAP(the_killed_are_counted),
						 TAP(who_was_not_told_of_is_counted_at_its_end),
						 TAP(an_exec_goes_on),
						 TAP(the_limit_of_mapped_pages_holds),
						 TAP(a_strangers_name_is_nobodys),
						 TAP(a_segment_that_nobody_has_is_none),
						 TAP(an_event_is_theirs_who_have_its_descriptor),
						 TAP(others_are_not_told_of),
						 TAP(nobody_is_waited_for_for_ever),
						 TAP(the_dead_hold_no_ring),
						 TAP(a_dead_writers_locks_are_free),
						 TAP(rubbish_is_answered),
						 TAP(a_move_is_work_for_the_core),
						 TAP(a_move_is_for_both_or_for_nobody),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
