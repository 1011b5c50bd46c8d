/* SPDX-License-Identifier: MIT */
/*
 * The engine's image as it is embedded in this program (make links build/.../blob.o).
 */
#ifndef AP_LINUX_BLOB_IMAGE_H
#define AP_LINUX_BLOB_IMAGE_H

#include "base/types.h"

extern const u8 ap_blob_start[], ap_blob_end[];

#endif
