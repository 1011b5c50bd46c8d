/* SPDX-License-Identifier: MIT */
/*
 * The commands of anyperf.  argv[0] of a command is its own name; what it returns is the exit
 * status.
 */
#ifndef AP_CLI_COMMANDS_H
#define AP_CLI_COMMANDS_H

#include "cli/options.h"

int ap_cli_main(int argc, char **argv);

int ap_cmd_run(int argc, char **argv);
int ap_cmd_stat(int argc, char **argv);
int ap_cmd_stat_report(int argc, char **argv); /* argv[0]: "report" */
int ap_cmd_profile(int argc, char **argv);
int ap_cmd_mem(int argc, char **argv);
int ap_cmd_c2c(int argc, char **argv);
int ap_cmd_top(int argc, char **argv);
int ap_cmd_export(int argc, char **argv);
int ap_cmd_gate(int argc, char **argv);
int ap_cmd_doctor(int argc, char **argv);
int ap_cmd_list(int argc, char **argv);
int ap_cmd_perfex(int argc, char **argv);
int ap_cmd_record(int argc, char **argv);
int ap_cmd_report(int argc, char **argv);
int ap_cmd_script(int argc, char **argv);
int ap_cmd_evlist(int argc, char **argv);
int ap_cmd_diff(int argc, char **argv);
int ap_cmd_annotate(int argc, char **argv);

/* Their options, each in its command's file. */
extern const struct ap_opt_spec ap_spec_run, ap_spec_stat, ap_spec_stat_report, ap_spec_gate,
	ap_spec_record, ap_spec_profile, ap_spec_mem, ap_spec_c2c, ap_spec_top, ap_spec_report,
	ap_spec_export, ap_spec_script, ap_spec_annotate, ap_spec_diff, ap_spec_evlist,
	ap_spec_perfex, ap_spec_list, ap_spec_doctor;

#endif
