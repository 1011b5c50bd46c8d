/* SPDX-License-Identifier: MIT */
/*
 * The commands of anyperf.  argv[0] of a command is its own name; what it returns is the exit
 * status.
 */
#ifndef AP_CLI_COMMANDS_H
#define AP_CLI_COMMANDS_H

int ap_cli_main(int argc, char **argv);

int ap_cmd_run(int argc, char **argv);
int ap_cmd_stat(int argc, char **argv);
int ap_cmd_stat_report(int argc, char **argv); /* argv[0]: "report" */
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

#endif
