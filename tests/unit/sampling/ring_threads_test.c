/* SPDX-License-Identifier: MIT */
/*
 * Many writers and a reader at the same time, and a writer that is killed behind each single
 * instruction.  Plain threads and ptrace: on machines that are emulated this is left out.
 */
/* LIBS: -lpthread */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "area.h"
#include "tap/tap.h"

#define SIZE	4096U
#define WRITERS 6
#define RECORDS 20000U

static struct area A;
static struct ap_ring_map M;
static u32 failed[WRITERS], done;

static void yield(void *arg, u32 holder, u32 n)
{
	(void)arg;
	(void)holder;
	(void)n;
	sched_yield();
}

/* type: writer + 100; words: a number that counts up, as often as the record is long */
static void *write_all(void *arg)
{
	u32 me = (u32)(uintptr_t)arg;
	struct ap_ring_writer w = { .name = AP_RING_NAME(1, me), .yield = yield };

	for (u64 n = 1; n <= RECORDS; n++) {
		struct ap_perf_event_header h = { .type = 100 + me,
						  .size = (u16)(16 + 8 * (n % 13)) };
		struct ap_ring_out out;

		if (ap_ring_begin(&out, &M, &w, &owner_7, h.size)) {
			failed[me]++;
			sched_yield();
			continue;
		}
		ap_ring_put(&out, &h, 8);
		for (u32 i = 8; i < h.size; i += 8)
			ap_ring_put(&out, &n, 8);
		ap_ring_end(&out);
	}
	__atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static u64 last[WRITERS], seen[WRITERS], lost;
static struct got G;

static void look_at(const struct got *g)
{
	u32 w = g->header.type - 100;

	if (g->header.type == AP_PERF_RECORD_LOST) {
		lost += got_word(g, 1);
		return;
	}
	REQUIRE(w < WRITERS);
	REQUIRE(got_word(g, 0) > last[w] && got_word(g, 0) <= RECORDS);
	last[w] = got_word(g, 0);
	seen[w]++;
	REQUIRE(g->header.size == 16 + 8 * (last[w] % 13));
	for (u32 i = 1; i < g->header.size / 8U - 1; i++)
		REQUIRE(got_word(g, i) == last[w]);
}

static void many_writers_lose_nothing_that_is_not_counted(void)
{
	pthread_t threads[WRITERS];
	u64 total = 0, refused = 0;
	bool all;

	area_init(&A, &M, SIZE, 0);
	for (uintptr_t i = 0; i < WRITERS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, write_all, (void *)i));
	do {
		all = __atomic_load_n(&done, __ATOMIC_ACQUIRE) == WRITERS;
		while (area_take(&A, SIZE, &G))
			look_at(&G);
		if (!all)
			sched_yield();
	} while (!all);
	for (u32 i = 0; i < WRITERS; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_U64(seen[i] + failed[i], RECORDS);
		total += seen[i];
		refused += failed[i];
	}
	EXPECT_U64(A.ring.lost, refused);
	EXPECT_U64(lost + (A.ring.lost - A.ring.next_told), refused);
	EXPECT_U64(A.ring.lock, 0);
	tap_note("%llu records read, %llu lost", (unsigned long long)total,
		 (unsigned long long)refused);
}

/* --- death */

static struct area *shared, *copy;

/* Between two traps: a record with a LOST record before it, which wraps. */
static void victim(void)
{
	struct ap_ring_map map = M;

	map.ring = &shared->ring;
	map.page = &shared->page;
	map.data = shared->data;
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	if (area_write(&map, 9, 128, 0x5a5a5a5a) < 0)
		_exit(1);
	raise(SIGSTOP);
	_exit(0);
}

/* What a reader sees from the tail on: the number of whole records, and what LOST records say. */
static u32 walk(struct area *a, u32 *told)
{
	u32 n = 0;

	*told = 0;
	while (area_take(a, SIZE, &G)) {
		if (G.header.type == AP_PERF_RECORD_LOST)
			*told += (u32)got_word(&G, 1);
		else
			n++;
		for (u32 i = 1; G.header.type == 9 && i < G.header.size / 8U - 1; i++)
			REQUIRE(got_word(&G, i) == got_word(&G, 0));
	}
	return n;
}

/* As the file is when the writer dies here: records are whole, the next one follows them. */
static void die_here(void)
{
	struct ap_ring_map map = { &copy->ring, &copy->page, copy->data, SIZE, M.flags, 0 };
	u32 told, before;

	memcpy(copy, shared, sizeof(*copy));
	before = walk(copy, &told);
	REQUIRE(before == 2 || before == 3);
	REQUIRE(told == (before == 3 ? 17 : 0));
	memcpy(copy, shared, sizeof(*copy));
	if (copy->ring.lock)
		REQUIRE(ap_ring_clear(&map, WRITER_1));
	REQUIRE(copy->ring.lock == 0);
	REQUIRE(area_write(&map, 9, 64, 77) >= 0);
	before = walk(copy, &told);
	/* complete or not, what was lost is told once */
	REQUIRE((before == 3 || before == 4) && told == 17);
	REQUIRE(copy->ring.lost == 17);
}

static bool wait_stop(pid_t pid)
{
	int status;

	REQUIRE(waitpid(pid, &status, 0) == pid);
	return WIFSTOPPED(status);
}

static void a_writer_may_die_behind_any_instruction(void)
{
	pid_t pid;
	u32 steps = 0;
	int status;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	copy = malloc(sizeof(*copy));
	REQUIRE(shared != MAP_FAILED && copy);
	area_init(&A, &M, SIZE, 0);
	A.ring.head = A.page.data_head = A.page.data_tail = SIZE - 100 * 2;
	A.ring.head -= A.ring.head % 8;
	A.page.data_head = A.page.data_tail = A.ring.head;
	REQUIRE(area_write(&M, 9, 64, 1) >= 0 && area_write(&M, 9, 72, 2) >= 0);
	A.ring.lost = 17;
	memcpy(shared, &A, sizeof(A));
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid)
		victim();
	REQUIRE(wait_stop(pid));
	/* ends where it stops itself again: that stop is a signal, a step is SIGTRAP */
	for (;;) {
		siginfo_t info;

		REQUIRE(!ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		if (!wait_stop(pid))
			break;
		REQUIRE(!ptrace(PTRACE_GETSIGINFO, pid, NULL, &info));
		if (info.si_signo != SIGTRAP)
			break;
		die_here();
		steps++;
	}
	REQUIRE(steps > 200);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	EXPECT_U64(shared->page.data_head, A.page.data_head + 24 + 128);
	tap_note("%u places to die", steps);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(many_writers_lose_nothing_that_is_not_counted),
		TAP(a_writer_may_die_behind_any_instruction),
		{ 0 },
	};
	return tap_main(tests, argc, argv);
}
