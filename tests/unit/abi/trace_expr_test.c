/* SPDX-License-Identifier: MIT */
/*
 * Filters as threads hold them: whatever the nodes are, nothing but them and the record is read.  What texts mean
 * is profile/trace_filter_test's.
 */
#include "abi/trace_expr.h"

#include <stdlib.h>
#include <string.h>

#include "tap/tap.h"

static enum ap_trace_field_kind find(void *arg, const char *name, size_t len,
				     struct ap_trace_field *out)
{
	(void)arg;
	*out = (struct ap_trace_field){ 8, 4, true };
	if (len == 1 && *name == 'n')
		return AP_TRACE_FIELD_NUMBER;
	return len == 1 && *name == 's' ? AP_TRACE_FIELD_NO_NUMBER : AP_TRACE_FIELD_NONE;
}

static void numbers_are_read_as_the_kernel_reads_them(void)
{
	static const struct {
		const char *text;
		s32 value; /* that it is equal to */
	} rows[] = {
		{ "n == 10", 10 }, { "n == 0x10", 16 },	  { "n == 0X1f", 31 }, { "n == 010", 8 },
		{ "n == 0", 0 },   { "n == -0x10", -16 }, { "n == - 3", -3 },  { "n==-010", -8 },
	};
	static const char *const wrong[] = {
		"n == 08", "n == 0x", "n == 0xg", "n == 1e3", "n == 0777777777777777777777777",
		"n == 09"
	};
	struct ap_trace_node nodes[4];
	char line[80];
	struct ap_str why;
	u8 raw[12] = { 0 };

	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		ap_str_init(&why, line, sizeof(line));
		REQUIRE(ap_trace_expr_parse(rows[i].text, find, NULL, nodes, 4, &why) == 1);
		memcpy(raw + 8, &rows[i].value, 4);
		EXPECT(ap_trace_expr_match(nodes, 1, raw, sizeof(raw)));
		raw[8] ^= 1;
		EXPECT(!ap_trace_expr_match(nodes, 1, raw, sizeof(raw)));
	}
	for (size_t i = 0; i < AP_ARRAY_SIZE(wrong); i++) {
		ap_str_init(&why, line, sizeof(line));
		EXPECT_U64(ap_trace_expr_parse(wrong[i], find, NULL, nodes, 4, &why), 0);
		EXPECT(!strncmp(line, "no number at '", 14));
	}
}

static void what_does_not_fit_is_refused(void)
{
	struct ap_trace_node nodes[3];
	char line[80];
	struct ap_str why;

	ap_str_init(&why, line, sizeof(line));
	EXPECT_U64(ap_trace_expr_parse("n == 1 || n == 2", find, NULL, nodes, 3, &why), 3);
	EXPECT_U64(ap_trace_expr_parse("n == 1 || n == 2 || n == 3", find, NULL, nodes, 3, &why),
		   0);
	EXPECT(!strncmp(line, "too long", 8));
	ap_str_init(&why, line, sizeof(line));
	EXPECT_U64(ap_trace_expr_parse("s == 1", find, NULL, nodes, 3, &why), 0);
	EXPECT_STR(line, "only numbers can be compared at 's == 1'");
}

/* A record in memory that ends where it ends, so that a sanitizer sees each byte too many. */
static void any_nodes_read_the_record_alone(void)
{
	struct ap_trace_node nodes[8];
	u32 seed = 1, matches = 0;

	for (int round = 0; round < 20000; round++) {
		u32 n = 1 + (u32)round % 8, size = (u32)round % 40;
		u8 *raw = calloc(1, size ? size : 1), *bytes = (u8 *)nodes;

		REQUIRE(raw);
		for (size_t i = 0; i < sizeof(nodes); i++) {
			seed = seed * 1103515245 + 12345;
			bytes[i] = (u8)(seed >> 16);
		}
		for (u32 i = 0; i < n; i++) {
			nodes[i].op %= 12;
			nodes[i].size %= 10;
			nodes[i].a %= 48;
		}
		matches += ap_trace_expr_match(nodes, n, raw, size);
		free(raw);
	}
	EXPECT(matches > 100 && matches < 19900);
	EXPECT(!ap_trace_expr_match(nodes, 0, NULL, 0));
	EXPECT(!ap_trace_expr_match(nodes, AP_TRACE_NODES_MAX + 1, NULL, 0));
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(numbers_are_read_as_the_kernel_reads_them),
						 TAP(what_does_not_fit_is_refused),
						 TAP(any_nodes_read_the_record_alone),
						 { 0 } };
	return tap_main(tests, argc, argv);
}
