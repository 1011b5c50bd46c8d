/* SPDX-License-Identifier: MIT */
/*
 * Switches for tests: trouble that is injected into the engine, code that it leaves alone, a log of what it does.
 * They exist in build/.../anyperf-test alone, which is never installed: what is compiled without AP_TEST_SWITCHES
 * neither takes one from its user nor looks for one in the session.
 *
 * Only .c files include this header.  The build compiles each of them twice, and takes all else from the shipped
 * program; name_switch.c is in the build for tests alone.
 */
#ifndef AP_ABI_SWITCHES_H
#define AP_ABI_SWITCHES_H

#include "abi/session.h"

#define AP_STRESS_EVICT	   (1u << 0) /* flush the code cache at every translated block */
#define AP_STRESS_UNLINKED (1u << 1) /* never link blocks */
#define AP_STRESS_FAULT	   (1u << 2) /* the engine faults, with its lock held */
#define AP_STRESS_SHAPES   (1u << 3) /* the table of shapes is as good as full */
#define AP_STRESS_REQUESTS (1u << 4) /* nothing of perf events is done in place */
#define AP_STRESS_CHECKS   (1u << 5) /* accesses are checked as if data were watched here and there */
#define AP_STRESS_SAMPLE   (1u << 6) /* each stress_period of lane 0 is noted in the log */
#define AP_STRESS_HELPER   (1u << 7) /* helpers die in each eighth log, and behind another one */
#define AP_STRESS_GAPS                                                                             \
	(1u << 8) /* what the models see and what they do not takes turns all the time */
#define AP_STRESS_NO_FSGSBASE (1u << 9)	 /* as where only arch_prctl sets %gs */
#define AP_STRESS_BEHIND      (1u << 10) /* AP_STRESS_SAMPLE from behind */
#define AP_STRESS_FRAMES      (1u << 11) /* and notes frame pointers */
#define AP_STRESS_FAR	      (1u << 12) /* nothing of the engine is below 4 GiB */
#define AP_STRESS_NARROW      (1u << 13) /* rdpmc gives AP_NARROW_BITS, and begins near their end */
#define AP_STRESS_EMITTED     (1u << 14) /* each block that is written is noted in the log */
#define AP_STRESS_STORE                                                                            \
	(1u << 15) /* blocks come out of the store at once, in the first image too */
#define AP_NARROW_BITS 40U
#define AP_NARROW_BIAS ((1ULL << AP_NARROW_BITS) - 4000000)

#ifdef AP_TEST_SWITCHES
/* Does this session have the trouble? */
#define ap_is_stressed(session, bits) ((session) && ((session)->switches.stress & (bits)))
#else
#define ap_is_stressed(session, bits) false
#endif

#endif
