/* SPDX-License-Identifier: MIT */
/* See sample.h. */
#include "sample.h"

#include <stdlib.h>
#include <string.h>

static char arg0[] = "prog", arg1[] = "-x";
static char *const argv[] = { arg0, arg1, NULL };

void sample_init(struct sample *s, const char *events)
{
	char why[400];
	size_t i;

	*s = (struct sample){ .times = { 2000000, 700000, 300000, true } };
	if (events && ap_evlist_parse(&s->list, events, why, sizeof(why)))
		abort();
	if (s->list.n > SAMPLE_EVENTS)
		abort();
	ap_stat_init(&s->st, &s->list, ap_stat_command_title(argv));
	s->st.has_times = true;
	for (i = 0; i < s->list.n; i++) {
		s->reading[i] = (struct ap_stat_reading){ .enabled = 1000000,
							  .running = 1000000,
							  .source = AP_SRC_RUSAGE,
							  .is_open = true };
		if (ap_event_is_clock(s->list.sel[i].desc))
			s->reading[i].count = 1000000;
	}
}

struct ap_stat_reading *sample_of(struct sample *s, const char *event)
{
	size_t i;

	for (i = 0; i < s->list.n; i++)
		if (!strcmp(s->list.sel[i].name, event))
			return &s->reading[i];
	abort();
}

void sample_run(struct sample *s)
{
	ap_stat_add(&s->st, s->reading, &s->times);
	ap_stat_add_result(&s->st, &s->res);
}

void sample_fini(struct sample *s)
{
	ap_stat_fini(&s->st);
	ap_evlist_fini(&s->list);
}
