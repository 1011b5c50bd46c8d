/* SPDX-License-Identifier: MIT */
/*
 * Changes of credentials, after which the next image is of another party: party.c.
 */
#ifndef AP_ENGINE_PARTY_H
#define AP_ENGINE_PARTY_H

#include "base/types.h"

struct ap_call;
struct ap_thread;

/* Calls that change the process' credentials or its user namespace. */
s64 ap_call_identity(struct ap_thread *t, struct ap_call *c);
/* The same of unshare and prctl, before they are made. */
void ap_party_before(struct ap_thread *t, const struct ap_call *c);
/* The credentials have changed; have they? */
void ap_party_leave(void);
/* It makes another process, which is of its party. */
void ap_party_joined(void);
bool ap_party_is_left(void);
/*
 * With signals off, where they have: the process leaves its party now, if it is one thread and nothing stands in the way.
 * Else its next image does.
 */
void ap_party_move(struct ap_thread *t);
/* A descriptor of what is to be the next image's party, out of the program's way; -errno. */
s64 ap_party_file(const struct ap_thread *t);

#endif
