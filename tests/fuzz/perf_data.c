/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer's way into the reader of perf.data: `make fuzz`.  tests/unit/profile/data_test.c does the
 * same with every cut and every flipped byte of its files, and with the corpus.
 */
#include "../unit/profile/feed.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	feed(bytes, size);
	return 0;
}
