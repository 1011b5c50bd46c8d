/* SPDX-License-Identifier: MIT */
/*
 * Options of the engine, which all commands that start a program have in common.  The arguments of
 * such a command begin with its struct ap_run_options.
 */
#ifndef AP_CLI_ENGINE_OPTS_H
#define AP_CLI_ENGINE_OPTS_H

/* --env NAME=VALUE, as often as wanted */
int ap_engine_opt_env(void *args, const char *value, char *why);
int ap_engine_opt_timeout(void *args, const char *value, char *why);
int ap_engine_opt_cache_limit(void *args, const char *value, char *why);
/* off, session */
int ap_engine_opt_code_cache(void *args, const char *value, char *why);
int ap_engine_opt_machine(void *args, const char *value, char *why);
int ap_engine_opt_cpu_id(void *args, const char *value, char *why);
/* One rule for all commands: without the option, one part in AP_MODEL_SAMPLE; where runs are to count alike, all of it. */
struct ap_run_options;
void ap_engine_set_models(struct ap_run_options *run);
int ap_engine_opt_model_sample(void *args, const char *value, char *why);
/* --deterministic, --deterministic=time */
int ap_engine_opt_deterministic(void *args, const char *value, char *why);

/* Rows of a table of options: those of builds for tests (abi/switches.h), engine_switch.c. */
#ifdef AP_TEST_SWITCHES
int ap_engine_opt_range(void *args, const char *value, char *why);
int ap_engine_opt_stress(void *args, const char *value, char *why);
#define AP_TEST_OPTIONS                                                                            \
	{ 0,                                                                                       \
	  "range",                                                                                 \
	  AP_OPT_CALL,                                                                             \
	  0,                                                                                       \
	  ap_engine_opt_range,                                                                     \
	  "lo-hi",                                                                                 \
	  "translate only code at these addresses",                                                \
	  true },                                                                                  \
		{ 0,	  "stress",	      AP_OPT_CALL, 0, ap_engine_opt_stress,                \
		  "what", "injected trouble", true },
#else
#define AP_TEST_OPTIONS
#endif

/* What a shell says of a command that ended so. */
int ap_engine_exit_status(int wait_status);
/* By SIGINT, if the last command was killed by it and this is its status; else it returns. */
void ap_engine_die_as_command(int status);

#endif
