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
s64 ap_call_unshare(struct ap_thread *t, struct ap_call *c);
/* unshare and prctl, which are as other calls where they change nothing of that. */
s64 ap_party_call(struct ap_thread *t, struct ap_call *c);
struct ap_filter;
/* The calling thread has the filter: it could change its credentials, and not go. */
AP_MUST_CHECK bool ap_party_would_stay(const struct ap_filter *f);
/* The credentials have changed; have they? */
void ap_party_leave(struct ap_thread *t);
/*
 * It makes another process, which is of its party: with signals off, and the process lock, which is given back meanwhile.  A thread
 * that is on its way into other credentials is waited for.  False: it does not come back, and the other process is to be of no
 * party, or this one is of none any more.
 */
AP_MUST_CHECK bool ap_party_join(struct ap_thread *t);
/*
 * Before what needs the party's descriptor.  Where one that shares it has changed its credentials, this process is not counted
 * any more, and does not come back.
 */
void ap_party_look(struct ap_thread *t);
bool ap_party_is_left(const struct ap_thread *t);
/*
 * With signals off, where they have: the process leaves its party now.  A text: it cannot, has nothing of the session's any
 * more, and is to go native; why has been said.  Of a vfork child the next image leaves.
 */
AP_MUST_CHECK const char *ap_party_move(struct ap_thread *t);

/* forsake.c; process lock held. */
/* The file that is the party's now is the one to be dropped. */
void ap_party_note_file(void);
/* No mapping of it is left, as far as that can be told.  False: there is one. */
AP_MUST_CHECK bool ap_party_drop_file(void);
/* Nothing of the party is left to the process, which is about to be native. */
void ap_party_forsake(struct ap_thread *t);
/* A descriptor of what is to be the next image's party, out of the program's way; -errno. */
s64 ap_party_file(const struct ap_thread *t);

#endif
