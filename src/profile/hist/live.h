/* SPDX-License-Identifier: MIT */
/*
 * A table that is made anew again and again while samples come, in which older ones weigh less.
 */
#ifndef AP_PROFILE_LIVE_H
#define AP_PROFILE_LIVE_H

#include "profile/hist/annotate.h"
#include "profile/hist/hist.h"

struct ap_live;

struct ap_live *ap_live_new(struct ap_profile_session *s, const struct ap_hist_opts *opts,
			    struct ap_annotate *notes);
void ap_live_free(struct ap_live *l);
/* false: the record is damaged */
bool ap_live_sample(struct ap_live *l, const struct ap_data_rec *rec);
/*
 * Tables of what there is, with what came since the last time; what was there before weighs 7/8 of
 * what it weighed, or nothing, or (keep) as much.  Tables of before are gone.
 */
enum ap_live_age { AP_LIVE_FADE, AP_LIVE_FORGET, AP_LIVE_KEEP };
void ap_live_refresh(struct ap_live *l, enum ap_live_age age);
/* NULL: the event has no sample. */
struct ap_hist *ap_live_hist(const struct ap_live *l, u32 event);

#endif
