/* SPDX-License-Identifier: MIT */
/* LIBS: -lZydis */
/*
 * Runs random code, made with Zydis' encoder from a seed, and prints a hash of registers, flags,
 * vector registers and memory after each piece: the same natively and under an engine.
 *
 *	random_code SEED [ROUNDS [ROUND [PIECES]]]
 *
 * With ROUND only that one is run, with its code and its state in full, so that outputs can be
 * compared; PIECES cuts its code short, which finds the instruction that differs. With
 * RANDOM_CODE_TICK in the environment a signal arrives every 100 microseconds, too.
 *
 * Everything lies at fixed addresses. No register but rsp is reserved: an operand in memory has its
 * base and index loaded just before. Flags that an instruction leaves undefined are tracked: none
 * is read before it is defined again, and what remains at the end is masked.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "random_forms.h"
#include "random_state.h"

#define CODE_SIZE  0x8000
#define DATA_SIZE  0x2000
#define AREA_SIZE  (CODE_SIZE + 2 * DATA_SIZE)
#define STATUS	   0x8d5u /* CF PF AF ZF SF OF */
#define CF	   0x001u
#define AF	   0x010u
#define OF	   0x800u
#define MAX_PIECES 60
#define N_LEAVES   3
#define N_CELLS	   32
#define RUNS	   3
#define RSP	   4

/* --- random numbers */

static uint64_t rng;

static uint64_t rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng * 0x2545f4914f6cdd1dull >> 16;
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)(rnd() % n);
}

/* --- the generator */

static ZydisDecoder decoder;
static uint8_t *code, *data, *stack; /* fixed addresses */
static uint8_t *out;
static uint32_t undefined; /* flags that nobody may read */
static uint64_t leaves[N_LEAVES];
static unsigned int leaf_pops[N_LEAVES], n_leaves, n_cells;
static int depth;
static bool quiet; /* for some pieces no flag is written, so that they live across blocks */

#define DATA_MID (data + DATA_SIZE / 2)
#define CELL(n)	 ((uint64_t *)(data + DATA_SIZE - 8 * N_CELLS) + (n))

static ZydisRegister gpr(unsigned int width, unsigned int n)
{
	static const ZydisRegister first[] = { ZYDIS_REGISTER_AX, ZYDIS_REGISTER_EAX,
					       ZYDIS_REGISTER_RAX };
	static const ZydisRegister bytes[] = {
		ZYDIS_REGISTER_AL,   ZYDIS_REGISTER_CL,	  ZYDIS_REGISTER_DL,   ZYDIS_REGISTER_BL,
		ZYDIS_REGISTER_AH,   ZYDIS_REGISTER_BPL,  ZYDIS_REGISTER_SIL,  ZYDIS_REGISTER_DIL,
		ZYDIS_REGISTER_R8B,  ZYDIS_REGISTER_R9B,  ZYDIS_REGISTER_R10B, ZYDIS_REGISTER_R11B,
		ZYDIS_REGISTER_R12B, ZYDIS_REGISTER_R13B, ZYDIS_REGISTER_R14B, ZYDIS_REGISTER_BH,
	};

	if (width == 8)
		return bytes[n];
	return first[width / 32] + n;
}

/* any but rsp */
static unsigned int any_gpr(void)
{
	unsigned int n = below(15);

	return n < RSP ? n : n + 1;
}

static void emit_bytes(const void *bytes, size_t n)
{
	memcpy(out, bytes, n);
	out += n;
}

#define BYTES(...)                                                                                 \
	do {                                                                                       \
		const uint8_t bytes_[] = { __VA_ARGS__ };                                          \
		emit_bytes(bytes_, sizeof(bytes_));                                                \
	} while (0)

/* cmp defines all status flags */
static void define_flags(void)
{
	if (undefined)
		BYTES(0x48, 0x39, (uint8_t)(0xc0 | below(64)));
	undefined = 0;
}

/* What the instruction at out does to the flags; those that it reads are made defined before. */
static void account_flags(uint8_t *bytes, size_t *len)
{
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const ZydisAccessedFlags *f;
	uint32_t written;

	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, *len, &insn, operands))) {
		*len = 0;
		return;
	}
	f = insn.cpu_flags;
	if (!f)
		return;
	if (f->tested & undefined & STATUS) {
		*len = 0;
		return;
	}
	if (quiet && ((f->modified | f->set_0 | f->set_1 | f->undefined) & STATUS)) {
		*len = 0;
		return;
	}
	written = (f->modified | f->set_0 | f->set_1) & ~f->undefined;
	if (is_shift(insn.mnemonic)) {
		/* a count of zero leaves all flags; one that is not 1 leaves some undefined */
		undefined |= OF | AF;
		if (insn.operand_width <= 16)
			undefined |= CF;
		return;
	}
	undefined = (undefined & ~written) | (f->undefined & STATUS);
}

static void load_imm(unsigned int reg, uint64_t value)
{
	uint8_t rex = (uint8_t)(0x48 | (reg >= 8));

	if (value <= UINT32_MAX && below(2)) {
		if (reg >= 8)
			BYTES(0x41);
		BYTES((uint8_t)(0xb8 | (reg & 7)));
		emit_bytes(&value, 4);
		return;
	}
	BYTES(rex, (uint8_t)(0xb8 | (reg & 7)));
	emit_bytes(&value, 8);
}

/* A memory operand: registers are loaded so that it falls in the middle of data. */
static void make_memory(ZydisEncoderOperand *op, unsigned int bytes, bool aligned)
{
	unsigned int base = any_gpr(), index = any_gpr(), scale = 1u << below(4);
	uint64_t low = (uint64_t)data <= INT32_MAX / 2;
	uint64_t at = (uint64_t)DATA_MID - 1024 + below(2048), i = below(32);

	if (aligned)
		at &= ~63ull;
	op->type = ZYDIS_OPERAND_TYPE_MEMORY;
	op->mem.size = (ZyanU16)bytes;
	switch (below(low ? 8 : 6)) {
	case 0: /* rip-relative: EncodeInstructionAbsolute makes it so */
		op->mem.base = ZYDIS_REGISTER_RIP;
		op->mem.displacement = (ZyanI64)at;
		return;
	case 1: /* above a return address or a loop's counter */
		if (!aligned) {
			op->mem.base = ZYDIS_REGISTER_RSP;
			op->mem.displacement = 16 + (ZyanI64)below(300);
			return;
		}
		/* fall through */
	case 2:
	case 3:
		op->mem.base = gpr(64, base);
		op->mem.displacement = below(2) ? (ZyanI64)(int8_t)rnd() & ~63 : 0;
		load_imm(base, at - (uint64_t)op->mem.displacement);
		return;
	case 6:
		op->mem.displacement = (ZyanI64)at;
		return;
	case 7: /* 67 */
		op->mem.base = gpr(32, base);
		op->mem.displacement = below(2) ? (ZyanI64)below(4000) : 0;
		load_imm(base, (uint32_t)(at - (uint64_t)op->mem.displacement) |
				       (below(2) ? rnd() << 32 : 0));
		return;
	default:
		if (base == index)
			index = base == 15 ? 0 : base < 8 ? 9 : base + 1;
		op->mem.base = gpr(64, base);
		op->mem.index = gpr(64, index);
		op->mem.scale = (ZyanU8)scale;
		op->mem.displacement = (ZyanI64)(int32_t)rnd() >> below(30);
		load_imm(base, at - (uint64_t)op->mem.displacement - i * scale);
		load_imm(index, i);
	}
}

static void make_reg(ZydisEncoderOperand *op, ZydisRegister reg)
{
	op->type = ZYDIS_OPERAND_TYPE_REGISTER;
	op->reg.value = reg;
}

static void make_imm(ZydisEncoderOperand *op, uint64_t value)
{
	op->type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
	op->imm.u = value;
}

static void make_gpr(ZydisEncoderOperand *op, unsigned int width, bool memory)
{
	if (memory)
		make_memory(op, width / 8, false);
	else
		make_reg(op, gpr(width, width == 8 ? below(16) : any_gpr()));
}

static void make_vector(ZydisEncoderOperand *op, char c, unsigned int regs)
{
	static const unsigned int sizes[] = { 16, 32, 64 };
	static const ZydisRegister first[] = { ZYDIS_REGISTER_XMM0, ZYDIS_REGISTER_YMM0,
					       ZYDIS_REGISTER_ZMM0 };
	unsigned int kind = (unsigned int)((c | 0x20) - 'x');

	if (c < 'a' && below(2))
		make_memory(op, sizes[kind], true);
	else
		make_reg(op, first[kind] + below(regs));
}

/* Letters of general registers: of which width (0: the form's), and whether it may be in memory. */
static bool make_general(ZydisEncoderOperand *op, char c, unsigned int width, bool memory)
{
	static const struct {
		char letter;
		unsigned char width;
		enum { IN_REGISTER, IN_EITHER, IN_MEMORY } where;
	} kinds[] = {
		{ 'G', 0, IN_REGISTER }, { 'R', 0, IN_EITHER },	   { 'M', 0, IN_MEMORY },
		{ 'B', 8, IN_REGISTER }, { 'Q', 8, IN_EITHER },	   { 'W', 16, IN_EITHER },
		{ 'D', 32, IN_EITHER },	 { 'd', 32, IN_REGISTER }, { 'L', 64, IN_REGISTER },
	};

	if (c == 'E') {
		make_gpr(op, width == 16 ? 32 : width, false);
		return true;
	}
	for (unsigned int k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		if (kinds[k].letter != c)
			continue;
		make_gpr(op, kinds[k].width ? kinds[k].width : width,
			 kinds[k].where == IN_MEMORY || (kinds[k].where == IN_EITHER && memory));
		return true;
	}
	return false;
}

/* Immediates, and registers that an instruction takes as they are or of a small set. */
static bool make_special(ZydisEncoderOperand *op, char c)
{
	switch (c) {
	case 'i':
		make_imm(op, below(2) ? below(128) : below(8));
		return true;
	case 'I':
		make_imm(op, rnd() & INT32_MAX);
		return true;
	case 'u':
		make_imm(op, 1 + below(31));
		return true;
	case 'c':
		make_reg(op, ZYDIS_REGISTER_CL);
		return true;
	case 'k':
		make_reg(op, ZYDIS_REGISTER_K0 + below(8));
		return true;
	case 'K':
		make_reg(op, ZYDIS_REGISTER_K1 + below(7));
		return true;
	case '0':
		make_reg(op, ZYDIS_REGISTER_XMM0);
		return true;
	default:
		return false;
	}
}

static void make_operand(ZydisEncoderOperand *op, char c, unsigned int width, unsigned int regs)
{
	static const char memories[] = "labg"; /* of 8, 16, 32, 64 bytes, every other one aligned */
	const char *at = strchr(memories, c);
	bool memory = below(2);

	if (make_general(op, c, width, memory) || make_special(op, c))
		return;
	if (at)
		make_memory(op, 8u << (at - memories), (at - memories) % 2);
	else if ((c == 's' || c == 't') && memory)
		make_memory(op, c == 's' ? 8 : 4, false);
	else if (c == 's' || c == 't')
		make_vector(op, 'x', 16);
	else
		make_vector(op, c, regs);
}

static bool try_form(const struct form *f)
{
	ZydisEncoderRequest req = { .machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
				    .mnemonic = f->mnemonic };
	unsigned int width = 16u << below(3), regs = f->feature == AVX512 ? 32 : 16;
	uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
	ZyanUSize len = sizeof(bytes);

	req.operand_count = (ZyanU8)strlen(f->operands);
	for (unsigned int i = 0; i < req.operand_count; i++)
		make_operand(&req.operands[i], f->operands[i], width, regs);
	if (two_memories(&req))
		return false;
	if (strchr(f->operands, 'K') && req.operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
		req.evex.zeroing_mask = f->operands[0] != 'k' && below(2);
	if (may_lock(&req) && below(3) == 0)
		req.prefixes |= ZYDIS_ATTRIB_HAS_LOCK;
	/* the base of gs is 0 until a program sets it */
	if (below(12) == 0)
		req.prefixes |= ZYDIS_ATTRIB_HAS_SEGMENT_GS;
	if (ZYAN_FAILED(ZydisEncoderEncodeInstructionAbsolute(&req, bytes, &len, (ZyanU64)out)))
		return false;
	account_flags(bytes, &len);
	if (!len)
		return false;
	emit_bytes(bytes, len);
	return true;
}

static void gen_form(void)
{
	uint8_t *start = out;

	for (;;) {
		const struct form *f = &forms[below(sizeof(forms) / sizeof(*forms))];
		uint32_t was = undefined;

		if (have[f->feature] && try_form(f))
			return;
		out = start;
		undefined = was;
	}
}

static void gen_some(unsigned int n)
{
	while (n--)
		gen_form();
}

static void gen_piece(void);

static void gen_body(unsigned int n)
{
	depth++;
	while (n--)
		gen_piece();
	depth--;
}

/* --- pieces: more than one instruction each */

static void gen_push_pop(void)
{
	unsigned int r = any_gpr(), n;
	uint32_t imm;

	switch (below(4)) {
	case 0:
		BYTES(0x41, (uint8_t)(0x50 | below(8)));
		break;
	case 1:
		imm = (uint32_t)rnd();
		BYTES(0x68);
		emit_bytes(&imm, 4);
		break;
	case 2:
		BYTES(0x6a, (uint8_t)rnd());
		break;
	default:
		BYTES(0xff, 0x74, 0x24, (uint8_t)(8 * below(8))); /* push [rsp + n] */
	}
	for (n = below(3); n; n--)
		gen_form();
	if (below(4))
		BYTES((uint8_t)(0x40 | r >> 3), (uint8_t)(0x58 | (r & 7)));
	else
		BYTES(0x8f, 0x44, 0x24, (uint8_t)(8 * below(8))); /* pop [rsp + n], rsp after */
}

static void gen_flags(void)
{
	uint32_t imm = 0x202 | ((uint32_t)rnd() & STATUS);
	unsigned int r = any_gpr();

	if (below(2)) {
		define_flags();
		BYTES(0x9c, (uint8_t)(0x40 | r >> 3), (uint8_t)(0x58 | (r & 7))); /* pushf, pop */
	} else {
		BYTES(0x68);
		emit_bytes(&imm, 4);
		BYTES(0x9d);
		undefined = 0;
	}
}

/* xor edx, edx; or r, 1; div r -- or with rax halved, cqo and idiv */
static void gen_divide(void)
{
	static const uint8_t divisors[] = { 1, 3, 6, 7, 9, 14 };
	unsigned int r = divisors[below(sizeof(divisors))];
	uint8_t rex = (uint8_t)(0x48 | r >> 3), wide = below(2) ? 8 : 0;
	bool is_signed = below(2);

	BYTES(rex, 0x83, (uint8_t)(0xc8 | (r & 7)), 1);
	if (is_signed) {
		BYTES((uint8_t)(0x40 | wide), 0xd1, 0xe8); /* shr rax */
		BYTES((uint8_t)(0x40 | wide), 0x99);
	} else {
		BYTES(0x31, 0xd2);
	}
	BYTES((uint8_t)(0x40 | wide | r >> 3), 0xf7,
	      (uint8_t)((is_signed ? 0xf8 : 0xf0) | (r & 7)));
	undefined = STATUS;
}

static void gen_string(void)
{
	static const uint8_t ops[] = { 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf };
	uint8_t op = ops[below(sizeof(ops))], prefix = (uint8_t)(0xf2 | below(2));

	load_imm(6, (uint64_t)DATA_MID - 64 + below(128));
	load_imm(7, (uint64_t)DATA_MID - 64 + below(128));
	load_imm(1, below(9));
	define_flags(); /* none is written when rcx is 0 */
	BYTES(below(4) ? 0xfc : 0xfd);
	if (below(4)) {
		/* f2 before movs, stos, lods is odd but repeats as f3 does */
		BYTES(prefix);
	}
	if (below(2))
		BYTES(0x48);
	BYTES(op);
	BYTES(0xfc);
}

/* A jump over n pieces, short or near; the two ways have their own flags, so they are defined. */
static void gen_forward(void)
{
	bool near = below(2);
	uint8_t cc = (uint8_t)below(16), *at;
	int32_t distance;

	define_flags();
	if (near)
		BYTES(0x0f, (uint8_t)(0x80 | cc), 0, 0, 0, 0);
	else if (below(8))
		BYTES((uint8_t)(0x70 | cc), 0);
	else
		BYTES(0xe3, 0); /* jrcxz */
	at = out;
	if (near)
		gen_body(1 + below(3));
	else
		gen_some(below(3)); /* at most 2 x (15 + 20) bytes */
	define_flags();
	distance = (int32_t)(out - at);
	if (near)
		memcpy(at - 4, &distance, 4);
	else
		at[-1] = (uint8_t)distance;
}

/* mov [cell], n; again: body; sub [cell], 1; jnz again */
static void gen_loop_counted(void)
{
	uint64_t *cell = CELL(n_cells);
	uint8_t *again;
	int32_t rel;

	if (n_cells == N_CELLS)
		return;
	n_cells++;
	rel = (int32_t)((uint8_t *)cell - (out + 11));
	BYTES(0x48, 0xc7, 0x05);
	emit_bytes(&rel, 4);
	BYTES((uint8_t)(1 + below(6)), 0, 0, 0);
	define_flags();
	again = out;
	gen_body(1 + below(4));
	rel = (int32_t)((uint8_t *)cell - (out + 8));
	BYTES(0x48, 0x83, 0x2d);
	emit_bytes(&rel, 4);
	BYTES(1);
	undefined = 0;
	rel = (int32_t)(again - (out + 6));
	BYTES(0x0f, 0x85);
	emit_bytes(&rel, 4);
}

/* mov ecx, n; again: push rcx; body; pop rcx; loop again */
static void gen_loop(void)
{
	uint8_t *start = out, *again;
	uint32_t was = undefined;

	load_imm(1, 1 + below(5));
	define_flags();
	again = out;
	BYTES(0x51);
	gen_some(1 + below(2));
	BYTES(0x59);
	define_flags();
	BYTES((uint8_t)(0xe0 | below(3)), (uint8_t)(again - (out + 2)));
	if (out - again > 128) {
		out = start;
		undefined = was;
	}
}

/* call rel32, call r, call [rip + cell], with what `ret n` will pop pushed before */
static void gen_call(void)
{
	unsigned int leaf = below(N_LEAVES), r = any_gpr();
	uint64_t *cell = CELL(n_cells);
	uint64_t target = leaves[leaf];
	int32_t rel;

	if (n_leaves < N_LEAVES || n_cells == N_CELLS)
		return;
	define_flags();
	if (leaf_pops[leaf])
		BYTES(0x6a, (uint8_t)rnd());
	switch (below(3)) {
	case 0:
		rel = (int32_t)((uint8_t *)target - (out + 5));
		BYTES(0xe8);
		emit_bytes(&rel, 4);
		break;
	case 1:
		load_imm(r, target);
		BYTES((uint8_t)(0x40 | r >> 3), 0xff, (uint8_t)(0xd0 | (r & 7)));
		break;
	default:
		n_cells++;
		*cell = target;
		rel = (int32_t)((uint8_t *)cell - (out + 6));
		BYTES(0xff, 0x15);
		emit_bytes(&rel, 4);
	}
	undefined = 0; /* as a leaf leaves it */
}

/* jmp [rip + cell] over an instruction, or jmp rel8 */
static void gen_jump(void)
{
	uint64_t *cell = CELL(n_cells);
	uint32_t was = undefined;
	uint8_t *at;
	int32_t rel;

	if (n_cells == N_CELLS)
		return;
	if (below(2)) {
		BYTES(0xeb, 0);
		at = out;
		gen_form();
		at[-1] = (uint8_t)(out - at);
	} else {
		n_cells++;
		rel = (int32_t)((uint8_t *)cell - (out + 6));
		BYTES(0xff, 0x25);
		emit_bytes(&rel, 4);
		gen_form();
		*cell = (uint64_t)out;
	}
	undefined = was; /* the instruction is jumped over */
}

static void gen_piece(void)
{
	static void (*const pieces[])(void) = { gen_push_pop,	  gen_forward, gen_jump,  gen_loop,
						gen_forward,	  gen_string,  gen_flags, gen_call,
						gen_loop_counted, gen_divide };
	unsigned int n = below(30), quiets = 5;

	if (depth == 0 && below(8) == 0)
		quiet = !quiet;
	if (n >= (quiet ? quiets : sizeof(pieces) / sizeof(*pieces)) || (depth > 1 && n > 3))
		gen_form();
	else
		pieces[n]();
}

/* Leaves first, then the code itself; *entry is where it begins. */
static void generate(unsigned int pieces, uint8_t **entry)
{
	n_leaves = n_cells = 0;
	undefined = 0;
	depth = 2;
	quiet = false;
	out = code + below(4096);
	for (unsigned int i = 0; i < N_LEAVES; i++) {
		leaves[i] = (uint64_t)out;
		leaf_pops[i] = below(3) == 0;
		gen_some(1 + below(5));
		define_flags();
		if (leaf_pops[i])
			BYTES(0xc2, 8, 0);
		else if (below(2))
			BYTES(0xf3, 0xc3);
		else
			BYTES(0xc3);
	}
	n_leaves = N_LEAVES;
	depth = 0;
	undefined = 0;
	*entry = out;
	for (unsigned int i = 0; i < pieces; i++)
		gen_piece();
	/* jmp [rip]; random_code_land */
	BYTES(0xff, 0x25, 0, 0, 0, 0);
	emit_bytes(&(uint64_t){ (uint64_t)random_code_land }, 8);
}

/* --- running it */

static void fill(void *p, size_t n)
{
	uint64_t *words = p;

	for (size_t i = 0; i < n / 8; i++)
		words[i] = below(4) ? rnd() << 16 ^ rnd() : below(256);
}

static uint64_t hash;

static void add_hash(const void *p, size_t n)
{
	const uint8_t *bytes = p;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
}

static void dump_words(const char *name, const void *p, size_t n)
{
	const uint64_t *words = p;

	for (size_t i = 0; i < n / 8; i++)
		printf("%s[%zu] %016llx\n", name, i, (unsigned long long)words[i]);
}

static void dump_code(const uint8_t *end)
{
	ZydisDisassembledInstruction insn;

	for (const uint8_t *p = (const uint8_t *)leaves[0]; p < end; p += insn.info.length) {
		if (ZYAN_FAILED(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, (ZyanU64)p, p,
						      (ZyanUSize)(end - p), &insn)))
			break;
		printf("# %p %s\n", (const void *)p, insn.text);
	}
}

static void run(uint8_t *entry, bool dump)
{
	uint64_t cells[N_CELLS];

	memcpy(cells, CELL(0), sizeof(cells));
	fill(data, DATA_SIZE);
	fill(stack, DATA_SIZE);
	memcpy(CELL(0), cells, sizeof(cells));
	fill(&state, sizeof(state));
	state.gpr[RSP] = (uint64_t)(stack + DATA_SIZE / 2);
	state.flags = 0x202 | (rnd() & STATUS);
	state.mxcsr = 0x1f80;
	state.code = (uint64_t)entry;
	random_code_run();
	state.host_rsp = state.code = 0;
	state.flags &= ~(uint64_t)undefined;
	add_hash(&state, sizeof(state));
	add_hash(data, DATA_SIZE);
	add_hash(stack, DATA_SIZE);
	if (dump) {
		printf("undefined %x mxcsr %x\n", undefined, state.mxcsr);
		dump_words("gpr", state.gpr, sizeof(state.gpr));
		dump_words("flags", &state.flags, 8);
		dump_words("k", state.k, sizeof(state.k));
		dump_words("vec", state.vec, sizeof(state.vec));
		dump_words("data", data, DATA_SIZE);
		dump_words("stack", stack, DATA_SIZE);
	}
}

static void make_area(uint64_t seed)
{
	/* within 2 GB, where addresses fit a displacement, and far from everything */
	void *want = (void *)(seed & 1 ? 0x20000000ull : 0x2a0000000000ull);

	code = mmap(want, AREA_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (code != want) {
		perror("mmap");
		exit(2);
	}
	data = code + CODE_SIZE;
	stack = data + DATA_SIZE;
}

/* On a stack of its own, as the program's is hashed; what it clobbers must be restored. */
static void on_tick(int sig)
{
	(void)sig;
	__asm__ volatile("xor %%eax, %%eax\npxor %%xmm0, %%xmm0\npxor %%xmm7, %%xmm7" ::
				 : "rax", "xmm0", "xmm7", "cc");
}

static void start_ticks(void)
{
	static uint8_t ticks_stack[65536];
	const stack_t alt = { .ss_sp = ticks_stack, .ss_size = sizeof(ticks_stack) };
	const struct itimerval every = { { 0, 100 }, { 0, 100 } };
	struct sigaction sa = { .sa_handler = on_tick, .sa_flags = SA_ONSTACK | SA_RESTART };

	if (sigaltstack(&alt, NULL) || sigaction(SIGALRM, &sa, NULL) ||
	    setitimer(ITIMER_REAL, &every, NULL)) {
		perror("random_code: timer");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	unsigned int rounds = argc > 2 ? (unsigned int)atoi(argv[2]) : 100;
	int only = argc > 3 ? atoi(argv[3]) : -1;
	unsigned int pieces = argc > 4 ? (unsigned int)atoi(argv[4]) : MAX_PIECES;
	uint8_t *entry;

	find_features();
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	make_area(seed);
	if (getenv("RANDOM_CODE_TICK"))
		start_ticks();
	for (unsigned int i = 0; i < rounds; i++) {
		if (only >= 0 && i != (unsigned int)only)
			continue;
		rng = (seed * 0x9e3779b97f4a7c15ull) ^ ((i + 1) * 0xbf58476d1ce4e5b9ull);
		hash = 0xcbf29ce484222325ull;
		if (mprotect(code, CODE_SIZE, PROT_READ | PROT_WRITE))
			return 2;
		generate(pieces, &entry);
		if (mprotect(code, CODE_SIZE, PROT_READ | PROT_EXEC))
			return 2;
		if (only >= 0) {
			dump_code(out - 8);
			fflush(stdout);
		}
		rng |= 1;
		for (int k = 0; k < RUNS; k++)
			run(entry, only >= 0);
		printf("%u %016llx\n", i, (unsigned long long)hash);
	}
	return 0;
}
