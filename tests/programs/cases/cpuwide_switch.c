/* SPDX-License-Identifier: MIT */
/*
 * SWITCH_CPU_WIDE records of one CPU's event while two threads that are pinned there play ping-pong: in the order of time, each
 * thread going and coming in turns, none missing, with who comes next and who was there before.  Here they are told no
 * later than with the next call that concerns an event.
 */
/* CASE: session -- */
#include "check.h"
#define ROUNDS	20
#define ANYBODY (~0U)
static int ab[2], ba[2], cpu;
static volatile u32 tid[2];
static pthread_barrier_t go;
static char buf[65536];

static void sit(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *player(void *arg)
{
	int who = arg != NULL, *from = who ? ab : ba, *to = who ? ba : ab;
	char c = 1;

	sit();
	tid[who] = (u32)syscall(SYS_gettid);
	pthread_barrier_wait(&go);
	pthread_barrier_wait(&go);
	for (int i = 0; i < ROUNDS; i++) {
		if (!who && write(to[1], &c, 1) != 1)
			exit(3);
		if (read(from[0], &c, 1) != 1)
			exit(3);
		if (who && write(to[1], &c, 1) != 1)
			exit(3);
	}
	return NULL;
}

struct seen {
	u32 out, in, n, in_turns, in_order, named, pairs, matched;
	bool is_out[2], is_known[2];
	u64 last;
	u32 last_tid, next_tid; /* of a record OUT right before */
};

static void look(struct seen *s, const struct perf_event_header *h)
{
	const u32 *w = (u32 *)(h + 1);
	u32 other = w[1], who = w[3];
	u64 time = *(u64 *)(w + 4);
	bool out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;

	s->n++;
	s->in_order += time >= s->last;
	s->last = time;
	s->named += other != ANYBODY;
	if (!out && s->last_tid && s->next_tid == who) {
		s->pairs++;
		s->matched += other == s->last_tid;
	}
	s->last_tid = out ? who : 0;
	s->next_tid = out ? other : 0;
	for (int k = 0; k < 2; k++) {
		if (who != tid[k])
			continue;
		s->in_turns += !s->is_known[k] || s->is_out[k] != out;
		s->is_known[k] = true;
		s->is_out[k] = out;
		if (out)
			s->out++;
		else
			s->in++;
		return;
	}
	s->in_turns++;
}

int main(void)
{
	struct perf_event_attr a = SWD;
	struct seen s = { 0 };
	struct ring r = { 0 };
	pthread_t t[2];
	int fd;

	cpu = sched_getcpu();
	if (pipe(ab) || pipe(ba) || pthread_barrier_init(&go, NULL, 3))
		return 3;
	pthread_create(&t[0], NULL, player, NULL);
	pthread_create(&t[1], NULL, player, t);
	pthread_barrier_wait(&go);
	a.context_switch = a.sample_id_all = 1;
	a.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	fd = xo(&a, -1, cpu, -1, 0);
	CHECK(!rmap(&r, fd, 64, RW), "a ring");
	EN(fd);
	pthread_barrier_wait(&go);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	DIS(fd);
	while (rnext(&r, buf))
		if (((struct perf_event_header *)buf)->type == PERF_RECORD_SWITCH_CPU_WIDE)
			look(&s, (struct perf_event_header *)buf);
	if (!s.n) {
		printf("the kernel tells of no switches\n");
		return 0;
	}
	CHECK(s.in_order == s.n, "in the order of time: %u of %u", s.in_order, s.n);
	CHECK(s.in_turns == s.n, "each goes and comes in turns: %u of %u", s.in_turns, s.n);
	/* one of them may find its first byte there */
	CHECK(s.out >= 2 * ROUNDS - 2 && s.in >= 2 * ROUNDS - 2, "%u out, %u in", s.out, s.in);
	/* who is not root learns of nobody; and who has ended has no name */
	if (s.named)
		CHECK(s.pairs && s.matched == s.pairs, "each names the other: %u of %u", s.matched,
		      s.pairs);
	return done();
}
