/* SPDX-License-Identifier: MIT */
/*
 * What the engine has to know about instructions and Zydis does not say, or says otherwise: the
 * kind of a branch, which flags are certain for all operand values, which memory operands are
 * addresses only, what happens to registers beyond the operands.  Part of tools/gen-opcodes.c.
 *
 * References: Intel SDM vol. 2, AMD APM vol. 3, each instruction's "Flags Affected".
 */
#ifndef AP_TOOLS_OPCODE_FACTS_H
#define AP_TOOLS_OPCODE_FACTS_H

#include <Zydis/Zydis.h>

#include "opcode-forms.h"
#include "x86/insn.h"
#include "x86/table.h"

static u8 kind_of(const struct probe *pr)
{
	switch (pr->i.mnemonic) {
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return AP_I_JRCXZ;
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_CALL:
		if (pr->i.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
			return AP_I_FAR;
		if (pr->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return pr->i.mnemonic == ZYDIS_MNEMONIC_JMP ? AP_I_JMP : AP_I_CALL;
		return pr->i.mnemonic == ZYDIS_MNEMONIC_JMP ? AP_I_JMP_IND : AP_I_CALL_IND;
	case ZYDIS_MNEMONIC_RET:
		return pr->i.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? AP_I_FAR : AP_I_RET;
	case ZYDIS_MNEMONIC_SYSCALL:
		return AP_I_SYSCALL;
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INTO:
		return AP_I_INT;
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return AP_I_IRET;
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_UIRET: /* all of these go where no translator follows */
	case ZYDIS_MNEMONIC_ENCLU:
		return AP_I_FAR;
	case ZYDIS_MNEMONIC_XBEGIN:
		return AP_I_XBEGIN;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_RSM:
		return AP_I_UD;
	default:
		break;
	}
	if (pr->i.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	    ((pr->i.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && pr->i.opcode >> 4 == 7) ||
	     (pr->i.opcode_map == ZYDIS_OPCODE_MAP_0F && pr->i.opcode >> 4 == 8)))
		return AP_I_JCC;
	return pr->i.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED ? AP_I_UD : AP_I_OTHER;
}

/*
 * Flags that a shift or rotate replaces for sure.  By 1: what the manuals define.  By an immediate
 * that is not masked to 0 (the decoder looks): CF too is undefined where the count may reach the
 * operand's size, and rcl, rcr of 8 or 16 bits may be a full turn.  By cl: none.
 */
static u16 shift_writes(const struct probe *pr, u16 certain, u32 *use)
{
	u16 wide = pr->i.operand_width >= 32 ? AP_FL_CF : 0;
	const ZydisDecodedOperand *count = &pr->op[pr->i.operand_count_visible - 1];

	if (pr->op[0].size < 32)
		wide = 0;
	if (count->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return 0;
	if (pr->i.raw.imm[0].size == 0)
		return certain | AP_FL_OF;
	*use |= AP_C_SHIFT;
	switch (pr->i.mnemonic) {
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
		return AP_FL_CF;
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
		return wide;
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		return wide ? AP_FL_CF | AP_FL_PF | AP_FL_ZF | AP_FL_SF : 0;
	default:
		return wide | AP_FL_PF | AP_FL_ZF | AP_FL_SF;
	}
}

static void fixup_flags(struct ap_x86_class *c, const struct probe *pr)
{
	switch (pr->i.mnemonic) {
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_TEST:
		c->fl_write |= AP_FL_AF; /* undefined on paper, cleared by every CPU there is */
		break;
	case ZYDIS_MNEMONIC_SBB: /* Zydis has AF for undefined */
		c->fl_write = AP_FL_ALL;
		break;
	case ZYDIS_MNEMONIC_TZCNT: /* older CPUs run bsf, bsr in their place */
	case ZYDIS_MNEMONIC_LZCNT:
		c->fl_write = AP_FL_ZF;
		break;
	case ZYDIS_MNEMONIC_BEXTR: /* CF, OF: cleared, which Zydis leaves out */
		c->fl_write = AP_FL_ZF | AP_FL_CF | AP_FL_OF;
		break;
	case ZYDIS_MNEMONIC_VMCALL: /* flags are the hypervisor's affair */
	case ZYDIS_MNEMONIC_VMMCALL:
	case ZYDIS_MNEMONIC_VMFUNC:
		c->fl_read = AP_FL_ALL;
		c->fl_write = 0;
		break;
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_ROL:
	case ZYDIS_MNEMONIC_ROR:
	case ZYDIS_MNEMONIC_RCL:
	case ZYDIS_MNEMONIC_RCR:
	case ZYDIS_MNEMONIC_SHLD:
	case ZYDIS_MNEMONIC_SHRD:
		c->fl_write = shift_writes(pr, c->fl_write, &c->use);
		break;
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
	case ZYDIS_MNEMONIC_CMPXCHG8B:
	case ZYDIS_MNEMONIC_CMPXCHG16B:
		c->fl_write = AP_FL_ZF;
		break;
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_IMUL:
		c->fl_write = AP_FL_CF | AP_FL_OF;
		break;
	case ZYDIS_MNEMONIC_FCOMI:
	case ZYDIS_MNEMONIC_FCOMIP:
	case ZYDIS_MNEMONIC_FUCOMI:
	case ZYDIS_MNEMONIC_FUCOMIP:
		c->fl_write = AP_FL_CF | AP_FL_PF | AP_FL_ZF;
		break;
	default:
		break;
	}
	/* the kernel, or whoever handles the trap, sees all of them */
	if (c->kind == AP_I_SYSCALL || c->kind == AP_I_INT || c->kind == AP_I_IRET ||
	    c->kind == AP_I_FAR || c->kind == AP_I_UD || c->kind == AP_I_XBEGIN) {
		c->fl_read = AP_FL_ALL;
		c->fl_write = 0;
	}
}

static void fixup_memory(struct ap_x86_class *c, const struct probe *pr)
{
	bool address_only = false;

	if (pr->i.mnemonic == ZYDIS_MNEMONIC_ENTER)
		c->flags |= AP_INSN_MEM_READ; /* the enclosing frames' pointers */
	if (pr->i.mnemonic == ZYDIS_MNEMONIC_CLZERO)
		c->flags |= AP_INSN_MEM_WRITE; /* the line at rax, which Zydis leaves out */
	switch (pr->i.meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_CLDEMOTE:
	case ZYDIS_CATEGORY_MPX:
		address_only = true;
		break;
	default:
		break;
	}
	if (pr->i.mnemonic == ZYDIS_MNEMONIC_CLFLUSH || pr->i.mnemonic == ZYDIS_MNEMONIC_UD0 ||
	    pr->i.mnemonic == ZYDIS_MNEMONIC_UD1 || pr->i.mnemonic == ZYDIS_MNEMONIC_LEA ||
	    pr->i.mnemonic == ZYDIS_MNEMONIC_INVLPG)
		address_only = true;
	if (pr->i.meta.category == ZYDIS_CATEGORY_MPX && pr->i.mnemonic == ZYDIS_MNEMONIC_BNDMOV)
		address_only = false;
	if (address_only) {
		c->use &= ~(AP_C_MEM_R | AP_C_MEM_W);
		c->mem_flags |= AP_CM_NO_ACCESS;
	}
}

#define RAX 0x0001
#define RCX 0x0002
#define RDX 0x0004
#define RBX 0x0008
#define RSI 0x0040
#define RDI 0x0080
#define R11 0x0800

static void fixup_registers(struct ap_x86_class *c, const struct probe *pr)
{
	/* Zydis lets cmps, scas and others leave their pointers alone */
	if (pr->i.meta.category == ZYDIS_CATEGORY_STRINGOP ||
	    pr->i.meta.category == ZYDIS_CATEGORY_IOSTRINGOP)
		c->gpr_write |= c->gpr_read & (RSI | RDI);
	switch (pr->i.mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
		c->gpr_read |= RAX;
		c->gpr_write |= RAX | RCX | R11;
		break;
	case ZYDIS_MNEMONIC_VMCALL:
	case ZYDIS_MNEMONIC_VMMCALL:
	case ZYDIS_MNEMONIC_VMFUNC:
		c->gpr_read = 0xffff;
		c->gpr_write = RAX | RCX | RDX | RBX;
		break;
	case ZYDIS_MNEMONIC_XBEGIN: /* an abort leaves its status there */
		c->gpr_write |= RAX;
		c->gpr_read |= RAX;
		break;
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR: /* source 0 leaves the destination alone */
	case ZYDIS_MNEMONIC_TZCNT:
	case ZYDIS_MNEMONIC_LZCNT:
	case ZYDIS_MNEMONIC_LAR:
	case ZYDIS_MNEMONIC_LSL:
		c->use |= AP_C_REG_R;
		break;
	case ZYDIS_MNEMONIC_RDSSPD:
	case ZYDIS_MNEMONIC_RDSSPQ: /* nops where there is no shadow stack */
		c->use |= AP_C_RM_R;
		break;
	case ZYDIS_MNEMONIC_RDGSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
		c->flags |= AP_INSN_GS_BASE;
		break;
	default:
		break;
	}
}

/* Flags beyond the status flags, by those that exist to move them. */
static bool touches_rflags(const struct probe *pr)
{
	const ZydisAccessedFlags *fl = pr->i.cpu_flags;
	u32 system = ZYDIS_CPUFLAG_TF | ZYDIS_CPUFLAG_IF | ZYDIS_CPUFLAG_DF | ZYDIS_CPUFLAG_NT |
		     ZYDIS_CPUFLAG_RF | ZYDIS_CPUFLAG_AC | ZYDIS_CPUFLAG_VIF | ZYDIS_CPUFLAG_VIP |
		     ZYDIS_CPUFLAG_ID;

	switch (pr->i.mnemonic) {
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFD:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return true;
	default:
		break;
	}
	if (pr->i.meta.category == ZYDIS_CATEGORY_STRINGOP ||
	    pr->i.meta.category == ZYDIS_CATEGORY_IOSTRINGOP ||
	    pr->i.meta.category == ZYDIS_CATEGORY_IO || !fl)
		return false;
	return (fl->tested | fl->modified | fl->set_0 | fl->set_1 | fl->undefined) & system;
}

#endif
