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
#include "print/print.h"

#ifndef AP_VERSION
#define AP_VERSION "unknown"
#endif

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "run", ap_cmd_run, "run a program with perf events of its own" },
	{ "stat", ap_cmd_stat, "run a command and count its events" },
	{ "gate", ap_cmd_gate, "fail when a command's counts grow beyond limits" },
	{ "record", ap_cmd_record, "run a command and sample its events into a file" },
	{ "mem", ap_cmd_mem, "show which loads and stores were waited for" },
	{ "c2c", ap_cmd_c2c, "show which lines threads take from each other" },
	{ "top", ap_cmd_top, "show where a running program is, again and again" },
	{ "report", ap_cmd_report, "show where the samples of a perf.data were" },
	{ "export", ap_cmd_export, "write a profile in another tool's format" },
	{ "script", ap_cmd_script, "print the samples of a perf.data" },
	{ "annotate", ap_cmd_annotate, "show functions with the weight of each instruction" },
	{ "diff", ap_cmd_diff, "compare two profiles" },
	{ "evlist", ap_cmd_evlist, "list the events of a perf.data" },
	{ "perfex", ap_cmd_perfex, "run a command with the counters of a virtual CPU" },
	{ "list", ap_cmd_list, "list the events that can be asked for" },
	{ "doctor", ap_cmd_doctor, "say what works on this machine, and what to change" },
	{ "help", cmd_help, "say more about a command" },
	{ "version", cmd_version, "print the version" },
};

static void usage(FILE *out)
{
	size_t i;

	fputs("\n Usage: anyperf [--version] [--help] COMMAND [ARGS]\n\n Commands:\n", out);
	for (i = 0; i < AP_ARRAY_SIZE(commands); i++)
		ap_print(out, "   %-9s %s\n", commands[i].name, commands[i].help);
	fputs("\n 'anyperf help COMMAND' or 'man anyperf-COMMAND' says more.\n\n", out);
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
	puts("anyperf version " AP_VERSION);
	return 0;
}

static int run(int argc, char **argv)
{
	const struct command *cmd;

	if (argc < 2) {
		usage(stderr);
		return AP_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v"))
		return cmd_version(0, NULL);
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
