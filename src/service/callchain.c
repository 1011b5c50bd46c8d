/* SPDX-License-Identifier: MIT */
/*
 * Callchains by frame pointers, as the kernel walks them: the address of the sample, then return
 * addresses, until a frame cannot be read or there are enough.
 *
 * The registers are those behind the sampled instruction.  Where that was a return, the frame that it
 * left is gone from them, so the place that it led to comes next: the caller would be missing else.
 */
#include "abi/record.h"
#include "service/sample.h"

#define TASK_SIZE_MAX 0x7ffffffff000ULL
#define NO_FRAME                                                                                   \
	AP_PAGE_SIZE /* below is the end of a chain, which would cost a fault to find out */

struct frame {
	u64 next, ret;
};

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
	u32 most = max_stack && max_stack < AP_SVC_CHAIN_MAX - 1 ? max_stack : AP_SVC_CHAIN_MAX - 1;
	u64 fp = regs[AP_HOOK_BP];
	struct frame f;
	u32 n = 0;

	out[n++] = AP_PERF_CONTEXT_USER;
	out[n++] = p->pc;
	if (p->has_no_regs)
		return n;
	if (n <= most && regs[AP_HOOK_IP] != p->pc && is_return(p->last_pc ? p->last_pc : p->pc))
		out[n++] = regs[AP_HOOK_IP];
	while (n <= most && fp >= NO_FRAME && fp < TASK_SIZE_MAX &&
	       !ap_hook_get(&f, fp, sizeof(f))) {
		out[n++] = f.ret;
		fp = f.next;
	}
	return n;
}
