/* SPDX-License-Identifier: MIT */
/*
 * What a sample is made of, gathered in the thread at the instruction: its address, registers, time,
 * counts, callchain, branches, memory operand.  The record itself is sampling/sample.c's business.
 *
 * The sample's address is the instruction on which the count was reached; the registers are those
 * behind it, which is where the program goes on.  REGS_INTR has that address, as the kernel has it for
 * precise events, and REGS_USER the next, with which its stack can be unwound.
 */
#include "service/sample.h"
#include "abi/errno.h"
#include "base/mem.h"
#include "service/calls.h"
#include "service/request.h"
#include "service/sys.h"
#include "sys/nr.h"
#include "sys/sys.h"

#define NR_CLOCK_GET 228
#define CLOCK_MONO   1
#define OWN_CPU_SEG  0x7bULL /* its limit has the number: how the vdso finds it */

/* enum perf_mem_data_src: what nobody knows says so */
#define MEM_OP_NA    0x1ULL
#define MEM_OP_LOAD  0x2ULL
#define MEM_OP_STORE 0x4ULL
#define MEM_REST_NA  (0x1ULL << 5 | 0x1ULL << 19 | 0x1ULL << 24 | 0x1ULL << 26 | 0xfULL << 33)

/* What the kernel uses for the page size of a sample is not asked for: all are small to us. */

u32 ap_svc_cpu(void)
{
	u64 limit = 0;

	__asm__("lsl %1, %0" : "+r"(limit) : "r"(OWN_CPU_SEG));
	return limit & 0xfff;
}

static u64 clock_time(u32 clockid)
{
	struct ap_timespec ts;

	if (ap_svc_sys(NR_CLOCK_GET, clockid, (u64)&ts, 0, 0))
		return 0;
	return (u64)ts.sec * 1000000000ULL + (u64)ts.nsec;
}

u64 ap_svc_now(void)
{
	const struct ap_session *s = ap_hook_session();
	/* pairs with the supervisor's store, after the others */
	u32 mult = __atomic_load_n(&s->clock_mult, __ATOMIC_ACQUIRE);

	if (!mult)
		return clock_time(CLOCK_MONO);
	return s->clock_zero +
	       (u64)((unsigned __int128)__builtin_ia32_rdtsc() * mult >> (s->clock_shift & 63));
}

/* clock: a clockid + 1, 0 none. */
static u64 now_by(const void *clock)
{
	return clock ? clock_time((u32)(u64)clock - 1) : ap_svc_now();
}

void ap_svc_origin(const struct ap_sampler *s, const struct ap_slot *slot, u64 now,
		   struct ap_record_origin *origin)
{
	origin->pid = s->tid ? s->pid : slot->pid;
	origin->tid = s->tid ? s->tid : slot->tid;
	origin->time = now;
	origin->cpu = ap_svc_cpu();
	origin->now = now_by;
	origin->now_arg = (const void *)(u64)s->clock;
}

/* --- counts */

static void ask(u32 index, struct ap_svc_words *w)
{
	struct ap_request r;
	s64 ret;

	ap_request_begin_held(&r, AP_SVC_SAMPLE_READ);
	r.svc->arg[0] = index;
	r.svc->arg[1] = sizeof(w->words);
	ret = ap_request_ask(&r);
	if (ret <= 0 || ret > (s64)sizeof(w->words) || r.svc->out_size != ret)
		return;
	memcpy(w->words, r.svc->data, (u64)ret);
	w->n = (u32)((u64)ret / sizeof(u64));
}

_Static_assert(AP_SVC_OWN_MAX * sizeof(u64) <= sizeof(((struct ap_svc_words *)0)->words), "fits");

void ap_svc_read_words(const struct ap_sampler *s, u32 index, struct ap_svc_words *w)
{
	/* what is published of an inherited event has its ended children's counts in it */
	w->n = s->inode && !(s->flags & AP_PERF_INHERIT) ? ap_svc_own(s->inode, w->words) : 0;
	if (!w->n)
		ask(index, w);
}

/* --- registers, memory, branches */

/* enum perf_event_x86_regs has the same order. */
static void set_ip(u64 *to, const u64 *regs, u64 ip)
{
	memcpy(to, regs, AP_HOOK_REGS * sizeof(u64));
	to[AP_HOOK_IP] = ip;
}

/* A probe in a file has none, as the kernel's has not. */
static u64 watched_addr(u32 which)
{
	const struct ap_session *s = ap_hook_session();

	return which < AP_WATCH_MAX && !(s->watch_how[which] & AP_WATCH_FILE) ? s->watch[which] : 0;
}

/* A breakpoint tells of what it watches, not of the access that touched it. */
u64 ap_svc_data_addr(const struct ap_service_point *p)
{
	if (p->source == AP_SAMPLE_WATCH)
		return watched_addr(p->which);
	return p->has_mem && p->nmem ? p->mem[0].addr : 0;
}

/* Events of the kernel's own, faults among them, and breakpoints say nothing of it, as on Linux. */
static u64 data_src(const struct ap_service_point *p)
{
	u64 op = MEM_OP_NA;

	if ((p->source == AP_SAMPLE_LANE || p->source == AP_SAMPLE_MODEL) && p->has_mem && p->nmem)
		op = (p->mem[0].read ? MEM_OP_LOAD : 0) | (p->mem[0].write ? MEM_OP_STORE : 0);
	return op | (p->has_result ? p->data_src : MEM_REST_NA);
}

static u64 guarded(void *arg, void *to, u64 from, u64 n)
{
	u64 done = 0;

	(void)arg;
	while (done < n) {
		u64 at = from + done, chunk = AP_PAGE_SIZE - (at & ~AP_PAGE_MASK);

		if (chunk > n - done)
			chunk = n - done;
		if (ap_hook_get((char *)to + done, at, chunk))
			break;
		done += chunk;
	}
	return done;
}

/* struct perf_branch_entry */
#define MISPREDICTED 1ULL
#define PREDICTED    2ULL

static u64 said_flags(u32 said)
{
	if (said == AP_HOOK_BR_NOT_SAID)
		return 0;
	return said == AP_HOOK_BR_WRONG ? MISPREDICTED : PREDICTED;
}

/* The kernel's numbers for enum ap_hook_branch_type: PERF_BR_*. */
static u64 type_flags(u32 type)
{
	static const u8 br[] = {
		[AP_HOOK_BR_UNKNOWN] = 0, [AP_HOOK_BR_COND] = 1,   [AP_HOOK_BR_JMP] = 2,
		[AP_HOOK_BR_JMP_IND] = 3, [AP_HOOK_BR_CALL] = 4,   [AP_HOOK_BR_CALL_IND] = 5,
		[AP_HOOK_BR_RET] = 6,	  [AP_HOOK_BR_SYSCALL] = 7
	};

	return type < AP_ARRAY_SIZE(br) ? (u64)br[type] << 20 : 0;
}

/* attr.branch_sample_type: which kinds are wanted; none named: any. */
#define WANT_ANY	(1ULL << 3)
#define WANT_ANY_CALL	(1ULL << 4)
#define WANT_ANY_RETURN (1ULL << 5)
#define WANT_IND_CALL	(1ULL << 6)
#define WANT_COND	(1ULL << 10)
#define WANT_IND_JUMP	(1ULL << 12)
#define WANT_CALL	(1ULL << 13)
#define WANT_NO_FLAGS	(1ULL << 14)
#define WANT_TYPE_SAVE	(1ULL << 16)

#define WANT_CALL_STACK (1ULL << 11)

static bool is_wanted(u64 want, u32 type)
{
	static const u64 by[] = {
		[AP_HOOK_BR_COND] = WANT_COND,
		[AP_HOOK_BR_JMP_IND] = WANT_IND_JUMP,
		[AP_HOOK_BR_CALL] = WANT_CALL | WANT_ANY_CALL,
		[AP_HOOK_BR_CALL_IND] = WANT_IND_CALL | WANT_ANY_CALL,
		[AP_HOOK_BR_RET] = WANT_ANY_RETURN,
		[AP_HOOK_BR_SYSCALL] = WANT_ANY_CALL,
	};

	if (want & (WANT_ANY | WANT_CALL_STACK))
		return true;
	return type < AP_ARRAY_SIZE(by) && by[type] & want;
}

static u64 branch_flags(u64 want, const struct ap_hook_branch *b)
{
	return (want & WANT_TYPE_SAVE ? type_flags(b->type) : 0) |
	       (want & WANT_NO_FLAGS ? 0 : said_flags(b->said));
}

static u32 branches(const struct ap_sampler *s, struct ap_perf_branch_entry out[AP_HOOK_BRANCHES])
{
	struct ap_hook_branch b[AP_HOOK_BRANCHES];
	bool stack = s->branch_sample_type & WANT_CALL_STACK;
	u32 n = stack ? ap_hook_calls(b, AP_HOOK_BRANCHES) : ap_hook_branches(b, AP_HOOK_BRANCHES);
	u32 to = 0;

	for (u32 i = 0; i < n && i < AP_HOOK_BRANCHES; i++) {
		if (!is_wanted(s->branch_sample_type, b[i].type))
			continue;
		out[to++] = (struct ap_perf_branch_entry){ .from = b[i].from,
							   .to = b[i].to,
							   .flags = branch_flags(
								   s->branch_sample_type, &b[i]) };
	}
	return to;
}

/* --- all of it */

struct sample_memory {
	u64 regs[AP_HOOK_REGS], at[AP_HOOK_REGS];
	u64 chain[AP_SVC_CHAIN_MAX];
	struct ap_perf_branch_entry branches[AP_HOOK_BRANCHES];
	struct ap_svc_raw raw;
};

static void gather_raw(const struct ap_svc_sample *of, struct sample_memory *parts,
		       struct ap_sample_data *d)
{
	const struct ap_sampler *s = of->sampler;
	const struct ap_service_point *p = of->point;

	if (p->source == AP_SAMPLE_TRACE)
		ap_svc_raw(p, of->place->slot, parts->regs, s->trace_args, &parts->raw);
	else if (p->source == AP_SAMPLE_WATCH && s->trace_args)
		ap_svc_probe_raw(p, s->trace_args, of->place->slot, parts->regs, &parts->raw);
	else
		return;
	d->raw = parts->raw.bytes;
	d->raw_size = parts->raw.size;
}

static void gather(const struct ap_svc_sample *of, struct sample_memory *parts,
		   struct ap_sample_data *d)
{
	const struct ap_sampler *s = of->sampler;
	const struct ap_service_point *p = of->point;
	u64 type = s->sample_type;

	if (type & (AP_PERF_SAMPLE_CALLCHAIN | AP_PERF_SAMPLE_REGS_USER | AP_PERF_SAMPLE_REGS_INTR |
		    AP_PERF_SAMPLE_STACK_USER | AP_PERF_SAMPLE_RAW))
		ap_hook_regs(parts->regs);
	if (type & AP_PERF_SAMPLE_CALLCHAIN && !(s->flags & AP_PERF_EXCLUDE_CALLCHAIN_USER)) {
		d->nr_chain = ap_svc_callchain(p, parts->regs, s->max_stack, parts->chain);
		d->chain = parts->chain;
	}
	if (type & AP_PERF_SAMPLE_BRANCH_STACK && !p->has_no_regs) {
		d->nr_branches = branches(s, parts->branches);
		d->branches = parts->branches;
	}
	if (p->has_no_regs) /* it is said that there are none, and there is no stack without */
		return;
	if (type & AP_PERF_SAMPLE_REGS_USER) {
		d->regs_user_abi = AP_PERF_SAMPLE_REGS_ABI_64;
		d->regs_user = parts->regs;
	}
	if (type & AP_PERF_SAMPLE_REGS_INTR) {
		set_ip(parts->at, parts->regs, p->pc);
		d->regs_intr_abi = AP_PERF_SAMPLE_REGS_ABI_64;
		d->regs_intr = parts->at;
	}
	if (type & AP_PERF_SAMPLE_STACK_USER) {
		d->user_sp = parts->regs[AP_HOOK_SP];
		d->copy = guarded;
	}
	if (type & AP_PERF_SAMPLE_RAW)
		gather_raw(of, parts, d);
}

int ap_svc_sample(const struct ap_svc_sample *of, const struct ap_ring_map *map,
		  const struct ap_ring_writer *w, bool *wakes)
{
	const struct ap_sampler *s = of->sampler;
	struct ap_sample_data d = { .misc = AP_PERF_RECORD_MISC_USER,
				    .ip = of->point->pc,
				    .period = of->period,
				    .addr = ap_svc_data_addr(of->point),
				    .data_src = data_src(of->point),
				    .weight = of->point->has_result ? of->point->latency : 0,
				    .cgroup = of->place->slot->cgroup,
				    .read = of->words->words,
				    .nr_read = of->words->n };
	struct ap_record_format f;
	struct sample_memory parts;

	/* they are exact without being asked for, but no kernel says so of precise_ip 0 */
	if (s->flags & AP_PERF_PRECISE_IP &&
	    (of->point->source == AP_SAMPLE_LANE || of->point->source == AP_SAMPLE_MODEL) &&
	    !of->point->is_late)
		d.misc |= AP_PERF_RECORD_MISC_EXACT_IP;
	if (s->sample_type & AP_PERF_SAMPLE_READ && !of->words->n)
		return -AP_ENOSPC; /* the request got no answer: a record without its counts has another form */
	ap_svc_origin(s, of->place->slot, of->now, &d.origin);
	gather(of, &parts, &d);
	ap_record_format_of(s, &f);
	return ap_sample_write(map, w, &f, &d, wakes);
}
