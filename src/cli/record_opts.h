/* SPDX-License-Identifier: MIT */
#ifndef AP_CLI_RECORD_OPTS_H
#define AP_CLI_RECORD_OPTS_H

#include "cli/record.h"

int record_opt_event(void *args, const char *value, char *why);
int record_opt_count(void *args, const char *value, char *why);
int record_opt_freq(void *args, const char *value, char *why);
int record_opt_chain(void *args, const char *value, char *why);
int record_opt_graph(void *args, const char *value, char *why);
int record_opt_filter(void *args, const char *value, char *why);
int record_opt_any_branch(void *args, const char *value, char *why);
int record_opt_pid(void *args, const char *value, char *why);
int record_opt_tid(void *args, const char *value, char *why);
int record_opt_delay(void *args, const char *value, char *why);
int record_opt_pages(void *args, const char *value, char *why);
int record_opt_level(void *args, const char *value, char *why);
int record_opt_max_size(void *args, const char *value, char *why);
int record_opt_switch(void *args, const char *value, char *why);
int record_opt_clock(void *args, const char *value, char *why);
int record_opt_intr_regs(void *args, const char *value, char *why);
int record_opt_user_regs(void *args, const char *value, char *why);
int record_opt_priority(void *args, const char *value, char *why);
int record_opt_synth(void *args, const char *value, char *why);
int record_opt_affinity(void *args, const char *value, char *why);
int record_opt_any_number(void *args, const char *value, char *why);
int record_opt_uid(void *args, const char *value, char *why);
int record_opt_snapshot(void *args, const char *value, char *why);
int record_opt_trace_filter(void *args, const char *value, char *why);
int record_opt_ignored(void *args, const char *value, char *why);

#endif
