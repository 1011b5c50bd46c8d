/* SPDX-License-Identifier: MIT */
/*
 * Client requests: their numbers, as valgrind's manual and headers document them, and who answers which.
 */
#ifndef AP_ENGINE_REQUEST_H
#define AP_ENGINE_REQUEST_H

#include "base/types.h"

struct ap_thread;

#define AP_REQUEST_TOOL(a, b) ((u64)(a) << 24 | (u64)(b) << 16)

enum ap_request_number {
	AP_REQUEST_RUNNING = 0x1001,
	AP_REQUEST_DISCARD = 0x1002,
	AP_REQUEST_PRINTF = 0x1401, /* format, a va_list as a word: no caller on x86-64 has that */
	AP_REQUEST_PRINTF_BACKTRACE = 0x1402,
	AP_REQUEST_PRINTF_VA = 0x1403, /* format, the address of a va_list */
	AP_REQUEST_PRINTF_BACKTRACE_VA = 0x1404,
	AP_REQUEST_STACK_REGISTER = 0x1501,
};

enum ap_request_callgrind { /* from AP_REQUEST_TOOL('C', 'T') on */
			    AP_CALLGRIND_DUMP,
			    AP_CALLGRIND_ZERO,
			    AP_CALLGRIND_TOGGLE,
			    AP_CALLGRIND_DUMP_AT, /* text */
			    AP_CALLGRIND_START,
			    AP_CALLGRIND_STOP,
};

enum ap_request_cachegrind { AP_CACHEGRIND_START, AP_CACHEGRIND_STOP }; /* 'C', 'G' */

enum ap_request_own {
	AP_OWN_BEGIN,
	AP_OWN_END
}; /* 'A', 'P': how far behind the words the name is */

/* The words that %rax points to. */
struct ap_request_words {
	u64 number, arg[5];
	u64 at;	     /* their address */
	u32 markers; /* instructions of the marker, with a lea in front of it */
};

/* message.c: the program's text to standard error; how many characters it has. */
u64 ap_request_print(struct ap_thread *t, u64 format, u64 va_list_at, bool has_place);

/* region.c: of the numbers of the three tools; false: of none of them. */
bool ap_request_region(struct ap_thread *t, const struct ap_request_words *r);
/* The child has its parent's open regions. */
void ap_regions_inherit(struct ap_thread *child, const struct ap_thread *parent);
/* The party's file is another one; false: its table cannot be mapped. */
AP_MUST_CHECK bool ap_regions_move(void);
/* What is mapped of the party's file: its table. */
void ap_regions_each(void (*fn)(void *at, u64 size));

#endif
