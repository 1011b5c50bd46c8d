/* SPDX-License-Identifier: MIT */
/*
 * Which characters of a foreign string are shown as they are.  All others, and all bytes that are no UTF-8,
 * are written as \x1b is: four columns for each byte.  A backslash is shown as it is, so a text that was
 * escaped once stays the same when it is escaped again.
 */
#ifndef AP_PRINT_ESCAPE_H
#define AP_PRINT_ESCAPE_H

#include "base/types.h"

#define AP_ESCAPED 4 /* bytes and columns of what stands for one byte */

/*
 * The character at s, of which left bytes (1 at least) can be read: its code, how many bytes it has, and how
 * many columns.  columns is -1 where it is not to be shown; a byte that is no UTF-8 is a character of its own.
 */
struct ap_glyph {
	u32 code, bytes;
	int columns;
};

struct ap_glyph ap_glyph_at(const char *s, size_t left);

/* Nothing in it has to be escaped, and it has as many columns as bytes. */
bool ap_escape_is_plain(const char *s, size_t n);
/* How many columns the first n bytes have when they are shown. */
u32 ap_escape_columns(const char *s, size_t n);
/* How wide a column has to be for it, whose cells may have been cut by bytes before they are shown. */
u32 ap_escape_width(const char *s);
/* The text as it is shown, ended by 0, cut before the first character that does not fit; gives its length. */
size_t ap_escape(char *out, size_t size, const char *s, size_t n);
/* All of it, to be freed; NULL: no memory. */
char *ap_escape_dup(const char *s);

#endif
