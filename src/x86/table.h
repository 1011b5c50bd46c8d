/* SPDX-License-Identifier: MIT */
/*
 * The shape of the generated opcode tables, shared by the decoder that walks them and by
 * tools/gen-opcodes.c and gen-accesses.c that write them.  Private to these two and to the decoder's tests.
 *
 * An entry is a u16: below AP_X86_NODE the index of a class, else AP_X86_NODE plus the index of a
 * node.  A node picks one of its children by some bits of the "selector", a word that the decoder
 * fills from prefixes and ModRM before it starts to walk.  A class holds all there is to say about
 * every encoding that ends in it, register and memory forms together where they agree.
 *
 * No pointers anywhere: the engine's blob has no relocations.
 */
#ifndef AP_X86_TABLE_H
#define AP_X86_TABLE_H

#include "base/types.h"

#define AP_X86_NODE 0x4000

/*
 * Selector fields.  Legacy: PFX is 66 in bit 0 and in bits 1-2 0, 1 (f3) or 2 (f2), B is REX.B.
 * VEX, XOP, EVEX: PFX is pp, LEN is L (VEX, XOP) or L'L and b (EVEX).
 */
#define AP_SEL_PFX  0
#define AP_SEL_W    3
#define AP_SEL_B    4
#define AP_SEL_LEN  4
#define AP_SEL_MOD3 7
#define AP_SEL_REG  8
#define AP_SEL_RM   11

struct ap_x86_node {
	u16 base; /* of the children in ap_x86_children */
	u8 shift; /* child = (selector >> shift) & mask */
	u8 mask;
};

/* How the operands use general registers, and what a class demands of an encoding. */
#define AP_C_REG_R     0x00000001u /* GPR in ModRM.reg is read */
#define AP_C_REG_W     0x00000002u
#define AP_C_REG_8     0x00000004u /* it is a byte register: 4..7 are ah ch dh bh without REX */
#define AP_C_RM_R      0x00000008u /* GPR in ModRM.rm (mod 3) */
#define AP_C_RM_W      0x00000010u
#define AP_C_RM_8      0x00000020u
#define AP_C_VV_R      0x00000040u /* GPR in VEX.vvvv */
#define AP_C_VV_W      0x00000080u
#define AP_C_OPC_R     0x00000100u /* GPR in the low opcode bits */
#define AP_C_OPC_W     0x00000200u
#define AP_C_OPC_8     0x00000400u
#define AP_C_MEM_R     0x00000800u /* explicit memory operand is read */
#define AP_C_MEM_W     0x00001000u
#define AP_C_NO_REG    0x00002000u /* mod 3 is invalid */
#define AP_C_NO_MEM    0x00004000u /* mod 0..2 are invalid */
#define AP_C_NO_RIP    0x00008000u /* rip-relative is invalid */
#define AP_C_NEED_SIB  0x00010000u /* mod 0..2 without a SIB byte are invalid */
#define AP_C_MOFFS     0x00020000u /* a0..a3: absolute address follows the opcode */
#define AP_C_LOCK      0x00040000u /* LOCK is allowed on the memory form */
#define AP_C_STRING    0x00080000u /* f2 and f3 repeat it, counting in rcx */
#define AP_C_SEG_MEM   0x00100000u /* fs and gs apply to the memory form, or no ModRM */
#define AP_C_SHIFT     0x00200000u /* immediate is a count: masked to 0 it leaves the flags alone */
#define AP_C_NE_REG_VV 0x00400000u /* reg and vvvv must differ */
#define AP_C_NE_REG_RM 0x00800000u /* reg and rm must differ (mod 3) */
#define AP_C_NE_VV_RM  0x01000000u
#define AP_C_NE_REG_IX 0x02000000u /* reg and VSIB index must differ */
#define AP_C_NE_VV_IX  0x04000000u
#define AP_C_3DNOW     0x08000000u /* last byte is an opcode suffix */
#define AP_C_SEG_REG   0x10000000u /* fs and gs apply to an implicit operand of the register form */
#define AP_C_ANY_MOD   0x20000000u /* register form whatever mod says */

/* What of a class belongs to its memory form alone, and what to its register form. */
#define AP_C_MEM_BITS                                                                              \
	(AP_C_MEM_R | AP_C_MEM_W | AP_C_NO_RIP | AP_C_NEED_SIB | AP_C_LOCK | AP_C_SEG_MEM |        \
	 AP_C_NE_REG_IX | AP_C_NE_VV_IX)
#define AP_C_REG_BITS                                                                              \
	(AP_C_RM_R | AP_C_RM_W | AP_C_RM_8 | AP_C_NE_REG_RM | AP_C_NE_VV_RM | AP_C_SEG_REG)

/*
 * ok: five nibbles.  reg, rm, vvvv: bit n is set where a register number of 8n..8n+7 is valid
 * (vvvv 0: must be unused).  mask for the register and memory form: bit z << 1 | (aaa != 0).
 */
#define AP_OK_REG      0
#define AP_OK_RM       4
#define AP_OK_VV       8
#define AP_OK_MASK_REG 12
#define AP_OK_MASK_MEM 16

struct ap_x86_class {
	u32 flags; /* AP_INSN_* that hold always */
	u32 use;   /* AP_C_* */
	u32 ok;	   /* AP_OK_* */
	u16 gpr_read, gpr_write, fl_read, fl_write;
	u8 kind;
	u8 imm;	      /* bytes of the first immediate | bytes of the second << 4 */
	u8 cd8;	      /* EVEX disp8 is scaled by 1 << cd8 */
	u8 mem_flags; /* 1: AP_INSN_NO_ACCESS, 2: AP_INSN_VSIB; memory form only */
};

#define AP_CM_NO_ACCESS 1
#define AP_CM_VSIB	2

/* The explicit memory operand of an encoding; a tree of its own leads to it (gen/accesses.inc). */
struct ap_x86_access {
	u16 size;   /* bytes: of a gather, of one element; at least, with AP_XA_OPEN */
	u8 element; /* of a vector, else as size or more than a byte holds */
	u8 flags;   /* AP_XA_* */
};

#define AP_XA_READ  1
#define AP_XA_WRITE 2
#define AP_XA_OPEN  4 /* more than size: extended state, tiles */

#endif
