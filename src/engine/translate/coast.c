/* SPDX-License-Identifier: MIT */
/*
 * On to the next clean boundary, without running: the handler of a signal does what the thread would do in the
 * code that the engine has put between the program's instructions (counts, the log of the models, jumps to other
 * blocks).  What is not known here is left to single steps, each of which is a trap and a signal, in a virtual machine
 * often a trip to the hypervisor as well: ten microseconds.
 *
 * Each form is as emit.h and feed_emit.c write it.  Where the program's own instructions have the same they are the same, but
 * they may fault: so memory is that of the thread's record and of its log alone.
 */
#include "base/mem.h"
#include "engine/client.h"
#include "engine/runtime/engine.h"
#include "engine/signal/signal.h"

#define COAST_MAX 64

struct coast {
	struct ap_thread *t;
	struct ap_regs regs;
};

static s32 disp32(const u8 *p)
{
	s32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* mov between a register and gs:[disp], and add gs:[disp], imm and inc where flags are dead */
static bool gs_form(struct coast *c, const u8 *p)
{
	u8 reg = (u8)((p[1] & 4) << 1 | (p[3] >> 3 & 7));
	u64 *at;

	if ((p[1] & 0xfb) != 0x48 || (p[3] & 0xc7) != 4 || p[4] != 0x25)
		return false;
	if ((p[2] == 0x81 || p[2] == 0x83 || p[2] == 0xff) && reg != 0)
		return false; /* no add, no inc */
	at = (u64 *)((u8 *)c->t + disp32(p + 5));
	switch (p[2]) {
	case 0x89:
		*at = c->regs.gpr[reg];
		c->regs.rip += 9;
		return true;
	case 0x8b:
		c->regs.gpr[reg] = *at;
		c->regs.rip += 9;
		return true;
	case 0xff:
		*at += 1;
		c->regs.rip += 9;
		return true;
	case 0x83:
		*at += (u64)(s8)p[9];
		c->regs.rip += 10;
		return true;
	case 0x81:
		*at += (u64)disp32(p + 9);
		c->regs.rip += 13;
		return true;
	default:
		return false;
	}
}

/* mov [base + disp], reg; mov qword [base + disp], imm; lea reg, [base + disp] */
static bool base_form(struct coast *c, const u8 *p)
{
	u8 reg = (u8)((p[0] & 4) << 1 | (p[2] >> 3 & 7)), base = (u8)((p[0] & 1) << 3 | (p[2] & 7));
	u32 mod = p[2] >> 6, len = mod == 1 ? 4 : 7;
	u64 at;

	if ((p[0] & 0xfa) != 0x48 || (p[2] & 7) == 4 || mod == 0 || mod == 3)
		return false;
	at = c->regs.gpr[base] + (u64)(mod == 1 ? (s64)(s8)p[3] : (s64)disp32(p + 3));
	switch (p[1]) {
	case 0x8d:
		c->regs.gpr[reg] = at;
		break;
	case 0x89:
		if (!ap_clients_own_word(c->t, at))
			return false;
		*(u64 *)at = c->regs.gpr[reg];
		break;
	case 0xc7:
		if (p[2] >> 3 & 7 || !ap_clients_own_word(c->t, at))
			return false;
		*(u64 *)at = (u64)(s64)disp32(p + len);
		len += 4;
		break;
	default:
		return false;
	}
	c->regs.rip += len;
	return true;
}

static bool one(struct coast *c)
{
	const u8 *p = (const u8 *)c->regs.rip;
	u64 target;

	if (p[0] == 0x65)
		return gs_form(c, p);
	if (p[0] != 0xe9)
		return base_form(c, p);
	target = c->regs.rip + 5 + (u64)(s64)disp32(p + 1);
	if (!ap_cache_contains(target))
		return false;
	c->regs.rip = target;
	return true;
}

bool ap_coast(struct ap_thread *t, struct ap_sigcontext *mc, struct ap_where *w)
{
	struct coast c = { .t = t };
	bool is_there = false;
	u32 n;

	ap_sig_uc_to_regs(&c.regs, mc);
	for (n = 0; n < COAST_MAX; n++) {
		is_there = ap_cache_locate(c.regs.rip, w) && w->clean;
		if (is_there || !one(&c))
			break;
	}
	if (n)
		ap_sig_regs_to_uc(mc, &c.regs);
	return is_there;
}
