/* SPDX-License-Identifier: MIT */
/*
 * A data area and the writing of records to it: begin, put, end.  docs/design/sampling.md, "Rings".
 *
 * struct ap_ring is shared by all writers and not seen by the reader; it lies in the page before the
 * control page.  Of the control page only data_tail is read, as a hint: a reader that writes nonsense
 * there loses its own records, and nobody else's.  Writers exclude each other by .lock, which has the
 * writer's name; all that a record changes becomes valid by one store of .head, so that a writer may
 * be killed anywhere (ap_ring_clear).
 */
#ifndef AP_SAMPLING_RING_H
#define AP_SAMPLING_RING_H

#include "abi/perf.h"
#include "abi/record.h"
#include "base/types.h"

#define AP_RING_PAGES  2U	   /* struct ap_ring's and the control page, before the data */
#define AP_RING_CORE   0xffffffffU /* the name of the supervisor as a writer; 0 is nobody */
#define AP_RING_SPINS  1000U	   /* looks at a lock before the first yield */
#define AP_RING_YIELDS 64U	   /* then a record is given up and counted as lost */
/* Who is alive has had the time to give it back: worth a look, which costs more than a yield. */
#define AP_RING_IS_LONG(n) ((n) % 16 == 2)

/* Names of threads: never 0, never AP_RING_CORE. */
/* A ring's writers are of its party: the other half of the segment's number says nothing new. */
#define AP_RING_NAME(seg, slot) ((((u32)(seg)&0xfffff) << 10 | (u32)(slot)) + 1)
#define AP_RING_NAME_SEG(name)	(((name)-1) >> 10)
#define AP_RING_NAME_SLOT(name) (((name)-1) & 1023)

#define AP_RING_OVERWRITE (1u << 0) /* mapped read-only: the oldest records are overwritten */
#define AP_RING_BACKWARD  (1u << 1) /* written from the end towards the beginning */

struct ap_ring {
	u32 lock;   /* name of the writer, 0: none */
	u32 paused; /* PERF_EVENT_IOC_PAUSE_OUTPUT, or no data area: records are refused */
	u32 wakes;  /* wakeups so far; a thread that sees it change wakes those that wait */
	u32 poll;   /* poll's answer, exchanged by it for 0: 1 is POLLIN */
	u32 lost;   /* records, all that ever were; by whoever lost one, without the lock */
	u32 told;   /* of them: in LOST records */

	/* Under .lock. */
	u64 head;	       /* what data_head will be: backward mode counts down from 0 */
	u64 watermark, wakeup; /* bytes that make a wakeup; multiple of it that was reached */
	u32 events;	       /* samples since the last wakeup for wakeup_events */
	/* What .head's next value says: where head equals next_head, .told is next_told. */
	u32 next_told;
	u64 next_head;
	u64 pad[8];
};

/* Where a process has a ring.  Nothing in here is read from memory that others can write. */
struct ap_ring_map {
	struct ap_ring *ring;
	struct ap_perf_page *page;
	u8 *data;
	u64 size;  /* of data: a power of two; 0: a control page alone, which refuses all records */
	u32 flags; /* AP_RING_OVERWRITE, AP_RING_BACKWARD */
	u32 party; /* of all writers but the supervisor, which alone has to know it */
};

/* Who writes. */
struct ap_ring_writer {
	u32 name; /* AP_RING_NAME(), AP_RING_CORE */
	/*
	 * Waits for the holder of the lock, for the n-th time, and looks whether that one can still give it
	 * back (ap_ring_clear) whenever AP_RING_IS_LONG(n).  NULL: gives up without.
	 */
	void (*yield)(void *arg, u32 holder, u32 n);
	void *arg;
};

/* For whose record it is: what a LOST record before it says. */
struct ap_ring_owner {
	u64 id;
	const void *trailer; /* sample_id_all's, as ap_record_trailer() makes it */
	u32 trailer_size;
	u32 time_at; /* 1 + where in it the time is that ap_ring_stamp() says; 0: nowhere */
};

/* A record that is being written.  On the writer's stack; nothing of it is the caller's business. */
struct ap_ring_out {
	const struct ap_ring_map *map;
	u32 name;
	u32 left; /* bytes of the record that are to come */
	u64 at;	  /* where in the data the next byte goes; may exceed size */
	u64 head; /* when the record is complete */
	u64 wakeup;
	u32 told, events;
	bool wakes;
	u32 ntimes;
	u64 time_at[2]; /* as .at: of a LOST record and of the record itself */
};

/* The state of a new data area of size bytes.  watermark: in bytes, 0 half of it. */
void ap_ring_init(struct ap_ring *ring, u64 size, u64 watermark);

/*
 * Room for a record of size bytes (a multiple of 8, at most AP_PERF_RECORD_SIZE_MAX), and before it
 * for a LOST record if one is due.  0, or
 *   -AP_ENOSPC   no room, or another writer has held the lock for too long: it counts as lost in
 *		  the ring, and the caller counts it for its event
 *   -AP_EAGAIN   output is paused: likewise
 *   -AP_ENODEV   there is no data area: nothing is counted
 */
AP_MUST_CHECK int ap_ring_begin(struct ap_ring_out *out, const struct ap_ring_map *map,
				const struct ap_ring_writer *writer,
				const struct ap_ring_owner *owner, u32 size);
void ap_ring_put(struct ap_ring_out *out, const void *bytes, u32 n);
void ap_ring_zero(struct ap_ring_out *out, u32 n);

/* Copies up to n bytes from an address that may not be readable: how many it could. */
typedef u64 ap_guarded_copy(void *arg, void *to, u64 from, u64 n);
/* n bytes of the record; those that cannot be read are 0.  How many could. */
u64 ap_ring_put_guarded(struct ap_ring_out *out, ap_guarded_copy *copy, void *arg, u64 from, u32 n);

/* n bytes behind what was put so far there will be the record's time. */
void ap_ring_time_ahead(struct ap_ring_out *out, u32 n);
/*
 * The last thing before ap_ring_end: whoever reads up to data_head and then finds a record with an older time
 * takes it for out of order, and a thread can lose its CPU wherever it is.
 */
void ap_ring_stamp(struct ap_ring_out *out, u64 (*now)(const void *arg), const void *arg);

/* A sample of an event with wakeup_events (not a watermark) is counted. */
void ap_ring_count_event(struct ap_ring_out *out, u32 wakeup_events);
/* The record is visible, the lock free.  True: waiters are to be woken (.wakes, .poll have it). */
bool ap_ring_end(struct ap_ring_out *out);
/* Nothing was written. */
void ap_ring_drop(struct ap_ring_out *out);

/* The writer of this name is dead: its record never was, the lock is free.  True: it held it. */
bool ap_ring_clear(const struct ap_ring_map *map, u32 name);

/*
 * Nobody is in the middle of a record that was begun before this call: what data_head leads to after it lacks
 * no stamped record with an older time.  Waits for as long as a record takes; false: somebody still holds the lock.
 */
bool ap_ring_has_settled(const struct ap_ring *ring);

#endif
