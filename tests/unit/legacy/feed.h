/* SPDX-License-Identifier: MIT */
/*
 * Bytes through the translation of the ABI of 2009, held to rules that are written down here once more, from the
 * documents: by a fuzzer, and by fuzz_test.c.
 */
#ifndef AP_TESTS_LEGACY_FEED_H
#define AP_TESTS_LEGACY_FEED_H

#include <stddef.h>
#include <stdint.h>

enum fed { FED_REFUSED, FED_TAKEN, FED_WRONG };

/* 56 bytes as an attr: refused as they should be, or such that the same attr can be made of today's again. */
enum fed feed_attr(const uint8_t *bytes, size_t size);
/*
 * What an overflow of 2009 is to say, chosen by the bytes: written as today's record with what it has more, and
 * translated, it must be the bytes of 2009.  Cut anywhere, or a word longer, it must be refused.
 */
enum fed feed_overflow(const uint8_t *bytes, size_t size);
/* Anything as a record of today's: nothing is read or written beyond it. */
enum fed feed_record(const uint8_t *bytes, size_t size);
/* Anything as a group's read: value and times of a member that is there, or refused. */
enum fed feed_read(const uint8_t *bytes, size_t size);

#endif
