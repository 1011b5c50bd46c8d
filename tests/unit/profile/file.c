/* SPDX-License-Identifier: MIT */
#include "file.h"

#include <string.h>

void put8(struct file *f, uint8_t v)
{
	f->bytes[f->n++] = v;
}

static void put(struct file *f, uint64_t v, unsigned int size)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		put8(f, (uint8_t)(v >> 8 * (f->swap ? size - 1 - i : i)));
}

void put16(struct file *f, uint16_t v)
{
	put(f, v, 2);
}

void put32(struct file *f, uint32_t v)
{
	put(f, v, 4);
}

void put64(struct file *f, uint64_t v)
{
	put(f, v, 8);
}

void put_text(struct file *f, const char *text, size_t room)
{
	size_t i, n = strlen(text);

	for (i = 0; i < room; i++)
		put8(f, i < n ? (uint8_t)text[i] : 0);
}

/* Bit fields are filled from the other end of each byte on the other kind of machine. */
static uint8_t reversed(uint8_t v)
{
	uint8_t r = 0;
	int i;

	for (i = 0; i < 8; i++)
		r |= (uint8_t)((v >> i & 1) << (7 - i));
	return r;
}

void put_attr(struct file *f, uint64_t sample_type, uint64_t flags)
{
	int i;

	put32(f, 1);
	put32(f, 64);
	put64(f, 0);
	put64(f, 7);
	put64(f, sample_type);
	put64(f, 0);
	for (i = 0; i < 8; i++)
		put8(f, f->swap ? reversed((uint8_t)(flags >> 8 * i)) : (uint8_t)(flags >> 8 * i));
	put32(f, 0);
	put32(f, 0);
	put64(f, 0);
}

void begin_record(struct file *f, uint32_t type, uint16_t misc)
{
	f->record = f->n;
	put32(f, type);
	put16(f, misc);
	put16(f, 0);
}

void end_record(struct file *f)
{
	size_t end = f->n;

	f->n = f->record + 6;
	put16(f, (uint16_t)(end - f->record));
	f->n = end;
}

void begin_file(struct file *f, uint64_t sample_type, uint64_t flags, uint64_t features)
{
	f->n = 0;
	put64(f, 0x32454c4946524550ULL);
	put64(f, 104);
	put64(f, 64 + 16);
	put64(f, 104); /* events */
	put64(f, 80);
	put64(f, 184); /* data */
	put64(f, 0);
	put64(f, 0);
	put64(f, 0);
	put64(f, features);
	put64(f, 0);
	put64(f, 0);
	put64(f, 0);
	put_attr(f, sample_type, flags);
	put64(f, 0);
	put64(f, 0);
}

void end_data(struct file *f)
{
	size_t end = f->n;

	f->n = 48;
	put64(f, end - 184);
	f->n = end;
}
