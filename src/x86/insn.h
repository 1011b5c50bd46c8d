/* SPDX-License-Identifier: MIT */
/*
 * The engine's decoder: what a translator has to know about one 64-bit mode instruction and no
 * more.  Not a disassembler (that is Zydis' work, which also generated the tables in gen/ and is
 * the oracle of the tests).  Freestanding, no allocation, reentrant, no state.
 *
 * Sources: Intel SDM vol. 2 and AMD APM vol. 3 by way of Zydis 4.0's tables.
 */
#ifndef AP_X86_INSN_H
#define AP_X86_INSN_H

#include "base/types.h"

#define AP_INSN_MAX 15

/* What an instruction does to control flow. */
enum ap_insn_kind {
	AP_I_OTHER,    /* falls through; no special care beyond operands */
	AP_I_JCC,      /* 0x70..7f, 0f 80..8f */
	AP_I_JRCXZ,    /* jrcxz, jecxz, loop, loope, loopne (rel8 only) */
	AP_I_JMP,      /* direct near jmp */
	AP_I_CALL,     /* direct near call */
	AP_I_JMP_IND,  /* near indirect jmp r/m64 */
	AP_I_CALL_IND, /* near indirect call r/m64 */
	AP_I_RET,      /* near ret, ret imm16 */
	AP_I_SYSCALL,  /* syscall */
	AP_I_INT,      /* int n, int3, int1, into: traps by itself */
	AP_I_IRET,     /* iret family */
	AP_I_FAR,      /* far jmp, call, ret, sysenter, sysexit, sysret: the engine refuses */
	AP_I_XBEGIN,   /* xbegin rel */
	AP_I_UD, /* ud0, ud1, ud2, hlt and other instructions that always fault in user mode */
};

/* Status flags, as bits of EFLAGS. */
#define AP_FL_CF  0x001
#define AP_FL_PF  0x004
#define AP_FL_AF  0x010
#define AP_FL_ZF  0x040
#define AP_FL_SF  0x080
#define AP_FL_OF  0x800
#define AP_FL_ALL 0x8d5

enum ap_seg_reg { AP_SEG_NONE, AP_SEG_FS, AP_SEG_GS };

#define AP_INSN_HAS_MODRM (1u << 0)
#define AP_INSN_HAS_SIB	  (1u << 1)
#define AP_INSN_RIP_REL	  (1u << 2) /* memory operand is [rip + disp32]; disp at disp_off */
#define AP_INSN_MEM	  (1u << 3) /* has an explicit ModRM memory operand */
#define AP_INSN_MEM_READ  (1u << 4) /* reads memory, implicit accesses (stack, string) included */
#define AP_INSN_MEM_WRITE (1u << 5) /* writes memory, likewise */
#define AP_INSN_LOCK	  (1u << 6)
#define AP_INSN_REP	  (1u << 7)  /* a rep/repe/repne prefix that repeats a string operation */
#define AP_INSN_ADDR32	  (1u << 8)  /* 67 prefix */
#define AP_INSN_OPSIZE	  (1u << 9)  /* 66 prefix present (mandatory or not) */
#define AP_INSN_VEX	  (1u << 10) /* VEX or XOP encoded */
#define AP_INSN_EVEX	  (1u << 11)
#define AP_INSN_GS_BASE	  (1u << 12) /* rdgsbase or wrgsbase */
#define AP_INSN_MOV_SEG	  (1u << 13) /* writes or reads %gs as a selector (mov, push, pop, lgs) */
#define AP_INSN_NO_ACCESS                                                                          \
	(1u << 14) /* ModRM memory operand is only an address: lea, nop, prefetch */
#define AP_INSN_RFLAGS                                                                             \
	(1u << 15) /* reads or writes flags beyond status: pushf, popf, cli, std, cld.. */
#define AP_INSN_VSIB (1u << 16) /* gather/scatter: SIB index is a vector register */

struct ap_insn {
	u8 len;	   /* 1..15 */
	u8 kind;   /* enum ap_insn_kind */
	u8 seg;	   /* enum ap_seg_reg: fs/gs override that applies to a memory operand */
	u8 map;	   /* 0 one-byte, 1 0f, 2 0f38, 3 0f3a, EVEX maps 5 6; XOP 8 9 10 */
	u8 opcode; /* last opcode byte */
	u8 rex;	   /* REX byte or 0 */
	u8 modrm, sib;
	u8 nprefix;		/* bytes of legacy prefixes before REX/VEX/opcode */
	u8 opcode_off;		/* offset of the last opcode byte */
	u8 modrm_off;		/* offset of ModRM; valid with AP_INSN_HAS_MODRM */
	u8 disp_off, disp_size; /* 0 size: none */
	u8 imm_off, imm_size;	/* branch displacements included (imm_off of the rel8/rel32) */
	u8 cond;		/* condition code 0..15 of AP_I_JCC */
	u16 sel;		/* what picks it in the tables (table.h) */
	u32 flags;		/* AP_INSN_* */
	u16 gpr_read; /* bit n: register n (any part) is read, implicit and address uses included */
	u16 gpr_write; /* bit n: register n (any part) may be written */
	u16 fl_read;   /* status flags it may read (AP_FL_*); over-approximate */
	u16 fl_write; /* status flags it certainly replaces whatever the operands; under-approximate */
	s64 imm;      /* sign-extended first immediate or branch displacement */
	s64 disp;     /* sign-extended displacement */
};

/*
 * Decodes the instruction at code[0..avail).
 * Return 0, -ENODATA (61) where avail ends before the instruction does, or -EILSEQ (84) where the
 * bytes are no valid 64-bit mode instruction (the CPU raises #UD, or the decoder is too old).
 */
AP_MUST_CHECK int ap_insn_decode(struct ap_insn *insn, const u8 *code, size_t avail);
/*
 * The same for code in a buffer of AP_INSN_LOOK bytes, of which the first avail are the program's, and the others may be
 * anything.  It need not be copied.
 */
#define AP_INSN_LOOK 40
AP_MUST_CHECK int ap_insn_decode_in(struct ap_insn *insn, const u8 *code, size_t avail);

/* Target of a direct branch at pc. */
static inline u64 ap_insn_target(const struct ap_insn *insn, u64 pc)
{
	return pc + insn->len + (u64)insn->imm;
}

#endif
