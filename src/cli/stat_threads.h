/* SPDX-License-Identifier: MIT */
/*
 * The threads of a command, which come and go while it is counted: what each has counted of each
 * event.
 */
#ifndef AP_CLI_STAT_THREADS_H
#define AP_CLI_STAT_THREADS_H

#include "cli/stat.h"
#include "linux/client/client.h"

struct ap_stat_thread;

struct ap_stat_threads {
	struct ap_stat_thread *v; /* in the order in which they began */
	size_t n, room;
};

/*
 * sel: the event's place among n.  What a thread has counted of an event is told once, or replaces
 * what was told.
 */
void ap_stat_threads_add(struct ap_stat_threads *t, size_t n, size_t sel,
			 const struct ap_client_part *part);
/*
 * Makes them the places of st.  of_events: readings of all threads together, one of each event,
 * which are freed; returns those of the new rows.
 */
struct ap_stat_reading *ap_stat_threads_rows(const struct ap_stat_threads *t, struct ap_stat *st,
					     const struct ap_evlist *list,
					     struct ap_stat_reading *of_events);
void ap_stat_threads_fini(struct ap_stat_threads *t);

#endif
