/* SPDX-License-Identifier: MIT */
/*
 * A perf.data put together byte by byte, in either byte order, with nothing of the code under test.
 */
#ifndef AP_TESTS_PROFILE_FILE_H
#define AP_TESTS_PROFILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file {
	uint8_t bytes[65536];
	size_t n;
	bool swap;
	size_t record; /* where the open record begins */
};

void put8(struct file *f, uint8_t v);
void put16(struct file *f, uint16_t v);
void put32(struct file *f, uint32_t v);
void put64(struct file *f, uint64_t v);
void put_text(struct file *f, const char *text, size_t room);

/* An attr of 64 bytes: software, cpu-clock, period 7, sample_id_all. */
void put_attr(struct file *f, uint64_t sample_type, uint64_t flags);

void begin_record(struct file *f, uint32_t type, uint16_t misc);
void end_record(struct file *f); /* writes its size */

/* Header and one event without ids; data.size is set by end_file. */
void begin_file(struct file *f, uint64_t sample_type, uint64_t flags, uint64_t features);
void end_data(struct file *f);

#endif
