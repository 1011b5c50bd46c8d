/* SPDX-License-Identifier: MIT */
/*
 * The time that records and control pages have: CLOCK_MONOTONIC at the session's beginning, and
 * from then on the time stamp counter, converted by a constant: a thread needs no system call for
 * it, and all that is written agrees about what came first.  As with the kernel's own clock of perf
 * events, what NTP does to CLOCK_MONOTONIC later on is not followed.
 *
 * The constant is measured between the host's start and the first mapping, which may have to wait
 * for it.  Where the counter is not invariant, or the kernel does not trust it, the kernel is asked
 * each time.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "files/in.h"
#include "linux/host/host_internal.h"
#include "linux/task/now.h"

#define CALIBRATE_NS 20000000ULL
#define TRIES	     16
#define SHIFT_MAX    31 /* 32 would be too wide for whoever shifts an int by it */

static const char clocksource[] =
	"/sys/devices/system/clocksource/clocksource0/current_clocksource";

static bool is_invariant(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1U << 8;
}

/* Where nobody says what the kernel uses, CPUID's word holds. */
static bool is_trusted(void)
{
	static const char *const by_tsc[] = { "tsc\n", "kvm-clock\n",
					      "hyperv_clocksource_tsc_page\n" };
	char text[64];
	int fd = ap_kernel_open(clocksource, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return true;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return true;
	text[n] = '\0';
	for (u32 i = 0; i < AP_ARRAY_SIZE(by_tsc); i++)
		if (!strcmp(text, by_tsc[i]))
			return true;
	return false;
}

/* Both clocks at one moment: the closest pair of some. */
static void take_stamp(struct ap_host_stamp *s)
{
	u64 best = UINT64_MAX;

	for (u32 i = 0; i < TRIES; i++) {
		u64 from = __builtin_ia32_rdtsc(), ns = ap_now_ns(), to = __builtin_ia32_rdtsc();

		if (to - from >= best)
			continue;
		best = to - from;
		s->tsc = from + best / 2;
		s->ns = ns;
	}
}

void ap_host_now_init(struct ap_host *host)
{
	if (is_invariant() && is_trusted())
		take_stamp(&host->stamp);
}

static void wait_until(u64 ns)
{
	u64 now = ap_now_ns();
	struct timespec left;

	while (now < ns) {
		left.tv_sec = 0;
		left.tv_nsec = (long)(ns - now);
		nanosleep(&left, NULL);
		now = ap_now_ns();
	}
}

void ap_host_now_use(struct ap_host *host)
{
	struct ap_core_config *config = ap_core_config(host->core);
	struct ap_session *head = host->ses->head;
	struct ap_host_stamp now = { 0 };
	unsigned __int128 mult;
	u32 shift = SHIFT_MAX;

	if (!host->stamp.tsc || host->clock_mult)
		return;
	wait_until(host->stamp.ns + CALIBRATE_NS);
	take_stamp(&now);
	if (now.tsc <= host->stamp.tsc || now.ns <= host->stamp.ns)
		return;
	for (;; shift--) {
		mult = ((unsigned __int128)(now.ns - host->stamp.ns) << shift) /
		       (now.tsc - host->stamp.tsc);
		if (mult <= UINT32_MAX)
			break;
	}
	host->clock_shift = shift;
	host->clock_zero = now.ns - (u64)((unsigned __int128)now.tsc * mult >> shift);
	host->clock_mult = (u32)mult;
	config->time_shift = (u16)shift;
	config->time_mult = (u32)mult;
	config->time_zero = host->clock_zero;
	head->clock_shift = shift;
	head->clock_zero = host->clock_zero;
	/* pairs with the thread's load, before it uses the others */
	__atomic_store_n(&head->clock_mult, (u32)mult, __ATOMIC_RELEASE);
}

u64 ap_host_now(struct ap_host *host)
{
	u64 now = host->clock_mult
			  ? host->clock_zero + (u64)((unsigned __int128)__builtin_ia32_rdtsc() *
							     host->clock_mult >>
						     host->clock_shift)
			  : ap_now_ns();

	if (now > host->now)
		host->now = now;
	return host->now;
}
