/* SPDX-License-Identifier: MIT */
/* write(2) until all of it is written, whatever kind of file the descriptor is. */
#ifndef AP_PROFILE_WRITE_FD_H
#define AP_PROFILE_WRITE_FD_H

#include <stddef.h>

#include "base/types.h"

/* -errno; *done is how much was written in any case. */
AP_MUST_CHECK int ap_write_some(int fd, const char *data, size_t size, size_t *done);
AP_MUST_CHECK int ap_write_all(int fd, const char *data, size_t size);

#endif
