/* SPDX-License-Identifier: MIT */
/*
 * Finds the command by its name.  A command is a row here, a cmd_*.c with its option table, and a
 * manual page; nothing else knows the list.
 */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/types.h"
#include "cli/absent.h"
#include "cli/memory.h"
#include "cli/nearest.h"
#include "cli/opt_list.h"
#include "cli/version.h"
#include "print/print.h"

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const struct ap_opt_spec *spec;
	const char *words;    /* that may follow it, before all else; with its spec */
	const char *operands; /* what stands behind its options, as in opt_list.c */
	const char *help;
} commands[] = {
	{ "run", ap_cmd_run, &ap_spec_run, "", "command",
	  "run a program with perf events of its own" },
	{ "stat", ap_cmd_stat, &ap_spec_stat, "record,report", "command",
	  "run a command and count its events" },
	{ "gate", ap_cmd_gate, &ap_spec_gate, "record", "command",
	  "fail when a command's counts grow beyond limits" },
	{ "record", ap_cmd_record, &ap_spec_record, "", "command",
	  "run a command and sample its events into a file" },
	{ "profile", ap_cmd_profile, &ap_spec_profile, "", "command",
	  "run a command and say how often each instruction was executed" },
	{ "mem", ap_cmd_mem, &ap_spec_mem, "record,report", "command",
	  "show which loads and stores were waited for" },
	{ "c2c", ap_cmd_c2c, &ap_spec_c2c, "record,report", "command",
	  "show which lines threads take from each other" },
	{ "top", ap_cmd_top, &ap_spec_top, "", "command",
	  "show where a running program is, again and again" },
	{ "report", ap_cmd_report, &ap_spec_report, "", "none",
	  "show where the samples of a perf.data were" },
	{ "export", ap_cmd_export, &ap_spec_export, "", "none",
	  "write a profile in another tool's format" },
	{ "script", ap_cmd_script, &ap_spec_script, "", "none",
	  "print the samples of a perf.data" },
	{ "annotate", ap_cmd_annotate, &ap_spec_annotate, "", "none",
	  "show functions with the weight of each instruction" },
	{ "diff", ap_cmd_diff, &ap_spec_diff, "", "file", "compare two profiles" },
	{ "evlist", ap_cmd_evlist, &ap_spec_evlist, "", "none", "list the events of a perf.data" },
	{ "perfex", ap_cmd_perfex, &ap_spec_perfex, "", "command",
	  "run a command with the counters of a virtual CPU" },
	{ "list", ap_cmd_list, &ap_spec_list, "hw,sw,cache,raw,tracepoint,breakpoint,metrics",
	  "event", "list the events that can be asked for" },
	{ "doctor", ap_cmd_doctor, &ap_spec_doctor, "", "none",
	  "say what works on this machine, and what to change" },
	{ "help", cmd_help, NULL, "", "anyperf", "say more about a command" },
	{ "version", cmd_version, NULL, "", "none", "print the version" },
};

/* For shells: what completes a command line. */
static void list_options(void)
{
	for (size_t i = 0; i < AP_ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];

		ap_opts_list(c->name, c->words, c->operands, c->spec, c->help, stdout);
		if (c->run == ap_cmd_stat)
			ap_opts_list("stat report", "", "none", &ap_spec_stat_report,
				     "show what 'stat record' wrote", stdout);
	}
}

static void usage(FILE *out)
{
	size_t i;

	fputs("\n Usage: anyperf [--version] [--help] COMMAND [ARGS]\n\n Commands:\n", out);
	for (i = 0; i < AP_ARRAY_SIZE(commands); i++)
		ap_print(out, "   %-9s %s\n", commands[i].name, commands[i].help);
	fputs("\n 'anyperf help COMMAND' or 'man anyperf-COMMAND' says more.\n\n", out);
}

/* Without a word: to somebody that has it for the first time. */
static void first_steps(FILE *out)
{
	fputs("\n anyperf counts what programs execute, on machines that have no performance counters.\n"
	      "\n To begin with:\n"
	      "   anyperf stat -- COMMAND            count its instructions, branches, cycles ...\n"
	      "   anyperf record -g -- COMMAND       find out where they are\n"
	      "   anyperf report                     and look at it\n"
	      "   anyperf gate record --baseline counts.json -- COMMAND\n"
	      "   anyperf gate --baseline counts.json --max instructions=+1% -- COMMAND\n"
	      "                                      fail in CI when it needs more than before\n"
	      "   anyperf doctor                     see what works on this machine\n",
	      out);
}

static const struct command *find(const char *name)
{
	const char *instead = ap_absent_instead(name);
	struct ap_nearest near;
	size_t i;

	ap_nearest_init(&near, name);
	for (i = 0; i < AP_ARRAY_SIZE(commands); i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
		ap_nearest_offer(&near, commands[i].name);
	}
	if (instead) {
		ap_print(stderr, "anyperf: '%s' is a command of perf that is not here; %s\n", name,
			 instead);
		return NULL;
	}
	ap_print(stderr, "anyperf: '%s' is not an anyperf command", name);
	if (near.name)
		ap_print(stderr, ", did you mean '%s'?\n", near.name);
	else
		fputs(" ('anyperf help' lists them)\n", stderr);
	return NULL;
}

static int cmd_help(int argc, char **argv)
{
	char help[] = "--help";
	char *args[] = { NULL, help, NULL };
	const struct command *cmd;

	if (argc < 2 || argv[1][0] == '-') {
		usage(stdout);
		return 0;
	}
	cmd = find(argv[1]);
	if (!cmd)
		return AP_EXIT_USAGE;
	args[0] = argv[1];
	return cmd->run(2, args);
}

static int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	ap_version_print(stdout);
	return 0;
}

static int run(int argc, char **argv)
{
	const struct command *cmd;

	if (argc < 2) {
		first_steps(stderr);
		usage(stderr);
		return AP_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v"))
		return cmd_version(0, NULL);
	if (!strcmp(argv[1], "--list-opts")) {
		list_options();
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return cmd_help(argc - 1, argv + 1);
	cmd = find(argv[1]);
	return cmd ? cmd->run(argc - 1, argv + 1) : AP_EXIT_USAGE;
}

int ap_cli_main(int argc, char **argv)
{
	int status = run(argc, argv);

	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fputs("anyperf: cannot write to standard output\n", stderr);
	return AP_EXIT_FAILURE;
}
