/* SPDX-License-Identifier: MIT */
/* The thread's samplers: which mark is the nearest, and what is written where one is reached. */
#include <string.h>
#include <sys/mman.h>

#include "fake.h"
#include "sampling/overflow.h"
#include "sampling/ring.h"
#include "service/sample.h"
#include "tap/tap.h"

#define KINDS AP_KIND_BIT(AP_KIND_INSTR)

static u32 wakes, moves;

static void answers(struct ap_svc *svc)
{
	wakes += svc->op == AP_SVC_WAKE;
	moves += svc->op == AP_SVC_MOVED;
	svc->ret = 0;
}

/* The i-th sampler of the slot, armed at this mark. */
static struct ap_sampler *add(u32 i, u32 lane, u64 period, u64 next)
{
	struct ap_sampler *s = fake_sampler(i);

	s->source = AP_SAMPLE_LANE;
	s->lane = lane;
	s->kinds = KINDS;
	s->cpu = -1;
	s->id = 100 + i;
	s->sample_type = AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_ID;
	ap_sampler_init(s, period, false);
	ap_sampler_arm(s, 0);
	ap_sampling_of(s)->next = next;
	s->next_of_slot = fake.slot->samplers;
	fake.slot->samplers = i + 1;
	return s;
}

static void give_ring(struct ap_sampler *s)
{
	struct ap_ring *ring = (struct ap_ring *)fake.ring;

	s->ring = FAKE_RING;
	s->ring_pages = FAKE_RING_PAGES;
	ap_ring_init(ring, (FAKE_RING_PAGES - 1) * AP_PAGE_SIZE, 0);
}

static const u64 *record(u32 n)
{
	return (const u64 *)(fake.ring + 2 * AP_PAGE_SIZE) + 3 * n;
}

static u64 head(void)
{
	return ((struct ap_perf_page *)(fake.ring + AP_PAGE_SIZE))->data_head;
}

static bool at(u64 pc)
{
	struct ap_service_trap trap = { 0 };
	const struct ap_service_point p = {
		.source = AP_SAMPLE_LANE, .which = 0, .known = true, .pc = pc
	};

	return ap_service_overflow(&p, &trap);
}

static void the_nearest_mark_is_armed(void)
{
	struct ap_sampler *s;

	fake_start(answers);
	fake.session->nlanes = 3;
	fake.lane_raw[2] = AP_HOOK_NEVER; /* no code takes it down yet */
	fake.lane_left[2] = 42;
	fake.slot->sampler_gen = 7;
	add(0, 0, 100, 100);
	add(1, 0, 70, 70)->sample_type |= AP_PERF_SAMPLE_ADDR;
	ap_sampling_of(add(2, 0, 10, 10))->state = 0; /* not armed */
	s = add(3, 1, 50, 50);
	ap_sampling_of(s)->state |= AP_SAMPLER_THROTTLED;
	fake.lane_raw[0] = 30;
	ap_service_arm();
	EXPECT_U64(fake.lane_left[0], 40);
	EXPECT_U64(fake.lane_flags[0], AP_HOOK_NOTE_ADDR);
	EXPECT_U64(fake.lane_left[1], AP_HOOK_NEVER);
	EXPECT_U64(fake.lane_left[2], 42);
	EXPECT_U64(fake.slot->sampler_ack, 7);
	EXPECT_U64(fake.slot->sampler_lock, 0);
	/* former images have counted before */
	fake_sampler(0)->carried = 65;
	ap_service_arm();
	EXPECT_U64(fake.lane_left[0], 5);
	EXPECT_U64(fake.lane_flags[0], AP_HOOK_NOTE_ADDR); /* the other has it still */
}

static void what_shows_registers_is_sampled_at_its_instruction(void)
{
	static const struct {
		u64 sample_type, freq;
		bool is_behind;
	} rows[] = {
		{ AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_TID | AP_PERF_SAMPLE_TIME |
			  AP_PERF_SAMPLE_PERIOD,
		  0, true },
		{ AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_CALLCHAIN, 1000, true },
		{ AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_CALLCHAIN, 0, false },
		{ AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_REGS_USER, 1000, false },
		{ AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_STACK_USER, 1000, false },
		{ AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_ADDR, 1000, false },
		{ AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_READ, 1000, false },
		{ AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_BRANCH_STACK, 1000, false },
	};

	fake_start(answers);
	fake.session->nlanes = 1;
	for (u32 i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		struct ap_sampler *s;

		fake.slot->samplers = 0;
		s = add(2 * i, 0, 100, 100);
		s->sample_type = rows[i].sample_type;
		ap_sampling_of(s)->freq = rows[i].freq;
		ap_service_arm();
		EXPECT_U64(fake.lane_flags[0] & AP_HOOK_BEHIND,
			   rows[i].is_behind ? AP_HOOK_BEHIND : 0);
		/* a signal is to find the thread there */
		s->signals = 1;
		ap_service_arm();
		EXPECT_U64(fake.lane_flags[0] & AP_HOOK_BEHIND, 0);
		s->signals = 0;
		/* one that needs it decides for the lane */
		add(2 * i + 1, 0, 100, 100)->sample_type |= AP_PERF_SAMPLE_REGS_INTR;
		ap_service_arm();
		EXPECT_U64(fake.lane_flags[0] & AP_HOOK_BEHIND, 0);
	}
}

static void each_overflow_behind_has_its_instruction(void)
{
	struct ap_service_trap trap = { 0 };
	const struct ap_service_point p = {
		.source = AP_SAMPLE_LANE, .known = true, .is_behind = true, .pc = 0xdead
	};

	fake_start(answers);
	give_ring(add(0, 0, 2, 101));
	for (u32 i = 0; i < AP_ARRAY_SIZE(fake.passed); i++)
		fake.passed[i] = (struct ap_hook_passed){ .pc = 0x1000 + i };
	fake.npassed = AP_ARRAY_SIZE(fake.passed);
	fake.lane_raw[0] =
		104; /* of instructions 97 to 104, at 0x1000 to 0x1007, 101 and 103 are due */
	EXPECT(!ap_service_overflow(&p, &trap));
	EXPECT_U64(head(), 48);
	EXPECT_U64(record(0)[1], 0x1004);
	EXPECT_U64(record(1)[1], 0x1006);
	EXPECT_U64(fake.lane_left[0], 1);
}

static void an_overflow_is_a_record(void)
{
	struct ap_sampler *s;

	fake_start(answers);
	s = add(0, 0, 100, 100);
	give_ring(s);
	fake.lane_raw[0] = 99;
	EXPECT(!at(0x1000));
	EXPECT_U64(head(), 0);
	EXPECT_U64(fake.lane_left[0], 1);
	fake.lane_raw[0] = 100;
	EXPECT(!at(0x1234));
	EXPECT_U64(head(), 24);
	EXPECT_U64(record(0)[1], 0x1234);
	EXPECT_U64(record(0)[2], 100);
	EXPECT_U64(ap_sampling_of(s)->next, 200);
	EXPECT_U64(fake.lane_left[0], 100);
	/* one that was passed by two periods is two */
	fake.lane_raw[0] = 305;
	EXPECT(!at(0x5678));
	EXPECT_U64(head(), 72);
	EXPECT_U64(fake.lane_left[0], 95);
	EXPECT_U64(fake.slot->sampler_lock, 0);
	EXPECT_U64(fake.requests, 0);
}

static u32 asked_about;

static void knows_the_dead(struct ap_svc *svc)
{
	struct ap_ring *ring = (struct ap_ring *)fake.ring;

	svc->ret = 0;
	if (svc->op != AP_SVC_HELD)
		return;
	asked_about = (u32)svc->arg[0];
	__atomic_store_n(&ring->lock, 0, __ATOMIC_RELEASE);
}

static void a_writer_that_was_killed_is_asked_about(void)
{
	struct ap_sampler *s;
	struct ap_ring *ring;

	fake_start(knows_the_dead);
	ring = (struct ap_ring *)fake.ring;
	s = add(0, 0, 100, 100);
	give_ring(s);
	ring->lock = AP_RING_NAME(77, 7);
	fake.lane_raw[0] = 100;
	EXPECT(!at(0x1234));
	EXPECT_U64(asked_about, AP_RING_NAME(77, 7));
	EXPECT_U64(fake.requests, 1);
	EXPECT_U64(head(), 24);
	EXPECT_U64(ap_sampling_of(s)->lost + ring->lost, 0);
	EXPECT_U64(ring->lock, 0);
	EXPECT_U64(fake.slot->sampler_lock, 0);
}

static void goes_on_after_a_while(void)
{
	if (fake.sleeps == 100)
		((struct ap_ring *)fake.ring)->lock = 0;
}

/* It has lost its CPU in the middle of a record, or was stopped there. */
static void a_writer_that_lives_is_waited_for(void)
{
	struct ap_sampler *s;
	struct ap_ring *ring;
	u32 slept;

	fake_start(answers);
	ring = (struct ap_ring *)fake.ring;
	s = add(0, 0, 100, 100);
	give_ring(s);
	fake.at_sleep = goes_on_after_a_while;
	ring->lock = AP_RING_NAME(77, 7);
	fake.lane_raw[0] = 100;
	EXPECT(!at(0x1234));
	EXPECT_U64(fake.sleeps, 100);
	EXPECT_U64(head(), 24);
	EXPECT_U64(ap_sampling_of(s)->lost + ring->lost, 0);
	/* not for ever, and only once */
	fake.at_sleep = NULL;
	ring->lock = AP_RING_NAME(77, 8);
	fake.lane_raw[0] = 200;
	EXPECT(!at(0x1234));
	EXPECT_U64(head(), 24);
	EXPECT_U64(ap_sampling_of(s)->lost, 1);
	slept = fake.sleeps;
	fake.lane_raw[0] = 300;
	EXPECT(!at(0x1234));
	EXPECT_U64(fake.sleeps, slept);
	EXPECT_U64(ap_sampling_of(s)->lost, 2);
	/* until it has given the ring back */
	ring->lock = 0;
	fake.lane_raw[0] = 400;
	EXPECT(!at(0x1234));
	EXPECT(head() > 24);
	ring->lock = AP_RING_NAME(77, 8);
	fake.lane_raw[0] = 500;
	EXPECT(!at(0x1234));
	EXPECT(fake.sleeps > slept);
	EXPECT_U64(ap_sampling_of(s)->lost, 3);
}

static void what_finds_no_room_is_lost(void)
{
	struct ap_sampler *s;

	fake_start(answers);
	s = add(0, 0, 1, 1);
	give_ring(s);
	for (u64 i = 1; i <= 200; i++) {
		fake.lane_raw[0] = i;
		EXPECT(!at(i));
	}
	EXPECT_U64(head() / 24 + ap_sampling_of(s)->lost, 200);
	EXPECT_U64(head() / 24, 170);
	EXPECT_U64(ap_sampling_of(s)->next, 201);
}

static void signals_are_asked_for(void)
{
	struct ap_sampler *s;

	fake_start(answers);
	s = add(0, 0, 10, 10);
	s->signals = 1;
	wakes = moves = 0;
	fake.lane_raw[0] = 10;
	EXPECT(!at(1));
	EXPECT_U64(wakes, 1);
	EXPECT_U64(fake.last.arg[0], 0);
	/* the last of a limit, also without */
	s->signals = 0;
	ap_sampler_refresh(s, 1);
	fake.lane_raw[0] = 20;
	EXPECT(!at(1));
	EXPECT_U64(wakes, 2);
	EXPECT(ap_sampling_of(s)->state & AP_SAMPLER_STOPPED);
	fake.lane_raw[0] = 30;
	EXPECT(!at(1));
	EXPECT_U64(wakes, 2);
	EXPECT_U64(fake.lane_left[0], AP_HOOK_NEVER);
	EXPECT_U64(moves, 0);
}

static void who_is_elsewhere_says_so(void)
{
	struct ap_sampler *s;

	fake_start(answers);
	s = add(0, 0, 10, 10);
	s->cpu = (s32)ap_svc_cpu() + 1000;
	moves = 0;
	fake.lane_raw[0] = 10;
	EXPECT(!at(1));
	EXPECT_U64(moves, 1);
	EXPECT(fake.last.arg[0] != (u64)s->cpu);
}

static void sigtrap_is_the_engines(void)
{
	struct ap_service_trap trap = { 0 };
	const struct ap_service_point p = { .source = AP_SAMPLE_LANE, .known = true, .pc = 1 };
	struct ap_sampler *s;

	fake_start(answers);
	s = add(0, 0, 10, 10);
	s->flags = AP_PERF_SIGTRAP;
	s->sig_data = 0x77;
	s->pmu_type = 4;
	fake.lane_raw[0] = 10;
	EXPECT(ap_service_overflow(&p, &trap));
	EXPECT_U64(trap.data, 0x77);
	EXPECT_U64(trap.type, 4);
	EXPECT(!ap_service_overflow(&p, &trap));
}

static void other_sources_have_words_of_their_own(void)
{
	struct ap_service_trap trap;
	struct ap_service_point p = { .source = AP_SAMPLE_WATCH, .which = 5, .pc = 0x9000 };
	struct ap_sampler *s;

	fake_start(answers);
	s = add(0, 0, 2, 2);
	s->source = AP_SAMPLE_WATCH;
	s->which = 5;
	give_ring(s);
	ap_service_arm();
	EXPECT_U64(fake.sources, 1U << AP_SAMPLE_WATCH);
	fake.slot->watch[5] = 1;
	EXPECT(!ap_service_overflow(&p, &trap));
	EXPECT_U64(head(), 0);
	fake.slot->watch[5] = 2;
	p.which = 4;
	EXPECT(!ap_service_overflow(&p, &trap));
	EXPECT_U64(head(), 0);
	p.which = 5;
	EXPECT(!ap_service_overflow(&p, &trap));
	EXPECT_U64(head(), 24);
	EXPECT_U64(record(0)[1], 0x9000);
}

/* A late clock passes many periods at one place. */
static void a_clock_has_one_sample_for_all_it_missed(void)
{
	struct ap_service_trap trap;
	const struct ap_service_point p = { .source = AP_SAMPLE_CLOCK, .pc = 0x9000 };
	struct ap_sampler *s;

	fake_start(answers);
	s = add(0, 0, 1, 1);
	s->source = AP_SAMPLE_CLOCK;
	s->sample_type = AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_PERIOD;
	give_ring(s);
	EXPECT(!ap_service_overflow(&p, &trap));
	EXPECT_U64(record(0)[1], 0x9000);
	EXPECT(record(0)[2] > 1);
	EXPECT_U64(ap_sampling_of(s)->next, 1 + record(0)[2]);
}

static void links_lead_nowhere(void)
{
	fake_start(answers);
	add(0, 0, 10, 10)->next_of_slot = 1; /* to itself */
	fake.lane_raw[0] = 10;
	EXPECT(!at(1));
	EXPECT_U64(ap_sampling_of(fake_sampler(0))->next, 20);
	fake.slot->samplers = AP_SAMPLER_MAX + 1;
	EXPECT(!at(1));
	fake_sampler(0)->next_of_slot = 0xffffffff;
	fake.slot->samplers = 1;
	EXPECT(!at(1));
}

static void nobody_waits_for_the_dead(void)
{
	struct ap_sampler *s;

	fake_start(answers);
	s = add(0, 0, 10, 10);
	fake.slot->sampler_lock = AP_RING_CORE;
	fake.lane_raw[0] = 10;
	EXPECT(!at(1));
	EXPECT_U64(ap_sampling_of(s)->next, 20);
	/* it was not ours to give */
	EXPECT_U64(fake.slot->sampler_lock, AP_RING_CORE);
}

static void chains_end_where_nothing_can_be_read(void)
{
	static const u8 code[2] = { 0x90, 0xc3 };
	u64 frames[3][2], chain[AP_SVC_CHAIN_MAX], regs[AP_HOOK_REGS] = { 0 };
	struct ap_service_point p = { .pc = (u64)(uintptr_t)&code[0] };

	fake_start(NULL);
	frames[0][0] = (u64)(uintptr_t)frames[1];
	frames[0][1] = 11;
	frames[1][0] = (u64)(uintptr_t)frames[2];
	frames[1][1] = 22;
	frames[2][0] = 0;
	frames[2][1] = 33;
	regs[AP_HOOK_BP] = (u64)(uintptr_t)frames[0];
	regs[AP_HOOK_IP] = 44;
	EXPECT_U64(ap_svc_callchain(&p, regs, 127, chain), 5);
	EXPECT_U64(chain[0], AP_PERF_CONTEXT_USER);
	EXPECT_U64(chain[1], p.pc);
	EXPECT_U64(chain[2], 11);
	EXPECT_U64(chain[4], 33);
	EXPECT_U64(ap_svc_callchain(&p, regs, 2, chain), 3);
	EXPECT_U64(chain[2], 11);
	/* the frame that a return has left is not in the registers any more */
	p.pc = (u64)(uintptr_t)&code[1];
	EXPECT_U64(ap_svc_callchain(&p, regs, 127, chain), 6);
	EXPECT_U64(chain[1], p.pc);
	EXPECT_U64(chain[2], 44);
	EXPECT_U64(chain[3], 11);
	/* round and round: as many as there may be */
	frames[2][0] = regs[AP_HOOK_BP];
	EXPECT_U64(ap_svc_callchain(&p, regs, 127, chain), 128);
	regs[AP_HOOK_BP] = ~0ULL;
	p.pc = (u64)(uintptr_t)&code[0];
	EXPECT_U64(ap_svc_callchain(&p, regs, 127, chain), 2);
}

/* The fake hook has no guard: it would die of what the real one takes a fault for. */
static void chains_touch_nothing_that_is_not_there(void)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	u64 *page = mmap(NULL, 2 * AP_PAGE_SIZE, prot, flags, -1, 0);
	u64 *next = page + AP_PAGE_SIZE / sizeof(*page);
	u64 chain[AP_SVC_CHAIN_MAX], regs[AP_HOOK_REGS] = { 0 };
	struct ap_service_point p = { .pc = (u64)(uintptr_t)page };

	fake_start(NULL);
	regs[AP_HOOK_IP] = p.pc;
	regs[AP_HOOK_BP] = (u64)(uintptr_t)page;
	page[0] = (u64)(uintptr_t)next;
	page[1] = 11;
	munmap(next, AP_PAGE_SIZE);
	for (u32 round = 0; round < 2; round++) {
		EXPECT_U64(ap_svc_callchain(&p, regs, 127, chain), 3);
		EXPECT_U64(chain[2], 11);
	}
	/* what is there now is read */
	EXPECT(mmap(next, AP_PAGE_SIZE, prot, flags | MAP_FIXED, -1, 0) == next);
	next[1] = 22;
	EXPECT_U64(ap_svc_callchain(&p, regs, 127, chain), 4);
	EXPECT_U64(chain[3], 22);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(the_nearest_mark_is_armed),
		TAP(what_shows_registers_is_sampled_at_its_instruction),
		TAP(each_overflow_behind_has_its_instruction),
		TAP(an_overflow_is_a_record),
		TAP(a_writer_that_was_killed_is_asked_about),
		TAP(a_writer_that_lives_is_waited_for),
		TAP(what_finds_no_room_is_lost),
		TAP(signals_are_asked_for),
		TAP(who_is_elsewhere_says_so),
		TAP(sigtrap_is_the_engines),
		TAP(other_sources_have_words_of_their_own),
		TAP(a_clock_has_one_sample_for_all_it_missed),
		TAP(links_lead_nowhere),
		TAP(nobody_waits_for_the_dead),
		TAP(chains_end_where_nothing_can_be_read),
		TAP(chains_touch_nothing_that_is_not_there),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
