/* SPDX-License-Identifier: MIT */
/*
 * Callchains by frame pointers, as the kernel walks them: the address of the sample, then return
 * addresses, until a frame cannot be read or there are enough.
 *
 * The registers are those behind the sampled instruction.  Where that was a return, the frame that it
 * left is gone from them, so the place that it led to comes next: the caller would be missing else.
 *
 * Most programs use the frame pointer for anything, so most chains end at an address where nothing is.  To read
 * there raises a SIGSEGV, which takes ten times as long as to ask the kernel first; what is asked for
 * are pages that no frame was read from before.
 */
#include "abi/record.h"
#include "service/sample.h"
#include "service/sys.h"
#include "sys/nr.h"

#define TASK_SIZE_MAX 0x7ffffffff000ULL
#define NO_FRAME                                                                                   \
	AP_PAGE_SIZE /* below is the end of a chain, which would cost a fault to find out */

struct stack_frame {
	u64 next, ret;
};

#define BITS 6

/* Pages that frames were read from.  One that is gone since costs a fault, nothing else. */
static u64 readable[1U << BITS];

static u64 *place_of(u64 page)
{
	return &readable[page * 0x9e3779b97f4a7c15ULL >> (64 - BITS)];
}

/* False where it is not readable, at the price of a fault if that was not to be known. */
static bool get_frame(u64 fp, struct stack_frame *f)
{
	u64 page = fp & AP_PAGE_MASK, *known = place_of(page);
	u8 resident;

	if (__atomic_load_n(known, __ATOMIC_RELAXED) != page &&
	    ap_svc_sys(AP_NR_mincore, page, 1, (u64)&resident, 0) == -AP_ENOMEM)
		return false;
	if (ap_hook_get(f, fp, sizeof(*f))) {
		__atomic_store_n(known, 0, __ATOMIC_RELAXED);
		return false;
	}
	__atomic_store_n(known, page, __ATOMIC_RELAXED);
	return true;
}

/* ret, ret imm16, behind a prefix or two (rep ret, bnd ret). */
static bool is_return(u64 pc)
{
	u8 code[2];

	if (ap_hook_get(code, pc, 1))
		return false;
	if ((code[0] == 0xf2 || code[0] == 0xf3) && ap_hook_get(code, pc + 1, 1))
		return false;
	return code[0] == 0xc3 || code[0] == 0xc2;
}

u32 ap_svc_callchain(const struct ap_service_point *p, const u64 *regs, u32 max_stack,
		     u64 out[AP_SVC_CHAIN_MAX])
{
	u32 most = max_stack < AP_SVC_CHAIN_MAX - 1 ? max_stack : AP_SVC_CHAIN_MAX - 1;
	u64 fp = p->is_behind ? p->bp : regs[AP_HOOK_BP];
	u64 next = p->is_behind ? p->next : regs[AP_HOOK_IP];
	struct stack_frame f;
	u32 n = 0;

	out[n++] = AP_PERF_CONTEXT_USER;
	if (most)
		out[n++] = p->pc;
	if (p->has_no_regs)
		return n;
	if (n <= most && next != p->pc && is_return(p->last_pc ? p->last_pc : p->pc))
		out[n++] = next;
	while (n <= most && fp >= NO_FRAME && fp < TASK_SIZE_MAX && get_frame(fp, &f)) {
		out[n++] = f.ret;
		fp = f.next;
	}
	return n;
}
