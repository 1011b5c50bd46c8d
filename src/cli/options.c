/* SPDX-License-Identifier: MIT */
/*
 * The option parser and the help that is printed from the same table.  It understands what
 * perf's does: bundled letters, -x, and -x ,, --name=value and --name value, and any unambiguous
 * beginning of a long name.
 */
#include "cli/options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/memory.h"
#include "cli/nearest.h"
#include "print/print.h"

static const struct ap_opt help_opt = { .letter = 'h', .name = "help", .help = "print this help" };

struct arg_cursor {
	const struct ap_opt_spec *spec;
	void *args;
	char **argv;
	int argc;
	int at;
	FILE *err;
	bool is_first; /* the round of those that others depend on */
	bool is_bad;   /* one of them was wrong, which was said */
};

static int set_uint(void *field, const char *value)
{
	unsigned long n;
	char *end;

	if (value[0] < '0' || value[0] > '9')
		return -EINVAL;
	errno = 0;
	n = strtoul(value, &end, 10);
	if (errno || *end || n > UINT_MAX)
		return -EINVAL;
	*(unsigned int *)field = (unsigned int)n;
	return 0;
}

/* In the first round what is wrong with the rest is not said: it will be. */
static int complain(const struct arg_cursor *c, const char *word, const char *why)
{
	if (c->is_first)
		return -EINVAL;
	ap_print(c->err, "%s: %s: %s\n", c->spec->command, word, why);
	return -EINVAL;
}

static int unknown(const struct arg_cursor *c, const char *word, const char *why)
{
	complain(c, word, why);
	if (!c->is_first)
		ap_opts_usage(c->spec, c->err);
	return -EINVAL;
}

static int apply(struct arg_cursor *c, const struct ap_opt *opt, const char *word,
		 const char *value)
{
	char why[AP_OPT_WHY] = "";
	char *field = (char *)c->args + opt->offset;

	if ((opt->type == AP_OPT_FIRST) != c->is_first)
		return 0;
	switch (opt->type) {
	case AP_OPT_FLAG:
		*(bool *)field = true;
		return 0;
	case AP_OPT_STR:
		*(const char **)field = value;
		return 0;
	case AP_OPT_UINT:
		return set_uint(field, value) ? complain(c, word, "needs a number") : 0;
	case AP_OPT_FIRST:
		if (!opt->call(c->args, value, why))
			return 0;
		c->is_first = false; /* so that it is said */
		c->is_bad = true;
		return complain(c, word, why);
	case AP_OPT_CALL:
	case AP_OPT_MAYBE:
	case AP_OPT_NEXT:
		return opt->call(c->args, value, why) ? complain(c, word, why) : 0;
	case AP_OPT_GROUP:
		break;
	}
	return -EINVAL;
}

/* An option with a value: the rest of its word, or the next word. */
static int apply_value(struct arg_cursor *c, const struct ap_opt *opt, const char *word,
		       const char *value)
{
	if (!value && opt->type != AP_OPT_MAYBE) {
		bool has_next = c->at + 1 < c->argc;

		if (opt->type == AP_OPT_NEXT && (!has_next || c->argv[c->at + 1][0] == '-'))
			return apply(c, opt, word, NULL);
		if (!has_next)
			return complain(c, word, "needs a value");
		value = c->argv[++c->at];
	}
	return apply(c, opt, word, value);
}

static const struct ap_opt *find_letter(const struct ap_opt_spec *spec, char letter)
{
	const struct ap_opt *opt;

	for (opt = spec->table; opt->name; opt++) {
		if (opt->letter == letter)
			return opt;
	}
	return letter == 'h' ? &help_opt : NULL;
}

/* NULL with *clash set when the beginning fits two options. */
static const struct ap_opt *find_name(const struct ap_opt_spec *spec, const char *name, size_t len,
				      const struct ap_opt **clash)
{
	const struct ap_opt *opt, *found = NULL;

	*clash = NULL;
	for (opt = spec->table;; opt++) {
		const struct ap_opt *o = opt->name ? opt : &help_opt;

		if (o->type != AP_OPT_GROUP && !strncmp(o->name, name, len)) {
			if (!o->name[len])
				return o;
			if (!o->hidden && found)
				*clash = o;
			else if (!o->hidden)
				found = o;
		}
		if (!opt->name)
			break;
	}
	return *clash ? NULL : found;
}

/* As ap_nearest_offer(), of a name's beginning: names may be cut short. */
static void offer_beginning(struct ap_nearest *near, const char *name)
{
	char *cut = ap_xasprintf("%.*s", (int)strlen(near->word), name);
	const char *before = near->name;

	ap_nearest_offer(near, cut);
	if (near->name == cut)
		near->name = name;
	else
		near->name = before;
	free(cut);
}

/* An option by whose name one may have meant this. */
static const char *nearest_name(const struct ap_opt_spec *spec, const char *name, size_t len)
{
	char *word = ap_xasprintf("%.*s", (int)len, name);
	const struct ap_opt *opt;
	struct ap_nearest near;

	ap_nearest_init(&near, word);
	for (opt = spec->table; opt->name; opt++)
		if (!opt->hidden && opt->type != AP_OPT_GROUP)
			ap_nearest_offer(&near, opt->name);
	ap_nearest_offer(&near, help_opt.name);
	for (opt = spec->table; opt->name && !near.name; opt++)
		if (!opt->hidden && opt->type != AP_OPT_GROUP)
			offer_beginning(&near, opt->name);
	free(word);
	return near.name;
}

static int unknown_name(struct arg_cursor *c, const char *word, size_t len)
{
	const char *near = nearest_name(c->spec, word + 2, len);
	char *why;
	int ret;

	if (!near)
		return unknown(c, word, "unknown option");
	why = ap_xasprintf("unknown option, did you mean --%s?", near);
	ret = unknown(c, word, why);
	free(why);
	return ret;
}

static int parse_letters(struct arg_cursor *c, bool *help)
{
	const char *p = c->argv[c->at] + 1;

	for (; *p; p++) {
		const char word[] = { '-', *p, 0 };
		const struct ap_opt *opt = find_letter(c->spec, *p);

		if (!opt)
			return unknown(c, word, "unknown option");
		if (opt == &help_opt)
			*help = true;
		else if (opt->value)
			return apply_value(c, opt, word, p[1] ? p + 1 : NULL);
		else if (apply(c, opt, word, NULL))
			return -EINVAL;
	}
	return 0;
}

static int parse_long(struct arg_cursor *c, bool *help)
{
	const char *word = c->argv[c->at];
	const char *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
	const struct ap_opt *clash, *opt = find_name(c->spec, word + 2, len, &clash);

	if (!opt)
		return clash ? unknown(c, word, "ambiguous option") : unknown_name(c, word, len);
	if (!opt->value && equals)
		return complain(c, word, "takes no value");
	if (opt == &help_opt) {
		*help = true;
		return 0;
	}
	if (opt->value)
		return apply_value(c, opt, word, equals ? equals + 1 : NULL);
	return apply(c, opt, word, NULL);
}

static enum ap_opt_result parse(struct arg_cursor *c)
{
	bool help = false;

	for (c->at = 1; c->at < c->argc; c->at++) {
		const char *word = c->argv[c->at];
		int ret;

		if (word[0] != '-' || !word[1])
			break;
		if (!strcmp(word, "--")) {
			c->at++;
			break;
		}
		ret = word[1] == '-' ? parse_long(c, &help) : parse_letters(c, &help);
		if (ret)
			return AP_OPTS_ERROR;
		if (help)
			return AP_OPTS_HELP;
	}
	return AP_OPTS_OK;
}

enum ap_opt_result ap_opts_parse(const struct ap_opt_spec *spec, void *args, int argc, char **argv,
				 int *rest, FILE *err)
{
	struct arg_cursor c = {
		.spec = spec, .args = args, .argv = argv, .argc = argc, .err = err, .is_first = true
	};
	enum ap_opt_result ret;

	(void)!parse(&c);
	if (c.is_bad)
		return AP_OPTS_ERROR;
	c.is_first = false;
	ret = parse(&c);
	*rest = c.at;
	return ret;
}

void ap_opts_usage(const struct ap_opt_spec *spec, FILE *out)
{
	ap_print(out, "Usage: %s %s (%s --help says more)\n", spec->command, spec->usage,
		 spec->command);
}

static void help_row(const struct ap_opt *opt, FILE *out)
{
	enum { COLUMN = 34 };
	char letter[8] = "    ";
	int n;

	if (opt->letter)
		snprintf(letter, sizeof(letter), "-%c, ", opt->letter);
	n = fprintf(out, "    %s--%s", letter, opt->name); /* raw: of our tables */
	if (opt->value)
		n += fprintf(out, /* raw: of our tables */
			     opt->type == AP_OPT_MAYBE	? "[=<%s>]"
			     : opt->type == AP_OPT_NEXT ? "[ <%s>]"
							: " <%s>",
			     opt->value);
	if (n >= COLUMN) {
		fputc('\n', out);
		n = 0;
	}
	ap_print(out, "%*s%s\n", COLUMN - n, "", opt->help);
}

/* Those that perf has and that are of no effect here: hidden rows without a text. */
static void help_taken(const struct ap_opt_spec *spec, FILE *out)
{
	size_t at = 0;

	for (const struct ap_opt *opt = spec->table; opt->name; opt++) {
		if (!opt->hidden || *opt->help)
			continue;
		if (!at)
			fputs("\n    Taken as by perf, and done in any case or of no effect:", out);
		if (!at || at + strlen(opt->name) + 3 > 76)
			at = (size_t)fprintf(out, "\n     ") - 1;
		at += (size_t)fprintf(out, " --%s", opt->name); /* raw: of our tables */
	}
	if (at)
		fputc('\n', out);
}

static void help_examples(const struct ap_opt_spec *spec, FILE *out)
{
	if (spec->examples[0].args)
		fputs("\n Examples:\n", out);
	for (size_t i = 0; i < AP_ARRAY_SIZE(spec->examples) && spec->examples[i].args; i++) {
		const struct ap_opt_example *e = &spec->examples[i];

		ap_print(out, "    %s%s%s\n", spec->command, *e->args ? " " : "", e->args);
		ap_print(out, "        %s\n", e->does);
	}
}

void ap_opts_help(const struct ap_opt_spec *spec, FILE *out)
{
	const struct ap_opt *opt;
	bool has_groups = spec->table->type == AP_OPT_GROUP;

	ap_print(out, "\n Usage: %s %s\n", spec->command, spec->usage);
	if (!has_groups)
		fputc('\n', out);
	for (opt = spec->table; opt->name; opt++) {
		if (opt->type == AP_OPT_GROUP) {
			fputc('\n', out);
			ap_print(out, " %s:\n", opt->help);
		} else if (!opt->hidden) {
			help_row(opt, out);
		}
	}
	if (has_groups)
		fputc('\n', out);
	help_row(&help_opt, out);
	help_taken(spec, out);
	help_examples(spec, out);
	fputc('\n', out);
}

bool ap_opts_begin(const struct ap_opt_spec *spec, void *args, int argc, char **argv, int *rest,
		   int *status)
{
	switch (ap_opts_parse(spec, args, argc, argv, rest, stderr)) {
	case AP_OPTS_HELP:
		ap_opts_help(spec, stdout);
		*status = 0;
		return false;
	case AP_OPTS_ERROR:
		*status = AP_EXIT_USAGE;
		return false;
	case AP_OPTS_OK:
		break;
	}
	return true;
}

bool ap_opts_begin_mixed(const struct ap_opt_spec *spec, void *args, int *argc, char **argv,
			 int *rest, int *status)
{
	char **at = argv;
	int left = *argc, n = 1, next;
	bool is_over = false;

	for (;;) {
		if (!ap_opts_begin(spec, args, left, at, &next, status))
			return false;
		is_over |= next > 1 && !strcmp(at[next - 1], "--");
		if (next >= left)
			break;
		at += next;
		left -= next;
		/*
		 * words move over the options that were before them; at is the program's name to
		 * what comes
		 */
		do {
			argv[n++] = *at;
		} while (is_over && --left && ++at);
		if (is_over)
			break;
	}
	*rest = 1;
	*argc = n;
	return true;
}

int ap_opts_wrong(const struct ap_opt_spec *spec, const char *text, const char *word)
{
	ap_print(stderr, "%s: %s%s%s\n", spec->command, text, word ? ": " : "", word ? word : "");
	ap_opts_usage(spec, stderr);
	return AP_EXIT_USAGE;
}
