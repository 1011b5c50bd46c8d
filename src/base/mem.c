/* SPDX-License-Identifier: MIT */
/*
 * mem* and str* for the blob.  General registers only: large copies use the string instructions,
 * small ones words; both beat byte loops and neither touches the program's vector state.
 */
#include "base/mem.h"

#if !__STDC_HOSTED__

/* From here on the microcode of rep movsb and rep stosb is faster than a loop of words. */
#define BULK 256

typedef u64 word __attribute__((aligned(1), may_alias));

/* Right for overlaps with dst below src, too: each step reads before it or a later one writes. */
static inline void *copy_up(void *dst, const void *src, size_t n)
{
	char *d = dst;
	const char *s = src;

	if (n >= BULK) {
		__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
		return dst;
	}
	for (; n >= 8; n -= 8, d += 8, s += 8)
		*(word *)d = *(const word *)s;
	while (n--)
		*d++ = *s++;
	return dst;
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	return copy_up(dst, src, n);
}

void *memmove(void *dst, const void *src, size_t n)
{
	char *d = (char *)dst + n;
	const char *s = (const char *)src + n;

	if ((uintptr_t)dst - (uintptr_t)src >= n)
		return copy_up(dst, src, n);
	for (; n >= 8; n -= 8) {
		d -= 8;
		s -= 8;
		*(word *)d = *(const word *)s;
	}
	while (n--)
		*--d = *--s;
	return dst;
}

void *memset(void *dst, int c, size_t n)
{
	char *d = dst;
	u64 fill = (u8)c * 0x0101010101010101ULL;

	if (n >= BULK) {
		__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
		return dst;
	}
	for (; n >= 8; n -= 8, d += 8)
		*(word *)d = fill;
	while (n--)
		*d++ = (char)c;
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *x = a, *y = b;

	for (; n >= 8 && *(const word *)x == *(const word *)y; n -= 8, x += 8, y += 8)
		;
	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

void *memchr(const void *s, int c, size_t n)
{
	const u8 *p = s;

	for (; n; n--, p++)
		if (*p == (u8)c)
			return (void *)(uintptr_t)p;
	return NULL;
}

size_t strlen(const char *s)
{
	const char *p = s;

	while (*p)
		p++;
	return p - s;
}

size_t strnlen(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i])
		i++;
	return i;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++)
		if (*a != *b || !*a)
			return (u8)*a - (u8)*b;
	return 0;
}

int strcmp(const char *a, const char *b)
{
	return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return (char *)(uintptr_t)s;
}

char *strrchr(const char *s, int c)
{
	char *found = NULL;

	do {
		if (*s == (char)c)
			found = (char *)(uintptr_t)s;
	} while (*s++);
	return found;
}

#endif
