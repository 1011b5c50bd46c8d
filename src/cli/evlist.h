/* SPDX-License-Identifier: MIT */
/*
 * The events of one measurement, in the order in which they were asked for.
 */
#ifndef AP_CLI_EVLIST_H
#define AP_CLI_EVLIST_H

#include <stddef.h>

#include "abi/perf.h"
#include "base/types.h"
#include "cli/events.h"
#include "cli/evterms.h"

#define AP_EVSEL_ALONE SIZE_MAX

/* Flags of an event of the kernel whose modifiers leave a mode out. */
#define AP_EVSEL_MODES (AP_PERF_EXCLUDE_USER | AP_PERF_EXCLUDE_KERNEL)

struct ap_evsel {
	const struct ap_event_desc *desc;
	struct ap_event_desc *own; /* that, where no table has it */
	char *name; /* as it was typed, or its term name=: perf prints that, and scripts look for it */
	const char *why;	    /* not NULL: not supported, for this reason */
	struct ap_perf_attr attr;   /* what is opened: type, config*, bp_type, flags of modifiers */
	u64 kinds;		    /* the engine's counters behind it (abi/raw.h) */
	bool is_derived;	    /* from them, and is not their sum: */
	bool is_in_slots;	    /* it is that times the slots of a cycle */
	size_t leader;		    /* of its group {}, an index; AP_EVSEL_ALONE: in none */
	char mods[24];		    /* modifiers, its own and its group's */
	bool has_own_mods;	    /* which are in the name */
	struct ap_evterms terms;    /* its name is above */
	char *filter;		    /* of a tracepoint: --filter, or NULL */
	struct ap_evcgroup *cgroup; /* whose tasks alone count, NULL: all (cli/cgroups.h) */
	bool is_weak;		    /* a group that may be broken up where it does not fit */
};

struct ap_evlist {
	struct ap_evsel *sel;
	size_t n;
	struct ap_evcgroup *cgroups; /* those of its events */
};

/*
 * Appends the events of spec, separated by commas, in groups where {} are around them.  Returns 0,
 * or -EINVAL with one line in why; the list then holds what came before the error.
 */
AP_MUST_CHECK int ap_evlist_parse(struct ap_evlist *list, const char *spec, char *why, size_t size);
/* Modifiers behind each event. */
void ap_evlist_modify(struct ap_evlist *list, const char *mods);
/* What it is called where user mode alone is counted and the name does not say so: to be freed. */
char *ap_evsel_user_name(const struct ap_evsel *sel);
/* -g: all are one group. */
void ap_evlist_group(struct ap_evlist *list);
void ap_evlist_fini(struct ap_evlist *list);

/* Whether any supported event takes its value from there (enum ap_event_from). */
bool ap_evlist_needs(const struct ap_evlist *list, enum ap_event_from from);

#endif
