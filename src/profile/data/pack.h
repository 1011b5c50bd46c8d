/* SPDX-License-Identifier: MIT */
/*
 * Compressed records.  Each holds frames of zstd that can be read without those before it, so that
 * a file that ends early, or has a hole, loses no more than what is missing.
 */
#ifndef AP_PROFILE_PACK_H
#define AP_PROFILE_PACK_H

#include "base/types.h"
#include "profile/data/record_buf.h"

struct ap_packer;

AP_MUST_CHECK int ap_packer_new(struct ap_packer **packer, unsigned int level);
void ap_packer_free(struct ap_packer *packer);

/* Appends records, all whole, as one or more PERF_RECORD_COMPRESSED. */
AP_MUST_CHECK int ap_packer_put(struct ap_packer *packer, const char *records, size_t size,
				struct ap_buf *to);

#endif
