/* SPDX-License-Identifier: MIT */
/*
 * The key by which processes of a party seal what they put into their store of translated code.  Each party has one of
 * its own, made of a secret that the supervisor alone knows.
 *
 * It is told to images under no more seccomp filters than we are under ourselves.  Behind a filter of its own a process may be
 * less than its user: others must not execute what it writes, though they share a file.
 */
#include "linux/run/store_key.h"

#include <sys/random.h>
#include <unistd.h>

#include "abi/boot.h"
#include "base/siphash.h"

static bool has_secret(struct ap_supervisor *sv)
{
	const ssize_t size = sizeof(sv->secret);

	return sv->secret[0] ||
	       (getrandom(sv->secret, sizeof(sv->secret), GRND_NONBLOCK) == size && sv->secret[0]);
}

bool ap_store_key(struct ap_supervisor *sv, u32 party, const struct ap_creds *creds, u64 key[2])
{
	struct ap_creds own;

	if (!ap_creds_read(getpid(), &own) || own.filters == AP_CREDS_FILTERED ||
	    own.filters != creds->filters || !has_secret(sv))
		return false;
	for (u64 k = 0; k < 2; k++) {
		const u64 which = (u64)party << 1 | k;

		key[k] = ap_siphash(sv->secret, &which, 1);
	}
	return key[0] && key[0] != AP_STORE_SECLUDED;
}
