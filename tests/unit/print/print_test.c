/* SPDX-License-Identifier: MIT */
/*
 * What is shown of strings that want to do more than be read.
 */
#include <stdlib.h>
#include <string.h>

#include "print/escape.h"
#include "print/print.h"
#include "tap/tap.h"

static char *made;
static size_t made_size;

static FILE *begin(void)
{
	free(made);
	made = NULL;
	return open_memstream(&made, &made_size);
}

static const char *end(FILE *out)
{
	fclose(out);
	return made;
}

#define PRINTED(...)                                                                               \
	({                                                                                         \
		FILE *out_ = begin();                                                              \
		ap_print(out_, __VA_ARGS__);                                                       \
		end(out_);                                                                         \
	})

static const char *escaped(const char *s)
{
	static char text[200];

	size_t n = ap_escape(text, sizeof(text), s, strlen(s));

	EXPECT_U64(n, strlen(text));
	return text;
}

static void controls_are_escaped_and_the_rest_is_not(void)
{
	EXPECT_STR(escaped("plain ~\\x1b"), "plain ~\\x1b");
	EXPECT_STR(escaped("\x1b[2J\n\t\r\x7f"), "\\x1b[2J\\x0a\\x09\\x0d\\x7f");
	EXPECT_STR(escaped("\x9b"
			   "2J"),
		   "\\x9b2J");						 /* a byte of C1 */
	EXPECT_STR(escaped("\xc2\x9b\xc2\x85"), "\\xc2\\x9b\\xc2\\x85"); /* the same, as UTF-8 */
	EXPECT_STR(escaped("h\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80"),
		   "h\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80");
	EXPECT_STR(escaped("\xe2\x80\xa8\xe2\x80\xae"), "\\xe2\\x80\\xa8\\xe2\\x80\\xae");
}

static void broken_utf8_is_escaped_byte_by_byte(void)
{
	EXPECT_STR(escaped("\xc3"), "\\xc3");
	EXPECT_STR(escaped("\xc3(\xff"), "\\xc3(\\xff");
	EXPECT_STR(escaped("\xe6\xbc"), "\\xe6\\xbc");
	EXPECT_STR(escaped("\xc0\x9b\xe0\x82\x9b"), "\\xc0\\x9b\\xe0\\x82\\x9b"); /* too long */
	EXPECT_STR(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");		 /* half of a pair */
	EXPECT_STR(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); /* too large */
}

/* Of each first byte with each second one: nothing that is left would be obeyed, and twice is as once. */
static void no_two_bytes_get_a_control_through(void)
{
	char in[8] = "", out[40], again[40];
	u32 bad = 0;

	for (u32 a = 1; a < 256; a++) {
		for (u32 b = 1; b < 256; b++) {
			size_t n;

			in[0] = (char)a;
			in[1] = (char)b;
			n = ap_escape(out, sizeof(out), in, 2);
			for (size_t i = 0; i < n; i++)
				bad += (u8)out[i] < 0x20 || (u8)out[i] == 0x7f;
			bad += (u8)out[0] >= 0x80 &&
			       !(a >= 0xc2 && a < 0xe0 && b >= 0x80 && b < 0xc0);
			bad += (u8)out[0] == 0xc2 && (u8)out[1] < 0xa0;
			bad += n != ap_escape(again, sizeof(again), out, n) || strcmp(out, again);
			bad += ap_escape_columns(in, 2) != ap_escape_columns(out, n);
		}
	}
	EXPECT_U64(bad, 0);
}

static void what_does_not_fit_is_cut_between_characters(void)
{
	char out[8];

	EXPECT_U64(ap_escape(out, 4, "ab\x1b", 3), 2);
	EXPECT_STR(out, "ab");
	EXPECT_U64(ap_escape(out, 5, "\x1b\x1b", 2), 4);
	EXPECT_STR(out, "\\x1b");
	EXPECT_U64(ap_escape(out, 3, "a\xe6\xbc\xa2", 4), 1);
	EXPECT_U64(ap_escape(out, 1, "a", 1), 0);
	EXPECT_STR(out, "");
}

static void strings_of_a_format_are_escaped_and_the_format_is_not(void)
{
	EXPECT_STR(PRINTED("\t%s\n", "a\nb"), "\ta\\x0ab\n");
	EXPECT_STR(PRINTED("%d%%|%s|%5.1f|%llx|%c|%zu|%p", -5, "\x1b", 2.25, 0xfeedfacecafeULL, 'x',
			   (size_t)7, (void *)0x10),
		   "-5%|\\x1b|  2.2|feedfacecafe|x|7|0x10");
	EXPECT_STR(PRINTED("%s %ld %hhd %*d %Lf", "\x1b", -1L, (signed char)3, 4, 5, 1.5L),
		   "\\x1b -1 3    5 1.500000");
	EXPECT_STR(PRINTED("%.*s|%.2s|%s", 2, "a\x1b\x1b", "\x1b\x1b\x1b", "\n"),
		   "a\\x1b|\\x1b\\x1b|\\x0a");
	EXPECT_STR(PRINTED("%-+6d|%06.2f|%#x|%s", 5, 1.5, 255, "\n"), "+5    |001.50|0xff|\\x0a");
	EXPECT_STR(PRINTED("nothing\n"), "nothing\n");
}

static void columns_are_padded_by_what_is_shown(void)
{
	EXPECT_STR(PRINTED("%6s|%-6s|%-3s|", "\x1b", "\x1b", "\x1b"), "  \\x1b|\\x1b  |\\x1b|");
	EXPECT_STR(PRINTED("%3s|%-3s|", "\xc3\xa9", "\xc3\xa9"), "  \xc3\xa9|\xc3\xa9  |");
	EXPECT_STR(PRINTED("%-5s|%*s|%-*s|", "\xe6\xbc\xa2", 3, "\xc3\xa9", -4, "\xc3\xa9"),
		   "\xe6\xbc\xa2   |  \xc3\xa9|\xc3\xa9   |");
	EXPECT_U64(ap_print(stderr, "# %s %3s\n", "\x1b", "\xc3\xa9"), 11);
}

static const char *fields(const char *sep, const char *a, const char *b)
{
	FILE *out = begin();

	ap_print_fields(out, sep, "%s\t%d\t%s\n", a, 7, b);
	return end(out);
}

static void no_name_is_two_fields(void)
{
	EXPECT_STR(fields(",", "a,b", "c\nd"), "a.b,7,c\\x0ad\n");
	EXPECT_STR(fields("\t", "a\tb", "c"), "a.b\t7\tc\n");
	EXPECT_STR(fields(".", "a.b", "c"), "a_b.7.c\n");
	EXPECT_STR(fields("::", "a::b:", "c"), "a.b:::7::c\n");
	EXPECT_STR(fields("", "a", "c"), "a7c\n");
	/* what escaping adds is of the name */
	EXPECT_STR(fields("x", "a\x1b", "x"), "a\\.1bx7x.\n");
	EXPECT_STR(fields("1b", "\x1b", "c"), "\\x.1b71bc\n");
	EXPECT_STR(fields("\\", "\x1b\\", "c"), ".x1b.\\7\\c\n");
	/* what stands for a separator completes none */
	EXPECT_STR(fields("a.", "aa.", "c"), "a_a.7a.c\n");
}

static const char *cut_fields(const char *sep, const char *a, const char *b)
{
	FILE *out = begin();

	ap_print_fields(out, sep, "%.4s\t%-5.*s\n", a, 3, b);
	return end(out);
}

static void nor_is_one_that_is_cut(void)
{
	EXPECT_STR(cut_fields(",", "a,b,c", "x,yz"), "a.b.,x.y  \n");
	EXPECT_STR(cut_fields("x", "a\x1b,", "x"), "a\\.1b,x.    \n");
}

static void what_is_not_to_be_seen_is_escaped(void)
{
	EXPECT_STR(escaped("\xe2\x81\xaa\xe2\x81\xaf"),
		   "\\xe2\\x81\\xaa\\xe2\\x81\\xaf"); /* U+206A, U+206F */
	EXPECT_STR(escaped("\xe2\x81\xa0\xe2\x80\x8b"),
		   "\\xe2\\x81\\xa0\\xe2\\x80\\x8b"); /* U+2060, U+200B */
	EXPECT_STR(escaped("\xc2\xad\xe3\x85\xa4"),
		   "\\xc2\\xad\\xe3\\x85\\xa4"); /* U+00AD, U+3164 */
	EXPECT_STR(escaped("\xe2\x80\x8d\xef\xb8\x8f"),
		   "\xe2\x80\x8d\xef\xb8\x8f"); /* a joiner, a selector */
}

static const char *json(const char *s)
{
	FILE *out = begin();

	ap_print_json(out, s);
	return end(out);
}

static const char *page(const char *s)
{
	FILE *out = begin();

	ap_print_json_text(out, s, strlen(s));
	return end(out);
}

static void strings_of_json_are_valid_and_end_no_script(void)
{
	EXPECT_STR(json("a\"\\\n\x1b\x7f"), "\"a\\\"\\\\\\u000a\\u001b\\u007f\"");
	EXPECT_STR(json("</script><!--"), "\"<\\/script><\\u0021--\"");
	EXPECT_STR(json("\x9b\xc2\x9b\xe2\x80\xa9\xc3\xa9"), "\"\\\\x9b\\u009b\\u2029\xc3\xa9\"");
	EXPECT_STR(json("\xf3\xa0\x80\x81"), "\"\\udb40\\udc01\"");
	EXPECT_STR(page("{\n\t\"a\": \"</a>\x7f\xc2\x9b\xe2\x80\xa8<!\"}"),
		   "{\n\t\"a\": \"<\\/a>\\u007f\\u009b\\u2028<\\u0021\"}");
}

static const char *xml(const char *s, u32 most)
{
	FILE *out = begin();

	ap_print_xml(out, s, most);
	return end(out);
}

static void xml_has_its_own_escapes(void)
{
	EXPECT_STR(xml("<a>&\"\x1b", 100), "&lt;a&gt;&amp;&quot;\\x1b");
	EXPECT_STR(xml("<a>", 2), "&lt;a");
	EXPECT_STR(xml("a\x1b"
		       "b",
		       4),
		   "a");
}

static void tabs_of_a_line_stay(void)
{
	FILE *out = begin();

	ap_print_line(out, "\tif (x)\t\x1b\n");
	EXPECT_STR(end(out), "\tif (x)\t\\x1b\\x0a");
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(controls_are_escaped_and_the_rest_is_not),
		TAP(broken_utf8_is_escaped_byte_by_byte),
		TAP(no_two_bytes_get_a_control_through),
		TAP(what_does_not_fit_is_cut_between_characters),
		TAP(strings_of_a_format_are_escaped_and_the_format_is_not),
		TAP(columns_are_padded_by_what_is_shown),
		TAP(no_name_is_two_fields),
		TAP(nor_is_one_that_is_cut),
		TAP(what_is_not_to_be_seen_is_escaped),
		TAP(strings_of_json_are_valid_and_end_no_script),
		TAP(xml_has_its_own_escapes),
		TAP(tabs_of_a_line_stay),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
