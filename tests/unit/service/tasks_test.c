/* SPDX-License-Identifier: MIT */
/* Forks and ends of watched tasks are told, and nothing is of others. */
#include "fake.h"
#include "tap/tap.h"

static void answers(struct ap_svc *svc)
{
	svc->ret = 0;
}

static void an_unwatched_task_tells_nothing(void)
{
	const struct ap_slot other = { 0 };

	fake_start(answers);
	EXPECT(!ap_service_forks(1, 2, true));
	ap_service_exits(false);
	ap_service_exits(true);
	ap_service_buries(&other, 1, 2);
	EXPECT_U64(fake.requests, 0);
}

static bool asked(u32 op, u64 a, u64 b, u64 c)
{
	return fake.last.op == op && fake.last.arg[0] == a && fake.last.arg[1] == b &&
	       fake.last.arg[2] == c;
}

static void a_watched_task_tells_all(void)
{
	const struct ap_slot other = { .orders = AP_ORDER_WATCHED };

	fake_start(answers);
	fake.slot->orders = AP_ORDER_WATCHED;
	EXPECT(ap_service_forks(5, 6, true));
	EXPECT(asked(AP_SVC_FORK, 5, 6, 1));
	ap_service_fork_failed(5, 6, true);
	EXPECT(asked(AP_SVC_FORK_FAILED, 5, 6, 1));
	EXPECT(ap_service_forks(7, 0, false));
	EXPECT(asked(AP_SVC_FORK, 7, 0, 0));
	ap_service_exits(false);
	EXPECT(asked(AP_SVC_EXIT, 0, 0, 0));
	ap_service_exits(true);
	EXPECT(asked(AP_SVC_EXIT_GROUP, 0, 0, 0));
	ap_service_buries(&other, 8, 9);
	EXPECT(asked(AP_SVC_EXIT, 1, 8, 9));
	EXPECT_U64(fake.requests, 6);
	EXPECT_U64(fake.held, 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(an_unwatched_task_tells_nothing),
		TAP(a_watched_task_tells_all),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
