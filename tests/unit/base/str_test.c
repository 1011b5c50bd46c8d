/* SPDX-License-Identifier: MIT */
/* Bounded strings: cutting, digits, overflow. */
#include <string.h>

#include "base/str.h"
#include "tap/tap.h"

static void builds_text_and_numbers(void)
{
	char buf[128];
	struct ap_str s;

	ap_str_init(&s, buf, sizeof(buf));
	ap_str_add(&s, "a ");
	ap_str_u64(&s, 0);
	ap_str_char(&s, ' ');
	ap_str_u64(&s, UINT64_MAX);
	ap_str_char(&s, ' ');
	ap_str_s64(&s, INT64_MIN);
	ap_str_char(&s, ' ');
	ap_str_hex(&s, 0, 0);
	ap_str_char(&s, ' ');
	ap_str_hex(&s, 0xbeef, 8);
	ap_str_add(&s, NULL);
	EXPECT_STR(buf, "a 0 18446744073709551615 -9223372036854775808 0 0000beef");
	EXPECT_U64(s.len, strlen(buf));
	EXPECT(!s.cut);
}

static void cuts_at_the_end_of_the_buffer(void)
{
	char buf[8];
	struct ap_str s;

	memset(buf, 'x', sizeof(buf));
	ap_str_init(&s, buf, 5);
	ap_str_add(&s, "abc");
	EXPECT(!s.cut);
	ap_str_hex(&s, 0x1234, 0);
	EXPECT_STR(buf, "abc1");
	EXPECT(s.cut);
	ap_str_char(&s, '!');
	EXPECT_STR(buf, "abc1");
	EXPECT(buf[5] == 'x');
	ap_str_init(&s, buf, 0);
	ap_str_add(&s, "no room at all");
	EXPECT_STR(buf, "abc1");
}

static void parses_and_refuses(void)
{
	const char *p = "18446744073709551615,", *q;
	u64 v = 7;

	EXPECT(ap_parse_u64(&p, &v));
	EXPECT_U64(v, UINT64_MAX);
	EXPECT(*p == ',');
	EXPECT(!ap_parse_u64(&p, &v));
	EXPECT(*p == ',');
	q = p = "18446744073709551616";
	EXPECT(!ap_parse_u64(&p, &v));
	EXPECT(p == q);
	p = "7fffDEADg";
	EXPECT(ap_parse_hex(&p, &v));
	EXPECT_U64(v, 0x7fffdead);
	EXPECT(*p == 'g');
	p = "10000000000000000";
	EXPECT(!ap_parse_hex(&p, &v));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(builds_text_and_numbers),
		TAP(cuts_at_the_end_of_the_buffer),
		TAP(parses_and_refuses),
		{ 0 },
	};

	return tap_main(tests, argc, argv);
}
