/* SPDX-License-Identifier: MIT */
/*
 * SipHash-1-3 of whole words: a keyed hash whose results nobody can foresee without the key.  Aumasson, Bernstein:
 * "SipHash: a fast short-input PRF".
 */
#ifndef AP_BASE_SIPHASH_H
#define AP_BASE_SIPHASH_H

#include "base/mem.h"
#include "base/types.h"

static inline u64 ap_sip_rotl(u64 v, u32 by)
{
	return v << by | v >> (64 - by);
}

static inline void ap_sip_round(u64 v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = ap_sip_rotl(v[1], 13) ^ v[0];
	v[3] = ap_sip_rotl(v[3], 16) ^ v[2];
	v[0] = ap_sip_rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = ap_sip_rotl(v[1], 17) ^ v[2];
	v[3] = ap_sip_rotl(v[3], 21) ^ v[0];
	v[2] = ap_sip_rotl(v[2], 32);
}

/* Of n words. */
static inline u64 ap_siphash(const u64 key[2], const void *data, u32 n)
{
	u64 v[4] = { key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
		     key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL };
	u64 last = (u64)n << 59, word;

	for (u32 k = 0; k <= n; k++) {
		word = last;
		if (k < n)
			__builtin_memcpy(&word, (const u8 *)data + 8ULL * k, 8);
		v[3] ^= word;
		ap_sip_round(v);
		v[0] ^= word;
	}
	v[2] ^= 0xff;
	ap_sip_round(v);
	ap_sip_round(v);
	ap_sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif
