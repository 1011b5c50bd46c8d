// SPDX-License-Identifier: MIT
/* FLAGS: -static */
/* LIBS: -lm */
/* c_dynamic.c without the dynamic linker's work. */
#include "c_dynamic.c"
