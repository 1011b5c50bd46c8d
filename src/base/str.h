/* SPDX-License-Identifier: MIT */
/*
 * Text in fixed buffers without a libc: building that cuts instead of overrunning, and the
 * parsing of numbers.
 */
#ifndef AP_BASE_STR_H
#define AP_BASE_STR_H

#include "base/types.h"

/* buf is NUL terminated at all times; what does not fit is dropped and cut says so. */
struct ap_str {
	char *buf;
	size_t cap, len;
	bool cut;
};

void ap_str_init(struct ap_str *s, char *buf, size_t cap);
void ap_str_char(struct ap_str *s, char c);
void ap_str_add(struct ap_str *s, const char *text); /* NULL adds nothing */
void ap_str_add_n(struct ap_str *s, const char *text, size_t n);
void ap_str_u64(struct ap_str *s, u64 v);
void ap_str_s64(struct ap_str *s, s64 v);
/* Lower case without a prefix, zero-padded to at least width digits. */
void ap_str_hex(struct ap_str *s, u64 v, u32 width);

/* The name of a file as /proc/PID/maps has it: the kernel writes a line end as \012 there. */
void ap_str_unmangle(char *name);

/*
 * Read a number at *p and move *p past it; false, and *p unmoved, where there is none or too big.
 */
AP_MUST_CHECK bool ap_parse_u64(const char **p, u64 *v);
AP_MUST_CHECK bool ap_parse_hex(const char **p, u64 *v); /* no prefix */

#endif
