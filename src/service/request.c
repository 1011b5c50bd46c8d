/* SPDX-License-Identifier: MIT */
/*
 * The counted task's side of a request: fill, ask, ring, wait.  abi/service.h has the protocol.
 *
 * The supervisor may be killed at any instant.  Who has found it gone once does not wait again:
 * there is one supervisor in a session's life.
 */
#include "service/request.h"
#include "service/service.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define SPINS	     1000 /* about what it costs us both if we sleep: an answer takes half of it */
#define SLICE_NS     50000000
#define SLICES_BRIEF 40
#define CLOCK_THREAD 3 /* CLOCK_THREAD_CPUTIME_ID */
#define NR_CLOCK_GET 228
#define MUTE_SPINS   (1ULL << 20)
#define MUTE_TURNS   64
#define SEG_BITS     (AP_ASKING_N * 64ULL)

static bool gone;
bool ap_service_used;

u64 ap_request_cpu_time(void)
{
	struct ap_timespec ts;

	if (ap_svc_sys(NR_CLOCK_GET, CLOCK_THREAD, (u64)&ts, 0, 0))
		return 0;
	return (u64)ts.sec * 1000000000ULL + (u64)ts.nsec;
}

void ap_request_begin_held(struct ap_request *r, u32 op)
{
	struct ap_hook_place p;

	ap_hook_place(&p);
	r->svc = (struct ap_svc *)((char *)p.slot + AP_SVC_OFF);
	r->svc->op = op;
	r->svc->ret = 0;
	r->svc->in_size = 0;
	r->svc->out_size = 0;
	for (u32 i = 0; i < AP_ARRAY_SIZE(r->svc->arg); i++)
		r->svc->arg[i] = 0;
}

/* A signal that comes in the middle waits also where none is held off; only a sleep would notice. */
s64 ap_request_begin(struct ap_request *r, u32 op)
{
	r->is_held = !ap_svc_is_mute();
	if (r->is_held && !ap_hook_hold(&r->mask))
		return AP_HOOK_AGAIN;
	ap_request_begin_held(r, op);
	return 0;
}

void ap_request_end(struct ap_request *r)
{
	if (r->is_held)
		ap_hook_release(r->mask);
}

/* Full barriers on both sides: a thread that goes to sleep there sees the ring, or is seen asleep here. */
void ap_request_ring(void)
{
	const struct ap_session *session = ap_hook_session();
	u32 *bell = &ap_board_of(session)->doorbell;

	__atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
	/* at the bell of a party of its own somebody always sleeps */
	if (__atomic_load_n(&session->asleep, __ATOMIC_SEQ_CST) || ap_hook_party())
		ap_svc_sys(AP_NR_futex, (u64)bell, AP_FUTEX_WAKE, INT32_MAX, 0);
}

static void announce(const struct ap_hook_place *p)
{
	struct ap_board *board = ap_board_of(ap_hook_session());
	u32 seg = p->seg_index, slot = p->slot_index;

	if (ap_svc_is_mute())
		__atomic_store_n(&board->mute, 1, __ATOMIC_RELAXED);
	__atomic_fetch_or(&p->seg->asking[slot / 64], 1ULL << (slot % 64), __ATOMIC_ACQ_REL);
	__atomic_fetch_or(&board->asking[seg % SEG_BITS / 64], 1ULL << (seg % 64),
			  __ATOMIC_ACQ_REL);
	ap_request_ring();
}

static u32 spin(const struct ap_svc *svc, u64 n)
{
	u32 state;

	while ((state = __atomic_load_n(&svc->state, __ATOMIC_ACQUIRE)) == AP_SVC_ASKED && n--)
		__builtin_ia32_pause();
	return state;
}

/* Who may make no call looks for its answer, and says again that it waits for one. */
static bool look_long(struct ap_svc *svc, const struct ap_hook_place *place)
{
	for (u32 n = 0; n < MUTE_TURNS; n++) {
		if (spin(svc, MUTE_SPINS) == AP_SVC_DONE)
			return true;
		announce(place);
	}
	return false;
}

/* Takes the request back; false where it has been answered. */
static bool withdraw(struct ap_svc *svc)
{
	u32 asleep = AP_SVC_ASLEEP;

	return __atomic_compare_exchange_n(&svc->state, &asleep, AP_SVC_IDLE, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* True: answered.  limit: of slices, then the request is taken back; 0 none. */
static bool sleep(struct ap_svc *svc, const struct ap_hook_place *place, u32 limit)
{
	const struct ap_timespec slice = { .nsec = SLICE_NS };
	u32 state = AP_SVC_ASKED;

	if (!__atomic_compare_exchange_n(&svc->state, &state, AP_SVC_ASLEEP, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return true;
	for (u32 n = 1;; n++) {
		ap_svc_sys(AP_NR_futex, (u64)&svc->state, AP_FUTEX_WAIT, AP_SVC_ASLEEP,
			   (u64)&slice);
		if (__atomic_load_n(&svc->state, __ATOMIC_ACQUIRE) != AP_SVC_ASLEEP)
			return true;
		if (!ap_hook_supervisor_lives(n) || ap_session_is_left(ap_hook_session()))
			return false;
		if (limit && n >= limit)
			return !withdraw(svc);
		/* a program may have scribbled over the bell */
		announce(place);
	}
}

/* The number of the CPU that we are on, as the vdso finds it: in a segment's limit. */
static u32 own_cpu(void)
{
	u64 limit = 0;

	__asm__("lsl %1, %0" : "+r"(limit) : "r"(0x7bULL));
	return limit & 0xfff;
}

/* To look for an answer makes sense while another CPU is at it. */
static u64 spins(const struct ap_session *session)
{
	u32 cpu = __atomic_load_n(&session->cpu, __ATOMIC_RELAXED);

	return cpu && cpu - 1 != own_cpu() ? SPINS : 0;
}

bool ap_request_is_lost(void)
{
	return __atomic_load_n(&gone, __ATOMIC_RELAXED) || ap_session_is_left(ap_hook_session());
}

void ap_request_point_out_log(void)
{
	struct ap_hook_place p;

	ap_hook_place(&p);
	announce(&p);
}

static s64 ask(struct ap_request *r, u32 limit)
{
	const struct ap_session *session = ap_hook_session();
	struct ap_svc *svc = r->svc;
	struct ap_hook_place p;

	if (ap_request_is_lost())
		return -AP_ENODEV;
	ap_hook_place(&p);
	svc->cpu_time = ap_request_cpu_time();
	svc->turn++;
	__atomic_store_n(&svc->state, AP_SVC_ASKED, __ATOMIC_RELEASE);
	announce(&p);
	if (ap_svc_is_mute() ? look_long(svc, &p)
			     : spin(svc, spins(session)) == AP_SVC_DONE || sleep(svc, &p, limit))
		return svc->ret;
	if (limit && __atomic_load_n(&svc->state, __ATOMIC_RELAXED) == AP_SVC_IDLE)
		return -AP_EAGAIN;
	__atomic_store_n(&gone, true, __ATOMIC_RELAXED);
	return -AP_ENODEV;
}

s64 ap_request_ask(struct ap_request *r)
{
	return ask(r, 0);
}

s64 ap_request_ask_briefly(struct ap_request *r)
{
	return ask(r, SLICES_BRIEF);
}

/* A signal that waits already goes on waiting: once in a session, and brief. */
void ap_request_use(void)
{
	struct ap_request r;
	u64 mask;
	bool held;

	if (__atomic_load_n(&ap_hook_session()->perf_used, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&ap_service_used, true, __ATOMIC_RELAXED);
	held = !ap_svc_is_mute() && ap_hook_hold(&mask);
	ap_request_begin_held(&r, AP_SVC_USE);
	(void)ap_request_ask(&r);
	if (held)
		ap_hook_release(mask);
}

s64 ap_request_what(s32 fd)
{
	struct ap_request r;

	ap_request_begin_held(&r, AP_SVC_WHAT);
	r.svc->arg[0] = (u64)fd;
	return ap_request_ask(&r);
}
