/* SPDX-License-Identifier: MIT */
/*
 * The session's files seen from the supervisor: making them, handing out segments, what was cut
 * short, notes.  What tasks counted the host reads (host_slot.c).  abi/session.h has the layout,
 * docs/design/session.md the protocols.
 *
 * Processes write their segments as they like.  What is read here is checked as a kernel checks
 * user memory: an index out of range is ignored, never followed.
 */
#ifndef AP_LINUX_SESSION_H
#define AP_LINUX_SESSION_H

#include <sys/types.h>

#include "abi/session.h"
#include "base/types.h"
#include "linux/task/creds.h"

struct ap_session_file {
	int fd;			/* the party's file */
	int head_fd;		/* opened for reading alone */
	u64 dev, ino;		/* of the party's file, to know it again in another process, */
	u64 head_dev, head_ino; /* and of the head */
	u32 max_segs;		/* that the party's has room for, by its size, which is sealed */
	u64 max_bytes;		/* of memory that a party may fill; of the session's owner */
	u32 known; /* of the party, the supervisor's own ap_session.known_segs; 0: not the supervisor's */
	bool is_owner;			 /* made by us: all others only read */
	bool is_given_up;		 /* its tasks are not counted any more: ap_tracks_bound() */
	bool is_told_last;		 /* they are told when it has been read for the last time */
	struct ap_session *head;	 /* all that is before the segments, of both files */
	struct ap_region_lines *regions; /* of parties that have ended; of the session's owner */
	struct ap_shared *common;	 /* of the models, in whose session it is; else NULL */
	u32 party;
	u64 origin; /* whose number of parties is limited: this one's, or that of the one it comes of */
	u64 norigins;  /* of the session's owner: so many have been there */
	bool has_left; /* it has come of another one than the first */
	u64 born;      /* when the party was made, in clock ticks since boot; 0: with the session */
	struct ap_identity first; /* of the process that it was made for, or less than that had */
	char *creds; /* of one that was made for attached processes: ap_creds_text() of each of them; else NULL */
	struct ap_session_file *parties[AP_PARTY_MAX]; /* of the session's owner, but for its own */
	struct ap_note
		*notes;	   /* of the supervisor: as in the file, where tasks can wipe them out */
	u32 nnotes, nlost; /* so many; and so many that did not fit */
};

struct ap_blob_header;
struct ap_machine;
struct ap_shared;

struct ap_session_config {
	u32 flags, model_sample;
	u64 kinds; /* with AP_F_COUNT, beside those that are counted always */
	u64 cache_limit;
	const struct ap_blob_header *image; /* the engine's, for its processes to map; NULL: none */
	const struct ap_switches *switches; /* of a build for tests; NULL: none */
	const struct ap_machine *machine;   /* of the models; NULL: any */
	u32 cpu;			    /* enum ap_cpu: whose raw codes are taken */
	const struct ap_cpu_id *cpu_id;	    /* the CPU that programs see; NULL: the host's */
	u32 nregion_events;
	const u64 *region_kinds;
};

AP_MUST_CHECK int ap_session_new(struct ap_session_file *s, const struct ap_session_config *cfg);
/* Maps the session that this process is counted in, to be read; -ENOENT: there is none. */
AP_MUST_CHECK int ap_session_join(struct ap_session_file *s);
void ap_session_close(struct ap_session_file *s);
/*
 * The next note from i on that may have been written, AP_NOTE_MAX: none.  What nobody has touched
 * is not looked at, which would make pages of it.
 */
u32 ap_session_next_note(const struct ap_session_file *s, u32 i);
/* What begins at off before the segments, as far as the session's owner writes it. */
void *ap_session_part(const struct ap_session_file *s, u64 off);

/* party.c: docs/design/trust.md */
/*
 * That of a segment, which is s itself where that is not the owner's; NULL: there is no such party.
 */
struct ap_session_file *ap_session_party(const struct ap_session_file *s, u32 seg);
/* The next one, from *party on, which is incremented; NULL: there is none. */
struct ap_session_file *ap_session_next_party(const struct ap_session_file *s, u32 *party);
/*
 * Makes an empty memfd the file of a new party; takes the descriptor over.  -ENOSPC: there are too
 * many.
 */
AP_MUST_CHECK int ap_session_party_new(struct ap_session_file *s, int fd, u32 *party);
/*
 * The same with descriptor fd of a task, which may be anything.  *party is the task's before.
 * -ENOSPC: or it has had its part.
 */
AP_MUST_CHECK int ap_session_party_take(struct ap_session_file *s, pid_t tid, s32 fd, u32 *party);
/* The process that it is made for, while that is what it was when it asked. */
void ap_session_party_is_of(struct ap_session_file *f, pid_t pid);
/* Its tasks are told that nobody serves them any more. */
void ap_session_party_tell(const struct ap_session_file *s, struct ap_session_file *f);
/* Nobody is in it any more: its number is another's from now on. */
void ap_session_party_end(struct ap_session_file *s, u32 party);
/* session.c, for party.c: the sizes of an empty file, as the first one's; and its memory. */
AP_MUST_CHECK int ap_session_set_size(int fd, u64 size);
AP_MUST_CHECK int ap_session_seal_size(int fd);
void ap_session_make_common(struct ap_session_file *s);

/*
 * The end of the segments of a party, whose file s is: all that are anybody's are below, whatever
 * tasks say, which is mended.  A system call.
 */
u32 ap_session_nsegs(const struct ap_session_file *s);
/* Bytes of memory that the party's file has now. */
u64 ap_session_bytes(const struct ap_session_file *s);
/* It is somebody's.  Without giving it memory, as a look at its page would. */
bool ap_session_is_taken(const struct ap_session_file *s, u32 seg);
/* As far as tasks say it, which is as much as can be believed of it: no system call. */
u32 ap_session_said_segs(const struct ap_session_file *s);
/*
 * Moves *seg on to the next segment that has any memory, of any party; false when there is none:
 * folded segments are holes of the file.
 */
bool ap_session_next_seg(const struct ap_session_file *s, u32 *seg);
/*
 * Allocates a segment of a party in state INIT with the fields that init gives; -ENOSPC when full.
 */
AP_MUST_CHECK int ap_session_seg_new(struct ap_session_file *s, const struct ap_seg *init,
				     u32 *seg);
/* Bytes of a party's file, all of them; without a mapping, which would fill its holes. */
AP_MUST_CHECK int ap_session_read(const struct ap_session_file *s, void *buf, u64 size, u64 off);
/* Copies of a segment's or a slot's first page. */
AP_MUST_CHECK int ap_session_seg_read(const struct ap_session_file *s, u32 seg, struct ap_seg *out);
AP_MUST_CHECK int ap_session_slot_read(const struct ap_session_file *s, u32 seg, u32 slot,
				       struct ap_slot *out);
/* The pages themselves, for words that both sides write.  unmap takes what map gave. */
struct ap_seg *ap_session_seg_map(const struct ap_session_file *s, u32 seg);
struct ap_slot *ap_session_slot_map(const struct ap_session_file *s, u32 seg, u32 slot);
void ap_session_page_unmap(void *page);

struct ap_note_args {
	u32 kind, pid, root;
	const char *subject, *reason; /* "not counted: subject: reason" */
};
void ap_session_note(struct ap_session_file *s, const struct ap_note_args *args);

/* Of all boards: ap_board.untold, looks, which only grow. */
u32 ap_session_untold(const struct ap_session_file *s);
u32 ap_session_looks(const struct ap_session_file *s);
bool ap_session_is_mute(const struct ap_session_file *s);
/* What an anyperf inside wants counted is: the board's words become the head's. */
void ap_session_kinds_look(const struct ap_session_file *s);

/* fold.c */
/* Frees a dead segment; tasks that were cut short in it are its root's to tell. */
AP_MUST_CHECK int ap_session_fold(struct ap_session_file *s, u32 seg);
/* Tasks of a segment that is not folded yet that stand inside translated code. */
u32 ap_session_in_code(const struct ap_session_file *s, u32 seg);
/*
 * Takes the memory of segments from one to another away, that of the last one excepted.  No process
 * is to count there.
 */
void ap_session_punch(const struct ap_session_file *s, u32 from, u32 to);
/* Marks a segment that will never count; the next fold frees it. */
void ap_session_seg_discard(struct ap_session_file *s, u32 seg);
/* roots.c */
/* By the supervisor: frees roots that were given back and that no segment names any more. */
void ap_session_roots_reap(struct ap_session_file *s);
bool ap_root_is_within(const struct ap_session_file *s, u32 root, u32 ancestor);
/* Did the models of any process pass something over? */
bool ap_session_has_estimates(const struct ap_session_file *s);
/* Tasks of root and its descendants that were ended inside translated code. */
AP_MUST_CHECK int ap_session_short(const struct ap_session_file *s, u32 root, u32 *n);

#endif
