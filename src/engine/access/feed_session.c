/* SPDX-License-Identifier: MIT */
/*
 * What the models' windows of all processes of a session have in common (docs/design/feed.md, "Windows of a session"), on
 * the board: how much of the session's beginning was read, how many gaps there were, and how those threads count that
 * windows have seen, for those that none has.
 *
 * All of it is hints: whatever stands there, a process reads more or less, and estimates are another.
 */
#include "base/mem.h"
#include "engine/access/feed.h"
#include "engine/access/feed_own.h"
#include "engine/runtime/engine.h"

#define RATE_SHIFT 20
#define RATE_MAX   4096ULL /* of an instruction: more is no count of anything */

static struct ap_windows *windows(void)
{
	return &ap_board_of(ap_proc.session)->windows;
}

static u64 mixed(u64 n)
{
	n = (n ^ n >> 32) * 0xd6e8feb86659fd93ULL;
	n = (n ^ n >> 32) * 0xd6e8feb86659fd93ULL;
	return n ^ n >> 32;
}

/* A process' number is its own, whichever process runs first. */
void ap_windows_start(struct ap_thin_start *start, u64 random)
{
	start->read = __atomic_load_n(&windows()->read, __ATOMIC_RELAXED);
	start->gaps = __atomic_load_n(&windows()->gaps, __ATOMIC_RELAXED);
	start->random = (u32)mixed(random ^ ap_proc.session->model_seed);
}

u64 ap_windows_read(u64 words)
{
	return __atomic_add_fetch(&windows()->read, words, __ATOMIC_RELAXED);
}

void ap_windows_gap(void)
{
	__atomic_fetch_add(&windows()->gaps, 1, __ATOMIC_RELAXED);
}

void ap_windows_tell(u64 insns, const u64 counts[AP_WINDOWS_N])
{
	struct ap_windows *w = windows();

	__atomic_fetch_add(&w->insns, insns, __ATOMIC_RELAXED);
	for (u32 k = 0; k < AP_WINDOWS_N; k++)
		if (counts[k])
			__atomic_fetch_add(&w->count[k], counts[k], __ATOMIC_RELAXED);
}

/* n / of, in units of 1 / 2^RATE_SHIFT. */
static u64 rate_of(u64 n, u64 of)
{
	for (; of >> (63 - RATE_SHIFT); of >>= 1)
		n >>= 1;
	if (!of || n / of >= RATE_MAX)
		return of ? RATE_MAX << RATE_SHIFT : 0;
	return (n / of << RATE_SHIFT) + (n % of << RATE_SHIFT) / of;
}

void ap_windows_guess(u64 insns, u64 counts[AP_WINDOWS_N])
{
	const struct ap_windows *w = windows();
	u64 of = __atomic_load_n(&w->insns, __ATOMIC_RELAXED);

	for (u32 k = 0; k < AP_WINDOWS_N; k++) {
		u64 rate = rate_of(__atomic_load_n(&w->count[k], __ATOMIC_RELAXED), of);

		counts[k] = (u64)((unsigned __int128)insns * rate >> RATE_SHIFT);
	}
}
