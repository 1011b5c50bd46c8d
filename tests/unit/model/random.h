/* SPDX-License-Identifier: MIT */
/*
 * Random numbers of a seed (splitmix64) and zeroed memory, for tests of the models.
 */
#ifndef TESTS_UNIT_MODEL_RANDOM_H
#define TESTS_UNIT_MODEL_RANDOM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"

static uint64_t seed;

static inline uint64_t next(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline uint32_t below(uint32_t n)
{
	return next() % n;
}

static inline void *zeroed(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

	REQUIRE(memory);
	memset(memory, 0, bytes);
	return memory;
}

#endif
