/* SPDX-License-Identifier: MIT */
/*
 * Frames, as instructions make and drop them: frame.c.
 */
#ifndef AP_ENGINE_FRAME_H
#define AP_ENGINE_FRAME_H

#include "base/types.h"

struct ap_insn;
struct ap_sb;

/* leave, pop rbp; mov rbp, rsp, where the one before is push rbp. */
bool ap_frame_is_dropped(const struct ap_insn *i);
bool ap_frame_is_made(const struct ap_insn *i, const struct ap_insn *before);
/* 1 + the last instruction of a block that does one of them; 0: none. */
u8 ap_sb_frame(const struct ap_sb *sb);

#endif
