/* SPDX-License-Identifier: MIT */
/*
 * Build ids: the name that a linker gave to the content of a file.
 */
#ifndef AP_PROFILE_BUILDID_H
#define AP_PROFILE_BUILDID_H

#include <sys/types.h>

#include "base/types.h"

#define AP_BUILD_ID_MAX 20

/* Bytes of the id; 0: none, or no such file, or no ELF file. */
size_t ap_build_id_of_file(const char *path, u8 id[AP_BUILD_ID_MAX]);
/* Of what a process has mapped under this name, in its own root folder (0: in ours); [vdso] too. */
size_t ap_build_id_of_mapping(pid_t pid, const char *name, u8 id[AP_BUILD_ID_MAX]);
/* Of the running kernel. */
size_t ap_build_id_of_kernel(u8 id[AP_BUILD_ID_MAX]);

#endif
