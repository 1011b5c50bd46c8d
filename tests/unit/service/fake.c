/* SPDX-License-Identifier: MIT */
/* See fake.h.  The supervisor's thread sleeps at the doorbell as the real one does. */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/rawsys.h"
#include "service/hooks.h"
#include "sys/sys.h"
#include "tap/tap.h"

struct fake fake;

const struct ap_session *ap_hook_session(void)
{
	return fake.session;
}

void ap_hook_place(struct ap_hook_place *place)
{
	*place = (struct ap_hook_place){
		.seg = fake.seg,
		.slot = fake.slot,
		.counts = { .slot = fake.slot,
			    .counts = fake.counts,
			    .shapes = fake.shapes,
			    .nshapes = 8 },
		.direct = fake.direct,
		.direct_sums = fake.direct_sums,
		.seg_index = fake.seg_index,
		.slot_index = fake.slot_index,
	};
}

void ap_hook_count_directly(u64 kinds)
{
	fake.asked_directly |= kinds;
}

void ap_hook_pmc_changed(void)
{
	fake.pmc_changes++;
}

s64 ap_hook_sys(u64 nr, const u64 a[6])
{
	fake.calls++;
	if (nr == SYS_nanosleep) {
		fake.sleeps++;
		if (fake.at_sleep)
			fake.at_sleep();
		return 0;
	}
	if (nr == SYS_fstat) {
		fake.fstats++;
		if (fake.at_fstat)
			fake.at_fstat();
	}
	return ap_rawsys(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

bool ap_hook_file_begin(u64 size, u64 limit[2])
{
	(void)size;
	limit[0] = UINT64_MAX;
	return true;
}

void ap_hook_file_end(const u64 limit[2])
{
	(void)limit;
}

s64 ap_hook_break(void)
{
	return ap_rawsys(SYS_brk, 0, 0, 0, 0, 0, 0);
}

/* The lowest page stands for all memory that is not there. */
int ap_hook_get(void *dst, u64 src, u64 n)
{
	if (src < 4096)
		return -EFAULT;
	memcpy(dst, (const void *)src, n);
	return 0;
}

int ap_hook_put(u64 dst, const void *src, u64 n)
{
	if (dst < 4096)
		return -EFAULT;
	memcpy((void *)dst, src, n);
	return 0;
}

bool ap_hook_hold(u64 *mask)
{
	if (fake.again)
		return false;
	*mask = ++fake.held;
	return true;
}

void ap_hook_release(u64 mask)
{
	EXPECT_U64(mask, fake.held);
	fake.released++;
}

void *ap_hook_map(u64 size)
{
	return calloc(1, size);
}

void ap_hook_unmap(void *p, u64 size)
{
	(void)size;
	free(p);
}

void ap_hook_await_signal(u32 sig)
{
	(void)sig;
}

void ap_hook_shared_as_is(u64 start)
{
	(void)start;
}

bool ap_hook_next_part(u64 pos, u64 end, u64 *lo, u64 *hi)
{
	*lo = pos == fake.hole ? pos + AP_PAGE_SIZE : pos;
	*hi = *lo < fake.hole && fake.hole < end ? fake.hole : end;
	return *lo < end;
}

const void *ap_hook_map_head(u64 off, u64 size)
{
	if (off == AP_TREE_OFF)
		return fake.tree;
	EXPECT_U64(off, AP_PUB_OFF);
	EXPECT_U64(size, AP_PUB_MAX * sizeof(struct ap_pub));
	return fake.pub;
}

void *ap_hook_map_shared(u64 off, u64 size)
{
	EXPECT_U64(off, FAKE_RING);
	EXPECT_U64(size, (FAKE_RING_PAGES + 1) * AP_PAGE_SIZE);
	return fake.ring;
}

void *ap_hook_map_samplers(void)
{
	return fake.samplers;
}

struct ap_sampler *fake_sampler(u32 i)
{
	struct ap_sampler *s = (struct ap_sampler *)(fake.samplers + (u64)i * AP_SAMPLER_SIZE);

	s->live = AP_SAMPLER_LIVE(i, 0);
	return s;
}

u64 ap_hook_lane_raw(u32 lane)
{
	return fake.lane_raw[lane];
}

void ap_hook_lane_arm(u32 lane, u64 counts, u32 flags)
{
	fake.lane_left[lane] = counts;
	fake.lane_flags[lane] = flags;
}

u64 ap_hook_model_count(u64 kinds)
{
	(void)kinds;
	return AP_HOOK_NEVER;
}

void ap_hook_models_begin(void)
{
}

void ap_hook_model_arm(u64 kinds, u64 counts, u64 period)
{
	(void)kinds;
	(void)counts;
	(void)period;
}

void ap_hook_models_end(void)
{
}

bool ap_hook_passed(u64 ago, struct ap_hook_passed *at)
{
	if (ago >= fake.npassed)
		return false;
	*at = fake.passed[fake.npassed - 1 - ago];
	return true;
}

void ap_hook_clock_due(u32 lane)
{
	fake.clocks_due |= 1U << lane;
}

void ap_hook_sources(u32 mask)
{
	fake.sources = mask;
}

void ap_hook_regs(u64 regs[AP_HOOK_REGS])
{
	memcpy(regs, fake.regs, sizeof(fake.regs));
}

u32 ap_hook_calls(struct ap_hook_branch *b, u32 max)
{
	(void)b;
	(void)max;
	return 0;
}

u32 ap_hook_branches(struct ap_hook_branch *b, u32 max)
{
	(void)b;
	(void)max;
	return 0;
}

bool ap_hook_shares_files(void)
{
	return !fake.own_files;
}

u32 ap_hook_party(void)
{
	return 0;
}

s32 ap_hook_session_fd(void)
{
	return fake.session_fd;
}

bool ap_hook_supervisor_lives(u32 waits)
{
	(void)waits;
	return !fake.dead;
}

static void serve(void)
{
	struct ap_svc *svc = (struct ap_svc *)((char *)fake.slot + AP_SVC_OFF);
	u64 seg_bit = 1ULL << fake.seg_index % 64, slot_bit = 1ULL << fake.slot_index % 64;

	if (!(__atomic_fetch_and(
		      &ap_board_of(fake.session)->asking[fake.seg_index / 64 % AP_ASKING_N],
		      ~seg_bit, __ATOMIC_ACQ_REL) &
	      seg_bit))
		return;
	EXPECT(__atomic_fetch_and(&fake.seg->asking[fake.slot_index / 64], ~slot_bit,
				  __ATOMIC_ACQ_REL) &
	       slot_bit);
	/* but for the state, which the asker may be changing */
	if (svc->op == AP_SVC_USE) {
		svc->ret = 0;
		fake.session->perf_used = 1;
	} else {
		memcpy(&fake.last.op, &svc->op, sizeof(*svc) - offsetof(struct ap_svc, op));
		fake.answer(svc);
		fake.requests++;
	}
	if (__atomic_exchange_n(&svc->state, AP_SVC_DONE, __ATOMIC_ACQ_REL) == AP_SVC_ASLEEP)
		syscall(SYS_futex, &svc->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *supervise(void *unused)
{
	const struct timespec tick = { .tv_nsec = 1000000 };
	u32 *bell = &ap_board_of(fake.session)->doorbell;

	for (;;) {
		u32 heard = __atomic_load_n(bell, __ATOMIC_SEQ_CST);

		serve();
		__atomic_store_n(&fake.session->asleep, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(bell, __ATOMIC_SEQ_CST) == heard)
			syscall(SYS_futex, bell, FUTEX_WAIT, heard,
				__atomic_load_n(&ap_board_of(fake.session)->mute, __ATOMIC_ACQUIRE)
					? &tick
					: NULL,
				NULL, 0);
		__atomic_store_n(&fake.session->asleep, 0, __ATOMIC_SEQ_CST);
	}
	return unused;
}

void fake_start(fake_answer answer)
{
	pthread_t thread;

	fake.session = calloc(1, AP_NOTE_OFF);
	fake.seg = calloc(1, sizeof(*fake.seg));
	fake.slot = calloc(1, AP_SLOT_SIZE);
	fake.pub = calloc(AP_PUB_MAX, sizeof(*fake.pub));
	fake.samplers = calloc(1, AP_SAMPLERS_SIZE);
	fake.ring = aligned_alloc(AP_PAGE_SIZE, (FAKE_RING_PAGES + 1) * AP_PAGE_SIZE);
	REQUIRE(fake.ring);
	memset(fake.ring, 0, (FAKE_RING_PAGES + 1) * AP_PAGE_SIZE);
	fake.session->flags = AP_F_SERVE;
	fake.session->supervisor = 1;
	fake.seg_index = 77;
	fake.slot_index = 130;
	fake.answer = answer;
	if (answer)
		REQUIRE(!pthread_create(&thread, NULL, supervise, NULL));
}

s64 fake_call(u64 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
	struct ap_service_call call = { .nr = nr, .a = { a, b, c, d, e, f } };

	if (!ap_service_wants(fake.session, nr))
		return ap_rawsys(nr, a, b, c, d, e, f);
	if (ap_service_before(&call))
		return call.ret;
	call.ret = ap_rawsys(nr, call.a[0], call.a[1], call.a[2], call.a[3], call.a[4], call.a[5]);
	if (call.after || call.tree || call.tells)
		ap_service_after(&call);
	return call.ret;
}

s32 fake_perf_fd(void)
{
	s32 fd[2];

	REQUIRE(!pipe2(fd, O_CLOEXEC));
	close(fd[1]);
	REQUIRE(!fchmod(fd[0], 0600 | AP_SVC_PIPE_MARK));
	return fd[0];
}

u64 fake_inode(s32 fd)
{
	struct stat st;

	REQUIRE(!fstat(fd, &st));
	return st.st_ino;
}
