/* SPDX-License-Identifier: MIT */
/* See sample.h. */
#include "sample.h"

#include <stdlib.h>

static char arg0[] = "prog", arg1[] = "-x";
static char *const argv[] = { arg0, arg1, NULL };

void sample_init(struct sample *s, const char *events)
{
	char why[400];
	unsigned int i;

	*s = (struct sample){ .res = { .counted = true } };
	if (events && ap_evlist_parse(&s->list, events, why, sizeof(why)))
		abort();
	ap_stat_init(&s->st, &s->list, argv);
	for (i = 0; i < AP_SW_N; i++)
		s->res.sw_source[i] = AP_SRC_RUSAGE;
	s->res.sw[AP_SW_TASK_CLOCK] = 1000000;
	s->res.wall_ns = 2000000;
	s->res.user_ns = 700000;
	s->res.sys_ns = 300000;
}

void sample_run(struct sample *s)
{
	ap_stat_add(&s->st, &s->res);
}

void sample_fini(struct sample *s)
{
	ap_stat_fini(&s->st);
	ap_evlist_fini(&s->list);
}
