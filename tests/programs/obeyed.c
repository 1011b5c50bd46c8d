/* SPDX-License-Identifier: MIT */
/*
 * Finds what a terminal would obey in a file, without the code that should have kept it out:
 *
 *	obeyed FILE [tab]
 *
 * Says where a byte is below 0x20 (but for line ends, and tabs where they are asked for), is DEL, or is 0x80 and
 * above without being UTF-8 of a character above U+009f.  Says nothing, and ends with 0, where there is none.
 */
#include <stdio.h>
#include <string.h>

/* How many bytes the character has whose first byte is c, and the least code of these. */
static int lead(int c, unsigned *code, unsigned *least)
{
	if (c >= 0xf0 && c < 0xf8)
		return *code = c & 7, *least = 0x10000, 4;
	if (c >= 0xe0 && c < 0xf0)
		return *code = c & 15, *least = 0x800, 3;
	if (c >= 0xc0 && c < 0xe0)
		return *code = c & 31, *least = 0x80, 2;
	return 0;
}

static int is_utf8(FILE *f, int c)
{
	unsigned code = 0, least = 0;
	int left = lead(c, &code, &least);

	if (!left)
		return 0;
	while (--left) {
		c = getc(f);
		if (c == EOF || (c & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c & 0x3f);
	}
	return code >= least && code > 0x9f && code < 0x110000 && (code < 0xd800 || code > 0xdfff);
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
	int c, bad = 0, tabs = argc > 2 && !strcmp(argv[2], "tab");
	unsigned long line = 1;

	if (!f) {
		printf("cannot read\n");
		return 2;
	}
	while ((c = getc(f)) != EOF && bad < 5) {
		if (c == '\n') {
			line++;
		} else if ((c < 0x20 && !(c == '\t' && tabs)) || c == 0x7f ||
			   (c >= 0x80 && !is_utf8(f, c))) {
			printf("line %lu: byte %#x\n", line, (unsigned)c);
			bad++;
		}
	}
	fclose(f);
	return !!bad;
}
