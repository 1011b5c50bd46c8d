/* SPDX-License-Identifier: MIT */
/*
 * Output of strings that come from elsewhere.  What is not in the format itself is escaped (print/escape.h);
 * columns are padded by how wide the text is shown, and not by its bytes.
 */
#ifndef AP_PRINT_PRINT_H
#define AP_PRINT_PRINT_H

#include <stdarg.h>
#include <stdio.h>

#include "base/types.h"

/*
 * As fprintf(), but for %s, which escapes; there is no %n and %m, and %c is for characters of our own.
 * Gives how many columns were written.
 */
int ap_print(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int ap_vprint(FILE *out, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Nothing that %s is given has to be escaped: vsnprintf() makes the same of it. */
bool ap_print_is_plain(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));

void ap_print_str(FILE *out, const char *s);
void ap_print_bytes(FILE *out, const char *s, size_t n);
/* A line of a file of sources: its tabs stay. */
void ap_print_line(FILE *out, const char *text);

/*
 * A line of fields: a tab of the format is the separator, which may be anything.  A separator in a %s
 * becomes '.', as perf report -t has it.
 */
void ap_print_fields(FILE *out, const char *separator, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* At most n bytes as a field shows them, to be freed; NULL: no memory. */
char *ap_field_dup(const char *s, size_t n, const char *separator);
/* One field. */
void ap_print_field(FILE *out, const char *s, const char *separator);
/* The same in place, for text that print/escape.h has no more to say about. */
void ap_field_guard(char *s, const char *separator);

/* A string of JSON with its quotes.  A page may hold it; bytes that are no UTF-8 are text: "\\x9b". */
void ap_print_json(FILE *out, const char *s);
/* JSON that is valid already: what only a page or a terminal minds is escaped. */
void ap_print_json_text(FILE *out, const char *json, size_t n);
/* At most so many columns of it, as text of XML. */
void ap_print_xml(FILE *out, const char *s, u32 most);

#endif
