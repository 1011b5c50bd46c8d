/* SPDX-License-Identifier: MIT */
/* FLAGS: -pthread */
/*
 * A program that means harm: it writes what it likes to all of the session's memory that its engine can write to, at
 * random and by structure, and makes random calls on perf events, from children that may die of it.
 *
 *	hostile SEED ROUNDS FILE [KIND...]
 *
 * It says its pid and reads FILE, of lines "area BEGIN END OFFSET" (hex; its engine's writable mappings of the session's
 * file) and "victim PID".  Then each of ROUNDS is a child that does some hundred acts, of these kinds or of all:
 *
 *	names	the segment and the slot say that they are a victim's
 *	calls	requests to the supervisor, of any operation, about anything
 *	flips	words that others wait for change all the time
 *	logs	the log of what was done in place
 *	board	numbers of segments, bells, bits
 *	notes	what is to be said at the end
 *	exec	the hand-over of an exec
 *	words	anything anywhere
 *	perf	system calls on perf events, with any arguments
 *	file	the session's descriptor, where it is given: whatever can be mapped of it to be written
 *	remap	its mappings of the session's file, wider or elsewhere in it
 *	gain	a set-uid program, ./gains, that its memory says counts where it does itself; nobody may have ended it
 *
 * "hostile gains" is that program: it is there for a moment.  Status 4: some was ended.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/service.h"
#include "abi/session.h"
#include "random.h"

#define AREAS	 64
#define VICTIMS	 16
#define FDS	 16
#define ACTS	 3000
#define REACHED	 4	      /* its status, and that of a round */
#define ROUND_NS 1500000000LL /* then its child is killed */

struct area {
	uint64_t lo, hi, off;
};

static struct area areas[AREAS];
static uint32_t victims[VICTIMS];
static unsigned nareas, nvictims;
static struct ap_board *board;
static struct ap_note *notes;
static struct ap_seg *seg;   /* its own, */
static struct ap_slot *slot; /* and that of the thread that began */
static uint32_t seg_index;
static int fds[FDS];
static int is_reached; /* somebody whom it may not reach */
static int
	is_subtle; /* its segment looks as if nothing was wrong with it, so that it goes on being believed */

static uint32_t victim(void)
{
	return nvictims ? victims[below(nvictims)] : 1;
}

static uint64_t number(void)
{
	switch (below(10)) {
	case 0:
		return victim();
	case 1:
		return AP_SLOT_MAX - 1 + below(3);
	default:
		return any_number();
	}
}

/* --- acts */

static void ring(void)
{
	if (!board)
		return;
	__atomic_fetch_add(&board->doorbell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &board->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* As if it were somebody's thread in the middle of code that is old. */
static void act_names(void)
{
	uint32_t pid = victim();

	if (!seg || !slot)
		return;
	if (is_subtle || below(2)) {
		slot->pid = below(4) ? pid : (uint32_t)number();
		slot->tid = below(4) ? pid : (uint32_t)number();
		slot->in_code = 1;
		seg->kinds_ack = 0;
		seg->lanes_ack = 0;
		if (!is_subtle && below(2))
			seg->nslots = (uint32_t)number();
		/* in code for a while, where others are made to leave it */
		for (volatile unsigned i = 0; i < 30000 && is_subtle; i++)
			;
		return;
	}
	if (below(2))
		seg->pid = below(2) ? pid : (uint32_t)number();
	if (below(2))
		seg->ns_pid = below(2) ? pid : (uint32_t)number();
	if (!below(4))
		seg->pidns = below(2) ? 0 : number();
	if (!below(4))
		seg->parent_seg = (uint32_t)number();
	if (!below(4))
		seg->start_time = 0;
	if (!below(4))
		seg->root = (uint32_t)number();
	if (!below(4))
		seg->child_pid = pid;
	if (!below(8))
		seg->state = below(8);
	if (!below(4))
		seg->mute = below(2);
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) ? st.st_ino : number();
}

static void act_calls(void)
{
	struct ap_svc *svc;
	struct ap_perf_attr attr = { .size = sizeof(attr), .type = below(6), .config = below(12) };

	if (!seg || !slot)
		return;
	svc = (struct ap_svc *)((char *)slot + AP_SVC_OFF);
	svc->op = below(8) ? below(48) : (uint32_t)number();
	for (unsigned i = 0; i < 8; i++)
		svc->arg[i] = below(3) ? number() : inode_of(fds[below(FDS)]);
	svc->in_size = below(2) ? sizeof(attr) : (uint32_t)number();
	for (unsigned i = 0; i < sizeof(svc->data) / 8; i += 1 + below(16))
		((uint64_t *)(void *)svc->data)[i] = number();
	if (below(2)) {
		attr.sample_period = below(2) ? number() : 0;
		attr.sample_type = any();
		attr.flags = any();
		memcpy(svc->data, &attr, sizeof(attr));
	}
	svc->turn++;
	__atomic_store_n(&svc->state, AP_SVC_ASKED, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&seg->asking[0], 1, __ATOMIC_SEQ_CST);
	if (board)
		__atomic_fetch_or(&board->asking[seg_index / 64 % AP_ASKING_N],
				  1ULL << seg_index % 64, __ATOMIC_SEQ_CST);
	ring();
}

static void *flip(void *arg)
{
	static _Thread_local uint32_t n;

	(void)arg;
	for (unsigned i = 0; i < 3000000; i++) {
		n++;
		__atomic_store_n(&slot->carry_seq, n, __ATOMIC_RELAXED);
		__atomic_store_n(&slot->sampler_lock, n | 1, __ATOMIC_RELAXED);
		seg->nslots = n & 1 ? 1 : 0x7fffffff;
		seg->nshapes = n & 1 ? 1 : 0x7fffffff;
		slot->exec_root = n & 1 ? 0 : 0x7fffffff;
	}
	return NULL;
}

static void act_flips(void)
{
	pthread_t t;

	if (!seg || !slot || below(50) || pthread_create(&t, NULL, flip, NULL))
		return;
	pthread_detach(t);
}

static void act_logs(void)
{
	struct ap_log *log;
	struct ap_log_entry *e;

	if (!slot)
		return;
	log = (struct ap_log *)((char *)slot + AP_LOG_OFF);
	e = (struct ap_log_entry *)((char *)slot + AP_SLOT_LOG_OFF) + below(AP_LOG_MAX);
	e->inode = inode_of(fds[below(FDS)]);
	e->op = below(7);
	e->raw = number();
	e->time = number();
	log->state = below(4) ? log->state + below(AP_LOG_MAX) : number();
	if (!below(4))
		log->done = number();
	ring();
}

static void act_board(void)
{
	if (!board)
		return;
	if (!below(4))
		board->nsegs = (uint32_t)number();
	if (!below(4))
		board->asking[below(AP_ASKING_N)] = any();
	if (!below(4))
		board->looks++;
	if (!below(8))
		board->untold++;
	if (!below(4))
		board->wakes++;
	if (!below(16))
		board->code_gen++;
	if (!below(8))
		board->ntaken = (uint32_t)number();
	ring();
}

static void act_notes(void)
{
	struct ap_note *n;

	if (!notes)
		return;
	n = &notes[below(AP_NOTE_MAX)];
	n->kind = (uint32_t)number();
	n->pid = victim();
	n->root = (uint32_t)number();
	memset(n->text, 1 + below(255), sizeof(n->text));
	n->ready = below(4);
	board->nnotes = (uint32_t)number();
}

static void act_exec(void)
{
	if (!slot || below(4))
		return;
	slot->pid = below(2) ? victim() : slot->pid;
	slot->tid = below(2) ? victim() : slot->tid;
	slot->exec_fd = (int32_t)below(40);
	slot->exec_root = (uint32_t)number();
	slot->exec_ptracer = victim();
	__atomic_store_n(&slot->req, 1 + below(7), __ATOMIC_SEQ_CST);
	board->looks++;
	ring();
}

/* As scribbler.c has it. */
static void act_words(void)
{
	const struct area *a = &areas[below(nareas)];
	uint64_t n = (a->hi - a->lo) / 4, few = n < 64 ? n : 64;

	((volatile uint32_t *)(uintptr_t)a->lo)[below(2) ? any() % few : any() % n] =
		(uint32_t)number();
}

static void act_perf(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = below(6),
					.config = below(12),
					.exclude_kernel = 1,
					.disabled = below(2),
					.inherit = below(2),
					.read_format = below(32) };
	int *fd = &fds[below(FDS)], other = fds[below(FDS)];
	char buf[256];
	void *p;

	switch (below(8)) {
	case 0:
	case 1:
		if (below(2)) {
			attr.sample_period = 1 + below(20000);
			attr.sample_type = any() & 0xffff;
			attr.wakeup_events = below(3);
		}
		if (!below(4))
			((uint64_t *)&attr)[below(sizeof(attr) / 8)] = number();
		attr.sigtrap = 0;
		if (*fd >= 0)
			close(*fd);
		*fd = (int)syscall(SYS_perf_event_open, &attr, below(3) ? 0 : (int)victim(),
				   below(3) ? -1 : 0, below(3) ? -1 : other, 0);
		break;
	case 2:
		ioctl(*fd, _IO('$', below(12)), number());
		break;
	case 3:
		ioctl(*fd, PERF_EVENT_IOC_SET_OUTPUT, other);
		break;
	case 4:
		prctl(below(2) ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE);
		break;
	case 5:
		/* its words are written at random as well: it goes with the child */
		p = mmap(NULL, 4096U * (1 + (1U << below(4))), PROT_READ | PROT_WRITE, MAP_SHARED,
			 *fd, 0);
		if (p != MAP_FAILED)
			for (unsigned i = 0; i < 64; i++)
				((volatile uint64_t *)p)[below(1024)] = number();
		break;
	default:
		(void)!read(*fd, buf, below(sizeof(buf)));
	}
}

/* What its descriptor would let it write, if there is one. */
static void act_file(void)
{
	int fd = prctl(AP_PRCTL, AP_PRCTL_SESSION_FD, 0, 0, 0);
	uint64_t off = below(2) ? below(32) * 4096ULL : any() % (1ULL << 46) & ~4095ULL;
	volatile uint64_t *p;
	uint64_t n;

	if (fd < 0)
		return;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);
	close(fd);
	if (p == MAP_FAILED)
		return;
	for (n = 0; n < 16; n++)
		p[below(512)] = number();
	munmap((void *)p, 4096);
}

/* What lies behind its mappings, or elsewhere in their file.  The engine has none of it; without one it can be had. */
static void act_remap(void)
{
	const struct area *a = &areas[below(nareas)];
	size_t size = a->hi - a->lo, more = 4096UL * (1 + below(64));
	void *p;

	if (below(2)) {
		(void)syscall(SYS_remap_file_pages, a->lo, size < 4096 ? 4096 : size, 0,
			      below(1 << 20), 0);
		return;
	}
	p = mremap((void *)(uintptr_t)a->lo, 0, more, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		return;
	for (unsigned i = 0; i < 16; i++)
		((volatile uint64_t *)p)[below((uint32_t)(more / 8))] = number();
	munmap(p, more);
}

static void act_gain(void)
{
	int status;
	pid_t pid;

	if (!seg || !slot || below(20))
		return;
	pid = fork();
	if (!pid) {
		execl("./gains", "hostile", "gains", NULL);
		_exit(0);
	}
	for (unsigned i = 0; i < 200; i++) {
		slot->pid = slot->tid = seg->pid = seg->ns_pid = (uint32_t)pid;
		slot->in_code = 1;
		seg->kinds_ack = seg->lanes_ack = 0;
		seg->start_time = 0;
		slot->req = below(4) ? slot->req : 1 + below(7);
		ring();
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid)
		is_reached |= !WIFEXITED(status) || WEXITSTATUS(status);
}

static const struct kind {
	const char *name;
	void (*act)(void);
} kinds[] = { { "names", act_names }, { "calls", act_calls }, { "flips", act_flips },
	      { "logs", act_logs },   { "board", act_board }, { "notes", act_notes },
	      { "exec", act_exec },   { "words", act_words }, { "perf", act_perf },
	      { "file", act_file },   { "remap", act_remap }, { "gain", act_gain } };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
static unsigned wanted;

/* --- rounds */

static void act_all(uint64_t seed)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	random_seed(seed);
	is_subtle = below(2);
	for (unsigned i = 0; i < FDS; i++)
		fds[i] = -1;
	for (unsigned i = 0; i < ACTS; i++) {
		unsigned k = below(KINDS);

		while (!(wanted & 1U << k))
			k = below(KINDS);
		kinds[k].act();
		if (!below(8))
			nanosleep(&pause, NULL);
		if (!below(500) && !fork())
			_exit(0);
	}
	_exit(is_reached ? REACHED : 0);
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static int go_round(uint64_t seed)
{
	const struct timespec step = { .tv_nsec = 5000000 };
	int64_t end = now() + ROUND_NS;
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		act_all(seed);
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		nanosleep(&step, NULL);
		if (now() > end)
			kill(pid, SIGKILL);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == REACHED ? REACHED : 0;
}

static void take_area(struct area a)
{
	if (nareas == AREAS)
		return;
	areas[nareas++] = a;
	if (a.off >= AP_SEG_BASE && !((a.off - AP_SEG_BASE) % AP_SEG_SIZE))
		seg = (struct ap_seg *)(uintptr_t)a.lo;
	else if (a.off >= AP_SEG_BASE)
		slot = (struct ap_slot *)(uintptr_t)a.lo;
	if (a.off >= AP_SEG_BASE)
		seg_index = (uint32_t)((a.off - AP_SEG_BASE) / AP_SEG_SIZE);
	if (a.off <= AP_BOARD_OFF && a.off + (a.hi - a.lo) > AP_BOARD_OFF)
		board = (struct ap_board *)(uintptr_t)(a.lo + AP_BOARD_OFF - a.off);
	if (a.off <= AP_NOTE_OFF && a.off + (a.hi - a.lo) > AP_NOTE_OFF)
		notes = (struct ap_note *)(uintptr_t)(a.lo + AP_NOTE_OFF - a.off);
}

static int read_told(const char *name)
{
	FILE *told = fopen(name, "r"); /* may wait: a pipe's other end looks us up first */
	struct area a;
	char line[128];

	while (told && fgets(line, sizeof(line), told)) {
		if (sscanf(line, "area %lx %lx %lx", &a.lo, &a.hi, &a.off) == 3)
			take_area(a);
		else if (nvictims < VICTIMS && sscanf(line, "victim %u", &victims[nvictims]) == 1)
			nvictims++;
	}
	return told && nareas ? 0 : -1;
}

int main(int argc, char **argv)
{
	uint64_t seed;
	int ret = 0;

	if (argc == 2 && !strcmp(argv[1], "gains"))
		return nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL) ? 1 : 0;
	if (argc < 4)
		return 2;
	for (unsigned k = 0; k < KINDS; k++)
		for (int i = 4; i < argc; i++)
			wanted |= strcmp(argv[i], kinds[k].name) ? 0 : 1U << k;
	if (argc == 4)
		wanted = ~0U;
	printf("%d\n", getpid());
	fflush(stdout);
	if (read_told(argv[3]))
		return 3;
	signal(SIGCHLD, SIG_DFL);
	seed = strtoull(argv[1], NULL, 0) * 100000;
	for (unsigned i = (unsigned)atoi(argv[2]); i-- > 0;)
		ret |= go_round(seed + i);
	return ret;
}
