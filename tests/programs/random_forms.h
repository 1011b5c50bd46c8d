/* SPDX-License-Identifier: MIT */
/*
 * What random_code.c makes its code of: mnemonics with the forms of their operands.
 */
#ifndef RANDOM_FORMS_H
#define RANDOM_FORMS_H

#include <Zydis/Zydis.h>
#include <stdbool.h>

#include "random_state.h"

enum feature { BASE, AVX, AVX2, BMI, FMA, POP, AVX512, N_FEATURES };

static bool have[N_FEATURES];

/*
 * Operands: G register of 16, 32 or 64 bits, R the same or memory, M memory; B, Q, q of 8 bits;
 * d, D of 32, e, E of 32 or 64 bits; w, W of 16; i imm8, I imm32, u shift count, c cl;
 * x, X xmm or memory, y, Y, z, Z; s xmm or its low 64 bits in memory, t its low 32; a memory of 128
 * bits, b of 256, g of 512; k mask register, K write mask.
 */
struct form {
	ZydisMnemonic mnemonic;
	const char *operands;
	enum feature feature;
};

#define M(name) ZYDIS_MNEMONIC_##name
#define ALU(n)                                                                                     \
	{ M(n), "RG", BASE }, { M(n), "GR", BASE }, { M(n), "Ri", BASE }, { M(n), "RI", BASE },    \
		{ M(n), "QB", BASE }, { M(n), "BQ", BASE },                                        \
	{                                                                                          \
		M(n), "Qi", BASE                                                                   \
	}
#define UNARY(n)                                                                                   \
	{ M(n), "R", BASE },                                                                       \
	{                                                                                          \
		M(n), "Q", BASE                                                                    \
	}
#define SHIFT(n)                                                                                   \
	{ M(n), "Ru", BASE }, { M(n), "Rc", BASE }, { M(n), "Qu", BASE },                          \
	{                                                                                          \
		M(n), "Qc", BASE                                                                   \
	}
#define BITS(n)                                                                                    \
	{ M(n), "GG", BASE },                                                                      \
	{                                                                                          \
		M(n), "Ru", BASE                                                                   \
	}
#define SETCC(n)                                                                                   \
	{ M(SET##n), "Q", BASE },                                                                  \
	{                                                                                          \
		M(CMOV##n), "GR", BASE                                                             \
	}
#define SSE(n)                                                                                     \
	{ M(n), "xX", BASE },                                                                      \
	{                                                                                          \
		M(V##n), "xxX", AVX                                                                \
	}
#define VINT(n)                                                                                    \
	{ M(n), "xX", BASE }, { M(V##n), "xxX", AVX },                                             \
	{                                                                                          \
		M(V##n), "yyY", AVX2                                                               \
	}
#define VINT512(n)                                                                                 \
	VINT(n), { M(V##n), "zzZ", AVX512 },                                                       \
	{                                                                                          \
		M(V##n), "zKzZ", AVX512                                                            \
	}
#define EVEX(n)                                                                                    \
	{ M(n), "zKzZ", AVX512 }, { M(n), "yKyY", AVX512 },                                        \
	{                                                                                          \
		M(n), "xKxX", AVX512                                                               \
	}
#define FP(n)                                                                                      \
	VINT(n),                                                                                   \
	{                                                                                          \
		M(V##n), "zzZ", AVX512                                                             \
	}
#define FUSED(n)                                                                                   \
	{ M(n), "xxX", FMA }, { M(n), "yyY", FMA },                                                \
	{                                                                                          \
		M(n), "zKzZ", AVX512                                                               \
	}

/* clang-format off */
static const struct form forms[] = {
	ALU(ADD), ALU(ADC), ALU(SUB), ALU(SBB), ALU(AND), ALU(OR), ALU(XOR), ALU(CMP), ALU(MOV),
	{ M(TEST), "RG", BASE }, { M(TEST), "RI", BASE }, { M(TEST), "QB", BASE }, UNARY(INC),
	UNARY(DEC), UNARY(NEG), UNARY(NOT), UNARY(MUL), UNARY(IMUL), { M(IMUL), "GR", BASE },
	{ M(IMUL), "GRi", BASE }, { M(IMUL), "GRI", BASE }, SHIFT(SHL), SHIFT(SHR), SHIFT(SAR),
	SHIFT(ROL), SHIFT(ROR), SHIFT(RCL), SHIFT(RCR), { M(SHLD), "EEu", BASE },
	{ M(SHRD), "EEc", BASE }, BITS(BT), BITS(BTS), BITS(BTR), BITS(BTC),
	{ M(BSF), "GR", BASE }, { M(BSR), "GR", BASE }, { M(LEA), "EM", BASE },
	{ M(LEA), "GM", BASE }, { M(MOVZX), "EQ", BASE }, { M(MOVSX), "EQ", BASE },
	{ M(MOVZX), "EW", BASE }, { M(MOVSX), "EW", BASE }, { M(MOVSXD), "LD", BASE },
	{ M(XCHG), "RG", BASE }, { M(XCHG), "QB", BASE }, { M(CMPXCHG), "RG", BASE },
	{ M(CMPXCHG), "QB", BASE }, { M(XADD), "RG", BASE }, { M(XADD), "QB", BASE },
	{ M(CMPXCHG8B), "l", BASE }, { M(CMPXCHG16B), "a", BASE }, { M(BSWAP), "E", BASE },
	{ M(CBW), "", BASE }, { M(CWDE), "", BASE }, { M(CDQE), "", BASE }, { M(CWD), "", BASE },
	{ M(CDQ), "", BASE }, { M(CQO), "", BASE }, { M(LAHF), "", BASE }, { M(SAHF), "", BASE },
	{ M(CLC), "", BASE }, { M(STC), "", BASE }, { M(CMC), "", BASE }, { M(NOP), "R", BASE },
	SETCC(B), SETCC(BE), SETCC(L), SETCC(LE), SETCC(NB), SETCC(NBE), SETCC(NL), SETCC(NLE),
	SETCC(NO), SETCC(NP), SETCC(NS), SETCC(NZ), SETCC(O), SETCC(P), SETCC(S), SETCC(Z),
	{ M(POPCNT), "GR", POP }, { M(CRC32), "dD", POP }, { M(CRC32), "dQ", POP },
	{ M(ADCX), "ER", BMI }, { M(ADOX), "ER", BMI }, { M(MULX), "EER", BMI },
	{ M(ANDN), "EER", BMI }, { M(BLSR), "ER", BMI }, { M(BLSI), "ER", BMI },
	{ M(BLSMSK), "ER", BMI }, { M(BEXTR), "ERE", BMI }, { M(BZHI), "ERE", BMI },
	{ M(PDEP), "EER", BMI }, { M(PEXT), "EER", BMI }, { M(RORX), "ERu", BMI },
	{ M(SARX), "ERE", BMI }, { M(SHLX), "ERE", BMI }, { M(SHRX), "ERE", BMI },
	{ M(TZCNT), "GR", BMI }, { M(LZCNT), "GR", BMI }, { M(MOVBE), "GM", BMI },
	{ M(MOVBE), "MG", BMI }, { M(MOVAPS), "xX", BASE }, { M(MOVUPS), "Xx", BASE },
	{ M(MOVDQA), "Xx", BASE }, { M(MOVDQU), "xX", BASE }, { M(MOVD), "xD", BASE },
	{ M(MOVD), "Dx", BASE }, { M(MOVQ), "xl", BASE }, { M(MOVQ), "Lx", BASE },
	{ M(MOVHPS), "xl", BASE }, { M(MOVLPS), "lx", BASE }, { M(MOVNTDQ), "ax", BASE },
	{ M(MOVMSKPS), "dx", BASE }, { M(PMOVMSKB), "dx", BASE }, { M(MOVSS), "xt", BASE },
	{ M(MOVSD), "xs", BASE }, { M(PSHUFD), "xXi", BASE }, { M(SHUFPS), "xXi", BASE },
	{ M(PSLLDQ), "xi", BASE }, { M(PSRLQ), "xi", BASE }, { M(PINSRW), "xWi", BASE },
	{ M(PEXTRW), "dxi", BASE }, { M(CVTSI2SD), "xD", BASE }, { M(CVTTSD2SI), "Es", BASE },
	{ M(CVTPS2PD), "xs", BASE }, { M(CVTDQ2PS), "xX", BASE }, { M(UCOMISD), "xs", BASE },
	{ M(COMISS), "xt", BASE }, { M(ADDSD), "xs", BASE }, { M(MULSS), "xt", BASE },
	{ M(DIVSD), "xs", BASE }, { M(SQRTSD), "xs", BASE }, { M(PTEST), "xX", BASE },
	{ M(PALIGNR), "xXi", BASE }, { M(PBLENDVB), "xX0", BASE }, { M(ROUNDPD), "xXi", BASE },
	{ M(DPPS), "xXi", BASE }, SSE(ANDPS), SSE(ORPD), SSE(UNPCKLPS), SSE(HADDPS),
	SSE(ADDSUBPD), VINT(PADDB), VINT(PSUBW), VINT(PMULLW), VINT(PMADDWD), VINT(PAVGB),
	VINT(PSADBW), VINT(PCMPGTB), VINT(PSHUFB), VINT(PSIGND), VINT(PMAXUB), VINT(PHADDW),
	VINT(PUNPCKHBW), VINT512(PADDD), VINT512(PSUBQ), VINT512(PMULUDQ), VINT512(PMULLD),
	VINT512(PMINSD), FP(ADDPS), FP(SUBPD), FP(MULPS), FP(DIVPD), FP(MINPS), FP(MAXPD),
	FP(XORPS), { M(VMOVDQU), "Yy", AVX }, { M(VMOVDQA), "yY", AVX },
	{ M(VMOVUPS), "yY", AVX }, { M(VBROADCASTSS), "yt", AVX2 },
	{ M(VINSERTF128), "yyXi", AVX }, { M(VEXTRACTF128), "Xyi", AVX },
	{ M(VPERM2F128), "yyYi", AVX }, { M(VPTEST), "yY", AVX }, { M(VPMOVMSKB), "dy", AVX2 },
	{ M(VPERMQ), "yYi", AVX2 }, { M(VPBROADCASTQ), "ys", AVX2 }, { M(VPSLLVD), "yyY", AVX2 },
	{ M(VPBLENDVB), "yyYy", AVX2 }, { M(VPMASKMOVD), "yyb", AVX2 },
	{ M(VPMASKMOVQ), "byy", AVX2 }, { M(VZEROUPPER), "", AVX }, FUSED(VFMADD132PS),
	FUSED(VFMADD231PD), FUSED(VFNMSUB213PS), { M(VFMADD213SD), "xxs", FMA }, EVEX(VPTERNLOGD),
	EVEX(VPANDQ), EVEX(VPADDB), EVEX(VPMINUQ), EVEX(VPERMI2D), EVEX(VSCALEFPS),
	{ M(VMOVDQU8), "zKZ", AVX512 }, { M(VMOVDQU32), "Zz", AVX512 },
	{ M(VMOVDQU64), "yKY", AVX512 }, { M(VMOVDQA64), "zKZ", AVX512 },
	{ M(VMOVDQA32), "gKz", AVX512 }, { M(VPCMPEQD), "kzZ", AVX512 },
	{ M(VPCMPUB), "kKzZi", AVX512 }, { M(VPBROADCASTD), "zd", AVX512 },
	{ M(VPCOMPRESSD), "zKz", AVX512 }, { M(VPEXPANDQ), "zKZ", AVX512 },
	{ M(KMOVQ), "kL", AVX512 }, { M(KMOVD), "dk", AVX512 }, { M(KANDQ), "kkk", AVX512 },
	{ M(KORTESTQ), "kk", AVX512 }, { M(KTESTD), "kk", AVX512 },
	{ M(KUNPCKBW), "kkk", AVX512 }, { M(VEXTRACTI32X4), "Xzi", AVX512 },
	{ M(VPMOVQB), "xz", AVX512 }, { M(VPCMPGTQ), "kKyY", AVX512 },
};
/* clang-format on */

static void find_features(void)
{
	have[BASE] = __builtin_cpu_supports("sse4.2");
	have[POP] = __builtin_cpu_supports("popcnt");
	have[AVX] = __builtin_cpu_supports("avx");
	have[AVX2] = __builtin_cpu_supports("avx2");
	have[FMA] = have[AVX2] && __builtin_cpu_supports("fma");
	have[BMI] = have[AVX2] && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
	have[AVX512] = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
	random_code_vectors = have[AVX512] ? 2 : have[AVX];
}

static bool is_shift(ZydisMnemonic m)
{
	return m == M(SHL) || m == M(SHR) || m == M(SAR) || m == M(ROL) || m == M(ROR) ||
	       m == M(RCL) || m == M(RCR) || m == M(SHLD) || m == M(SHRD);
}

/* Two memory operands: one instruction has one. */
static bool two_memories(const ZydisEncoderRequest *req)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < req->operand_count; i++)
		n += req->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY;
	return n > 1;
}

static bool may_lock(const ZydisEncoderRequest *req)
{
	ZydisMnemonic m = req->mnemonic;

	if (!req->operand_count || req->operands[0].type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	return m == M(ADD) || m == M(ADC) || m == M(SUB) || m == M(SBB) || m == M(AND) ||
	       m == M(OR) || m == M(XOR) || m == M(INC) || m == M(DEC) || m == M(NEG) ||
	       m == M(NOT) || m == M(BTS) || m == M(BTR) || m == M(BTC) || m == M(XADD) ||
	       m == M(CMPXCHG) || m == M(CMPXCHG8B) || m == M(CMPXCHG16B) || m == M(XCHG);
}

#endif
