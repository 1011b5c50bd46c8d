/* SPDX-License-Identifier: MIT */
/*
 * Whether a profile is shown on the screen or printed.
 */
#ifndef AP_CLI_SHOW_H
#define AP_CLI_SHOW_H

#include "cli/options.h"
#include "tui/tui.h"

struct ap_show {
	bool stdio; /* --stdio */
	bool tui;   /* --tui */
};

/* --tui and --tui=no: for an option's call, given the struct. */
AP_MUST_CHECK int ap_show_opt_tui(struct ap_show *s, const char *value, char *why);

/* A terminal is there and nobody wants text.  Where it is not usable one line says so. */
bool ap_show_on_screen(const struct ap_show *s, const char *command);

/*
 * The tables on the screen until they have been seen.  Not 0: the screen cannot be had, one line
 * was said.  *next (NULL: nobody asks): the file that was chosen to be shown then, the caller's, or
 * NULL.  Does not return where a signal asked to end.
 */
AP_MUST_CHECK int ap_show_profile(struct ap_tui_profile *p, const char *command, char **next);

#endif
