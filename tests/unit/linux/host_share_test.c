/* SPDX-License-Identifier: MIT */
/* What tasks of one party take of what a session has few of: the others get theirs, and the session's owner most of all. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "linux/host/host_internal.h"
#include "tap/tap.h"

#define OTHERS 4U

static struct ap_supervisor sv;
static struct ap_host *host;
static struct ap_host_seg segs[OTHERS + 1];
static struct ap_host_task tasks[OTHERS + 1];

/* A task of each party, as far as these tables look at one. */
static void set_up(void)
{
	const struct ap_session_config cfg = { .flags = AP_F_COUNT | AP_F_SERVE };
	const struct ap_host_config host_cfg = { .paranoid = 2 };
	u32 party = 0;

	REQUIRE(ap_session_new(&sv.ses, &cfg) == 0);
	REQUIRE(ap_host_new(&host, &sv, &host_cfg) == 0);
	for (u32 i = 0; i <= OTHERS; i++) {
		int fd = i ? memfd_create("anyperf", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;

		REQUIRE(!i || (fd >= 0 && ap_session_party_new(&sv.ses, fd, &party) == 0));
		REQUIRE(party == i);
		segs[i].index = i << AP_PARTY_SHIFT;
		segs[i].head = mmap(NULL, AP_SEG_SIZE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		REQUIRE(segs[i].head != MAP_FAILED);
		tasks[i] = (struct ap_host_task){ .host = host, .seg = &segs[i], .gen = 1 };
	}
}

static u64 last;

static int watch(u32 party, u64 addr)
{
	const struct ap_world_bp bp = { .addr = addr, .type = AP_HW_BREAKPOINT_X, .len = 8 };

	return ap_host_bp_arm(host, &tasks[party], -1, &bp, &last);
}

static u32 watches(u32 party)
{
	u32 n = 0;

	while (n < 2 * AP_WATCH_MAX && !watch(party, (u64)party << 32 | n << 4))
		n++;
	EXPECT(watch(party, (u64)party << 32 | n << 4) == -ENOSPC);
	return n;
}

static void each_party_has_its_watches(void)
{
	set_up();
	EXPECT_U64(watches(1), 8);
	/* more events at a place that it has take none */
	EXPECT(!watch(1, 1ULL << 32));
	EXPECT_U64(watches(2), 8);
	EXPECT_U64(watches(3), 8);
	EXPECT_U64(watches(4), 0);
	EXPECT_U64(watches(0), 8);
	ap_host_bp_disarm(host, last);
	EXPECT(watch(4, 7) == -ENOSPC);
	EXPECT(!watch(0, 7));
}

static void the_owner_has_what_others_leave(void)
{
	set_up();
	EXPECT_U64(watches(1), 8);
	ap_host_bp_disarm(host, last);
	EXPECT(!watch(1, 77));
	EXPECT_U64(watches(0), 24);
}

static struct ap_sampler *newest;

static u32 samplers(u32 party)
{
	u32 n = 0;

	while (n <= AP_SAMPLER_MAX && !ap_host_sampler_new(host, &tasks[party], NULL, &newest))
		n++;
	EXPECT(ap_host_sampler_new(host, &tasks[party], NULL, &newest) == -ENOSPC);
	return n;
}

static void each_party_has_its_samplers(void)
{
	struct ap_sampler *s;

	set_up();
	EXPECT_U64(samplers(1), 4096);
	EXPECT_U64(samplers(2), 2048);
	s = newest;
	EXPECT_U64(samplers(3), 0);
	EXPECT_U64(samplers(0), 2048);
	ap_host_sampler_free(host, &tasks[2], s);
	EXPECT(ap_host_sampler_new(host, &tasks[1], NULL, &s) == -ENOSPC);
	EXPECT(ap_host_sampler_new(host, &tasks[3], NULL, &s) == 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(each_party_has_its_watches),
		TAP(the_owner_has_what_others_leave),
		TAP(each_party_has_its_samplers),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
