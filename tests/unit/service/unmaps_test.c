/* SPDX-License-Identifier: MIT */
/* What of a range that goes is code: the supervisor is asked for each part that is the program's. */
#include <errno.h>
#include <sys/syscall.h>

#include "fake.h"
#include "service/calls.h"
#include "tap/tap.h"

#define AT (1ULL << 30)

static s64 answer_to[2]; /* to who asks first, and with AP_SVC_UNMAPPING_MORE */

static void answers(struct ap_svc *svc)
{
	EXPECT_U64(svc->op, AP_SVC_UNMAPPING);
	svc->ret = answer_to[svc->arg[2] & AP_SVC_UNMAPPING_MORE];
}

static bool goes(s64 first, s64 second)
{
	const struct ap_service_call munmap = { .nr = SYS_munmap, .a = { AT, 4 * AP_PAGE_SIZE } };

	answer_to[0] = first;
	answer_to[1] = second;
	fake.requests = 0;
	return ap_svc_unmaps(&munmap);
}

static void it_is_asked_for_by_an_order(void)
{
	fake_start(answers);
	fake.hole = 0;
	EXPECT(!goes(1, 1));
	EXPECT_U64(fake.requests, 0);
	fake.slot->orders = AP_ORDER_UNMAPPED;
	EXPECT(goes(1, 1));
	EXPECT_U64(fake.requests, 1);
	EXPECT_U64(fake.last.arg[0], AT);
	EXPECT_U64(fake.last.arg[1], AT + 4 * AP_PAGE_SIZE);
	EXPECT(!goes(0, 0));
	EXPECT(!goes(-ENOMEM, 0));
}

/* The answer to the last part is of all of them, but for an error. */
static void what_one_part_has_an_error_of_another_leaves(void)
{
	fake_start(answers);
	fake.slot->orders = AP_ORDER_UNMAPPED;
	fake.hole = AT + AP_PAGE_SIZE;
	EXPECT(goes(0, 1));
	EXPECT_U64(fake.requests, 2);
	EXPECT_U64(fake.last.arg[0], AT + 2 * AP_PAGE_SIZE);
	EXPECT(goes(1, -ENOMEM));
	EXPECT(goes(-ENOMEM, 1));
	EXPECT(!goes(-ENOMEM, -ENOMEM));
	EXPECT(!goes(0, 0));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(it_is_asked_for_by_an_order),
		TAP(what_one_part_has_an_error_of_another_leaves),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
