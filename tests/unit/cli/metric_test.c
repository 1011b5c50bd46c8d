/* SPDX-License-Identifier: MIT */
/*
 * Formulas of metrics against arithmetic by hand, what is no formula, and the file that is built in.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/metric.h"
#include "tap/tap.h"

static int ask(void *arg, const char *name, size_t len, double *v)
{
	static const struct {
		const char *name;
		double v;
	} known[] = {
		{ "cycles", 200 }, { "branch-misses", 30 }, { "zero", 0 }, { "#pipe.issue", 4 }
	};
	unsigned int *asked = arg;

	++*asked;
	if (len == 4 && !memcmp(name, "gone", 4))
		return 0;
	for (size_t i = 0; i < AP_ARRAY_SIZE(known); i++) {
		if (strlen(known[i].name) != len || memcmp(known[i].name, name, len) != 0)
			continue;
		*v = known[i].v;
		return 1;
	}
	return -EINVAL;
}

/* 1, 0 or -EINVAL; *v of the metric "m" with that formula. */
static int value(const char *formula, double *v)
{
	struct ap_metric_table t = { 0 };
	unsigned int asked = 0;
	char text[400], why[200];
	int ret;

	snprintf(text, sizeof(text),
		 "# a comment\n\n m | | %s | G | text\nhalf | | cycles / 2 | G | t\n", formula);
	REQUIRE(!ap_metrics_parse(&t, text, "test", why, sizeof(why)));
	ret = ap_metric_value(&t, ap_metric_find(&t, "m", 1), ask, &asked, v, why, sizeof(why));
	ap_metrics_fini(&t);
	return ret;
}

static void formulas_are_arithmetic(void)
{
	static const struct {
		const char *formula;
		double v;
	} rows[] = {
		{ "1 + 2 * 3", 7 },
		{ "( 1 + 2 ) * 3", 9 },
		{ "10 - 4 - 3", 3 },
		{ "24 / 4 / 2", 3 },
		{ "branch-misses - 10", 20 },
		{ "1000*branch-misses/cycles", 150 },
		{ "half - 1", 99 },
		{ "cycles * #pipe.issue", 800 },
		{ "min(half, branch-misses) + max(1, 2)", 32 },
		{ "max(1 - 2, 0)", 0 },
		{ "1.5", 1.5 },
	};

	for (size_t i = 0; i < AP_ARRAY_SIZE(rows); i++) {
		double v = -1;

		EXPECT_U64(value(rows[i].formula, &v), 1);
		EXPECT(v == rows[i].v);
	}
}

static void what_is_not_to_be_had_is_no_number(void)
{
	double v;

	EXPECT_U64(value("cycles / zero", &v), 0);
	EXPECT_U64(value("1 + gone", &v), 0);
}

static void what_is_no_formula_is_refused(void)
{
	static const char *const bad[] = { "1 +", "( 1",    "cycles cycles", "unknown-event", "1 )",
					   "m",	  "min(1)", "* 2",	     "#no.such" };
	double v;

	for (size_t i = 0; i < AP_ARRAY_SIZE(bad); i++)
		EXPECT(value(bad[i], &v) == -EINVAL);
}

static void files_are_read_or_refused_with_their_line(void)
{
	struct ap_metric_table t = { 0 };
	char why[200] = "";

	EXPECT(ap_metrics_parse(&t, "a | | 1 | G | t\nb | 1\n", "f", why, sizeof(why)) == -EINVAL);
	EXPECT(!strncmp(why, "f:2: ", 5));
	EXPECT(ap_metrics_parse(&t, "a | | 2 | G | t\n", "f", why, sizeof(why)) == -EINVAL);
	EXPECT_U64(t.n, 1);
	EXPECT(ap_metrics_file(&t, "/nonexistent/file", why, sizeof(why)) == -EINVAL);
	ap_metrics_fini(&t);
	REQUIRE(!ap_metrics_builtin(&t, why, sizeof(why)));
	EXPECT(ap_metric_find(&t, "ipc", 3) != NULL);
	EXPECT(ap_metric_is_in(ap_metric_find(&t, "IPC", 3), "summary", 7));
	EXPECT(!ap_metric_is_in(ap_metric_find(&t, "ipc", 3), "Summ", 4));
	ap_metrics_fini(&t);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(formulas_are_arithmetic),
						 TAP(what_is_not_to_be_had_is_no_number),
						 TAP(what_is_no_formula_is_refused),
						 TAP(files_are_read_or_refused_with_their_line),
						 { 0 } };

	return tap_main(tests, argc, argv);
}
