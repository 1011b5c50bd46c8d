/* SPDX-License-Identifier: MIT */
/*
 * Options as data: one table per command feeds the parser, --help and the test that holds the
 * manual page to it.  Parsing ends at the first word that is not an option, because what follows
 * belongs to the command that is measured; getopt_long could do that, but would leave messages
 * and help to be written a second time by hand.
 */
#ifndef AP_CLI_OPTIONS_H
#define AP_CLI_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

#include "base/types.h"

enum ap_opt_type {
	AP_OPT_FLAG,  /* bool at offset */
	AP_OPT_UINT,  /* unsigned int at offset, decimal */
	AP_OPT_STR,   /* const char * at offset, borrowed from argv */
	AP_OPT_CALL,  /* call(args, value, why) */
	AP_OPT_FIRST, /* the same, before all others, which depend on it, wherever it stands */
	AP_OPT_MAYBE, /* the same; a value stands in the same word (-z3, --name=3) or is NULL */
	AP_OPT_NEXT,  /* the same, and may be the next word, unless that is an option */
	AP_OPT_GROUP  /* no option: the heading, in help, of those that follow; its name is "" */
};

/* Returns 0, or -EINVAL with what is wrong with the value in why (size AP_OPT_WHY). */
#define AP_OPT_WHY 400
typedef int ap_opt_call(void *args, const char *value, char *why);

struct ap_opt {
	char letter;	  /* 0: none */
	const char *name; /* without the dashes */
	enum ap_opt_type type;
	size_t offset;
	ap_opt_call *call;
	const char *value; /* its name in help; NULL for flags */
	const char *help;
	bool hidden;
};

struct ap_opt_spec {
	const char *command;	    /* "anyperf stat" */
	const char *usage;	    /* what follows it */
	const struct ap_opt *table; /* ends with a row without a name */
	struct ap_opt_example {
		const char *args, *does; /* what follows the command, and one line */
	} examples[2];			 /* of help; args is NULL where there is none */
};

enum ap_opt_result {
	AP_OPTS_OK,
	AP_OPTS_HELP, /* -h or --help was met */
	AP_OPTS_ERROR /* one line on err, and the usage where the option is unknown */
};

/*
 * Reads argv[1..] into args; *rest is the index of the first word that is no option ("--" is
 * skipped).
 */
AP_MUST_CHECK enum ap_opt_result ap_opts_parse(const struct ap_opt_spec *spec, void *args, int argc,
					       char **argv, int *rest, FILE *err);
/*
 * The same for a command that begins: what is wrong goes to stderr, help to stdout.  False: the
 * command ends, with *status.
 */
AP_MUST_CHECK bool ap_opts_begin(const struct ap_opt_spec *spec, void *args, int argc, char **argv,
				 int *rest, int *status);
/*
 * The same where options may follow words, as far as a "--": the words are argv[*rest] to
 * argv[*argc - 1] then.
 */
AP_MUST_CHECK bool ap_opts_begin_mixed(const struct ap_opt_spec *spec, void *args, int *argc,
				       char **argv, int *rest, int *status);
/* "anyperf stat: TEXT: WORD" and the usage on stderr; no word: NULL.  Returns AP_EXIT_USAGE. */
int ap_opts_wrong(const struct ap_opt_spec *spec, const char *text, const char *word);
void ap_opts_help(const struct ap_opt_spec *spec, FILE *out);
void ap_opts_usage(const struct ap_opt_spec *spec, FILE *out);

#endif
