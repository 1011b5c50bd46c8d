/* SPDX-License-Identifier: MIT */
/*
 * Names of functions, files and commands come from whoever wrote the profile: nothing of them that
 * a terminal would obey gets through here.
 */
#define _XOPEN_SOURCE 700
#include <string.h>
#include <wchar.h>

#include "tui/screen.h"

enum ap_tint ap_tint_of(double percent)
{
	if (percent >= 5)
		return AP_TINT_HOT;
	return percent >= 0.5 ? AP_TINT_WARM : AP_TINT_PLAIN;
}

/* The next character: how many bytes it takes and columns it has; *width 0: it is not printable. */
static size_t next_char(const char *p, size_t left, u32 *width)
{
	mbstate_t state = { 0 };
	wchar_t c;
	size_t n;
	int w;

	*width = 0;
	if ((unsigned char)*p < 0x80) {
		*width = *p >= ' ' && *p != 0x7f;
		return 1;
	}
	n = mbrtowc(&c, p, left, &state);
	if (n == (size_t)-1 || n == (size_t)-2 || !n)
		return 1;
	w = wcwidth(c);
	*width = w > 0 ? (u32)w : 0;
	return n;
}

u32 ap_text_clip(const char *text, u32 skip, u32 width, char *out, size_t size)
{
	size_t left = strlen(text), n, at = 0;
	u32 col = 0, used = 0, w;
	bool is_shown;

	for (; left; left -= n, text += n) {
		n = next_char(text, left, &w);
		is_shown = w;
		if (*text == '\t') {
			/* to the next multiple of eight */
			for (w = 8 - col % 8; w; w--, col++) {
				if (col < skip || used >= width || at + 1 >= size)
					continue;
				out[at++] = ' ';
				used++;
			}
			continue;
		}
		w = w ? w : 1;
		if (col < skip) {
			col += w;
			continue;
		}
		col += w;
		if (used + w > width || at + n + 1 > size)
			break;
		if (is_shown)
			memcpy(out + at, text, n);
		else
			out[at] = '?';
		at += is_shown ? n : 1;
		used += w;
	}
	if (size)
		out[at] = 0;
	return used;
}

u32 ap_text_columns(const char *text)
{
	size_t left = strlen(text), n;
	u32 col = 0, w;

	for (; left; left -= n, text += n) {
		n = next_char(text, left, &w);
		col += *text == '\t' ? 8 - col % 8 : w ? w : 1;
	}
	return col;
}
