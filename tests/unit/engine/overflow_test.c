/* SPDX-License-Identifier: MIT */
/*
 * A sampling counter stops at the very instruction that reaches the mark, for each instruction of a block: the program is sampled by each
 * small period, and each sample must have the place and the registers that single steps have there.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/perf.h"
#include "rig/rig.h"
#include "sampling/ring.h"
#include "tap/tap.h"

#define RING  AP_SEG_OFF(2) /* behind the segments of the rig's session */
#define PAGES 16ULL
#define REGS  8
#define MAX   400

/* clang-format off */
RIG_SNIPPET(mixed,
	"mov $12, %ebp; mov $7, %esi\n"
	"1: add %rbp, %rax; cmp %rax, %rcx; jb 2f; mov (%rbx), %rdx; adc $3, %rcx\n"
	"2: test $1, %bpl; jz 3f; call 4f; jmp 5f\n"
	"3: lea 4f(%rip), %rdi; call *%rdi; push %rax; pop %rdx\n"
	"5: xor %rdx, %rax; setb %cl; dec %ebp; jnz 1b; jmp 6f\n"
	"4: add $5, %rsi; ret\n"
	"6: mov $102, %eax; syscall");
/* clang-format on */

/* PERF_REG_X86_*: ax, bx, cx, dx, si, di, bp, sp as bits 0 to 7; and the numbers that they are encoded with. */
static const u8 number[REGS] = { 0, 3, 1, 2, 6, 7, 5, 4 };

struct sample {
	u64 header, ip, abi, reg[REGS];
};

static struct sample samples[MAX];
static u32 nsamples;
static u64 period;
static char *file;

static void sampler(struct ap_session *head, void *party)
{
	struct ap_sampler *s = (struct ap_sampler *)((char *)head + AP_SAMPLER_OFF);
	struct ap_sampling *live = (struct ap_sampling *)((char *)party + AP_SAMPLING_OFF);
	struct ap_slot *slot = (struct ap_slot *)((char *)party + AP_SEG_OFF(0) + AP_SLOT_OFF(0));

	file = party;
	head->lanes[0] = AP_KIND_BIT(AP_KIND_INSTR);
	head->nlanes = 1;
	s->live = AP_SAMPLER_LIVE(0, 0);
	s->source = AP_SAMPLE_LANE;
	s->kinds = AP_KIND_BIT(AP_KIND_INSTR);
	s->cpu = -1;
	s->ring = RING;
	s->ring_pages = 1 + PAGES;
	s->sample_type = AP_PERF_SAMPLE_IP | AP_PERF_SAMPLE_REGS_USER;
	s->regs_user = (1U << REGS) - 1;
	s->wakeup_events = 1000000;
	live->state = AP_SAMPLER_ARMED;
	live->next = live->period = live->last_period = period;
	slot->samplers = 1;
	slot->sampler_gen = 1;
}

/* What was written: all of it, as the area is larger. */
static void read_samples(const struct rig_session *s)
{
	const struct ap_ring *ring = (const struct ap_ring *)(s->party + RING);
	const char *at = s->party + RING + 2 * 4096, *end = at + ring->head;

	nsamples = 0;
	while (at < end && nsamples < MAX) {
		u16 size;

		memcpy(&size, at + 6, sizeof(size));
		REQUIRE(size >= 8);
		if (size == sizeof(struct sample))
			memcpy(&samples[nsamples++], at, size);
		at += size;
	}
}

/* Sample n was taken when so many instructions had retired: it names the last of them, and has the registers behind it. */
static bool is_at(const struct rig_trace *trace, u32 n, u64 retired)
{
	const struct rig_step *step = trace->step;
	const struct sample *s = &samples[n];
	bool ok;

	while (step->sum[AP_KIND_INSTR] < retired)
		step++;
	ok = EXPECT_U64(s->ip, step[-1].regs.rip);
	/* a system call is counted, and sampled, before it is made */
	if (step->sum[AP_KIND_SYSCALL] != step[-1].sum[AP_KIND_SYSCALL])
		step--;
	for (u32 k = 0; k < REGS; k++)
		ok &= EXPECT_U64(s->reg[k], step->regs.gpr[number[k]]);
	if (!ok)
		tap_note("period %u, sample %u", (u32)period, n);
	return ok;
}

static void each_sample_is_at_its_instruction(void)
{
	static struct rig_run run;
	struct rig_trace trace;
	u64 all;

	rig_load(&mixed);
	rig_trace(&trace);
	all = trace.run.counts[AP_KIND_INSTR];
	rig.fill = sampler;
	rig.look = read_samples;
	for (period = 1; period < 60; period++) {
		rig_engine(&run);
		rig_same_counts(run.counts, trace.run.counts);
		/* the last one may be due at the process' end, which is not sampled */
		EXPECT(nsamples == all / period || nsamples == (all - 1) / period);
		for (u32 n = 0; n < nsamples; n++)
			if (!is_at(&trace, n, period * (n + 1)))
				break;
	}
	free(trace.step);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(each_sample_is_at_its_instruction), { 0 } };

	return tap_main(tests, argc, argv);
}
