/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer's way into the translation of the ABI of 2009: `make fuzz`.  tests/unit/legacy/fuzz_test.c does the same
 * with bytes of chance.
 */
#include "../unit/legacy/feed.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (feed_attr(bytes, size) == FED_WRONG || feed_overflow(bytes, size) == FED_WRONG ||
	    feed_record(bytes, size) == FED_WRONG || feed_read(bytes, size) == FED_WRONG)
		__builtin_trap();
	return 0;
}
