/* SPDX-License-Identifier: MIT */
/*
 * The freestanding vocabulary that every layer shares: short integer names, the kernel's
 * helper macros and nothing that needs a libc.
 */
#ifndef AP_BASE_TYPES_H
#define AP_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define AP_MUST_CHECK __attribute__((warn_unused_result))
#define AP_NORETURN   __attribute__((noreturn))
#define AP_PACKED     __attribute__((packed))
/*
 * A large array, most of which is never touched: it stands apart, so that the rest of the blob's
 * data is a few pages.
 */
#define AP_ROOMY			   __attribute__((section(".bss.roomy")))
#define AP_ARRAY_SIZE(a)		   (sizeof(a) / sizeof((a)[0]))
#define AP_ALIGN_UP(x, a)		   (((x) + (a)-1) & ~((u64)(a)-1))
#define AP_ALIGN_DOWN(x, a)		   ((x) & ~((u64)(a)-1))
#define ap_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define ap_likely(x)			   __builtin_expect(!!(x), 1)
#define ap_unlikely(x)			   __builtin_expect(!!(x), 0)

/* Stands once in the program: clang makes no copies of functions for what they are called with. */
#ifdef __clang__
#define AP_ONE_COPY __attribute__((noinline))
#else
#define AP_ONE_COPY __attribute__((noinline, noclone))
#endif

#define AP_PAGE_SIZE 4096ULL
#define AP_PAGE_MASK (~(AP_PAGE_SIZE - 1))

#endif
