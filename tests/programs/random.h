/* SPDX-License-Identifier: MIT */
/*
 * Random numbers of programs that do at random what no program does: the same for the same seed.
 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

static uint64_t random_word = 88172645463325252ULL;

static inline void random_seed(uint64_t seed)
{
	random_word = seed * 0x9e3779b97f4a7c15ULL + 1;
}

static inline uint64_t any(void)
{
	random_word ^= random_word << 13;
	random_word ^= random_word >> 7;
	random_word ^= random_word << 17;
	return random_word * 0x2545f4914f6cdd1dULL;
}

static inline uint32_t below(uint32_t n)
{
	return (uint32_t)((any() >> 33) % n);
}

/* Mostly small, at times a power of two, or one less, at times anything. */
static inline uint64_t any_number(void)
{
	switch (below(8)) {
	case 0:
		return any();
	case 1:
		return (1ULL << below(64)) - 1;
	case 2:
		return 1ULL << below(64);
	case 3:
		return 0;
	case 4:
		return ~0ULL;
	default:
		return below(20);
	}
}

#endif
