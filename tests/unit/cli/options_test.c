/* SPDX-License-Identifier: MIT */
/*
 * The option parser: every way to write an option, where options end, and what is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "cli/options.h"
#include "tap/tap.h"

struct args {
	bool all, verbose;
	unsigned int number;
	const char *text;
	char called[40];
};

static int call(void *args, const char *value, char *why)
{
	struct args *a = args;

	if (!strcmp(value, "bad")) {
		snprintf(why, AP_OPT_WHY, "is bad");
		return -EINVAL;
	}
	strncat(a->called, value, sizeof(a->called) - strlen(a->called) - 1);
	return 0;
}

static int maybe(void *args, const char *value, char *why)
{
	return call(args, value ? value : "nothing,", why);
}

static const struct ap_opt table[] = {
	{ 'a', "all", AP_OPT_FLAG, offsetof(struct args, all), NULL, NULL, "everything", false },
	{ 'v', "verbose", AP_OPT_FLAG, offsetof(struct args, verbose), NULL, NULL, "more", false },
	{ 'n', "number", AP_OPT_UINT, offsetof(struct args, number), NULL, "n", "a number", false },
	{ 'x', "text", AP_OPT_STR, offsetof(struct args, text), NULL, "sep", "a text", false },
	{ 0, "text-call", AP_OPT_CALL, 0, call, "value", "a call", false },
	{ 'z', "level", AP_OPT_MAYBE, 0, maybe, "n", "a level, or none", false },
	{ 'f', "first", AP_OPT_FIRST, 0, call, "value", "before the others", true },
	{ 0, "secret", AP_OPT_FLAG, offsetof(struct args, all), NULL, NULL, "nothing", true },
	{ 0 }
};

static const struct ap_opt_spec spec = { "prog", "[options] command", table, { { 0 } } };

static const struct ap_opt grouped_table[] = {
	{ .name = "", .type = AP_OPT_GROUP, .help = "The first" },
	{ 'a', "all", AP_OPT_FLAG, offsetof(struct args, all), NULL, NULL, "everything", false },
	{ .name = "", .type = AP_OPT_GROUP, .help = "The second" },
	{ 'n', "number", AP_OPT_UINT, offsetof(struct args, number), NULL, "n", "a number", false },
	{ 0 }
};

static const struct ap_opt_spec grouped = {
	"prog", "command", grouped_table, { { "-a ls", "all of it" }, { "", "nothing" } }
};

static struct args args;
static char complaint[1000];
static int rest;

/* Parses words that blanks separate; the result, with args, rest and complaint filled. */
static enum ap_opt_result parse(const char *line)
{
	static char copy[200];
	char *argv[20] = { copy }, *save = NULL, *word;
	struct capture err;
	enum ap_opt_result ret;
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	memset(&args, 0, sizeof(args));
	rest = -1;
	ret = ap_opts_parse(&spec, &args, argc, argv, &rest, capture_begin(&err));
	snprintf(complaint, sizeof(complaint), "%s", capture_end(&err));
	capture_free(&err);
	return ret;
}

static void short_options_are_bundled_and_carry_values(void)
{
	EXPECT_U64(parse("-av -n 7 -x, cmd"), AP_OPTS_OK);
	EXPECT(args.all && args.verbose);
	EXPECT_U64(args.number, 7);
	EXPECT_STR(args.text, ",");
	EXPECT_U64(rest, 5);
	EXPECT_U64(parse("-vn12 cmd"), AP_OPTS_OK);
	EXPECT_U64(args.number, 12);
	EXPECT_U64(rest, 2);
}

static void a_value_that_may_be_missing_stands_in_the_same_word(void)
{
	EXPECT_U64(parse("-z 3"), AP_OPTS_OK);
	EXPECT_STR(args.called, "nothing,");
	EXPECT_U64(rest, 2);
	EXPECT_U64(parse("-z3 -az --level --level=4 cmd"), AP_OPTS_OK);
	EXPECT_STR(args.called, "3nothing,nothing,4");
	EXPECT(args.all);
	EXPECT_U64(rest, 5);
	EXPECT_U64(parse("--level=bad"), AP_OPTS_ERROR);
	EXPECT_STR(complaint, "prog: --level=bad: is bad\n");
}

static void long_options_take_both_forms_and_beginnings(void)
{
	EXPECT_U64(parse("--number=3 --text a --text-call one --text-call=two"), AP_OPTS_OK);
	EXPECT_U64(args.number, 3);
	EXPECT_STR(args.text, "a");
	EXPECT_STR(args.called, "onetwo");
	EXPECT_U64(parse("--verb --num 4"), AP_OPTS_OK);
	EXPECT(args.verbose);
	EXPECT_U64(args.number, 4);
	EXPECT_U64(parse("--tex a"), AP_OPTS_ERROR);
	EXPECT(strstr(complaint, "--tex: ambiguous option"));
}

static void what_others_depend_on_goes_first(void)
{
	EXPECT(parse("--text-call=b --first a --text-call c -fA cmd -f no") == AP_OPTS_OK);
	EXPECT_STR(args.called, "aAbc");
	EXPECT_U64((u64)rest, 7);
	EXPECT(parse("-af a --text-call bad --first=bad") == AP_OPTS_ERROR);
	EXPECT_STR(complaint, "prog: --first=bad: is bad\n");
	EXPECT(parse("--first a --nosuch --first=bad") == AP_OPTS_ERROR);
	EXPECT_STR(args.called, "a");
	EXPECT(strstr(complaint, "prog: --nosuch: unknown option\nUsage:") == complaint);
	EXPECT(parse("--text-call x --first") == AP_OPTS_ERROR);
	EXPECT_STR(complaint, "prog: --first: needs a value\n");
}

static void the_first_other_word_ends_the_options(void)
{
	EXPECT_U64(parse("cmd -a"), AP_OPTS_OK);
	EXPECT(!args.all);
	EXPECT_U64(rest, 1);
	EXPECT_U64(parse("-v -- -a"), AP_OPTS_OK);
	EXPECT(!args.all);
	EXPECT_U64(rest, 3);
	EXPECT_U64(parse("- x"), AP_OPTS_OK);
	EXPECT_U64(rest, 1);
	EXPECT_U64(parse(""), AP_OPTS_OK);
	EXPECT_U64(rest, 1);
}

static void wrong_options_get_a_line(void)
{
	EXPECT_U64(parse("--bogus cmd"), AP_OPTS_ERROR);
	EXPECT(!strncmp(complaint, "prog: --bogus: unknown option\nUsage: prog ", 42));
	EXPECT_U64(parse("-vq cmd"), AP_OPTS_ERROR);
	EXPECT(strstr(complaint, "prog: -q: unknown option\n"));
	EXPECT_U64(parse("-n"), AP_OPTS_ERROR);
	EXPECT_STR(complaint, "prog: -n: needs a value\n");
	EXPECT_U64(parse("-n -3"), AP_OPTS_ERROR);
	EXPECT_STR(complaint, "prog: -n: needs a number\n");
	EXPECT_U64(parse("-n 4x"), AP_OPTS_ERROR);
	EXPECT_U64(parse("-n 99999999999"), AP_OPTS_ERROR);
	EXPECT_U64(parse("--all=1"), AP_OPTS_ERROR);
	EXPECT_STR(complaint, "prog: --all=1: takes no value\n");
	EXPECT_U64(parse("--text-call bad"), AP_OPTS_ERROR);
	EXPECT_STR(complaint, "prog: --text-call: is bad\n");
	EXPECT_U64(parse("--secr cmd"), AP_OPTS_ERROR);
	EXPECT_U64(parse("--secret cmd"), AP_OPTS_OK);
}

static void help_shows_the_table_but_what_is_hidden(void)
{
	struct capture out;

	EXPECT_U64(parse("-v --help"), AP_OPTS_HELP);
	EXPECT_U64(parse("-vh"), AP_OPTS_HELP);
	ap_opts_help(&spec, capture_begin(&out));
	EXPECT_STR(capture_end(&out), "\n Usage: prog [options] command\n\n"
				      "    -a, --all                     everything\n"
				      "    -v, --verbose                 more\n"
				      "    -n, --number <n>              a number\n"
				      "    -x, --text <sep>              a text\n"
				      "        --text-call <value>       a call\n"
				      "    -z, --level[=<n>]             a level, or none\n"
				      "    -h, --help                    print this help\n\n");
	capture_free(&out);
}

static void help_has_groups_and_examples(void)
{
	struct capture out;

	ap_opts_help(&grouped, capture_begin(&out));
	EXPECT_STR(capture_end(&out), "\n Usage: prog command\n\n"
				      " The first:\n"
				      "    -a, --all                     everything\n\n"
				      " The second:\n"
				      "    -n, --number <n>              a number\n\n"
				      "    -h, --help                    print this help\n\n"
				      " Examples:\n"
				      "    prog -a ls\n        all of it\n"
				      "    prog\n        nothing\n\n");
	capture_free(&out);
}

/* A heading is no option, however little of a name is typed. */
static void a_heading_is_no_option(void)
{
	char none[] = "--=x", some[] = "--al", *argv[] = { none, none, NULL };
	struct args got = { 0 };
	struct capture err;
	int at;

	EXPECT_U64(ap_opts_parse(&grouped, &got, 2, argv, &at, capture_begin(&err)), AP_OPTS_ERROR);
	EXPECT(!strncmp(capture_end(&err), "prog: --=x: ambiguous option\n", 29));
	capture_free(&err);
	argv[1] = some;
	EXPECT_U64(ap_opts_parse(&grouped, &got, 2, argv, &at, stderr), AP_OPTS_OK);
	EXPECT(got.all);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(short_options_are_bundled_and_carry_values),
		TAP(a_value_that_may_be_missing_stands_in_the_same_word),
		TAP(long_options_take_both_forms_and_beginnings),
		TAP(what_others_depend_on_goes_first),
		TAP(the_first_other_word_ends_the_options),
		TAP(wrong_options_get_a_line),
		TAP(help_shows_the_table_but_what_is_hidden),
		TAP(help_has_groups_and_examples),
		TAP(a_heading_is_no_option),
		{ 0 }
	};

	return tap_main(tests, argc, argv);
}
