/* SPDX-License-Identifier: MIT */
/*
 * In the place of the engine's image, which no fuzzer starts.
 */
#include "linux/session/blob_image.h"

const u8 ap_blob_start[1], ap_blob_end[1];
