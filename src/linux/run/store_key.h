/* SPDX-License-Identifier: MIT */
/* store_key.c: who may write translated code for others (docs/design/code-store.md). */
#ifndef AP_LINUX_STORE_KEY_H
#define AP_LINUX_STORE_KEY_H

#include "linux/run/supervisor.h"

/* The key of a party's store, for an image with these rights.  False: it is to have none. */
AP_MUST_CHECK bool ap_store_key(struct ap_supervisor *sv, u32 party, const struct ap_creds *creds,
				u64 key[2]);

#endif
