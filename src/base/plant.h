/* SPDX-License-Identifier: MIT */
/*
 * Faults that are put here for fuzzers: each of them has one to find, deep in what it feeds, which
 * shows that it gets there (tests/fuzz).  They are in the fuzzers' builds alone (VARIANT=fuzz), and
 * asleep there until one asks for them.
 */
#ifndef AP_BASE_PLANT_H
#define AP_BASE_PLANT_H

#ifdef AP_FUZZ_PLANT
#include <stdbool.h>

bool ap_plant_is(const char *name);
_Noreturn void ap_plant_found(const char *name);
#define AP_PLANT(name, condition)                                                                  \
	do {                                                                                       \
		if (ap_plant_is(name) && (condition))                                              \
			ap_plant_found(name);                                                      \
	} while (0)
#else
#define AP_PLANT(name, condition) ((void)0)
#endif

#endif
