/* SPDX-License-Identifier: MIT */
/* FLAGS: -static -no-pie -Wl,-Ttext-segment=0x7d000000 */
/* CASE: counted -- sweep */
/* CASE: counted -- fixed */
/* CASE: counted -- all */
/* CASE: counted -- grow */
#include "low_addresses.c"
