/* SPDX-License-Identifier: MIT */
/* The one instance of the process' state: proc.h. */
#include "engine/runtime/proc.h"

struct ap_proc ap_proc;
