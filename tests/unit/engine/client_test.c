/* SPDX-License-Identifier: MIT */
/*
 * The table of clients: one is added here, by its own lines alone, and the translator and the dispatcher's calls find it.
 */
#include <string.h>
#include <sys/mman.h>

#include "engine/cache/region.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/translate/sb.h"
#include "tap/tap.h"

#define NOP  0x90
#define BASE ((u64)code)

/* --- a client: counts nops that are executed, each of which it has run alone */

static const struct ap_client *nops;
static u64 nops_run, nop_waits;

static enum ap_special nop_plan(struct ap_sb_insn *in)
{
	return in->bytes[0] == NOP ? AP_SPECIAL_DATA : AP_SPECIAL_NONE;
}

static enum ap_visit nop_visit(struct ap_thread *self, u64 pc, enum ap_special special)
{
	(void)self;
	nop_waits = special == AP_SPECIAL_DATA ? pc : 0;
	return AP_VISIT_RUN;
}

static void nop_after(struct ap_thread *self, enum ap_left how)
{
	nops_run += nop_waits && (how == AP_LEFT_AFTER || self->regs.rip != nop_waits);
	nop_waits = 0;
}

AP_CLIENT(nop_client)
{
	nops = c;
	c->plan_insn = nop_plan;
	c->visit = nop_visit;
	c->after_exit = nop_after;
}

/* --- and one behind it, which sees what the first has left to it */

static const struct ap_client *second;
static u32 second_plans, second_visits, second_calls;

static enum ap_special second_plan(struct ap_sb_insn *in)
{
	(void)in;
	second_plans++;
	return AP_SPECIAL_NONE;
}

static enum ap_visit second_visit(struct ap_thread *self, u64 pc, enum ap_special special)
{
	(void)self, (void)pc, (void)special;
	second_visits++;
	return AP_VISIT_RETRY;
}

static void second_call(struct ap_thread *self, u64 nr)
{
	(void)self;
	second_calls += nr == 39;
}

AP_CLIENT(second_client)
{
	second = c;
	c->plan_insn = second_plan;
	c->visit = second_visit;
	c->call_begins = second_call;
}

/* --- the engine that calls them */

static u8 *code;
static struct ap_sb sb;
static struct ap_thread thread;
static struct ap_thread *const t = &thread;

static void build_at(u64 pc)
{
	memset(&sb, 0, sizeof(sb));
	ap_sb_build(&sb, pc, AP_BLOCK_INSNS);
}

/* mov eax, 1; nop; xor ecx, ecx; ret */
static void make_code(void)
{
	static const u8 bytes[] = { 0xb8, 1, 0, 0, 0, NOP, 0x31, 0xc9, 0xc3 };

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code, bytes, sizeof(bytes));
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	ap_region_set(BASE, BASE + 4096, 0, true);
}

static void off_is_not_called(void)
{
	build_at(BASE);
	EXPECT_U64(sb.n, 4);
	EXPECT_U64(sb.final_kind, AP_EXIT_IBL);
	EXPECT_U64(second_plans, 0);
	EXPECT_U64(ap_clients_visit(t, BASE + 5, AP_SPECIAL_DATA), AP_VISIT_RUN);
	EXPECT_U64(second_visits, 0);
}

static void blocks_end_where_it_says(void)
{
	ap_client_on(nops);
	build_at(BASE);
	EXPECT_U64(sb.n, 1);
	EXPECT_U64(sb.final_kind, AP_EXIT_DIRECT);
	EXPECT_U64(sb.final_target, BASE + 5);
	build_at(BASE + 5);
	EXPECT_U64(sb.n, 0);
	EXPECT_U64(sb.final_kind, AP_EXIT_SPECIAL);
	EXPECT_U64(sb.special, AP_SPECIAL_DATA);
	build_at(BASE + 6);
	EXPECT_U64(sb.n, 2);
}

static void counts_what_has_run(void)
{
	ap_client_on(nops);
	EXPECT_U64(ap_clients_visit(t, BASE + 5, AP_SPECIAL_DATA), AP_VISIT_RUN);
	t->regs.rip = BASE + 5;
	ap_clients_after_exit(t, AP_LEFT_EITHER);
	EXPECT_U64(nops_run, 0);
	(void)ap_clients_visit(t, BASE + 5, AP_SPECIAL_DATA);
	t->regs.rip = BASE + 6;
	ap_clients_after_exit(t, AP_LEFT_EITHER);
	EXPECT_U64(nops_run, 1);
	(void)ap_clients_visit(t, BASE + 5, AP_SPECIAL_DATA);
	ap_clients_after_exit(t, AP_LEFT_AFTER);
	EXPECT_U64(nops_run, 2);
}

static void order_is_that_of_the_list(void)
{
	ap_client_on(nops);
	ap_client_on(second);
	build_at(BASE + 5);
	EXPECT_U64(second_plans, 0); /* the first has said what becomes of it */
	build_at(BASE + 6);
	EXPECT_U64(second_plans, 2);
	EXPECT_U64(ap_clients_visit(t, BASE + 5, AP_SPECIAL_DATA), AP_VISIT_RETRY);
	EXPECT_U64(nop_waits, BASE + 5);
	EXPECT_U64(second_visits, 1);
}

static void always_is_called(void)
{
	ap_clients_call_begins(t, 39);
	EXPECT_U64(second_calls, 1);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(off_is_not_called),		TAP(always_is_called),
		TAP(blocks_end_where_it_says),	TAP(counts_what_has_run),
		TAP(order_is_that_of_the_list), { 0 },
	};
	static struct ap_session session;
	static struct ap_boot boot;
	static struct ap_seg seg;

	ap_proc.boot = &boot;
	ap_proc.nthreads = 1;
	ap_proc.blob_lo = ap_proc.blob_hi = 0x200000000000;
	ap_proc.session = &session;
	ap_proc.seg = &seg;
	make_code();
	nop_client(ap_client_add());
	second_client(ap_client_add());
	return tap_main(tests, argc, argv);
}
