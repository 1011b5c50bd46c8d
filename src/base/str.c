/* SPDX-License-Identifier: MIT */
/* Bounded strings and numbers. */
#include "base/str.h"
#include "base/mem.h"

void ap_str_init(struct ap_str *s, char *buf, size_t cap)
{
	s->buf = buf;
	s->cap = cap;
	s->len = 0;
	s->cut = cap == 0;
	if (cap)
		buf[0] = '\0';
}

void ap_str_add_n(struct ap_str *s, const char *text, size_t n)
{
	size_t room = s->cap ? s->cap - 1 - s->len : 0;

	if (n > room) {
		n = room;
		s->cut = true;
	}
	if (!n)
		return;
	memcpy(s->buf + s->len, text, n);
	s->len += n;
	s->buf[s->len] = '\0';
}

void ap_str_char(struct ap_str *s, char c)
{
	ap_str_add_n(s, &c, 1);
}

void ap_str_add(struct ap_str *s, const char *text)
{
	if (text)
		ap_str_add_n(s, text, strlen(text));
}

void ap_str_u64(struct ap_str *s, u64 v)
{
	char digits[20];
	u32 i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	ap_str_add_n(s, digits + i, sizeof(digits) - i);
}

void ap_str_s64(struct ap_str *s, s64 v)
{
	if (v < 0)
		ap_str_char(s, '-');
	ap_str_u64(s, v < 0 ? -(u64)v : (u64)v);
}

void ap_str_hex(struct ap_str *s, u64 v, u32 width)
{
	char digits[16];
	u32 i = sizeof(digits);

	if (width > sizeof(digits))
		width = sizeof(digits);
	do {
		u32 d = v & 15;

		digits[--i] = (char)(d < 10 ? '0' + d : 'a' + d - 10);
		v >>= 4;
	} while (v || sizeof(digits) - i < width);
	ap_str_add_n(s, digits + i, sizeof(digits) - i);
}

/* The value of a digit, or 255. */
static u32 digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 255;
}

static bool parse(const char **p, u64 *out, u32 base)
{
	const char *s = *p;
	u64 v = 0;

	for (; digit(*s) < base; s++) {
		if (__builtin_mul_overflow(v, (u64)base, &v) ||
		    __builtin_add_overflow(v, (u64)digit(*s), &v))
			return false;
	}
	if (s == *p)
		return false;
	*p = s;
	*out = v;
	return true;
}

void ap_str_unmangle(char *name)
{
	char *to = name;

	while (*name) {
		if (!strncmp(name, "\\012", 4)) {
			*to++ = '\n';
			name += 4;
		} else {
			*to++ = *name++;
		}
	}
	*to = '\0';
}

bool ap_parse_u64(const char **p, u64 *v)
{
	return parse(p, v, 10);
}

bool ap_parse_hex(const char **p, u64 *v)
{
	return parse(p, v, 16);
}
