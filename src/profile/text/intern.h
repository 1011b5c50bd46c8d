/* SPDX-License-Identifier: MIT */
/*
 * Texts that are kept once: equal ones have equal addresses, so comparing is comparing pointers.
 */
#ifndef AP_PROFILE_INTERN_H
#define AP_PROFILE_INTERN_H

#include "base/table.h"
#include "base/types.h"

struct ap_intern {
	struct ap_table texts; /* the length stands in four bytes before each */
	char *block;	       /* memory that texts are cut from */
	size_t left;
	void *blocks; /* all of them, a list by their first word */
};

/* Ends the program with a line where there is no memory, as all of the tools do. */
const char *ap_intern(struct ap_intern *t, const char *text, size_t len);
const char *ap_intern_str(struct ap_intern *t, const char *text);
void ap_intern_fini(struct ap_intern *t);

AP_NORETURN void ap_profile_no_memory(void);
/* realloc and calloc that do not return without. */
void *ap_profile_realloc(void *p, size_t n, size_t size);
void *ap_profile_calloc(size_t n, size_t size);
/* Likewise. */
void ap_profile_table_add(struct ap_table *t, u64 key, const void *item);

#endif
