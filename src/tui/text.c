/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, files and commands come from whoever wrote the profile: nothing of them that
 * a terminal would obey gets through here (print/escape.h).  A terminal without UTF-8 is shown ASCII.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print/escape.h"
#include "tui/screen.h"

enum ap_tint ap_tint_of(double percent)
{
	if (percent >= 5)
		return AP_TINT_HOT;
	return percent >= 0.5 ? AP_TINT_WARM : AP_TINT_PLAIN;
}

/* A character as it is shown in column col: how many bytes it takes, and how wide its text is. */
static u32 piece_at(const char *text, size_t left, u32 col, char *piece, size_t size, u32 *width)
{
	struct ap_glyph g = ap_glyph_at(text, left);

	if (*text == '\t') { /* to the next multiple of eight */
		*width = 8 - col % 8;
		memset(piece, ' ', *width);
		piece[*width] = '\0';
		return 1;
	}
	if (g.bytes > 1 && MB_CUR_MAX == 1)
		g = (struct ap_glyph){ .bytes = 1, .columns = -1 };
	if (g.columns >= 0)
		ap_escape(piece, size, text, g.bytes);
	for (u32 i = 0; g.columns < 0 && i < g.bytes; i++)
		snprintf(piece + (size_t)i * AP_ESCAPED, AP_ESCAPED + 1, "\\x%02x", (u8)text[i]);
	*width = g.columns < 0 ? g.bytes * AP_ESCAPED : (u32)g.columns;
	return g.bytes;
}

u32 ap_text_clip(const char *text, u32 skip, u32 width, char *out, size_t size)
{
	size_t left = strlen(text), n, at = 0;
	u32 col = 0, used = 0, w, cut;
	char piece[4 * AP_ESCAPED + 1];

	for (; left; left -= n, text += n, col += w) {
		n = piece_at(text, left, col, piece, sizeof(piece), &w);
		if (!w && col < skip)
			continue;
		/* what is one column a byte is cut anywhere, and a wide character not at all */
		cut = 0;
		if (col < skip) {
			if (strlen(piece) != w || col + w <= skip)
				continue;
			cut = skip - col;
		}
		if (used + w - cut > width && strlen(piece) == w)
			piece[cut + width - used] = '\0';
		else if (used + w > width)
			break;
		if (at + strlen(piece + cut) + 1 > size)
			break;
		memcpy(out + at, piece + cut, strlen(piece + cut));
		at += strlen(piece + cut);
		used += used + w - cut > width ? width - used : w - cut;
	}
	if (size)
		out[at] = 0;
	return used;
}

u32 ap_text_columns(const char *text)
{
	char piece[4 * AP_ESCAPED + 1];
	size_t left = strlen(text), n;
	u32 col = 0, w;

	for (; left; left -= n, text += n, col += w)
		n = piece_at(text, left, col, piece, sizeof(piece), &w);
	return col;
}
