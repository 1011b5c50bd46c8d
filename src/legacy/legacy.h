/* SPDX-License-Identifier: MIT */
/*
 * The ABI of 2009 and today's, one made of the other: attrs on their way in, reads and records on
 * their way out.  Layouts and numbers of 2009 are those of the installed header, today's those of
 * abi/.  Nothing here keeps state or allocates.  docs/design/legacy.md
 */
#ifndef AP_LEGACY_LEGACY_H
#define AP_LEGACY_LEGACY_H

#include <anyperf/legacy.h>

#include "abi/perf.h"
#include "base/types.h"

/*
 * -EINVAL: what 2009 would not have taken either.  page_size: of the ring's pages, for the wake-up at each.
 * munmap has no place in today's attr: AP_PERF_IOC_RECORD_MUNMAP asks for it.
 */
AP_MUST_CHECK int ap_legacy_attr(const struct anyperf_legacy_attr *old, u32 page_size,
				 struct ap_perf_attr *now);
/* What a failed open said, as 2009 said it. */
int ap_legacy_error(int error);

/*
 * A read of an event with GROUP, in today's group format, becomes value and times of the event whose id this
 * is: how many words, 0 for the end of file of an event in error, -EINVAL if the event is not among them.
 */
int ap_legacy_read(u32 read_format, u64 id, const u64 *words, u32 n, u64 out[3]);

/* What records cannot tell by themselves. */
struct ap_legacy_ring {
	u32 record_type;
	u32 read_format;				   /* of 2009 */
	bool (*config_of)(void *arg, u64 id, u64 *config); /* as the event was opened with */
	void *arg;
};

/*
 * One record, of size bytes; out has room for as many.  The size of what became of it, 0 if 2009 had no such
 * record, -EINVAL if it is not what the ring's event writes.
 */
int ap_legacy_record(const struct ap_legacy_ring *ring, const void *record, u32 size, void *out);

#endif
