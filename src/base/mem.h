/* SPDX-License-Identifier: MIT */
/*
 * The memory and string functions of the C library, for code that may have none.  Hosted builds
 * take libc's; in the blob mem.c defines them, for calls that gcc makes on its own as well.
 */
#ifndef AP_BASE_MEM_H
#define AP_BASE_MEM_H

#include "base/types.h"

#if __STDC_HOSTED__
#include <string.h>
#else
void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int c, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t n);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
#endif

#endif
