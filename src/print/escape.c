/* SPDX-License-Identifier: MIT */
/*
 * What a terminal obeys is never shown: C0 and C1 controls, DEL, line and paragraph separators, and the
 * controls that turn the direction of writing (they swap the columns of a line that has them).  The
 * locale has no say: names are UTF-8 wherever they are from.
 */
#include <stdlib.h>
#include <string.h>

#include "print/escape.h"

struct char_range {
	u32 first, last;
};

/*
 * What a terminal, or the reader of a page, obeys; and what is not to be seen (Unicode's Default_Ignorable_Code_Point): two names
 * may not look the same.  Writing needs some of these, which are not here: joiners (U+200C, U+200D) and variation selectors.
 */
static const struct char_range hidden[] = {
	{ 0x00, 0x1f },	      { 0x7f, 0x9f },	    { 0xad, 0xad },	  { 0x034f, 0x034f },
	{ 0x061c, 0x061c },   { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },	  { 0x180e, 0x180e },
	{ 0x200b, 0x200b },   { 0x200e, 0x200f },   { 0x2028, 0x202e },	  { 0x2060, 0x206f },
	{ 0x3164, 0x3164 },   { 0xd800, 0xdfff },   { 0xfeff, 0xfeff },	  { 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },   { 0xfffe, 0xffff },   { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe00ff }, { 0xe01f0, 0xe0fff },
};

/* Marks that stand on the character before them. */
static const struct char_range marks[] = {
	{ 0x0300, 0x036f },   { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a },
	{ 0x064b, 0x065f },   { 0x06d6, 0x06dc }, { 0x093c, 0x093c }, { 0x0941, 0x0948 },
	{ 0x094d, 0x094d },   { 0x0e31, 0x0e31 }, { 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e },
	{ 0x1ab0, 0x1aff },   { 0x1dc0, 0x1dff }, { 0x200c, 0x200d }, { 0x20d0, 0x20ff },
	{ 0x302a, 0x302d },   { 0x3099, 0x309a }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
	{ 0xe0100, 0xe01ef },
};

/* East Asian ones and pictures. */
static const struct char_range wide[] = {
	{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x2329, 0x232a },	  { 0x23e9, 0x23ec },
	{ 0x2e80, 0x303e },   { 0x3041, 0x33ff },   { 0x3400, 0x4dbf },	  { 0x4e00, 0x9fff },
	{ 0xa000, 0xa4cf },   { 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },	  { 0xf900, 0xfaff },
	{ 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },	  { 0x16fe0, 0x18aff },
	{ 0x1b000, 0x1b2ff }, { 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff },
	{ 0x20000, 0x3fffd },
};

static bool is_in(u32 code, const struct char_range *r, size_t n)
{
	size_t low = 0;

	while (n) {
		size_t mid = low + n / 2;

		if (code < r[mid].first) {
			n /= 2;
		} else if (code > r[mid].last) {
			n -= n / 2 + 1;
			low = mid + 1;
		} else {
			return true;
		}
	}
	return false;
}

static int columns_of(u32 code)
{
	if (is_in(code, hidden, AP_ARRAY_SIZE(hidden)))
		return -1;
	if (is_in(code, marks, AP_ARRAY_SIZE(marks)))
		return 0;
	return is_in(code, wide, AP_ARRAY_SIZE(wide)) ? 2 : 1;
}

/* How many bytes a character has that begins with this one; 0: none does. */
static u32 length_of(u8 lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

struct ap_glyph ap_glyph_at(const char *s, size_t left)
{
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const u8 *u = (const u8 *)s;
	struct ap_glyph broken = { *u, 1, -1 }, g = { 0, length_of(*u), 0 };

	if (!g.bytes || g.bytes > left)
		return broken;
	g.code = g.bytes == 1 ? *u : *u & (0xffU >> (g.bytes + 1));
	for (u32 i = 1; i < g.bytes; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return broken;
		g.code = g.code << 6 | (u[i] & 0x3f);
	}
	if (g.code < least[g.bytes] || g.code > 0x10ffff || (g.code >= 0xd800 && g.code < 0xe000))
		return broken;
	g.columns = columns_of(g.code);
	return g;
}

bool ap_escape_is_plain(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((u8)(s[i] - ' ') > '~' - ' ')
			return false;
	return true;
}

u32 ap_escape_columns(const char *s, size_t n)
{
	u32 columns = 0;
	struct ap_glyph g;

	for (; n; s += g.bytes, n -= g.bytes) {
		g = ap_glyph_at(s, n);
		columns += g.columns < 0 ? g.bytes * AP_ESCAPED : (u32)g.columns;
	}
	return columns;
}

u32 ap_escape_width(const char *s)
{
	size_t n = strlen(s);
	u32 columns = ap_escape_is_plain(s, n) ? 0 : ap_escape_columns(s, n);

	return columns > n ? columns : (u32)n;
}

size_t ap_escape(char *out, size_t size, const char *s, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	struct ap_glyph g;
	size_t at = 0;

	for (; n; s += g.bytes, n -= g.bytes) {
		g = ap_glyph_at(s, n);
		if (at + g.bytes * (g.columns < 0 ? AP_ESCAPED : 1) >= size)
			break;
		if (g.columns >= 0) {
			memcpy(out + at, s, g.bytes);
			at += g.bytes;
			continue;
		}
		for (u32 i = 0; i < g.bytes; i++) {
			out[at++] = '\\';
			out[at++] = 'x';
			out[at++] = digits[(u8)s[i] >> 4];
			out[at++] = digits[(u8)s[i] & 15];
		}
	}
	if (size)
		out[at] = 0;
	return at;
}

char *ap_escape_dup(const char *s)
{
	size_t n = strlen(s), size = AP_ESCAPED * n + 1;
	char *out = malloc(size);

	if (out)
		ap_escape(out, size, s, n);
	return out;
}
