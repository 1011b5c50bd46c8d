/* SPDX-License-Identifier: MIT */
/* Records as they are put together. */
#ifndef AP_PROFILE_RECORD_BUF_H
#define AP_PROFILE_RECORD_BUF_H

#include "base/buf.h"

#define AP_RECORD_MAX 0xffffU /* bytes: a record's size has 16 bits */

/* The characters, a NUL, and NULs up to a multiple of align. */
void ap_buf_chars(struct ap_buf *buf, const char *text, size_t align);

/*
 * A record: begin gives where it starts, end fills in its size.  A record that grew beyond
 * AP_RECORD_MAX is taken back, and end gives false.
 */
size_t ap_buf_begin(struct ap_buf *buf, u32 type, u16 misc);
bool ap_buf_end(struct ap_buf *buf, size_t start);

#endif
