/* SPDX-License-Identifier: MIT */
/*
 * A function as lines: its instructions, source lines before those that were made of them, and what
 * each instruction weighs.  It is read as print (annotate_print.c) or on the screen.
 */
#ifndef AP_PROFILE_LISTING_H
#define AP_PROFILE_LISTING_H

#include "profile/hist/annotate.h"

enum ap_listing_kind {
	AP_LISTING_FILE, /* another source file begins: path, number */
	AP_LISTING_SOURCE,
	AP_LISTING_CODE
};

struct ap_listing_line {
	enum ap_listing_kind kind;
	const char *text; /* instruction, with what it refers to; source line; path */
	u32 number;	  /* of the source line */
	u32 len;	  /* of the instruction */
	u64 off, vaddr;
	u64 target; /* where it goes or what it refers to, as a vaddr; 0: nothing */
	u64 period, count;
};

struct ap_listing {
	struct ap_listing_line *line;
	u32 n, cap;
	u64 start, size; /* of the function */
	void *texts, *sources;
};

struct ap_disasm;
/* false: the function's code is not to be had. */
bool ap_listing_make(struct ap_listing *l, struct ap_dso *dso, const struct ap_symbol *sym,
		     struct ap_disasm *d);
/* Weights of the instructions, also anew; NULL: nothing was sampled. */
void ap_listing_weigh(struct ap_listing *l, const struct ap_notes *notes);
void ap_listing_fini(struct ap_listing *l);

#endif
