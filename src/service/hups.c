/* SPDX-License-Identifier: MIT */
/*
 * The last signal that REFRESH allows says POLL_HUP, all others POLL_IN.  The kernel sends them for
 * bytes in a pipe, and knows POLL_IN only: so it is counted here which of those that a thread of this
 * process asks for is the last one, and its siginfo is put right on the way to the handler.
 *
 * They are told apart by their order, which real-time signals keep.  Others carry no siginfo natively.
 */
#include "abi/errno.h"
#include "base/mem.h"
#include "service/calls.h"
#include "service/fds.h"
#include "service/sample.h"

#define ENTRIES	 64U
#define POLL_IN	 1
#define POLL_HUP 6
#define BAND_IN	 0x41
#define BAND_HUP 0x18

/* Of signals that are about memory, code or children the same bytes say something else. */
#define NOT_OF_FILES                                                                               \
	(1ULL << 4 | 1ULL << 5 | 1ULL << 7 | 1ULL << 8 | 1ULL << 11 | 1ULL << 17 | 1ULL << 31)

struct hup_entry {
	u64 inode;
	u32 sent, seen, last; /* last: number of the one that says POLL_HUP; 0 none */
};

static struct hup_entry table[ENTRIES];

static struct hup_entry *entry_of(u64 inode, bool make)
{
	for (u32 i = 0; i < ENTRIES; i++) {
		u64 was = __atomic_load_n(&table[i].inode, __ATOMIC_ACQUIRE);

		if (was == inode)
			return &table[i];
		if (was)
			continue;
		if (!make)
			return NULL;
		if (__atomic_compare_exchange_n(&table[i].inode, &was, inode, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		    was == inode)
			return &table[i];
	}
	return NULL;
}

void ap_svc_signal_asked(u64 inode, bool is_last)
{
	struct hup_entry *e = entry_of(inode, true);
	u32 n = e ? __atomic_add_fetch(&e->sent, 1, __ATOMIC_ACQ_REL) : 0;

	if (e && is_last)
		__atomic_store_n(&e->last, n, __ATOMIC_RELEASE);
}

void ap_svc_signals_anew(u64 inode)
{
	struct hup_entry *e = entry_of(inode, false);

	if (e)
		e->sent = e->seen = e->last = 0;
}

struct poll_info {
	s32 signo, err, code, pad;
	s64 band;
	s32 fd;
};

void ap_service_patch_siginfo(u32 sig, void *info)
{
	struct poll_info *p = info;
	struct hup_entry *e;
	u64 inode;

	if (ap_svc_perfctr_siginfo(info) || !table[0].inode || sig > 64 ||
	    (sig < 32 && NOT_OF_FILES >> sig & 1) || p->code != POLL_IN || p->band != BAND_IN)
		return;
	inode = ap_fds_event(p->fd);
	e = inode ? entry_of(inode, false) : NULL;
	if (!e || __atomic_add_fetch(&e->seen, 1, __ATOMIC_ACQ_REL) != e->last)
		return;
	p->code = POLL_HUP;
	p->band = BAND_HUP;
}
