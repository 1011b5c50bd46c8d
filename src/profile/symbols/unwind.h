/* SPDX-License-Identifier: MIT */
/*
 * Callchains from copies of the user stack (--call-graph dwarf): libdwfl unwinds by the call frame
 * information of the files that were mapped.
 */
#ifndef AP_PROFILE_UNWIND_H
#define AP_PROFILE_UNWIND_H

#include "profile/symbols/session.h"

/*
 * Where the sample has user registers and a piece of stack, its callchain becomes what the kernel
 * recorded and then the frames found by unwinding, as if the kernel had recorded them: addresses of
 * callers are those of the call, minus what an unwinder cannot know.  Valid until the next call.
 */
void ap_unwind_sample(struct ap_profile_session *s, struct ap_profile_thread *t,
		      const struct ap_data_event *ev, struct ap_sample *sample);
void ap_unwind_fini(struct ap_profile_session *s);

#endif
