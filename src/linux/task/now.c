/* SPDX-License-Identifier: MIT */
#include "linux/task/now.h"

#include <time.h>

u64 ap_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ULL + (u64)ts.tv_nsec;
}
