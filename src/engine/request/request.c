/* SPDX-License-Identifier: MIT */
/*
 * Client requests.  A program makes one by a sequence of instructions that does nothing on a CPU: four rotations of %rdi by 128 in
 * all, then xchg %rbx, %rbx.  The last one is executed alone, and what was asked for is done behind it: then the thread's
 * counts are complete, and a signal that came first has it done once, when the program comes back.
 */
#include "engine/request/request.h"

#include "base/mem.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/runtime/resident.h"
#include "engine/translate/sb.h"

#define PREAMBLE  16 /* bytes of the rotations */
#define LEA_BYTES 7  /* lea disp32(%rip), %rax */
#define SEQUENCE  5  /* instructions */

static u64 nstacks;

/* rol $n, %rdi with 3, 13, 61, 51 */
static bool is_preamble(const u8 *code)
{
	static const u8 by[4] = { 3, 13, 61, 51 };

	for (u32 i = 0; i < 4; i++, code += 4)
		if (code[0] != 0x48 || code[1] != 0xc1 || code[2] != 0xc7 || code[3] != by[i])
			return false;
	return true;
}

static bool is_xchg_rbx(const u8 *code)
{
	return code[0] == 0x48 && code[1] == 0x87 && code[2] == 0xdb;
}

/* What stands in front of it is read as code is, and waits for nobody. */
static bool is_request(u64 pc, const u8 *code)
{
	u8 before[PREAMBLE];

	return is_xchg_rbx(code) && !ap_resident_copy(before, pc - PREAMBLE, PREAMBLE) &&
	       is_preamble(before);
}

static enum ap_special plan_insn(struct ap_sb_insn *in)
{
	return ap_unlikely(is_request(in->pc, in->bytes)) ? AP_SPECIAL_REQUEST : AP_SPECIAL_NONE;
}

static enum ap_visit visit(struct ap_thread *t, u64 pc, enum ap_special special)
{
	if (special == AP_SPECIAL_REQUEST)
		t->request_pc = pc;
	return AP_VISIT_RUN;
}

static void after_exit(struct ap_thread *t, enum ap_left how)
{
	if (ap_likely(!t->request_pc))
		return;
	t->request_due =
		how == AP_LEFT_AFTER || (how == AP_LEFT_EITHER && t->regs.rip != t->request_pc);
	if (!t->request_due)
		t->request_pc = 0;
}

static void not_run(struct ap_thread *t)
{
	if (!t->request_due)
		t->request_pc = 0;
}

/* False: the words cannot be read. */
static bool read_words(const struct ap_thread *t, u64 pc, struct ap_request_words *r)
{
	u64 words[6];
	u8 lea[3];

	r->at = t->regs.gpr[AP_RAX];
	if (ap_safe_copy(words, (const void *)r->at, sizeof(words)))
		return false;
	r->number = words[0];
	memcpy(r->arg, words + 1, sizeof(r->arg));
	r->markers = SEQUENCE;
	if (!ap_safe_copy(lea, (const void *)(pc - PREAMBLE - LEA_BYTES), sizeof(lea)) &&
	    lea[0] == 0x48 && lea[1] == 0x8d && lea[2] == 0x05)
		r->markers++;
	return true;
}

static void discard(u64 start, u64 bytes)
{
	if (!bytes || start + bytes < start)
		return;
	ap_lock_take(&ap_proc.lock);
	ap_cache_invalidate(start, start + bytes);
	ap_lock_drop(&ap_proc.lock);
}

static void answer(struct ap_thread *t, const struct ap_request_words *r)
{
	u64 *result = &t->regs.gpr[AP_RDX];

	switch (r->number) {
	case AP_REQUEST_RUNNING:
		*result = 1;
		return;
	case AP_REQUEST_DISCARD:
		discard(r->arg[0], r->arg[1]);
		*result = 0;
		return;
	case AP_REQUEST_PRINTF:
	case AP_REQUEST_PRINTF_VA:
		*result = ap_request_print(t, r->arg[0], r->arg[1], false);
		return;
	case AP_REQUEST_PRINTF_BACKTRACE:
	case AP_REQUEST_PRINTF_BACKTRACE_VA:
		*result = ap_request_print(t, r->arg[0], r->arg[1], true);
		return;
	case AP_REQUEST_STACK_REGISTER:
		*result = __atomic_fetch_add(&nstacks, 1, __ATOMIC_RELAXED);
		return;
	default:
		if (ap_request_region(t, r) &&
		    (r->number & 0xffff0000) != AP_REQUEST_TOOL('A', 'P'))
			*result = 0;
	}
}

static void arrive(struct ap_thread *t)
{
	struct ap_request_words r;
	u64 pc = t->request_pc;

	if (ap_likely(!t->request_due))
		return;
	t->request_due = false;
	t->request_pc = 0;
	if (read_words(t, pc, &r))
		answer(t, &r);
}

AP_CLIENT(ap_request_client)
{
	c->plan_insn = plan_insn;
	c->visit = visit;
	c->after_exit = after_exit;
	c->not_run = not_run;
	c->arrive = arrive;
	c->inherit_stack = ap_regions_inherit;
	c->move_shared = ap_regions_move;
	c->each_shared = ap_regions_each;
	if (ap_proc.session->flags & AP_F_REQUESTS)
		ap_client_on(c);
}
