/* SPDX-License-Identifier: MIT */
/*
 * Cycles with known answers: small loops, by hand, on machines whose latencies the vendors publish.
 */
#include <string.h>

#include "model/cost.h"
#include "tap/tap.h"

#define ROUNDS 1000
#define CYCLE  256ULL

struct code {
	const char *bytes;
	unsigned len, times;
};

/* clang-format off */
#define CODE(text, n) { text, sizeof(text) - 1, n }
/* clang-format on */
#define DEC_JNZ                                                                                    \
	CODE("\x48\xff\xcf", 1), CODE("\x75\xfb", 1),                                              \
	{                                                                                          \
		0                                                                                  \
	}

static struct ap_cost_account account;

static struct ap_cost cost_of(const char *bytes, unsigned len)
{
	unsigned char code[64] = { 0 };
	struct ap_insn insn;
	struct ap_cost c;

	memcpy(code, bytes, len);
	REQUIRE(ap_insn_decode(&insn, code, sizeof(code)) == 0);
	REQUIRE(insn.len == len);
	ap_insn_cost(&insn, code, &c);
	return c;
}

/* Cycles / 256 of ROUNDS iterations; whatever is in memory has one name. */
static uint64_t loop_on(const char *machine, const struct code *code)
{
	static struct ap_pipe pipe;
	struct ap_pipe_link links[AP_PIPE_LINKS];
	uint32_t list[AP_PIPE_LIST];
	struct ap_pipe_flow flow = { .list = list };
	const struct ap_machine *m = ap_machine_find(machine);
	uint64_t begin = 0;

	memset(&pipe, 0, sizeof(pipe));
	ap_cost_begin(&account, m);
	for (; code->bytes; code++)
		for (unsigned k = 0; k < code->times; k++) {
			struct ap_cost c = cost_of(code->bytes, code->len);
			bool on_stack = c.address == 1 << 4;

			(void)ap_cost_add(&account, &c, on_stack ? AP_PIPE_CELL : 0,
					  c.class == AP_COST_BRANCH);
		}
	flow.busy = ap_cost_busy(&account);
	flow.depth = account.depth;
	ap_pipe_plan(&flow, links, ap_cost_links(&account, links), list);
	for (unsigned k = 0; k < 2 * ROUNDS; k++) {
		if (k == ROUNDS)
			begin = pipe.done;
		ap_pipe_enter(&pipe, &m->pipe, account.ninsns);
		ap_pipe_leave(&pipe, &flow);
	}
	return pipe.done - begin;
}

#define EXPECT_CYCLES(machine, code, cycles)                                                       \
	EXPECT_U64(loop_on(machine, code), (cycles)*CYCLE *ROUNDS)

static void dependent_adds_take_a_cycle_each(void)
{
	static const struct code code[] = { CODE("\x48\x83\xc0\x01", 16), DEC_JNZ };

	EXPECT_CYCLES("skylake", code, 16);
	EXPECT_CYCLES("zen4", code, 16);
	EXPECT_CYCLES("sapphirerapids", code, 16);
}

/* add to rax, rbx, rcx, rdx four times: 16 adds, and a fused pair, in four slots */
static void independent_adds_take_slots(void)
{
	static const struct code code[] = { CODE("\x48\x83\xc0\x01", 4),
					    CODE("\x48\x83\xc3\x01", 4),
					    CODE("\x48\x83\xc1\x01", 4),
					    CODE("\x48\x83\xc2\x01", 3), DEC_JNZ };

	EXPECT_CYCLES("skylake", code, 4);
}

static void the_smallest_loop_takes_a_cycle(void)
{
	static const struct code code[] = { DEC_JNZ };

	EXPECT_CYCLES("skylake", code, 1);
	EXPECT_CYCLES("zen4", code, 1);
}

static void multiplications_take_three(void)
{
	static const struct code code[] = { CODE("\x48\x0f\xaf\xc0", 5), DEC_JNZ };

	EXPECT_CYCLES("skylake", code, 15);
	EXPECT_CYCLES("zen4", code, 15);
}

/* xor edx, edx; div rcx */
static void divisions_wait_for_each_other(void)
{
	static const struct code code[] = { CODE("\x31\xd2", 1), CODE("\x48\xf7\xf1", 1), DEC_JNZ };

	EXPECT_CYCLES("skylake", code, 42);
	EXPECT_CYCLES("zen4", code, 17);
}

/* mov rax, [rax] */
static void a_chase_takes_the_latency_of_loads(void)
{
	static const struct code code[] = { CODE("\x48\x8b\x00", 4), DEC_JNZ };

	EXPECT_CYCLES("skylake", code, 16);
	EXPECT_CYCLES("icelake", code, 20);
	EXPECT_CYCLES("zen4", code, 16);
}

/* mov rax, [rsi]: by two ports, or three */
static void independent_loads_take_ports(void)
{
	static const struct code code[] = { CODE("\x48\x8b\x06", 12), DEC_JNZ };

	EXPECT_CYCLES("skylake", code, 6);
	EXPECT_CYCLES("zen4", code, 4);
}

/* addsd xmm0, xmm0; vfmadd231sd xmm0, xmm1, xmm2; divsd xmm0, xmm1; sqrtsd xmm0, xmm0 */
static void floating_point_takes_its_latency(void)
{
	static const struct code add[] = { CODE("\xf2\x0f\x58\xc0", 3), DEC_JNZ };
	static const struct code fma[] = { CODE("\xc4\xe2\xf1\xb9\xc2", 3), DEC_JNZ };
	static const struct code div[] = { CODE("\xf2\x0f\x5e\xc1", 1), DEC_JNZ };
	static const struct code root[] = { CODE("\xf2\x0f\x51\xc0", 1), DEC_JNZ };

	EXPECT_CYCLES("skylake", add, 12);
	EXPECT_CYCLES("zen4", add, 9);
	EXPECT_CYCLES("skylake", fma, 12);
	EXPECT_CYCLES("zen4", fma, 12);
	EXPECT_CYCLES("skylake", div, 14);
	EXPECT_CYCLES("skylake", root, 18);
}

/* vmulsd xmm0, xmm1, xmm2 replaces what it writes; two ports */
static void three_operands_leave_no_chain(void)
{
	static const struct code code[] = { CODE("\xc5\xf3\x59\xc2", 8), DEC_JNZ };

	EXPECT_CYCLES("skylake", code, 4);
}

/* xor eax, eax; 3 adds; then pxor xmm0, xmm0; addsd: nothing is carried to the next iteration */
static void zeroing_ends_a_chain(void)
{
	static const struct code general[] = { CODE("\x31\xc0", 1), CODE("\x48\x0f\xaf\xc0", 3),
					       DEC_JNZ };
	static const struct code vector[] = { CODE("\x66\x0f\xef\xc0", 1),
					      CODE("\xf2\x0f\x58\xc0", 2), DEC_JNZ };

	EXPECT_CYCLES("skylake", general, 3); /* port 1 */
	EXPECT_CYCLES("skylake", vector, 1);
}

/* mov rbx, rax; add rbx, 1; mov rax, rbx */
static void moves_take_no_time(void)
{
	static const struct code code[] = { CODE("\x48\x89\xc3", 1), CODE("\x48\x83\xc3\x01", 1),
					    CODE("\x48\x89\xd8", 1), DEC_JNZ };

	EXPECT_CYCLES("zen4", code, 1);
}

/* add qword [rsp], 1: five and one, but for renaming */
static void values_are_followed_through_the_stack(void)
{
	/* movsd xmm0, [rsp]; addsd xmm0, xmm1; movsd [rsp], xmm0 */
	static const struct code vector[] = { CODE("\xf2\x0f\x10\x04\x24", 1),
					      CODE("\xf2\x0f\x58\xc1", 1),
					      CODE("\xf2\x0f\x11\x04\x24", 1), DEC_JNZ };
	static const struct code code[] = { CODE("\x48\x83\x04\x24\x01", 1), DEC_JNZ };
	unsigned forward = ap_machine_find("skylake")->pipe.forward;

	EXPECT_CYCLES("skylake", code, forward + 1);
	EXPECT_CYCLES("skylake", vector, forward + 4);
	EXPECT_CYCLES("zen4", vector, ap_machine_find("zen4")->pipe.forward + 3);
	EXPECT_CYCLES("zen4", code, 1);
}

/* --- misses */

/* Cycles of n pieces of ninsns, each with a miss of 200. */
static uint64_t misses(const struct ap_pipe_spec *spec, unsigned n, unsigned ninsns, bool chased)
{
	static const struct ap_pipe_flow flow;
	static struct ap_pipe pipe;

	memset(&pipe, 0, sizeof(pipe));
	for (unsigned k = 0; k < n; k++) {
		ap_pipe_enter(&pipe, spec, ninsns);
		ap_pipe_miss(&pipe, spec, 200, chased, chased, 0);
		ap_pipe_leave(&pipe, &flow);
	}
	return pipe.done / CYCLE;
}

static void simulators_take_a_cycle_per_instruction(void)
{
	static const struct code code[] = { CODE("\x48\x0f\xaf\xc0", 5), DEC_JNZ };

	EXPECT_CYCLES("cachegrind", code, 7);
	EXPECT_U64(misses(&ap_machine_find("cachegrind")->pipe, 100, 1, false), 100 * 200);
}

static void chased_misses_add_up(void)
{
	EXPECT_U64(misses(&ap_machine_find("skylake")->pipe, 100, 1, true), 100 * 200);
}

static void independent_misses_overlap(void)
{
	struct ap_pipe_spec spec = { .rob = 224, .fill_buffers = 10 };

	EXPECT_U64(misses(&spec, 10, 1, false), 200);
	EXPECT_U64(misses(&spec, 100, 1, false), 10 * 200);
	spec.fill_buffers = 5;
	EXPECT_U64(misses(&spec, 100, 1, false), 20 * 200);
}

/* Four pieces of 56 fit. */
static void the_reorder_buffer_limits_them(void)
{
	struct ap_pipe_spec spec = { .rob = 224, .fill_buffers = 10 };

	EXPECT_U64(misses(&spec, 100, 56, false), 25 * 200);
	EXPECT_U64(misses(&spec, 100, 224, false), 100 * 200);
}

/* A second load of the piece needs the first: mov rax, [rax] twice. */
static void loads_of_a_piece_may_wait_for_each_other(void)
{
	static const char load[] = "\x48\x8b\x00";
	struct ap_cost c = cost_of(load, 3);

	ap_cost_begin(&account, ap_machine_find("zen4"));
	EXPECT_U64(ap_cost_add(&account, &c, 0, false), 1);
	EXPECT_U64(ap_cost_add(&account, &c, 0, false), 1 | AP_PIPE_WAIT_LOAD);
	EXPECT_U64(ap_cost_late(&account, 0), 1);
	EXPECT_U64(ap_cost_late(&account, 1), 1);
}

/* Where loads are more than their buffer's part of all, it is full before the reorder buffer is. */
static void a_buffer_of_loads_limits_them_too(void)
{
	static const char load[] = "\x48\x8b\x00", store[] = "\x48\x89\x00";
	struct ap_cost a = cost_of(load, 3), b = cost_of(store, 3);
	struct ap_machine m = *ap_machine_find("zen4");

	m.pipe.rob = 100;
	m.pipe.load_buffer = 50;
	m.pipe.store_buffer = 10;
	ap_cost_begin(&account, &m);
	for (unsigned k = 0; k < 4; k++)
		(void)ap_cost_add(&account, &a, 0, false);
	EXPECT_U64(ap_cost_room(&account, 4), 8);
	EXPECT_U64(ap_cost_room(&account, 40), 40);
	(void)ap_cost_add(&account, &b, 0, false);
	EXPECT_U64(ap_cost_room(&account, 5), 10);
	m.pipe.load_buffer = m.pipe.store_buffer = 0;
	EXPECT_U64(ap_cost_room(&account, 5), 5);
}

/* A wrong prediction is known when the flags are, which may wait for a miss. */
static void mispredictions_wait_for_their_flags(void)
{
	const struct ap_pipe_spec *spec = &ap_machine_find("skylake")->pipe;
	static const struct ap_pipe_flow flow = { .busy = 256 };
	static struct ap_pipe pipe;

	ap_pipe_enter(&pipe, spec, 4);
	ap_pipe_miss(&pipe, spec, 200, 0, AP_PIPE_LATE_FLAGS, 0);
	ap_pipe_leave(&pipe, &flow);
	EXPECT_U64(pipe.now, CYCLE);
	ap_pipe_flush(&pipe, 16, true);
	EXPECT_U64(pipe.now, 216 * CYCLE);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(dependent_adds_take_a_cycle_each),
						 TAP(independent_adds_take_slots),
						 TAP(the_smallest_loop_takes_a_cycle),
						 TAP(multiplications_take_three),
						 TAP(divisions_wait_for_each_other),
						 TAP(a_chase_takes_the_latency_of_loads),
						 TAP(independent_loads_take_ports),
						 TAP(floating_point_takes_its_latency),
						 TAP(three_operands_leave_no_chain),
						 TAP(zeroing_ends_a_chain),
						 TAP(moves_take_no_time),
						 TAP(values_are_followed_through_the_stack),
						 TAP(simulators_take_a_cycle_per_instruction),
						 TAP(chased_misses_add_up),
						 TAP(independent_misses_overlap),
						 TAP(the_reorder_buffer_limits_them),
						 TAP(a_buffer_of_loads_limits_them_too),
						 TAP(loads_of_a_piece_may_wait_for_each_other),
						 TAP(mispredictions_wait_for_their_flags),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
