/* SPDX-License-Identifier: MIT */
/* heir.c: what a fork's child inherits of translated code, and what its parent learns from it. */
#ifndef AP_ENGINE_HEIR_H
#define AP_ENGINE_HEIR_H

#include "engine/cache/cache.h"

/* In a fork's child, before it translates anything. */
void ap_heir_begin(void);
/* In the parent, before it forks: what its children had to translate.  Lock held. */
void ap_heir_before_fork(void);
/* This memory belongs to somebody else from now on: nothing is learned, and nothing taught.  Lock held. */
void ap_heir_part(void);

/* Of whose making a block is: the present process' where they are equal. */
u8 ap_heir_generation(void);

/* The thread goes from x to b: is x to be linked?  Lock held. */
bool ap_heir_may_link(const struct ap_exit *x, const struct ap_block *b);
/* An indirect branch has missed b: is its pad to be published?  Lock held. */
bool ap_heir_may_publish(const struct ap_block *b);
/* It goes on at b by none of these; from_probe: behind one.  Lock held. */
void ap_heir_note_entry(const struct ap_block *b, bool from_probe);
/* The direction of a conditional branch is known.  Lock held. */
void ap_heir_note_hint(u64 pc);

#endif
