/* SPDX-License-Identifier: MIT */
/* Calls that have not returned: where they went, calls of the next instruction, handlers, more returns and calls than fit. */
#include <string.h>

#include "model/calls.h"
#include "tap/tap.h"

static struct {
	uint8_t bytes[8192];
} chunk __attribute__((aligned(64)));
static u8 *const chunks[] = { chunk.bytes };
static u32 used;
static struct ap_feed_branch branch[64];
static u32 nbranches;
static struct ap_calls calls;

/* The number of a way at pc that ends with a transfer at from. */
static u64 way(u64 pc, u64 from, u8 what)
{
	struct ap_feed_way *w;
	u32 id;

	used = used ? used : 64;
	w = (struct ap_feed_way *)(chunk.bytes + used);
	id = used / AP_FEED_ALIGN;
	used += (u32)(sizeof(*w) + 63) & ~63U;
	branch[nbranches] = (struct ap_feed_branch){ .pc = from, .what = what, .len = 5 };
	*w = (struct ap_feed_way){ .pc = pc,
				   .branches = &branch[nbranches++],
				   .nbranches = 1,
				   .has_calls = what != AP_FEED_TAKEN };
	return id;
}

static void begin(void)
{
	used = nbranches = 0;
	memset(&calls, 0, sizeof(calls));
}

static void expect(u32 n, const u64 *pairs)
{
	struct ap_open_call got[8];

	EXPECT_U64(ap_calls_get(&calls, got, 8), n);
	for (u32 k = 0; k < n; k++) {
		EXPECT_U64(got[k].from, pairs[2 * k]);
		EXPECT_U64(got[k].to, pairs[2 * k + 1]);
	}
}

static void stack(void)
{
	u64 log[4];

	begin();
	log[0] = way(0x100, 0x110, AP_FEED_CALL);
	log[1] = way(0x500, 0x510, AP_FEED_CALL_INDIRECT);
	log[2] = way(0x900, 0x910, AP_FEED_TAKEN);
	ap_calls_read(&calls, log, log + 2, chunks);
	expect(2, (const u64[]){ 0x510, 0, 0x110, 0x500 }); /* where the newest went is not known */
	ap_calls_read(&calls, log + 2, log + 3, chunks);
	expect(2, (const u64[]){ 0x510, 0x900, 0x110, 0x500 });
	log[0] = way(0x904, 0x90c, AP_FEED_RETURN);
	ap_calls_read(&calls, log, log + 1, chunks);
	expect(1, (const u64[]){ 0x110, 0x500 });
	ap_calls_read(&calls, log, log + 1, chunks);
	ap_calls_read(&calls, log, log + 1, chunks); /* more returns than calls */
	expect(0, NULL);
}

static void next_instruction(void)
{
	u64 log[2];

	begin();
	log[0] = way(0x100, 0x110, AP_FEED_CALL);
	log[1] = way(0x115, 0x120, AP_FEED_CALL);
	ap_calls_read(&calls, log, log + 2, chunks);
	ap_calls_arrive(&calls, 0x700);
	ap_calls_arrive(&calls, 0x800); /* it waits no more */
	expect(1, (const u64[]){ 0x120, 0x700 });
}

static void handler(void)
{
	u64 log[2];

	begin();
	log[0] = way(0x100, 0x110, AP_FEED_CALL);
	log[1] = way(0x600, 0x610, AP_FEED_RETURN);
	ap_calls_read(&calls, log, log + 1, chunks);
	ap_calls_arrive(&calls, 0x500);
	ap_calls_signal(&calls);
	expect(1, (const u64[]){ 0x110, 0x500 });
	ap_calls_read(&calls, log + 1, log + 2, chunks); /* the handler's */
	expect(1, (const u64[]){ 0x110, 0x500 });
}

static void deep(void)
{
	u64 down, up;

	begin();
	down = way(0x100, 0x110, AP_FEED_CALL);
	up = way(0x100, 0x118, AP_FEED_RETURN);
	for (u32 k = 0; k < AP_CALLS + 10; k++)
		ap_calls_read(&calls, &down, &down + 1, chunks);
	for (u32 k = 0; k < AP_CALLS - 1; k++)
		ap_calls_read(&calls, &up, &up + 1, chunks);
	expect(1, (const u64[]){ 0x110, 0x100 });
	ap_calls_read(&calls, &up, &up + 1, chunks);
	expect(0, NULL); /* the oldest are forgotten, not others shown */
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(stack), TAP(next_instruction), TAP(handler), TAP(deep), { 0 }
	};

	return tap_main(tests, argc, argv);
}
