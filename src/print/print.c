/* SPDX-License-Identifier: MIT */
/*
 * fprintf() with a %s that escapes.  Nearly all strings need nothing: then libc does the work, after a walk
 * over the arguments.  Else each conversion is written on its own.
 */
#include <stdlib.h>
#include <string.h>

#include "print/escape.h"
#include "print/print.h"

enum length {
	LEN_INT, /* and shorter */
	LEN_LONG,
	LEN_LLONG,
	LEN_SIZE
};

/* One conversion of a format, as it is written there. */
struct spec {
	char text[32];
	enum length length;
	bool is_left, is_long_double, has_precision;
	int width, precision;
	char conv;
};

/* va_list may be an array, which no pointer to a parameter survives. */
struct args {
	va_list ap;
};

static int number_at(const char **p, struct args *a)
{
	int n = 0;

	if (**p == '*') {
		++*p;
		return va_arg(a->ap, int);
	}
	while (**p >= '0' && **p <= '9')
		n = n * 10 + *(*p)++ - '0';
	return n;
}

static void read_length(struct spec *s, const char **p)
{
	for (;; ++*p) {
		switch (**p) {
		case 'h':
			break;
		case 'l':
			s->length = s->length == LEN_LONG ? LEN_LLONG : LEN_LONG;
			break;
		case 'j':
			s->length = LEN_LLONG;
			break;
		case 'z':
		case 't':
			s->length = LEN_SIZE;
			break;
		case 'L':
			s->is_long_double = true;
			break;
		default:
			return;
		}
	}
}

/* Reads what follows a '%'; its '*' take arguments.  s->text is the same with numbers for '*'. */
static const char *read_spec(struct spec *s, const char *p, struct args *a)
{
	const char *length, flags[] = "-+ #0'";
	size_t n = 1;

	memset(s, 0, sizeof(*s));
	s->text[0] = '%';
	for (; *p && strchr(flags, *p); p++) {
		s->is_left |= *p == '-';
		if (n < 7)
			s->text[n++] = *p;
	}
	s->width = number_at(&p, a);
	if (s->width < 0) {
		s->is_left = true;
		s->width = -s->width;
		s->text[n++] = '-';
	}
	if (*p == '.') {
		p++;
		s->precision = number_at(&p, a);
		s->has_precision = s->precision >= 0;
	}
	length = p;
	read_length(s, &p);
	s->conv = *p ? *p++ : 0;
	if (s->width)
		n += (size_t)snprintf(s->text + n, 8, "%d", s->width % 1000000);
	if (s->has_precision)
		n += (size_t)snprintf(s->text + n, 9, ".%d", s->precision % 1000000);
	memcpy(s->text + n, length, (size_t)(p - length) < 4 ? (size_t)(p - length) : 4);
	return p;
}

static size_t string_length(const struct spec *s, const char *text)
{
	return s->has_precision ? strnlen(text, (size_t)s->precision) : strlen(text);
}

static const char *string_arg(struct args *a)
{
	const char *text = va_arg(a->ap, const char *);

	return text ? text : "(null)";
}

static void put_blanks(FILE *out, int n)
{
	if (n > 0)
		fprintf(out, "%*s", n, ""); /* raw: blanks */
}

static int put_string(FILE *out, const struct spec *s, const char *text, const char *separator)
{
	size_t n = string_length(s, text);
	char *field = separator ? ap_field_dup(text, n, separator) : NULL;
	u32 columns;
	int pad;

	if (separator) {
		text = field ? field : "";
		n = strlen(text);
	}
	columns = ap_escape_is_plain(text, n) ? (u32)n : ap_escape_columns(text, n);
	pad = s->width > (int)columns ? s->width - (int)columns : 0;
	if (!s->is_left)
		put_blanks(out, pad);
	ap_print_bytes(out, text, n); /* a field is escaped already, which changes nothing more */
	if (s->is_left)
		put_blanks(out, pad);
	free(field);
	return pad + (int)columns;
}

#pragma GCC diagnostic push
/* what the caller wrote, and its compiler checked */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int put_int(FILE *out, const struct spec *s, struct args *a)
{
	switch (s->length) {
	case LEN_INT:
		return fprintf(out, s->text, va_arg(a->ap, int)); /* raw: a number */
	case LEN_LONG:
		return fprintf(out, s->text, va_arg(a->ap, long)); /* raw: a number */
	case LEN_LLONG:
		return fprintf(out, s->text, va_arg(a->ap, long long)); /* raw: a number */
	case LEN_SIZE:
		return fprintf(out, s->text, va_arg(a->ap, size_t)); /* raw: a number */
	}
	return 0;
}

/* How many columns it took. */
static int put_spec(FILE *out, const struct spec *s, struct args *a, const char *separator)
{
	switch (s->conv) {
	case 's':
		return put_string(out, s, string_arg(a), separator);
	case 'c':
		return fprintf(out, s->text, va_arg(a->ap, int)); /* raw: one of our own */
	case 'p':
		return fprintf(out, s->text, va_arg(a->ap, void *)); /* raw: a number */
	case 'd':
	case 'i':
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		return put_int(out, s, a);
	case '%':
		fputc('%', out);
		return 1;
	default:
		if (s->is_long_double)
			return fprintf(out, s->text,
				       va_arg(a->ap, long double));  /* raw: a number */
		return fprintf(out, s->text, va_arg(a->ap, double)); /* raw: a number */
	}
}

/* Passes over an argument; false: it has to be escaped. */
static bool skip_spec(const struct spec *s, struct args *a)
{
	const char *text;

	switch (s->conv) {
	case 's':
		text = string_arg(a);
		return ap_escape_is_plain(text, string_length(s, text));
	case '%':
		return true;
	case 'p':
		(void)va_arg(a->ap, void *);
		return true;
	case 'c':
	case 'd':
	case 'i':
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		if (s->length == LEN_INT)
			(void)va_arg(a->ap, int);
		else if (s->length == LEN_LLONG)
			(void)va_arg(a->ap, long long);
		else
			(void)va_arg(a->ap, long);
		return true;
	default:
		if (s->is_long_double)
			(void)va_arg(a->ap, long double);
		else
			(void)va_arg(a->ap, double);
		return true;
	}
}

bool ap_print_is_plain(const char *fmt, va_list ap)
{
	bool plain = true;
	struct args a;
	struct spec s;

	va_copy(a.ap, ap);
	while (plain && (fmt = strchr(fmt, '%'))) {
		fmt = read_spec(&s, fmt + 1, &a);
		plain = skip_spec(&s, &a);
	}
	va_end(a.ap);
	return plain;
}

/* What stands between conversions. */
static int put_own(FILE *out, const char *fmt, size_t n, const char *separator)
{
	int columns = (int)n;

	for (; n--; fmt++) {
		if (*fmt == '\t' && separator)
			fputs(separator, out); /* raw: what the user wants between fields */
		else
			fputc(*fmt, out); /* raw: the format's own */
	}
	return columns;
}

static int put_pieces(FILE *out, const char *separator, const char *fmt, va_list ap)
{
	const char *next;
	int columns = 0;
	struct args a;
	struct spec s;

	va_copy(a.ap, ap);
	for (; (next = strchr(fmt, '%')); fmt = next) {
		columns += put_own(out, fmt, (size_t)(next - fmt), separator);
		next = read_spec(&s, next + 1, &a);
		columns += put_spec(out, &s, &a, separator);
	}
	columns += put_own(out, fmt, strlen(fmt), separator);
	va_end(a.ap);
	return columns;
}

int ap_vprint(FILE *out, const char *fmt, va_list ap)
{
	if (ap_print_is_plain(fmt, ap))
		return vfprintf(out, fmt, ap); /* raw: plain, as was just seen */
	return put_pieces(out, NULL, fmt, ap);
}

#pragma GCC diagnostic pop

void ap_print_fields(FILE *out, const char *separator, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_pieces(out, separator, fmt, ap);
	va_end(ap);
}

int ap_print(FILE *out, const char *fmt, ...)
{
	va_list ap;
	int columns;

	va_start(ap, fmt);
	columns = ap_vprint(out, fmt, ap);
	va_end(ap);
	return columns;
}
