/* SPDX-License-Identifier: MIT */
/*
 * Filters of tracepoints: fields of each size and sign, precedence, and what is refused.
 */
#include "profile/data/trace_filter.h"

#include <stdio.h>
#include <string.h>

#include "tap/tap.h"

static const char format[] =
	"name: all\nID: 7\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:long s8;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield:unsigned long u8;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:int s4;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned short u2;\toffset:28;\tsize:2;\tsigned:0;\n"
	"\tfield:signed char s1;\toffset:30;\tsize:1;\tsigned:1;\n"
	"\tfield:char name[16];\toffset:32;\tsize:16;\tsigned:0;\n"
	"\nprint fmt: \"%ld\", REC->s8\n";

/* s8 -2, u8 2^64-2, s4 -7, u2 0xfff0, s1 -1 */
static void fill(u8 *raw)
{
	const s64 two = -2;
	const s32 seven = -7;
	const u16 bits = 0xfff0;

	memset(raw, 0, 48);
	raw[0] = 7;
	memcpy(raw + 8, &two, 8);
	memcpy(raw + 16, &two, 8);
	memcpy(raw + 24, &seven, 4);
	memcpy(raw + 28, &bits, 2);
	raw[30] = 0xff;
}

static void numbers_are_what_their_fields_are(void)
{
	static const struct {
		const char *text;
		bool is;
	} rows[] = {
		{ "s8 < 0", true },
		{ "s8 == -2", true },
		{ "s8>=-1", false },
		{ "s8 > -3 ", true },
		{ "u8 > 0x7fffffffffffffff", true },
		{ "u8 < 1", false },
		{ "u8 == 18446744073709551614", true },
		{ "s4 == -7", true },
		{ "s4 == 0xfffffff9", true }, /* as wide as the field */
		{ "s4 <= -8", false },
		{ "u2 == 0xfff0", true },
		{ "u2 == 0x1fff0", true },
		{ "u2 & 0xf", false },
		{ "u2 & 0x10", true },
		{ "s1 != -1", false },
		{ "common_type == 7", true },
		{ "s8 == 1 && u8 == 1 || s1 == -1", true },
		{ "s1 == -1 || s8 == 1 && u8 == 1", true },
		{ "(s1 == -1 || s8 == 1) && u8 == 1", false },
		{ "!s8 == 1", true },
		{ "!(s8 < 0) || !!(s1 < 0)", true },
		{ "!s8 < 0 && s1 < 0", false },
	};
	struct ap_raw_filter *f;
	char why[200];
	u8 raw[48];

	fill(raw);
	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		REQUIRE(!ap_trace_filter_parse(&f, format, rows[i].text, why, sizeof(why)));
		if (!EXPECT_U64(ap_trace_filter_match(f, raw, sizeof(raw)), rows[i].is))
			tap_note("%s", rows[i].text);
		ap_trace_filter_free(f);
	}
}

static void what_was_cut_off_does_not_match(void)
{
	struct ap_raw_filter *f;
	char why[200];
	u8 raw[48];

	fill(raw);
	REQUIRE(!ap_trace_filter_parse(&f, format, "s4 < 0", why, sizeof(why)));
	EXPECT_U64(ap_trace_filter_match(f, raw, 28), 1);
	EXPECT_U64(ap_trace_filter_match(f, raw, 27), 0);
	EXPECT_U64(ap_trace_filter_match(f, raw, 0), 0);
	ap_trace_filter_free(f);
}

/* libtraceevent's parser of how to print faults on this one; fields are all that a filter needs. */
static void what_cannot_be_printed_can_be_filtered(void)
{
	static const char odd[] = "name: all\nID: 7\nformat:\n"
				  "\tfield:long s8;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\nprint fmt: \"NR %l[ (%lx)\", RECs[6];\toffset:10x10\n";
	struct ap_raw_filter *f;
	char why[200];
	u8 raw[48];

	fill(raw);
	REQUIRE(!ap_trace_filter_parse(&f, odd, "s8 == -2", why, sizeof(why)));
	EXPECT_U64(ap_trace_filter_match(f, raw, sizeof(raw)), 1);
	ap_trace_filter_free(f);
}

static void wrong_filters_get_a_reason(void)
{
	static const char *const rows[][2] = {
		{ "", "a field's name is missing at ''" },
		{ "none == 1", "no such field of the tracepoint at 'none == 1'" },
		{ "name == 1", "only numbers can be compared at 'name == 1'" },
		{ "s8", "one of == != < <= > >= & is missing at ''" },
		{ "s8 && u8", "one of == != < <= > >= & is missing at '&& u8'" },
		{ "s8 = 1", "one of == != < <= > >= & is missing at '= 1'" },
		{ "s8 ~ \"*p*\"", "strings are not compared, numbers alone at '~ \"*p*\"'" },
		{ "s8 == \"p\"", "strings are not compared, numbers alone at '\"p\"'" },
		{ "s8 == x", "a number is missing at 'x'" },
		{ "s8 == 1x", "no number at '1x'" },
		{ "s8 == 99999999999999999999", "no number at '99999999999999999999'" },
		{ "u2 == -1", "the field is never negative at '-1'" },
		{ "(s8 == 1", "')' is missing at ''" },
		{ "s8 == 1)", "&& or || is missing at ')'" },
		{ "s8 == 1 u8 == 1", "&& or || is missing at 'u8 == 1'" },
		{ "s8 == 1 &&", "a field's name is missing at ''" },
	};
	struct ap_raw_filter *f;
	char why[200], deep[400];

	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		EXPECT(ap_trace_filter_parse(&f, format, rows[i][0], why, sizeof(why)));
		EXPECT_STR(why, rows[i][1]);
	}
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	EXPECT(ap_trace_filter_parse(&f, format, deep, why, sizeof(why)));
	EXPECT(!strncmp(why, "too deep", 8));
	EXPECT(ap_trace_filter_parse(&f, "what?", "s8 == 1", why, sizeof(why)));
	EXPECT_STR(why, "the tracepoint's format is not understood");
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(numbers_are_what_their_fields_are),
						 TAP(what_was_cut_off_does_not_match),
						 TAP(what_cannot_be_printed_can_be_filtered),
						 TAP(wrong_filters_get_a_reason),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
