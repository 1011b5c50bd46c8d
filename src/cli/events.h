/* SPDX-License-Identifier: MIT */
/*
 * Every event that anyperf knows by name, and what it honestly is: exact, modelled, the kernel's,
 * or known to perf and not ours.  The table is the only place that says so; parsing, `anyperf
 * list`, the tables and CSV read it.
 */
#ifndef AP_CLI_EVENTS_H
#define AP_CLI_EVENTS_H

#include <stddef.h>

#include "base/types.h"

enum ap_event_kind {
	AP_KIND_EXACT,	    /* retired in user space, counted one by one */
	AP_KIND_MODELLED,   /* what a model of the hardware says */
	AP_KIND_KERNEL,	    /* counted by the kernel */
	AP_KIND_UNSUPPORTED /* known, never a plausible 0 */
};

enum ap_event_from {
	AP_FROM_NOTHING,
	AP_FROM_RAW, /* index: enum ap_kind of abi/raw.h */
	AP_FROM_SW,  /* index: enum ap_sw_event; AP_SW_N: in no account */
	AP_FROM_TIME /* index: enum ap_event_time */
};

enum ap_event_time { AP_TIME_WALL, AP_TIME_USER, AP_TIME_SYS };

#define AP_EVENT_ALIASES 2

struct ap_event_desc {
	const char *name;
	const char *alias[AP_EVENT_ALIASES]; /* NULL: none */
	enum ap_event_kind kind;
	enum ap_event_from from;
	unsigned int index;
	const char *unit;    /* of the printed value: "", "msec", "ns" */
	const char *meaning; /* one line */
	const char *why;     /* why it is unsupported, else NULL */
	double scale;	     /* from counts to the unit, of other PMUs' events in files; 0: none */
};

extern const struct ap_event_desc ap_events[];
extern const size_t ap_nevents;
/* Why an event that is counted elsewhere is not on the machine that is modelled. */
extern const char ap_event_why_absent[];

/* Finds exactly these letters; NULL when there is no such event. */
const struct ap_event_desc *ap_event_find(const char *name, size_t len);

const char *ap_event_kind_name(enum ap_event_kind kind);

/* Task-clock and its twin: their value is a time that rates are relative to. */
static inline bool ap_event_is_clock(const struct ap_event_desc *ev)
{
	return ev->unit[0] == 'm';
}

/* Is what is shown a fraction, and which? */
static inline bool ap_event_is_fraction(const struct ap_event_desc *ev)
{
	return ap_event_is_clock(ev) || ev->scale != 0;
}

static inline double ap_event_fraction(const struct ap_event_desc *ev, double count)
{
	return ap_event_is_clock(ev) ? count / 1e6 : count * ev->scale;
}

#endif
