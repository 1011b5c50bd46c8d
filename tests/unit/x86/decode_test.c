/* SPDX-License-Identifier: MIT */
/*
 * Encodings with a trick to them, each with the answer that the manuals give, written by hand.
 * The comparison with Zydis (zydis_test.c) cannot find what both get wrong; this can.
 */
/* LIBS: -lZydis */
#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"
#include "x86/insn.h"

enum {
	AX = 1 << 0,
	CX = 1 << 1,
	DX = 1 << 2,
	BX = 1 << 3,
	SP = 1 << 4,
	BP = 1 << 5,
	SI = 1 << 6,
	DI = 1 << 7,
	R8 = 1 << 8,
	R9 = 1 << 9,
	R10 = 1 << 10,
	R11 = 1 << 11,
	R12 = 1 << 12,
	R13 = 1 << 13,
	R14 = 1 << 14,
	R15 = 1 << 15,
};

#define C   AP_FL_CF
#define P   AP_FL_PF
#define A   AP_FL_AF
#define Z   AP_FL_ZF
#define S   AP_FL_SF
#define O   AP_FL_OF
#define ALL AP_FL_ALL

#define MODRM AP_INSN_HAS_MODRM
#define SIB   (AP_INSN_HAS_SIB | MEM)
#define MEM   (AP_INSN_MEM | MODRM)
#define RIP   (AP_INSN_RIP_REL | MEM)
#define RD    AP_INSN_MEM_READ
#define WR    AP_INSN_MEM_WRITE
#define LOCK  AP_INSN_LOCK
#define REP   AP_INSN_REP
#define A32   AP_INSN_ADDR32
#define O16   AP_INSN_OPSIZE
#define VEX   AP_INSN_VEX
#define EVEX  AP_INSN_EVEX
#define NONE  AP_INSN_NO_ACCESS
#define RFL   AP_INSN_RFLAGS

struct expected {
	const char *text;
	const char *bytes;
	u8 kind, disp_off, disp_size, imm_off, imm_size, seg, cond;
	u32 flags;
	u16 r, w, flr, flw;
	s64 imm, disp;
};

/* clang-format off */
static const struct expected plain[] = {
	{ .text = "nop", .bytes = "90" },
	{ "xchg r8, rax", "49 90", .r = AX | R8, .w = AX | R8 },
	{ .text = "pause", .bytes = "f3 90" },
	{ "endbr64", "f3 0f 1e fa", .flags = MODRM },
	{ "nopw cs:0(rax,rax)", "66 2e 0f 1f 84 00 00 00 00 00", .disp_off = 6, .disp_size = 4,
	  .flags = SIB | NONE | O16, .r = AX },
	{ "mov rbp, rsp", "48 89 e5", .flags = MODRM, .r = SP, .w = BP },
	{ "mov eax, imm32", "b8 78 56 34 92", .imm_off = 1, .imm_size = 4, .w = AX, .imm = (s32)0x92345678 },
	{ "mov ax, imm16", "66 b8 34 12", .imm_off = 2, .imm_size = 2, .r = AX, .w = AX, .imm = 0x1234, .flags = O16 },
	{ "mov r15, imm64", "49 bf 01 02 03 04 05 06 07 88", .imm_off = 2, .imm_size = 8, .w = R15,
	  .imm = (s64)0x8807060504030201 },
	{ "mov eax, imm32 with REX and 66: W wins", "66 48 b8 1 2 3 4 5 6 7 8", .imm_off = 3, .imm_size = 8,
	  .w = AX, .imm = 0x0807060504030201, .flags = O16 },
	{ "mov al, moffs64", "a0 8 7 6 5 4 3 2 1", .disp_off = 1, .disp_size = 8, .disp = 0x0102030405060708,
	  .r = AX, .w = AX, .flags = AP_INSN_MEM | RD },
	{ "mov moffs32, eax", "67 a3 4 3 2 1", .disp_off = 2, .disp_size = 4, .disp = 0x01020304, .r = AX,
	  .flags = AP_INSN_MEM | WR | A32 },
	{ "mov rax, fs:moffs64", "64 48 a1 28 0 0 0 0 0 0 0", .disp_off = 3, .disp_size = 8, .disp = 0x28, .w = AX,
	  .flags = AP_INSN_MEM | RD, .seg = AP_SEG_FS },
	{ "enter 0x10, 3", "c8 10 00 03", .imm_off = 1, .imm_size = 2, .imm = 0x10, .r = SP | BP, .w = SP | BP,
	  .flags = RD | WR },
	{ "leave", "c9", .r = SP | BP, .w = SP | BP, .flags = RD },
	{ "push rbp", "55", .r = SP | BP, .w = SP, .flags = WR },
	{ "pop r12", "41 5c", .r = SP, .w = SP | R12, .flags = RD },
	{ "pop 8(rsp)", "8f 44 24 08", .disp_off = 3, .disp_size = 1, .disp = 8, .r = SP, .w = SP,
	  .flags = SIB | RD | WR },
	{ "push fs:0", "64 ff 34 25 0 0 0 0", .disp_off = 4, .disp_size = 4, .seg = AP_SEG_FS, .r = SP, .w = SP,
	  .flags = SIB | RD | WR },
	{ "lea rax, rip+4", "48 8d 05 04 00 00 00", .disp_off = 3, .disp_size = 4, .disp = 4, .w = AX,
	  .flags = RIP | NONE },
	{ "lea eax, eip+4", "67 8d 05 04 00 00 00", .disp_off = 3, .disp_size = 4, .disp = 4, .w = AX,
	  .flags = RIP | NONE | A32 },
	{ "lea ignores gs", "65 48 8d 04 0b", .r = BX | CX, .w = AX, .flags = SIB | NONE },
	{ "mov eax, disp32: no base, no index", "8b 04 25 f0 ff ff ff", .disp_off = 3, .disp_size = 4, .disp = -16,
	  .w = AX, .flags = SIB | RD },
	{ "mov eax, disp32(r12*2): no base although REX.B", "43 8b 04 65 0 0 0 0", .disp_off = 4, .disp_size = 4,
	  .r = R12, .w = AX, .flags = SIB | RD },
	{ "mov eax, (r13)", "41 8b 45 00", .disp_off = 3, .disp_size = 1, .r = R13, .w = AX, .flags = MEM | RD },
	{ "mov ah, bh", "88 fc", .flags = MODRM, .r = AX | BX, .w = AX },
	{ "mov spl, dil", "40 88 fc", .flags = MODRM, .r = SP | DI, .w = SP },
	{ "movzx eax, bh", "0f b6 c7", .flags = MODRM, .r = BX, .w = AX },
	{ "movzx ax, bl keeps the rest of eax", "66 0f b6 c3", .flags = MODRM | O16, .r = AX | BX, .w = AX },
	{ "movsxd rdi, esi", "48 63 fe", .flags = MODRM, .r = SI, .w = DI },
	{ "bswap r9d", "41 0f c9", .r = R9, .w = R9 },
	{ "xlat gs", "65 d7", .r = AX | BX, .w = AX, .flags = RD, .seg = AP_SEG_GS },
	{ "cpuid", "0f a2", .r = AX | CX, .w = AX | CX | DX | BX },
	{ "rdtsc", "0f 31", .w = AX | DX },
	{ "rdtscp", "0f 01 f9", .flags = MODRM, .w = AX | DX | CX },
	{ "xgetbv", "0f 01 d0", .flags = MODRM, .r = CX, .w = AX | DX },
	{ "rdgsbase rdx", "f3 48 0f ae ca", .flags = MODRM | AP_INSN_GS_BASE, .w = DX },
	{ "rdsspd edx, a nop without shadow stacks", "f3 0f 1e ca", .flags = MODRM, .r = DX, .w = DX },
	{ "f3 xchg r8, rax is no pause", "f3 49 90", .r = AX | R8, .w = AX | R8 },
	{ "mov gs, ecx", "8e e9", .flags = MODRM | AP_INSN_MOV_SEG, .r = CX },
	{ "mov ecx, gs", "8c e9", .flags = MODRM | AP_INSN_MOV_SEG, .w = CX },
	{ "mov ds, ecx", "8e d9", .flags = MODRM, .r = CX },
	{ "pop gs", "0f a9", .flags = RD | AP_INSN_MOV_SEG, .r = SP, .w = SP },
	{ "prefetcht0 (rax)", "0f 18 08", .flags = MEM | NONE, .r = AX },
	{ "clflush (rax)", "0f ae 38", .flags = MEM | NONE, .r = AX },
	{ "fxsave (rax)", "0f ae 00", .flags = MEM | WR, .r = AX },
	{ "mfence", "0f ae f0", .flags = MODRM },
	{ "maskmovq mm0, mm1", "0f f7 c1", .flags = MODRM | WR, .r = DI },
	{ "pfadd mm0, 8(rax): the suffix is the immediate", "0f 0f 40 08 9e", .disp_off = 3, .disp_size = 1,
	  .disp = 8, .imm_off = 4, .imm_size = 1, .imm = (s8)0x9e, .flags = MEM | RD, .r = AX },
	{ "movnti (rdi), rsi", "48 0f c3 37", .flags = MEM | WR, .r = SI | DI },
	{ "xabort 5", "c6 f8 05", .imm_off = 2, .imm_size = 1, .imm = 5, .flags = MODRM, .r = AX, .w = AX },
};

static const struct expected flags[] = {
	{ "add rax, rcx", "48 01 c8", .flags = MODRM, .r = AX | CX, .w = AX, .flw = ALL },
	{ "lock add (rax), ecx", "f0 01 08", .flags = MEM | RD | WR | LOCK, .r = AX | CX, .flw = ALL },
	{ "xor eax, eax", "31 c0", .flags = MODRM, .r = AX, .w = AX, .flw = ALL },
	{ "sbb eax, eax", "19 c0", .flags = MODRM, .r = AX, .w = AX, .flr = C, .flw = ALL },
	{ "inc eax keeps CF", "ff c0", .flags = MODRM, .r = AX, .w = AX, .flw = ALL & ~C },
	{ "shl eax, 1", "d1 e0", .flags = MODRM, .r = AX, .w = AX, .flw = ALL & ~A },
	{ "shl eax, 4", "c1 e0 04", .imm_off = 2, .imm_size = 1, .imm = 4, .flags = MODRM, .r = AX, .w = AX,
	  .flw = C | P | Z | S },
	{ "shl eax, 32 does nothing", "c1 e0 20", .imm_off = 2, .imm_size = 1, .imm = 32, .flags = MODRM, .r = AX,
	  .w = AX },
	{ "shl rax, 32", "48 c1 e0 20", .imm_off = 3, .imm_size = 1, .imm = 32, .flags = MODRM, .r = AX, .w = AX,
	  .flw = C | P | Z | S },
	{ "shl al, 9: CF is undefined", "c0 e0 09", .imm_off = 2, .imm_size = 1, .imm = 9, .flags = MODRM, .r = AX,
	  .w = AX, .flw = P | Z | S },
	{ "shl eax, cl", "d3 e0", .flags = MODRM, .r = AX | CX, .w = AX },
	{ "shr r9b, 0x60 with W: the mask stays 31", "49 c0 e9 60", .imm_off = 3, .imm_size = 1, .imm = 0x60,
	  .flags = MODRM, .r = R9, .w = R9 },
	{ "rcl al, 9 is a full turn", "c0 d0 09", .imm_off = 2, .imm_size = 1, .imm = 9, .flags = MODRM, .r = AX,
	  .w = AX, .flr = C },
	{ "ror al, 8", "c0 c8 08", .imm_off = 2, .imm_size = 1, .imm = 8, .flags = MODRM, .r = AX, .w = AX, .flw = C },
	{ "shld ax, cx, 17", "66 0f a4 c8 11", .imm_off = 4, .imm_size = 1, .imm = 17, .flags = MODRM | O16,
	  .r = AX | CX, .w = AX },
	{ "sarx eax, ecx, edx", "c4 e2 6a f7 c1", .flags = MODRM | VEX, .r = CX | DX, .w = AX },
	{ "imul rax, rcx", "48 0f af c1", .flags = MODRM, .r = AX | CX, .w = AX, .flw = C | O },
	{ "mul rcx", "48 f7 e1", .flags = MODRM, .r = AX | CX, .w = AX | DX, .flw = C | O },
	{ "div cl", "f6 f1", .flags = MODRM, .r = AX | CX, .w = AX },
	{ "test dword (rax), imm32", "f7 00 1 0 0 0", .imm_off = 2, .imm_size = 4, .imm = 1, .flags = MEM | RD,
	  .r = AX, .flw = ALL },
	{ "not eax", "f7 d0", .flags = MODRM, .r = AX, .w = AX },
	{ "bsf eax, ecx", "0f bc c1", .flags = MODRM, .r = AX | CX, .w = AX, .flw = Z },
	{ "tzcnt eax, ecx, bsf to old CPUs", "f3 0f bc c1", .flags = MODRM, .r = AX | CX, .w = AX, .flw = Z },
	{ "bt eax, ecx", "0f a3 c8", .flags = MODRM, .r = AX | CX, .flw = C },
	{ "cmovz eax, ecx", "0f 44 c1", .flags = MODRM, .r = AX | CX, .w = AX, .flr = Z },
	{ "setg (rdi)", "0f 9f 07", .flags = MEM | WR, .r = DI, .flr = Z | S | O },
	{ "sete ah", "0f 94 c4", .flags = MODRM, .r = AX, .w = AX, .flr = Z },
	{ "cmpxchg (rdi), ecx", "0f b1 0f", .flags = MEM | RD | WR, .r = AX | CX | DI, .w = AX, .flw = ALL },
	{ "cmpxchg16b (rsi)", "48 0f c7 0e", .flags = MEM | RD | WR, .r = AX | BX | CX | DX | SI, .w = AX | DX,
	  .flw = Z },
	{ "cmpsb", "a6", .flags = RD, .r = SI | DI, .w = SI | DI, .flw = ALL },
	/* rcx may be 0; ZF: an over-approximation that Zydis makes */
	{ "repe cmpsb", "f3 a6", .flags = RD | REP, .r = SI | DI | CX, .w = SI | DI | CX, .flr = Z },
	{ "repne scasb", "f2 ae", .flags = RD | REP, .r = AX | DI | CX, .w = DI | CX, .flr = Z },
	{ "rep movsq gs", "f3 65 48 a5", .flags = RD | WR | REP, .r = SI | DI | CX, .w = SI | DI | CX,
	  .seg = AP_SEG_GS },
	{ "f2 repeats movs as well", "f2 a4", .flags = RD | WR | REP, .r = SI | DI | CX, .w = SI | DI | CX },
	{ "stosb ignores fs", "64 aa", .flags = WR, .r = AX | DI, .w = DI },
	{ "pushfq", "9c", .flags = WR | RFL, .r = SP, .w = SP, .flr = ALL },
	{ "popfq", "9d", .flags = RD | RFL, .r = SP, .w = SP, .flw = ALL },
	{ "cld", "fc", .flags = RFL },
	{ "lahf", "9f", .r = AX, .w = AX, .flr = ALL & ~O },
	{ "sahf", "9e", .r = AX, .flw = ALL & ~O },
	{ "fcmovb", "da c1", .flags = MODRM, .flr = C },
	{ "fcomi", "db f1", .flags = MODRM, .flw = Z | P | C },
	{ "comisd xmm0, xmm1", "66 0f 2f c1", .flags = MODRM | O16, .flw = ALL },
	{ "popcnt rax, rdx", "f3 48 0f b8 c2", .flags = MODRM, .r = DX, .w = AX, .flw = ALL },
	{ "crc32 eax, cx with 66 and f2", "66 f2 0f 38 f1 c1", .flags = MODRM | O16, .r = AX | CX, .w = AX },
	{ "adox r8, rax", "f3 4c 0f 38 f6 c0", .flags = MODRM, .r = AX | R8, .w = R8, .flr = O, .flw = O },
};

static const struct expected branches[] = {
	{ "je rel8", "74 fe", .kind = AP_I_JCC, .cond = 4, .imm_off = 1, .imm_size = 1, .imm = -2, .flr = Z },
	{ "jg rel32", "0f 8f 1 0 0 0", .kind = AP_I_JCC, .cond = 15, .imm_off = 2, .imm_size = 4, .imm = 1,
	  .flr = Z | S | O },
	{ "bnd je", "f2 74 05", .kind = AP_I_JCC, .cond = 4, .imm_off = 2, .imm_size = 1, .imm = 5, .flr = Z },
	{ "jmp rel8", "eb 80", .kind = AP_I_JMP, .imm_off = 1, .imm_size = 1, .imm = -128 },
	{ "jmp rel32", "e9 0 0 0 80", .kind = AP_I_JMP, .imm_off = 1, .imm_size = 4, .imm = (s32)0x80000000 },
	{ "66 jmp rel32: Intel ignores 66", "66 e9 1 0 0 0", .kind = AP_I_JMP, .imm_off = 2, .imm_size = 4, .imm = 1,
	  .flags = O16 },
	{ "call rel32", "e8 fb ff ff ff", .kind = AP_I_CALL, .imm_off = 1, .imm_size = 4, .imm = -5, .r = SP, .w = SP,
	  .flags = WR },
	{ "loop", "e2 fe", .kind = AP_I_JRCXZ, .imm_off = 1, .imm_size = 1, .imm = -2, .r = CX, .w = CX },
	{ "loopne", "e0 fe", .kind = AP_I_JRCXZ, .imm_off = 1, .imm_size = 1, .imm = -2, .r = CX, .w = CX, .flr = Z },
	{ "jecxz", "67 e3 10", .kind = AP_I_JRCXZ, .imm_off = 2, .imm_size = 1, .imm = 16, .r = CX, .flags = A32 },
	{ "jmp rax", "ff e0", .kind = AP_I_JMP_IND, .r = AX, .flags = MODRM },
	{ "notrack jmp rdx", "3e ff e2", .kind = AP_I_JMP_IND, .r = DX, .flags = MODRM },
	{ "jmp plt slot", "ff 25 1 2 3 4", .kind = AP_I_JMP_IND, .disp_off = 2, .disp_size = 4, .disp = 0x04030201,
	  .flags = RIP | RD },
	{ "call (rax,r12,8)", "42 ff 14 e0", .kind = AP_I_CALL_IND, .r = AX | R12 | SP, .w = SP,
	  .flags = SIB | RD | WR },
	{ "call fs:0x10", "64 ff 14 25 10 0 0 0", .kind = AP_I_CALL_IND, .disp_off = 4, .disp_size = 4, .disp = 16,
	  .seg = AP_SEG_FS, .r = SP, .w = SP, .flags = SIB | RD | WR },
	{ "ret", "c3", .kind = AP_I_RET, .r = SP, .w = SP, .flags = RD },
	{ "bnd ret", "f2 c3", .kind = AP_I_RET, .r = SP, .w = SP, .flags = RD },
	{ "ret 8", "c2 08 00", .kind = AP_I_RET, .imm_off = 1, .imm_size = 2, .imm = 8, .r = SP, .w = SP, .flags = RD },
	{ "syscall", "0f 05", .kind = AP_I_SYSCALL, .r = AX, .w = AX | CX | R11, .flr = ALL, .flags = RFL },
	{ "xbegin", "c7 f8 0 1 0 0", .kind = AP_I_XBEGIN, .imm_off = 2, .imm_size = 4, .imm = 256, .r = AX, .w = AX,
	  .flr = ALL, .flags = MODRM },
	{ "ud2", "0f 0b", .kind = AP_I_UD, .flr = ALL },
	{ "hlt", "f4", .kind = AP_I_UD, .flr = ALL },
};

static const struct expected vectors[] = {
	{ "vzeroupper", "c5 f8 77", .flags = VEX },
	{ "movd eax, xmm0", "66 0f 7e c0", .flags = MODRM | O16, .w = AX },
	{ "movq xmm0, rcx", "66 48 0f 6e c1", .flags = MODRM | O16, .r = CX },
	{ "pextrw eax, xmm1, 2", "66 0f c5 c1 02", .imm_off = 4, .imm_size = 1, .imm = 2, .flags = MODRM | O16, .w = AX },
	{ "vpinsrd xmm0, xmm1, r9d, 1", "c4 c3 71 22 c1 01", .imm_off = 5, .imm_size = 1, .imm = 1,
	  .flags = MODRM | VEX, .r = R9 },
	{ "vmovmskps r10d, xmm2", "c5 78 50 d2", .flags = MODRM | VEX, .w = R10 },
	{ "vpmovmskb eax, ymm1", "c5 fd d7 c1", .flags = MODRM | VEX, .w = AX },
	{ "andn r8, r9, r10", "c4 42 b0 f2 c2", .flags = MODRM | VEX, .r = R9 | R10, .w = R8, .flw = C | Z | S | O },
	{ "bextr eax, (rdi), edx", "c4 e2 68 f7 07", .flags = MEM | RD | VEX, .r = DX | DI, .w = AX, .flw = C | Z | O },
	{ "blsr eax, ecx", "c4 e2 78 f3 c9", .flags = MODRM | VEX, .r = CX, .w = AX, .flw = C | Z | S | O },
	{ "mulx rax, rbx, rcx", "c4 e2 e3 f6 c1", .flags = MODRM | VEX, .r = DX | CX, .w = AX | BX },
	{ "rorx eax, ecx, 7", "c4 e3 7b f0 c1 07", .imm_off = 5, .imm_size = 1, .imm = 7, .flags = MODRM | VEX, .r = CX,
	  .w = AX },
	{ "pdep rax, rcx, rdx", "c4 e2 f3 f5 c2", .flags = MODRM | VEX, .r = CX | DX, .w = AX },
	{ "vblendvps xmm, is4", "c4 e3 71 4a c2 30", .imm_off = 5, .imm_size = 1, .imm = 0x30, .flags = MODRM | VEX },
	{ "vpgatherdd xmm0, (rax+xmm1*4), xmm2", "c4 e2 69 90 04 88", .flags = SIB | RD | VEX | AP_INSN_VSIB, .r = AX },
	{ "vmovdqu64 zmm0, 0x40(rsi): disp8 is scaled", "62 f1 fe 48 6f 46 01", .disp_off = 6, .disp_size = 1,
	  .disp = 64, .flags = MEM | RD | EVEX, .r = SI },
	{ "vmovdqu64 (rip), zmm17", "62 e1 fe 48 7f 0d 4 3 2 1", .disp_off = 6, .disp_size = 4, .disp = 0x01020304,
	  .flags = RIP | WR | EVEX },
	{ "vpbroadcastd zmm1, r11d", "62 d2 7d 48 7c cb", .flags = MODRM | EVEX, .r = R11 },
	{ "kmovw k1, eax", "c5 f8 92 c8", .flags = MODRM | VEX, .r = AX },
	{ "kmovq rax, k1", "c4 e1 fb 93 c1", .flags = MODRM | VEX, .w = AX },
	{ "kortestd k0, k1", "c4 e1 f9 98 c1", .flags = MODRM | VEX, .flw = ALL },
	{ "vcvtsi2sd xmm0, xmm0, r8", "c4 c1 fb 2a c0", .flags = MODRM | VEX, .r = R8 },
	{ "vcvttsd2si rax, xmm0", "c4 e1 fb 2c c0", .flags = MODRM | VEX, .w = AX },
	{ "XOP bextr eax, ecx, imm32", "8f ea 78 10 c1 04 03 00 00", .imm_off = 5, .imm_size = 4, .imm = 0x304,
	  .flags = MODRM | VEX, .r = CX, .w = AX, .flw = C | Z | O },
	{ "vmaskmovps (rdi), xmm1, xmm2", "c4 e2 71 2e 17", .flags = MEM | WR | VEX, .r = DI },
};
/* clang-format on */

static unsigned parse(const char *hex, u8 *code)
{
	unsigned n = 0;
	char *end;

	while (*hex) {
		code[n++] = strtoul(hex, &end, 16);
		hex = end + (*end == ' ');
	}
	return n;
}

static bool same(const char *text, const char *field, s64 got, s64 want)
{
	if (got != want)
		tap_note("%s: %s is %llx, should be %llx", text, field, (long long)got,
			 (long long)want);
	return got == want;
}

static bool matches(const struct expected *e)
{
	u8 code[64] = { 0 };
	unsigned len = parse(e->bytes, code);
	struct ap_insn s;
	bool ok = same(e->text, "result", ap_insn_decode(&s, code, sizeof(code)), 0);

	if (!ok)
		return false;
	ok &= same(e->text, "len", s.len, len);
	ok &= same(e->text, "kind", s.kind, e->kind);
	ok &= same(e->text, "disp_off", s.disp_off, e->disp_off);
	ok &= same(e->text, "disp_size", s.disp_size, e->disp_size);
	ok &= same(e->text, "imm_off", s.imm_off, e->imm_off);
	ok &= same(e->text, "imm_size", s.imm_size, e->imm_size);
	ok &= same(e->text, "disp", s.disp, e->disp);
	ok &= same(e->text, "imm", s.imm, e->imm);
	ok &= same(e->text, "seg", s.seg, e->seg);
	ok &= same(e->text, "cond", s.cond, e->cond);
	ok &= same(e->text, "flags", s.flags, e->flags);
	ok &= same(e->text, "gpr_read", s.gpr_read, e->r);
	ok &= same(e->text, "gpr_write", s.gpr_write, e->w);
	ok &= same(e->text, "fl_read", s.fl_read, e->flr);
	ok &= same(e->text, "fl_write", s.fl_write, e->flw);
	return ok;
}

static void check(const struct expected *table, unsigned count)
{
	unsigned n;

	for (n = 0; n < count; n++)
		if (!matches(&table[n]))
			EXPECT(!"as the manual says");
}

static void decodes_moves_and_addresses(void)
{
	check(plain, AP_ARRAY_SIZE(plain));
}

static void knows_which_flags_are_certain(void)
{
	check(flags, AP_ARRAY_SIZE(flags));
}

static void knows_the_kinds_of_branches(void)
{
	check(branches, AP_ARRAY_SIZE(branches));
}

static void knows_general_registers_of_vector_code(void)
{
	check(vectors, AP_ARRAY_SIZE(vectors));
}

static int decode_hex(const char *hex, struct ap_insn *s)
{
	u8 code[64] = { 0 };

	parse(hex, code);
	return ap_insn_decode(s, code, sizeof(code));
}

static void refuses_what_the_cpu_refuses(void)
{
	static const char *const bad[] = {
		"06",			/* push es is gone */
		"c4 00 00 00",		/* VEX map 0 */
		"66 c5 f8 77",		/* 66 before VEX */
		"48 c5 f8 77",		/* REX before VEX */
		"c5 f0 77",		/* vzeroupper with vvvv */
		"f0 89 c0",		/* LOCK on a register */
		"f0 8b 00",		/* LOCK on a load */
		"f0 90",		/* LOCK nop */
		"8e c8",		/* mov cs, eax */
		"0f 0f c1 00",		/* no such 3DNow! suffix */
		"62 f1 fe c8 6f 06",	/* z without a mask */
		"62 f1 fe 60 6f 06",	/* L'L = 3 */
		"c4 e2 69 90 04 80",	/* gather: index is the destination */
		"c5 48 85 c0 74 5a 41", /* jknzd, Knights Corner only */
		"66 66 66 66 66 66 66 66 66 66 66 66 66 66 01 c8", /* 16 bytes */
		"66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90",
	};
	struct ap_insn s;
	unsigned n;

	for (n = 0; n < AP_ARRAY_SIZE(bad); n++)
		if (decode_hex(bad[n], &s) != -84)
			EXPECT_STR("valid", bad[n]);
}

static void accepts_fifteen_bytes(void)
{
	struct ap_insn s;

	REQUIRE(!decode_hex("66 66 66 66 66 66 66 66 66 66 66 66 66 01 c8", &s));
	EXPECT_U64(s.len, 15);
	EXPECT_U64(s.nprefix, 13);
	EXPECT_U64(s.opcode_off, 13);
	EXPECT_U64(s.modrm_off, 14);
}

static void takes_rex_only_right_before_the_opcode(void)
{
	struct ap_insn s;

	REQUIRE(!decode_hex("48 66 01 c8", &s));
	EXPECT_U64(s.rex, 0);
	EXPECT_U64(s.nprefix, 2);
	REQUIRE(!decode_hex("66 48 01 c8", &s));
	EXPECT_U64(s.rex, 0x48);
	EXPECT_U64(s.nprefix, 1);
	EXPECT_U64(s.opcode_off, 2);
}

static void asks_for_more_bytes(void)
{
	static const char *const cut[] = { "48 8d 05 04 00 00 00", "62 f1 fe 48 6f 46 01",
					   "c4 e3 7b f0 c1 07",	   "0f 0f 40 08 9e",
					   "c8 10 00 03",	   "48 a1 28 0 0 0 0 0 0 0",
					   "f3 0f 1e fa",	   "66 66 66 66 90" };
	struct ap_insn s;
	unsigned n, len, k;
	u8 *code;

	for (n = 0; n < AP_ARRAY_SIZE(cut); n++) {
		u8 all[64] = { 0 };

		len = parse(cut[n], all);
		for (k = 0; k <= len; k++) {
			code = malloc(k + 1); /* exact, for the sanitizers */
			memcpy(code + 1, all, k);
			if (ap_insn_decode(&s, code + 1, k) != (k < len ? -61 : 0))
				EXPECT_STR("cut short", cut[n]);
			free(code);
		}
	}
	EXPECT(ap_insn_decode(&s, (const u8 *)"\x06", 1) == -84);
	EXPECT(ap_insn_decode(&s, (const u8 *)"\xf0\x01\xc0", 3) == -84);
}

static void finds_branch_targets(void)
{
	struct ap_insn s;

	REQUIRE(!decode_hex("e8 fb ff ff ff", &s));
	EXPECT_U64(ap_insn_target(&s, 0x401000), 0x401000);
	REQUIRE(!decode_hex("74 10", &s));
	EXPECT_U64(ap_insn_target(&s, 0x401000), 0x401012);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(decodes_moves_and_addresses),
		TAP(knows_which_flags_are_certain),
		TAP(knows_the_kinds_of_branches),
		TAP(knows_general_registers_of_vector_code),
		TAP(refuses_what_the_cpu_refuses),
		TAP(accepts_fifteen_bytes),
		TAP(takes_rex_only_right_before_the_opcode),
		TAP(asks_for_more_bytes),
		TAP(finds_branch_targets),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
