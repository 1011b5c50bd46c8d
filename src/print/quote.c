/* SPDX-License-Identifier: MIT */
/*
 * Strings in formats that have rules of their own, beyond what a terminal asks.
 */
#include <stdlib.h>
#include <string.h>

#include "print/escape.h"
#include "print/print.h"

static void put_glyph(FILE *out, const char *s, struct ap_glyph g)
{
	if (g.columns >= 0) {
		fwrite(s, 1, g.bytes, out); /* raw: one character that is shown */
		return;
	}
	for (u32 i = 0; i < g.bytes; i++)
		fprintf(out, "\\x%02x", (u8)s[i]);
}

void ap_print_bytes(FILE *out, const char *s, size_t n)
{
	struct ap_glyph g;

	if (ap_escape_is_plain(s, n)) {
		fwrite(s, 1, n, out); /* raw: plain, as was just seen */
		return;
	}
	for (; n; s += g.bytes, n -= g.bytes) {
		g = ap_glyph_at(s, n);
		put_glyph(out, s, g);
	}
}

void ap_print_str(FILE *out, const char *s)
{
	ap_print_bytes(out, s, strlen(s));
}

void ap_print_line(FILE *out, const char *text)
{
	size_t n;

	for (;; text += n + 1) {
		n = strcspn(text, "\t");
		ap_print_bytes(out, text, n);
		if (!text[n])
			return;
		fputc('\t', out);
	}
}

/* What stands for a separator may not be one, nor be a part of one: it could complete it. */
static char guard_of(const char *separator)
{
	static const char guards[] = "._-~";
	size_t n = strspn(guards, separator);

	return n < sizeof(guards) - 1 ? guards[n] : '?';
}

/* One character for each separator in it; what is left is as short or shorter. */
static void collapse(char *s, const char *separator)
{
	size_t n = strlen(separator);

	for (; (s = strstr(s, separator)); s++) {
		*s = guard_of(separator);
		memmove(s + 1, s + n, strlen(s + n) + 1);
	}
}

char *ap_field_dup(const char *s, size_t n, const char *separator)
{
	char *text = strndup(s, n), *shown;

	/* in the name, and in what escaping has added to it: "x" is in "\\x1b" */
	if (text && separator && *separator)
		collapse(text, separator);
	shown = text ? ap_escape_dup(text) : NULL;
	if (shown && separator && *separator)
		collapse(shown, separator);
	free(text);
	return shown;
}

void ap_print_field(FILE *out, const char *s, const char *separator)
{
	char *shown = ap_field_dup(s, strlen(s), separator);

	if (shown)
		fputs(shown, out); /* raw: escaped */
	free(shown);
}

void ap_field_guard(char *s, const char *separator)
{
	if (separator && *separator)
		for (; (s = strstr(s, separator)); s++)
			*s = guard_of(separator);
}

/* A character of a string of JSON that is not to stand there as it is. */
static void put_json_code(FILE *out, struct ap_glyph g)
{
	if (g.code >= 0x10000)
		fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((g.code - 0x10000) >> 10),
			0xdc00 + (g.code & 0x3ff));
	else
		fprintf(out, "\\u%04x", g.code);
}

void ap_print_json(FILE *out, const char *s)
{
	size_t n = strlen(s);
	struct ap_glyph g;
	u32 before = 0;

	fputc('"', out);
	for (; n; s += g.bytes, n -= g.bytes) {
		g = ap_glyph_at(s, n);
		if (g.code == '"' || g.code == '\\')
			fprintf(out, "\\%c", (char)g.code);
		else if (g.code == '/' && before == '<')
			fputs("\\/", out);
		else if (g.code == '!' && before == '<')
			put_json_code(out, g);
		else if (g.columns >= 0)
			put_glyph(out, s, g);
		else if (g.code >= 0x80 && g.bytes == 1)
			fprintf(out, "\\\\x%02x", g.code);
		else
			put_json_code(out, g);
		before = g.code;
	}
	fputc('"', out);
}

void ap_print_json_text(FILE *out, const char *json, size_t n)
{
	struct ap_glyph g;
	u32 before = 0;

	for (; n; json += g.bytes, n -= g.bytes) {
		g = ap_glyph_at(json, n);
		if (g.code == '/' && before == '<')
			fputs("\\/", out);
		else if ((g.columns < 0 && g.code > ' ') || (g.code == '!' && before == '<'))
			put_json_code(out, g);
		else
			fwrite(json, 1, g.bytes, out); /* raw: shown, or space between values */
		before = g.code;
	}
}

void ap_print_xml(FILE *out, const char *s, u32 most)
{
	size_t n = strlen(s);
	struct ap_glyph g;

	for (; n; s += g.bytes, n -= g.bytes) {
		u32 columns;

		g = ap_glyph_at(s, n);
		columns = g.columns < 0 ? AP_ESCAPED * g.bytes : (u32)g.columns;
		if (columns > most)
			return;
		most -= columns;
		if (g.code == '<')
			fputs("&lt;", out);
		else if (g.code == '>')
			fputs("&gt;", out);
		else if (g.code == '&')
			fputs("&amp;", out);
		else if (g.code == '"')
			fputs("&quot;", out);
		else
			put_glyph(out, s, g);
	}
}
