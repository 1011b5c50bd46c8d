/* SPDX-License-Identifier: MIT */
#include "cli/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print/print.h"
#include "tui/term.h"

int ap_show_opt_tui(struct ap_show *s, const char *value, char *why)
{
	if (value && strcmp(value, "no") && strcmp(value, "yes")) {
		snprintf(why, AP_OPT_WHY, "takes yes or no");
		return -EINVAL;
	}
	s->tui = !value || !strcmp(value, "yes");
	s->stdio = !s->tui;
	return 0;
}

bool ap_show_on_screen(const struct ap_show *s, const char *command)
{
	const char *why;

	if (s->stdio || (!s->tui && !isatty(STDOUT_FILENO)))
		return false;
	why = ap_term_lacks();
	if (why)
		ap_print(stderr, "%s: %s: printing, as with --stdio\n", command, why);
	return !why;
}

int ap_show_profile(struct ap_tui_profile *p, const char *command, char **next)
{
	struct ap_tui tui = { 0 };
	struct ap_screen *screen;
	char why[AP_OPT_WHY];

	if (ap_term_open(&screen, why, sizeof(why))) {
		ap_print(stderr, "%s: %s: printing, as with --stdio\n", command, why);
		return -1;
	}
	ap_tui_show_profile(&tui, p);
	if (p->message)
		ap_tui_say(&tui, "%s", p->message);
	ap_term_run(&tui, screen);
	if (next)
		*next = tui.file;
	else
		free(tui.file);
	ap_tui_fini(&tui);
	ap_tui_profile_fini(p);
	ap_term_raise();
	return 0;
}
