/* SPDX-License-Identifier: MIT */
/*
 * Owns ap_insn_decode: bytes in, struct ap_insn out.  Everything about single opcodes is in the
 * generated tables (gen/opcodes.inc, shape in table.h); this file knows the encoding itself:
 * prefixes, escapes, ModRM, SIB, displacement, immediates, and which register numbers result.
 *
 * It is the biggest cost of translation, so it is written as one straight line: every step inlines
 * into decode(), bytes are read without bounds checks (short input is padded first, the length is
 * judged at the end), and the table walk is two dependent loads for the usual instruction.
 *
 * Reference: Intel SDM vol. 2 chapter 2; the meaning of repeated and useless prefixes is Zydis'.
 */
#include "x86/insn.h"

#include "x86/table.h"

#include "x86/gen/opcodes.inc"

#define ENODATA_ 61
#define EILSEQ_	 84

/* The longest run of bytes looked at: 14 prefixes, opcode, ModRM, SIB, disp32, two immediates. */
#define LOOK_AHEAD AP_INSN_LOOK

/* What a byte is where a prefix or opcode may stand. */
enum lead {
	L_OPCODE,
	L_0F,
	L_VEX2,
	L_VEX3,
	L_EVEX,
	L_8F,
	L_PREFIX, /* and all that follow */
	L_REX = L_PREFIX,
	L_66,
	L_67,
	L_F0,
	L_F2,
	L_F3,
	L_FS,
	L_GS,
	L_NULL_SEG,
};

static const u8 lead[256] = {
	[0x0f] = L_0F,	     [0xc5] = L_VEX2,	      [0xc4] = L_VEX3,	   [0x62] = L_EVEX,
	[0x8f] = L_8F,	     [0x40 ... 0x4f] = L_REX, [0x66] = L_66,	   [0x67] = L_67,
	[0xf0] = L_F0,	     [0xf2] = L_F2,	      [0xf3] = L_F3,	   [0x64] = L_FS,
	[0x65] = L_GS,	     [0x26] = L_NULL_SEG,     [0x2e] = L_NULL_SEG, [0x36] = L_NULL_SEG,
	[0x3e] = L_NULL_SEG,
};

/* A decode under way.  Register extensions are positive: ext = 8 * R (B, X) + 16 * R' (X). */
struct decode_cursor {
	const u8 *code;
	unsigned pos;
	u32 flags; /* of the prefixes */
	u32 sel;   /* table selector, see table.h */
	u8 rex, seg, reg_ext, rm_ext, base_ext, index_ext;
	u8 vvvv, mask; /* mask: z << 1 | (aaa != 0) */
	bool rep;      /* f2 or f3 present */
	bool vector;
};

static inline s64 load(const u8 *p, unsigned size)
{
	s64 v64;
	s32 v32;
	s16 v16;

	switch (size) {
	case 1:
		return (s8)*p;
	case 2:
		__builtin_memcpy(&v16, p, sizeof(v16));
		return v16;
	case 4:
		__builtin_memcpy(&v32, p, sizeof(v32));
		return v32;
	case 8:
		__builtin_memcpy(&v64, p, sizeof(v64));
		return v64;
	default:
		return 0;
	}
}

/* Legacy and REX prefixes.  A REX byte counts only right before the opcode. */
static inline u8 scan_prefixes(struct decode_cursor *cur)
{
	u8 kind;

	for (; (kind = lead[cur->code[cur->pos]]) >= L_PREFIX; cur->pos++) {
		if (cur->pos >= AP_INSN_MAX)
			break;
		if (kind == L_REX) {
			cur->rex = cur->code[cur->pos];
			continue;
		}
		cur->rex = 0;
		switch (kind) {
		case L_66:
			cur->flags |= AP_INSN_OPSIZE;
			cur->sel |= 1u << AP_SEL_PFX;
			break;
		case L_67:
			cur->flags |= AP_INSN_ADDR32;
			break;
		case L_F0:
			cur->flags |= AP_INSN_LOCK;
			break;
		case L_F2:
		case L_F3:
			cur->rep = true;
			cur->sel = (cur->sel & 1) | (kind == L_F3 ? 1u : 2u) << (AP_SEL_PFX + 1);
			break;
		case L_FS:
		case L_GS:
			cur->seg = kind == L_FS ? AP_SEG_FS : AP_SEG_GS;
			break;
		default:
			break;
		}
	}
	return kind;
}

/* VEX and XOP: the three-byte form's second and third byte. */
static inline void vex_payload(struct decode_cursor *cur, u8 p1, u8 p2)
{
	cur->reg_ext = (~p1 >> 4) & 8;
	cur->index_ext = (~p1 >> 3) & 8;
	cur->rm_ext = cur->base_ext = (~p1 >> 2) & 8;
	cur->vvvv = (~p2 >> 3) & 15;
	cur->sel = (u32)(p2 & 3) << AP_SEL_PFX | (u32)(p2 >> 7) << AP_SEL_W |
		   (u32)(p2 >> 2 & 1) << AP_SEL_LEN;
	cur->flags |= AP_INSN_VEX;
	cur->vector = true;
}

static inline void evex_payload(struct decode_cursor *cur, const u8 *p)
{
	cur->reg_ext = ((~p[1] >> 4) & 8) | (~p[1] & 16);
	cur->index_ext = ((~p[1] >> 3) & 8) | ((~p[3] & 8) << 1);
	cur->base_ext = (~p[1] >> 2) & 8;
	cur->rm_ext = cur->base_ext | ((~p[1] >> 2) & 16);
	cur->vvvv = ((~p[2] >> 3) & 15) | ((~p[3] & 8) << 1);
	cur->mask = (p[3] >> 7) << 1 | ((p[3] & 7) != 0);
	cur->sel = (u32)(p[2] & 3) << AP_SEL_PFX | (u32)(p[2] >> 7) << AP_SEL_W |
		   (u32)(p[3] >> 5 & 3) << AP_SEL_LEN | (u32)(p[3] >> 4 & 1) << (AP_SEL_LEN + 2);
	cur->flags |= AP_INSN_EVEX;
	cur->vector = true;
}

/*
 * VEX, XOP and EVEX up to the opcode.  Returns the opcode's map or 0 if the prefix is no good.
 */
static inline u8 vector_prefix(struct decode_cursor *cur, u8 kind)
{
	const u8 *p = cur->code + cur->pos;
	u8 map = 1;

	if (cur->rex || cur->rep || (cur->flags & (AP_INSN_LOCK | AP_INSN_OPSIZE)))
		return 0;
	switch (kind) {
	case L_VEX2:
		vex_payload(cur, (p[1] & 0x80) | 0x60, p[1] & 0x7f);
		cur->pos += 2;
		return map;
	case L_EVEX:
		map = p[1] & 15;
		if (!(p[2] & 4) || map == 0 || map == 4 || map > 6)
			return 0;
		evex_payload(cur, p);
		cur->pos += 4;
		return map;
	default:
		map = p[1] & 31;
		if (kind == L_VEX3 ? map == 0 || map > 3 : map > 10)
			return 0;
		vex_payload(cur, p[1], p[2]);
		cur->pos += 3;
		return map;
	}
}

static inline void rex_payload(struct decode_cursor *cur)
{
	u8 rex = cur->rex;

	cur->reg_ext = (rex & 4) << 1;
	cur->index_ext = (rex & 2) << 2;
	cur->rm_ext = cur->base_ext = (rex & 1) << 3;
	cur->sel |= (u32)(rex >> 3 & 1) << AP_SEL_W | (u32)(rex & 1) << AP_SEL_B;
}

/* Finds the table of the opcode's map; leaves pos on the opcode byte.  NULL if there is none. */
static inline const u16 *find_root(struct decode_cursor *cur, u8 kind, u8 *map)
{
	const u8 *p = cur->code + cur->pos;

	*map = 0;
	if (ap_likely(kind == L_OPCODE) || (kind == L_8F && (p[1] & 31) < 8)) {
		rex_payload(cur);
		return ap_x86_legacy[0];
	}
	if (kind == L_0F) {
		rex_payload(cur);
		*map = p[1] == 0x38 ? 2 : p[1] == 0x3a ? 3 : 1;
		cur->pos += *map == 1 ? 1 : 2;
		return ap_x86_legacy[*map];
	}
	if (kind >= L_PREFIX)
		return NULL;
	*map = vector_prefix(cur, kind);
	if (*map == 0)
		return NULL;
	if (kind == L_EVEX)
		return ap_x86_evex[*map > 4 ? *map - 2 : *map - 1];
	return kind == L_8F ? ap_x86_xop[*map - 8] : ap_x86_vex[*map - 1];
}

/* SIB and displacement of a memory operand; pos is behind ModRM.  Returns registers read. */
static inline u16 parse_memory(struct decode_cursor *cur, struct ap_insn *insn, u32 *flags,
			       unsigned cd8, bool vsib)
{
	u8 mod = insn->modrm >> 6, base = insn->modrm & 7;
	u16 read = 0;

	insn->disp_size = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	if (base == 4) {
		u8 sib = cur->code[cur->pos++], index = (sib >> 3 & 7) | cur->index_ext;

		insn->sib = sib;
		*flags |= AP_INSN_HAS_SIB;
		base = sib & 7;
		if (!vsib && (index & 15) != 4)
			read = 1u << (index & 15);
		if (base == 5 && mod == 0)
			insn->disp_size = 4;
		else
			read |= 1u << (base | cur->base_ext);
	} else if (base == 5 && mod == 0) {
		insn->disp_size = 4;
		*flags |= AP_INSN_RIP_REL;
	} else {
		read = 1u << (base | cur->base_ext);
	}
	insn->disp_off = insn->disp_size ? cur->pos : 0;
	insn->disp = load(cur->code + cur->pos, insn->disp_size);
	if (mod == 1)
		insn->disp *= 1 << cd8;
	cur->pos += insn->disp_size;
	return read;
}

/* Register number of a GPR operand: without REX the byte registers 4..7 are ah ch dh bh. */
static inline unsigned gpr_bit(const struct decode_cursor *cur, unsigned reg, bool is_byte)
{
	if (is_byte && !cur->rex && !cur->vector)
		reg &= 3;
	return 1u << (reg & 15);
}

/* The explicit operands' part of gpr_read and gpr_write. */
static inline void operand_registers(const struct decode_cursor *cur, struct ap_insn *insn, u32 use,
				     bool is_reg)
{
	unsigned reg = gpr_bit(cur, (insn->modrm >> 3 & 7) | cur->reg_ext, use & AP_C_REG_8);
	unsigned rm = gpr_bit(cur, (insn->modrm & 7) | cur->base_ext, use & AP_C_RM_8);

	if (use & AP_C_REG_R)
		insn->gpr_read |= reg;
	if (use & AP_C_REG_W)
		insn->gpr_write |= reg;
	if (is_reg && (use & AP_C_RM_R))
		insn->gpr_read |= rm;
	if (is_reg && (use & AP_C_RM_W))
		insn->gpr_write |= rm;
	if (ap_unlikely(use & (AP_C_VV_R | AP_C_VV_W))) {
		insn->gpr_read |= use & AP_C_VV_R ? 1u << (cur->vvvv & 15) : 0;
		insn->gpr_write |= use & AP_C_VV_W ? 1u << (cur->vvvv & 15) : 0;
	}
	if (use & (AP_C_OPC_R | AP_C_OPC_W)) {
		unsigned opc = gpr_bit(cur, (insn->opcode & 7) | cur->base_ext, use & AP_C_OPC_8);

		insn->gpr_read |= use & AP_C_OPC_R ? opc : 0;
		insn->gpr_write |= use & AP_C_OPC_W ? opc : 0;
	}
}

/* Pairs of register numbers that some vector instructions want to be different. */
static bool registers_clash(const struct decode_cursor *cur, const struct ap_insn *insn, u32 use,
			    bool is_reg)
{
	u8 reg = (insn->modrm >> 3 & 7) | cur->reg_ext, rm = (insn->modrm & 7) | cur->rm_ext;
	u8 index = (insn->sib >> 3 & 7) | cur->index_ext;
	u8 vvvv = cur->vvvv;

	if (use & (AP_C_NE_REG_IX | AP_C_NE_VV_IX))
		vvvv &= 15; /* V' belongs to the index */
	if ((use & AP_C_NE_REG_VV) && reg == vvvv)
		return true;
	if (is_reg)
		return ((use & AP_C_NE_REG_RM) && reg == rm) ||
		       ((use & AP_C_NE_VV_RM) && vvvv == rm);
	return ((use & AP_C_NE_REG_IX) && reg == index) || ((use & AP_C_NE_VV_IX) && vvvv == index);
}

/* Register numbers, vvvv and mask against what the class allows. */
static inline bool vector_is_valid(const struct decode_cursor *cur,
				   const struct ap_x86_class *class, bool is_reg)
{
	u32 ok = class->ok;
	u8 vvvv = cur->vvvv;

	if (!is_reg && (class->mem_flags & AP_CM_VSIB))
		vvvv &= 15;
	if (!(ok >> AP_OK_VV & 15) ? vvvv != 0 : !(ok >> (AP_OK_VV + (vvvv >> 3)) & 1))
		return false;
	return !(cur->flags & AP_INSN_EVEX) ||
	       (ok >> ((is_reg ? AP_OK_MASK_REG : AP_OK_MASK_MEM) + cur->mask) & 1);
}

static inline bool modrm_is_valid(const struct decode_cursor *cur, const struct ap_insn *insn,
				  const struct ap_x86_class *class, bool is_reg)
{
	u32 use = class->use, ok = class->ok;
	u32 deny = is_reg ? AP_C_NO_REG : AP_C_NO_MEM;

	if (use & deny)
		return false;
	if (!(ok >> (AP_OK_REG + (cur->reg_ext >> 3)) & 1))
		return false;
	if (is_reg && !(ok >> (AP_OK_RM + (cur->rm_ext >> 3)) & 1))
		return false;
	if (!is_reg && (use & AP_C_NEED_SIB) && (insn->modrm & 7) != 4)
		return false;
	if (!is_reg && (use & AP_C_NO_RIP) && (insn->modrm & 0xc7) == 5)
		return false;
	return true;
}

/* ModRM and what follows it up to the immediates; false if the class does not allow it. */
static inline bool parse_modrm(struct decode_cursor *cur, struct ap_insn *insn,
			       const struct ap_x86_class *class, u32 *flags)
{
	u32 use = class->use;
	bool is_reg = insn->modrm >= 0xc0 || (use & AP_C_ANY_MOD);

	insn->modrm_off = cur->pos++;
	if (ap_unlikely(!modrm_is_valid(cur, insn, class, is_reg)))
		return false;
	if (!is_reg) {
		*flags |= AP_INSN_MEM | (use & AP_C_MEM_R ? AP_INSN_MEM_READ : 0) |
			  (use & AP_C_MEM_W ? AP_INSN_MEM_WRITE : 0);
		if (class->mem_flags)
			*flags |= (class->mem_flags & AP_CM_NO_ACCESS ? AP_INSN_NO_ACCESS : 0) |
				  (class->mem_flags & AP_CM_VSIB ? AP_INSN_VSIB : 0);
		insn->gpr_read |=
			parse_memory(cur, insn, flags, class->cd8, class->mem_flags & AP_CM_VSIB);
	}
	if (ap_unlikely(use & (AP_C_NE_REG_VV | AP_C_NE_REG_RM | AP_C_NE_VV_RM | AP_C_NE_REG_IX |
			       AP_C_NE_VV_IX)))
		return !registers_clash(cur, insn, use, is_reg);
	return true;
}

/* The rare properties: shift counts, string repetition, absolute addresses, 3DNow! suffixes. */
static bool parse_special(struct decode_cursor *cur, struct ap_insn *insn, u32 use, u32 *flags)
{
	if (use & AP_C_MOFFS) {
		insn->disp_off = cur->pos;
		insn->disp_size = *flags & AP_INSN_ADDR32 ? 4 : 8;
		insn->disp = load(cur->code + cur->pos, insn->disp_size);
		cur->pos += insn->disp_size;
	}
	if ((use & AP_C_STRING) && cur->rep) {
		*flags |= AP_INSN_REP;
		insn->fl_write = 0; /* rcx may be 0 */
	}
	if (use & AP_C_SHIFT) {
		bool is_byte = insn->map == 0 && insn->opcode == 0xc0;
		u8 mask = (insn->rex & 8) && !is_byte ? 63 : 31;

		if (!(cur->code[cur->pos] & mask))
			insn->fl_write = 0;
	}
	if (use & AP_C_3DNOW) {
		u8 suffix = cur->code[cur->pos];

		if (ap_x86_3dnow[suffix >> 3] >> (suffix & 7) & 1)
			return true;
		cur->pos++; /* the verdict rests on it */
		return false;
	}
	return true;
}

static inline void parse_immediates(struct decode_cursor *cur, struct ap_insn *insn, u8 sizes)
{
	insn->imm_size = sizes & 15;
	insn->imm_off = sizes ? cur->pos : 0;
	insn->imm = load(cur->code + cur->pos, sizes & 15);
	cur->pos += (sizes & 15) + (sizes >> 4);
}

/* Everything behind the opcode byte; false if invalid, with pos behind what shows it. */
static inline bool decode_rest(struct decode_cursor *cur, struct ap_insn *insn,
			       const struct ap_x86_class *class)
{
	u32 flags = class->flags | cur->flags;
	bool is_reg;

	insn->kind = class->kind;
	insn->gpr_read = class->gpr_read;
	insn->gpr_write = class->gpr_write;
	insn->fl_read = class->fl_read;
	insn->fl_write = class->fl_write;
	insn->disp = 0;
	insn->disp_off = insn->disp_size = insn->modrm_off = insn->sib = 0;
	if (flags & AP_INSN_HAS_MODRM) {
		if (!parse_modrm(cur, insn, class, &flags))
			return false;
	} else {
		insn->modrm = 0;
	}
	is_reg = !(flags & AP_INSN_MEM);
	if (ap_unlikely(cur->vector) && !vector_is_valid(cur, class, is_reg))
		return false;
	operand_registers(cur, insn, class->use, is_reg);
	if (ap_unlikely(class->use & (AP_C_MOFFS | AP_C_STRING | AP_C_SHIFT | AP_C_3DNOW)))
		if (!parse_special(cur, insn, class->use, &flags))
			return false;
	if (ap_unlikely(flags & AP_INSN_LOCK) &&
	    !((class->use & AP_C_LOCK) && (flags & AP_INSN_MEM)))
		return false;
	insn->seg = cur->seg;
	if (!(class->use & (is_reg && (flags & AP_INSN_HAS_MODRM) ? AP_C_SEG_REG : AP_C_SEG_MEM)))
		insn->seg = AP_SEG_NONE;
	parse_immediates(cur, insn, class->imm);
	insn->cond = class->kind == AP_I_JCC ? insn->opcode & 15 : 0;
	insn->flags = flags;
	insn->len = cur->pos;
	return true;
}

/* Decodes from code, of which LOOK_AHEAD bytes can be read and the first avail are real. */
static inline int decode(struct ap_insn *insn, const u8 *code, size_t avail)
{
	struct decode_cursor cur = { .code = code };
	u8 kind = scan_prefixes(&cur);
	const u16 *root;
	unsigned entry, looked;
	bool ok = false;

	insn->nprefix = cur.pos - (cur.rex != 0);
	insn->rex = cur.rex;
	root = find_root(&cur, kind, &insn->map);
	looked = cur.pos + (root ? 0 : kind < L_PREFIX ? 2 : 0);
	if (ap_likely(root != NULL)) {
		insn->opcode_off = cur.pos;
		insn->opcode = code[cur.pos++];
		insn->modrm = code[cur.pos];
		cur.sel |= (u32)(insn->modrm >= 0xc0) << AP_SEL_MOD3 |
			   (u32)(insn->modrm >> 3 & 7) << AP_SEL_REG |
			   (u32)(insn->modrm & 7) << AP_SEL_RM;
		insn->sel = (u16)cur.sel;
		for (entry = root[insn->opcode]; entry >= AP_X86_NODE;) {
			const struct ap_x86_node *node = &ap_x86_nodes[entry - AP_X86_NODE];

			looked = node->shift >= AP_SEL_MOD3 ? cur.pos : looked;
			entry = ap_x86_children[node->base + (cur.sel >> node->shift & node->mask)];
		}
		if (entry) {
			ok = decode_rest(&cur, insn, &ap_x86_classes[entry]);
			looked = cur.pos - 1;
		}
	}
	if (ap_likely(ok && cur.pos <= avail && cur.pos <= AP_INSN_MAX))
		return 0;
	return looked >= avail && avail < AP_INSN_MAX ? -ENODATA_ : -EILSEQ_;
}

/* Too near to the end of the readable bytes: go on with a copy, zeros behind it. */
static __attribute__((noinline)) int decode_short(struct ap_insn *insn, const u8 *code,
						  size_t avail)
{
	u64 copy[LOOK_AHEAD / 8] = { 0, 0, 0, 0, 0 };
	u8 *bytes = (u8 *)copy;
	unsigned n;

	if (avail >= 8 && avail <= 16) {
		__builtin_memcpy(bytes + avail - 8, code + avail - 8, 8);
		__builtin_memcpy(bytes, code, 8);
	} else if (avail > 16) {
		__builtin_memcpy(bytes, code, 16);
	} else {
		for (n = 0; n < avail; n++) {
			bytes[n] = code[n];
			__asm__("" : "+r"(n)); /* or it becomes a call of memcpy */
		}
	}
	return decode(insn, bytes, avail);
}

int ap_insn_decode(struct ap_insn *insn, const u8 *code, size_t avail)
{
	if (ap_unlikely(avail < LOOK_AHEAD))
		return decode_short(insn, code, avail);
	return decode(insn, code, avail);
}

int ap_insn_decode_in(struct ap_insn *insn, const u8 *code, size_t avail)
{
	return decode(insn, code, avail);
}
