/* SPDX-License-Identifier: MIT */
/* FLAGS: -no-pie */
/* CASE: counted -- sweep */
/* CASE: counted -- fixed */
/* CASE: counted -- all */
/* CASE: counted -- grow */
#include "low_addresses.c"
