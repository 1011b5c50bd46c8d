/* SPDX-License-Identifier: MIT */
/*
 * Terms between the slashes of an event that are about perf's own handling of it, and of no PMU:
 * cycles/freq=1000,call-graph=dwarf/u.  They are taken out before the rest is looked up as an
 * event.
 *
 * Source: perf-record(1) and perf-list(1), event parameters.
 */
#ifndef AP_CLI_EVTERMS_H
#define AP_CLI_EVTERMS_H

#include <stddef.h>

#include "base/types.h"

/* Bytes of the stack that a sample of dwarf callchains holds: a multiple of 8 below 64 KiB. */
#define AP_EVTERM_STACK_DEFAULT 8192
#define AP_EVTERM_STACK_MAX	65528

enum ap_evchain { AP_EVCHAIN_NONE, AP_EVCHAIN_FP, AP_EVCHAIN_DWARF, AP_EVCHAIN_LBR };

enum ap_evterm_word { AP_EVTERM_UNSAID, AP_EVTERM_NO, AP_EVTERM_YES };

struct ap_evterms {
	char *name;	  /* name=: what it is called; NULL: as it was typed */
	u64 period, freq; /* of a recording, the one that was said last; 0: not said */
	bool has_chain;
	enum ap_evchain chain;
	u32 stack_size; /* bytes; 0: not said */
	u16 max_stack;	/* frames; 0: not said */
	enum ap_evterm_word time, inherit;
};

/*
 * The event without those terms (to be freed), and what they say.  0, or -EINVAL with one line in
 * why and nothing to be freed.
 */
AP_MUST_CHECK int ap_evterms_take(const char *event, char **rest, struct ap_evterms *terms,
				  char *why, size_t size);

/* fp, dwarf, lbr or no. */
AP_MUST_CHECK bool ap_evchain_of(const char *word, size_t len, enum ap_evchain *chain);

#endif
